"""A file is complete or unchanged, whatever fails: the disk, a limit, the process itself, another writer."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ordinate.atomic_io import atomic_files, atomic_write, check_output, output_error, save_figure, staging_folder
from ordinate.errors import ArgumentError, OutputError
from ordinate.safetensors_io import write_tensors

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions, limits and signals")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def write_numbers(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, numbers=np.arange(60_000))


WRITERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: atomic_write(path, "x" * 300_000),
    "bytes": lambda path: atomic_write(path, b"x" * 300_000),
    "function": lambda path: atomic_write(path, lambda draft: draft.write_text("x" * 300_000)),
    "arrays": lambda path: atomic_write(path, write_numbers),
    "tensors": lambda path: write_tensors(path, {"x": torch.zeros(75_000)}, {}),
    "figure": lambda path: save_figure(Figure(figsize=(10, 10)), path.with_suffix(".pdf")) and save_noise(path),
}


def save_noise(path: Path) -> Path:
    figure = Figure(figsize=(8, 8))
    figure.subplots().imshow(np.random.default_rng(0).random((400, 400)))
    return atomic_write(path, lambda draft: figure.savefig(draft, format="png", dpi=160))


def test_a_file_is_written_with_its_folders_and_nothing_else(tmp_path: Path) -> None:
    path = atomic_write(tmp_path / "a" / "b.txt", lambda draft: draft.write_text("all of it"))
    assert path.read_text() == "all of it"
    assert names(tmp_path) == ["a", "b.txt"]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
def test_a_writer_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path, error: type[BaseException]) -> None:
    def half(draft: Path) -> None:
        draft.write_text("half")
        raise error

    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(error):
        atomic_write(tmp_path / "old.txt", half)
    with pytest.raises(error):
        atomic_write(tmp_path / "new" / "folder" / "file.txt", half)
    assert names(tmp_path) == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old"


def test_the_message_names_the_option_the_place_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OutputError, match=r"^--out: expected a file that can be written, got .*b\.txt: a part of the path is a"
    ):
        atomic_write(tmp_path / "file" / "b.txt", "", name="--out")
    with pytest.raises(OutputError, match="it is a folder"):
        atomic_write(tmp_path, "")
    with pytest.raises(OutputError, match="File name too long"):
        atomic_write(tmp_path / ("x" * 300), "")


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk is full"), (errno.EACCES, "check the rights")],
)
def test_only_missing_rights_are_called_missing_rights(number: int, words: str) -> None:
    message = str(output_error("a.json", OSError(number, os.strerror(number))))
    assert words in message
    assert ("check the rights" in message) == (number == errno.EACCES)
    assert str(output_error("a.json", RuntimeError(f"I/O error: some words (os error {number})"))) == message


@pytest.mark.parametrize("kind", WRITERS)
@posix
def test_a_limit_on_the_size_of_files_leaves_the_old_file_and_no_draft(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "file.bin"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OutputError, match="File too large: a limit on the size of files is reached"):
            WRITERS[kind](target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_text() == "old"
    assert set(names(tmp_path)) <= {"file.bin", "file.pdf"}  # the empty figure fits


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only an administrator can mount a file system of 128 KiB")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("kind", WRITERS)
@posix
def test_a_full_disk_leaves_the_old_file_and_no_draft_and_is_called_full(small_disk: Path, kind: str) -> None:
    target = small_disk / "file.bin"
    target.write_text("old")
    with pytest.raises(OutputError, match="No space left on device: the disk is full"):
        WRITERS[kind](target)
    assert target.read_text() == "old"
    assert set(names(small_disk)) <= {"file.bin", "file.pdf"}


@posix
def test_a_full_disk_leaves_a_folder_as_it_was(small_disk: Path) -> None:
    (small_disk / "one.txt").write_text("old")

    def write() -> None:
        with atomic_files(small_disk, name="--out") as staging:
            (staging / "one.txt").write_text("new")
            (staging / "two.txt").write_text("x" * 300_000)

    with pytest.raises(OutputError, match=r"--out: expected a folder that can be written to, got .*the disk is full"):
        write()
    assert (small_disk / "one.txt").read_text() == "old"
    assert names(small_disk) == ["one.txt"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_missing_rights_are_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied: check the rights"):
        atomic_write(tmp_path / "a.txt", "")
    with pytest.raises(OutputError, match="Permission denied: check the rights"):
        check_output(tmp_path / "a.txt")


@posix
def test_a_read_only_file_system_is_called_so(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(OutputError, match="Read-only file system"):
        atomic_write(small_disk / "a.txt", "")
    with pytest.raises(OutputError, match="Read-only file system"):
        check_output(small_disk / "new" / "a.txt")


@pytest.mark.parametrize("kind", ["text", "function", "tensors"])
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
@posix
def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its_own(
    tmp_path: Path, kind: str, umask: int, mode: int
) -> None:
    (tmp_path / "old").write_text("")
    (tmp_path / "old").chmod(0o604)
    before = os.umask(umask)
    try:
        WRITERS[kind](tmp_path / "new")
        WRITERS[kind](tmp_path / "old")
        with atomic_files(tmp_path / "folder") as staging:
            (staging / "a.txt").write_text("")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604
    assert stat.S_IMODE((tmp_path / "folder" / "a.txt").stat().st_mode) == mode


@posix
def test_a_link_stays_a_link_and_a_device_stays_a_device(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    atomic_write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    for kind in ("text", "function", "tensors"):
        WRITERS[kind](Path(os.devnull))
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@posix
def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        atomic_write(pipe, "through")
        assert reader.communicate(timeout=20)[0] == "through"


@pytest.mark.parametrize("place", ["a.json", "new/folder/a.json"])
def test_a_place_is_checked_without_leaving_anything(tmp_path: Path, place: str) -> None:
    assert check_output(tmp_path / place) == tmp_path / place
    assert names(tmp_path) == []


def test_places_that_cannot_be_written_are_found_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "a.json"):
        with pytest.raises(OutputError, match="--circuit: expected a file that can be written"):
            check_output(place, name="--circuit")
    with pytest.raises(OutputError, match="expected a folder"), staging_folder(tmp_path / "file"):
        pytest.fail("work was begun")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_files_of_a_folder_move_together_or_not_at_all(tmp_path: Path, error: type[BaseException]) -> None:
    with atomic_files(tmp_path) as staging:
        (staging / "one.txt").write_text("1")
        (staging / "deep").mkdir()
        (staging / "deep" / "two.txt").write_text("2")
        assert not (tmp_path / "one.txt").exists()

    def write() -> None:
        with atomic_files(tmp_path) as staging:
            (staging / "one.txt").write_text("changed")
            raise error

    with pytest.raises(error):
        write()
    assert names(tmp_path) == ["deep", "one.txt", "two.txt"]
    assert (tmp_path / "one.txt").read_text() == "1"


ENDLESS = """
import sys
from pathlib import Path
from ordinate.atomic_io import atomic_write
letter = sys.argv[2]
print("ready", flush=True)
while True:
    atomic_write(Path(sys.argv[1]), letter * 400_000)
    if sys.argv[3:]:
        atomic_write(Path(sys.argv[1]), lambda draft: draft.write_text(letter * 400_000))
