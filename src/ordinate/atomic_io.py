"""Atomic writes: a file is complete or unchanged, whatever happens on the way.

The content goes to a draft beside the target, under a name that no other writer has, and is renamed over it. An error, an
interrupt or a full disk leaves the old file and no draft; only a process that is killed outright can leave a draft, a hidden
file that ends in `.part`, which nothing reads. A new file gets the permissions that the umask says, an old one keeps its own, a
symbolic link stays a link, and a device such as `/dev/stdout` is written to, never replaced.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ordinate.errors import ArgumentError, OutputError

__all__ = [
    "atomic_files",
    "atomic_write",
    "check_output",
    "output_error",
    "picture_kind",
    "render_figure",
    "save_figure",
    "staging_folder",
]

_REASONS = {
    errno.ENOSPC: "No space left on device: the disk is full",
    errno.EDQUOT: "Disk quota exceeded: the disk is full",
    errno.EFBIG: "File too large: a limit on the size of files is reached",
    errno.EACCES: "Permission denied: check the rights of the file and its folder",
    errno.EPERM: "Operation not permitted: check the rights of the file and its folder",
    errno.EROFS: "Read-only file system",
    errno.EISDIR: "it is a folder",
    errno.EEXIST: "a file is in its place",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "File name too long",
}


def atomic_write(path: str | Path, content: str | bytes | Callable[[Path], Any], *, name: str = "path") -> Path:
    """Write a file so that it is complete or unchanged; missing folders are created.

    Args:
        path: where the file goes.
        content: text (UTF-8), bytes, or a function that writes the draft whose path it receives; the draft has the same suffix.
        name: the argument or option that the message should name.

    Raises:
        OutputError: the file cannot be written; the message says why. Other errors of `content` pass through.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "new" / "a.txt", "all of it").read_text()
    'all of it'
    """
    target = Path(path)
    created: list[Path] = []
    draft = None
    try:
        if _is_device(target):
            _write_into(target, content)
            return target
        place = Path(os.path.realpath(target))
        if place.is_dir():
            raise output_error(path, OSError(errno.EISDIR, ""), name=name)
        _make_folders(place.parent, created)
        suffix = place.suffix[:40] if callable(content) else ""  # some writers go by it; a search for `*.json` should not
        draft = place.with_name(f".{place.name[:40]}.{os.urandom(8).hex()}.part{suffix}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        mode = os.fstat(handle).st_mode
        with os.fdopen(handle, "wb") as file:
            if not callable(content):
                file.write(_encoded(content))
                file.flush()
                os.fsync(handle)
        if callable(content):
            content(draft)
            _synchronise(draft)
        with suppress(FileNotFoundError):
            mode = place.stat().st_mode
        os.chmod(draft, mode & 0o7777)  # the function may have replaced the draft by a file with a mode of its own
        os.replace(draft, place)
    except OutputError:
        _discard(draft, created)
        raise
    except OSError as error:
        _discard(draft, created)
        raise output_error(path, error, name=name) from error
    except BaseException:
        _discard(draft, created)
        raise
    return target


@contextmanager
def staging_folder(folder: str | Path, *, name: str = "folder") -> Iterator[Path]:
    """A hidden folder inside `folder` to prepare files in; gone afterwards, as is `folder` if it was new and is empty.

    That it can be made proves, before any work, that `folder` can be written to.

    Raises:
        OutputError: `folder` cannot be made or written to.
    """
    target = Path(folder)
    created: list[Path] = []
    staging: Path | None = None
    try:  # around all of it: an interrupt may come as soon as the folder is made
        try:
            _make_folders(target, created)
            staging = Path(tempfile.mkdtemp(prefix=".part-", dir=target))
        except OSError as error:
            raise output_error(folder, error, name=name, expected="a folder that can be written to") from error
        yield staging
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        _discard(None, created)


@contextmanager
def atomic_files(folder: str | Path, *, name: str = "folder") -> Iterator[Path]:
    """A staging folder whose files move into `folder` together when the block ends; after an error none of them does.

    Files of other names in `folder` are left alone. Files move in the order in which they were last written.

    Args:
        folder: where the files go; created where it is missing.
        name: the argument or option that the message should name.

    Raises:
        OutputError: `folder` or a file in it cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     with atomic_files(root) as staging:
    ...         _ = (staging / "a.txt").write_text("a")
    ...         _ = (staging / "b.txt").write_text("b")
    ...     sorted(path.name for path in Path(root).iterdir())
    ['a.txt', 'b.txt']
    """
    target = Path(folder)
    with staging_folder(folder, name=name) as staging:
        try:
            yield staging
            files = [path for path in staging.rglob("*") if path.is_file()]
            for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
                place = target / path.relative_to(staging)
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, place)
        except OutputError:
            raise
        except OSError as error:
            raise output_error(folder, error, name=name, expected="a folder that can be written to") from error


def check_output(path: str | Path, *, name: str = "path") -> Path:
    """`path`, if a file could be written there now; called before minutes of work, so that their result is not lost.

    Raises:
        OutputError: it is a folder, or a folder on the way cannot be made or written to.
    """
    target = Path(path)
    if not _is_device(target):
        if target.is_dir():
            raise output_error(path, OSError(errno.EISDIR, ""), name=name)
        with _renamed_errors(path, name), staging_folder(os.path.dirname(os.path.realpath(target)), name=name):
            pass
    return target


@contextmanager
def _renamed_errors(path: str | Path, name: str) -> Iterator[None]:
    try:
        yield
    except OutputError as error:
        raise output_error(path, error.__cause__ or error, name=name) from error.__cause__


def output_error(
    path: str | Path, error: BaseException, *, name: str = "path", expected: str = "a file that can be written"
) -> OutputError:
    """The error of this package for a place that could not be written to, with the reason in words.

    Args:
        path: the place.
        error: what the system raised: an `OSError`, or another error whose text holds `os error N`, as those of safetensors do.
        name: the argument or option that the message should name.
        expected: what the place should have been.

    >>> print(output_error("a.json", OSError(28, "No space left on device"), name="--out"))
    --out: expected a file that can be written, got a.json: No space left on device: the disk is full
    """
    number = error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else None
    if number is None and (match := re.search(r"\bos error (\d+)", str(error))):
        number = int(match[1])
    reason = _REASONS.get(number or 0) or (os.strerror(number) if number else str(error) or type(error).__name__)
    return OutputError(name, expected=expected, got=f"{path}: {reason}")


def picture_kind(path: str | Path, *, name: str = "path") -> str:
    """The format that the suffix of a file name asks for: "png", "svg" or "pdf".

    Raises:
        ArgumentError: another suffix.

    >>> picture_kind("curve.svg")
    'svg'
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise ArgumentError(name, expected="a name that ends in .png, .svg or .pdf", got=str(path))
    return kind


def save_figure(figure: Any, path: str | Path, *, name: str = "path") -> Path:
    """Write a matplotlib figure as png, svg or pdf, by the suffix of the file name; equal figures give equal bytes.

    Raises:
        ArgumentError: another suffix.
        OutputError: the file cannot be written.
    """
    kind = picture_kind(path, name=name)
    return atomic_write(path, lambda draft: render_figure(figure, draft, kind), name=name)


def render_figure(figure: Any, target: Any, kind: str) -> None:
    """Draw a matplotlib figure into a path or buffer as "png", "svg" or "pdf", with nothing in it that changes by the run."""
    import matplotlib

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "ordinate"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a name in another script is drawn as boxes
        figure.savefig(target, format=kind, dpi=160, metadata=undated)


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def _synchronise(path: Path) -> None:
    """Have the content on the disk before the name points to it, so that not even a power cut leaves half a file."""
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_device(target: Path) -> bool:
    """Whether the path is something to write into and not to replace: a device, a pipe, an open stream."""
    if target.parts[:2] in (("/", "dev"), ("/", "proc")) and not target.is_relative_to("/dev/shm"):
        return target.exists()
    return target.exists() and not target.is_file() and not target.is_dir()


def _write_into(target: Path, content: str | bytes | Callable[[Path], Any]) -> None:
    if callable(content):
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / f"draft{target.suffix}"
            content(draft)
            content = draft.read_bytes()
    with open(target, "wb") as file:
        file.write(_encoded(content))


def _make_folders(folder: Path, created: list[Path]) -> None:
    """Make the folder and those above it; the new ones are added to `created`, innermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        with suppress(FileExistsError):
            new.mkdir()
            created.insert(0, new)
    if missing:
        missing[0].mkdir(exist_ok=True)  # fails where another process put a file there meanwhile


def _discard(draft: Path | None, created: list[Path]) -> None:
    """Remove what a failed write leaves: its draft, and the folders that it made, where they are empty."""
    if draft is not None:
        with suppress(OSError):
            draft.unlink()
    for folder in created:
        with suppress(OSError):
            folder.rmdir()