"""


@posix
def test_a_process_killed_at_any_moment_leaves_a_complete_file(tmp_path: Path) -> None:
    target, delays = tmp_path / "file.txt", random.Random(0)
    for letter in "abcde":
        with subprocess.Popen([sys.executable, "-c", ENDLESS, target, letter], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while not target.exists():
                time.sleep(0.01)
            time.sleep(delays.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        content = target.read_text()
        assert len(content) == 400_000
        assert len(set(content)) == 1
    assert all(name.startswith(".file.txt.") for name in names(tmp_path) if name != "file.txt")
    assert not list(tmp_path.glob("*.json"))


@posix
def test_two_processes_that_write_one_file_both_succeed(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    writers = [subprocess.Popen([sys.executable, "-c", ENDLESS, target, letter, "too"]) for letter in "ab"]
    try:
        seen = set()
        until = time.monotonic() + 20
        while len(seen) < 2 and time.monotonic() < until:
            if target.exists():
                content = target.read_text()
                assert len(content) == 400_000
                assert len(set(content)) == 1
                seen.add(content[0])
        assert seen == {"a", "b"}
        assert all(writer.poll() is None for writer in writers)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_figure_is_written_by_the_end_of_its_name(tmp_path: Path, kind: str, start: bytes) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert save_figure(figure, tmp_path / f"it.{kind}").read_bytes().startswith(start)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .png, .svg or .pdf"):
        save_figure(Figure(), tmp_path / "it.gif")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    def drawn(name: str) -> bytes:
        figure = Figure()
        axes = figure.subplots()
        axes.fill_between([0, 1, 2], [1, 3, 2], hatch="/")  # a pattern and a clip path: matplotlib names both at random
        return save_figure(figure, tmp_path / f"{name}.{kind}").read_bytes()

    assert drawn("one") == drawn("two")
