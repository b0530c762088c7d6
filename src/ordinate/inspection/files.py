"""Fetching: from what a user names (a file, a directory, standard input, a hub id) to a raw config, strictly and bounded.

Files come from strangers, so every way of being wrong ends in one line: too large, not JSON, cut off, nested past reason, a
key written twice, a number that is none. What comes out is the plain dictionary of the file or the header of a GGUF file; no
value is interpreted here.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ordinate.errors import DataError, MissingDataError, MissingExtraError, OrdinateError
from ordinate.extras import install_command
from ordinate.file_kinds import kind_of_bytes

if TYPE_CHECKING:
    from ordinate.inspection.gguf_header import Header

__all__ = ["DEPTH_LIMIT", "SIZE_LIMIT", "Document", "parse_config", "read_document"]

SIZE_LIMIT = 16 * 2**20
"""Bytes of JSON that are read at most; the longest configs in use (label tables of 20,000 classes) have 2 million."""

DEPTH_LIMIT = 64
"""Levels of nesting that are accepted; configs in use have up to 6."""

_CONFIG_NAME, _PIPELINE_NAME, _GGUF = "config.json", "model_index.json", b"GGUF"
_DENOISERS = ("transformer", "unet", "prior", "decoder")
# patterns are compiled where they are used: most files need neither, and compiling them delays every start
_HUB_ID = r"(?P<repository>[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?)(@(?P<revision>[\w./-]+))?"
# a number that is none matters where position reads it; Mamba's time_step_limit is infinite by design
_READ_KEY = (
    r"rope|rotary|theta|base|factor|scal|alpha|beta|position|context|window|length|seq|head|dim|hidden|layer|bucket|distance"
)


@dataclass(frozen=True)
class Document:
    """One model's description as it was read, before any interpretation.

    Args:
        name: what messages and tables call it.
        path: the file it came from; None for standard input.
        config: the dictionary of a JSON config; None for GGUF.
        text: the JSON as it stood, for an editor that keeps its shape; "" for GGUF.
        header: the header of a GGUF file; None for JSON.
        pipeline: of a pipeline of diffusers its class, the part that was read, and "name (class)" of its text encoders.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "config.json").write_text('{"model_type": "llama"}')
    ...     document = read_document(folder)
    >>> document.path.name, document.text
    ('config.json', '{"model_type": "llama"}')
    """

    name: str
    path: Path | None
    config: dict[str, Any] | None = None
    text: str = ""
    header: Header | None = None
    pipeline: tuple[str, str, tuple[str, ...]] | None = None


def read_document(source: str | os.PathLike[str]) -> Document:
    """Read the config that `source` names.

    Args:
        source: a JSON or GGUF file, a directory that holds a config.json (or one GGUF file), "-" for standard input, or the
            id of a model on the Hugging Face hub ("owner/name", "owner/name@revision"), which needs the extra `hub`. The hub
            is only asked where no such file exists; HF_HUB_OFFLINE, HF_ENDPOINT and the local cache are honoured. Of a
            pipeline of diffusers (model_index.json) the config of its transformer is read.

    Raises:
        MissingDataError: nothing there, a directory without a config, no right to read, a model the hub does not give.
        MissingExtraError: a hub id, and huggingface_hub is not installed.
        DataError: not a config: too large, not JSON, cut off, nested too deep, a key twice, a number that is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = (Path(directory) / "config.json").write_text('{"model_type": "llama"}')
    ...     read_document(directory).config
    {'model_type': 'llama'}
    """
    name = os.fspath(source)
    if name == "-":
        return _parse_stream(sys.stdin.buffer, "standard input", None)
    if not name:
        raise MissingDataError("FILE", expected="a file, a directory or an id on the hub", got="an empty name")
    try:
        path = _locate(Path(name)) or _fetch(name)
        with path.open("rb") as stream:
            return _part_of_pipeline(_parse_stream(stream, name, path))
    except OrdinateError:
        raise
    except (OSError, ValueError) as error:  # no right to look, a loop of links, a NUL in the name
        raise _unreadable(name, error) from None


def parse_config(data: bytes, name: str) -> dict[str, Any]:
    """The dictionary that the bytes of a JSON config hold.

    Args:
        data: UTF-8, with or without a byte-order mark, or UTF-16.
        name: what messages call it.

    Raises:
        DataError: see `read_document`.
    """
    return _parse(data, name)[0]


def _locate(path: Path) -> Path | None:
    """The file that `path` means; None where nothing is there."""
    mode = None
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise MissingDataError(
                str(path),
                expected="a file",
                got=f"a link to {os.readlink(path)}, which is not there",
                hint="mend the link or name the file itself",
            ) from None
        return None
    except NotADirectoryError:
        return None
    if not stat.S_ISDIR(mode):
        return path
    for config in (path / _CONFIG_NAME, path / _PIPELINE_NAME):
        if config.exists() or config.is_symlink():
            return config
    inside = sorted(entry.name for entry in path.iterdir())
    containers = [entry for entry in inside if entry.endswith(".gguf")]
    if len(containers) == 1:
        return path / containers[0]
    firsts = [entry for entry in containers if "-00001-of-" in entry]
    if len(firsts) == 1 and all("-of-" in entry for entry in containers):
        return path / firsts[0]  # one model in several files
    entries = "nothing"
    if inside:
        count = f"{len(inside)} {'entry' if len(inside) == 1 else 'entries'}"
        entries = f"{count} ({', '.join(inside[:4])}{', ...' if len(inside) > 4 else ''})"
    raise MissingDataError(
        str(path),
        expected=f"a directory that holds {_CONFIG_NAME} or one GGUF file",
        got=entries,
        hint="name the file itself",
    )


def _part_of_pipeline(document: Document) -> Document:
    """What a pipeline's index points to; any other document as it is."""
    config, path = document.config or {}, document.path
    if path is None or path.name != _PIPELINE_NAME or "_class_name" not in config:
        return document
    classes = {key: value[1] for key, value in config.items() if isinstance(value, list) and len(value) == 2 and value[1]}
    name = next((part for part in _DENOISERS if part in classes), None)
    if name is None:
        raise DataError(document.name, expected=f"a pipeline with a part {' or '.join(_DENOISERS)}", got=f"{sorted(classes)}")
    encoders = tuple(f"{key} ({classes[key]})" for key in classes if key.startswith("text_encoder"))
    part = read_document(path.parent / name)
    return replace(part, name=document.name, pipeline=(str(config["_class_name"]), name, encoders))


def _unreadable(name: str, error: Exception) -> MissingDataError:
    reason = getattr(error, "strerror", None) or str(error)
    return MissingDataError(
        name,
        expected="a file that can be read",
        got=f"the system's answer: {reason}",
        hint="check the path and the rights",
    )


def _parse_stream(stream: IO[bytes], name: str, path: Path | None) -> Document:
    """JSON or GGUF, distinguished by the first bytes, whatever the file is called."""
    start = stream.read(len(_GGUF))
    if start == _GGUF:
        from ordinate.inspection.gguf_header import read_header

        return Document(name, path, header=read_header(stream, name))
    if path is not None and stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        size = os.fstat(stream.fileno()).st_size
        if size > SIZE_LIMIT:
            raise _too_large(name, f"{size:,} bytes")
    data = start + stream.read(SIZE_LIMIT + 1 - len(start))
    if len(data) > SIZE_LIMIT:
        raise _too_large(name, "more")
    kind = kind_of_bytes(data[:256], Path(name).suffix.lower())
    if kind not in (None, "JSON") and data.strip():
        raise DataError(name, expected="a config in JSON or a GGUF file", got=kind, hint="give the config.json of its folder")
    config, text = _parse(data, name)
    return Document(name, path, config=config, text=text)


def _too_large(name: str, got: str) -> DataError:
    return DataError(
        name,
        expected=f"a config of at most {SIZE_LIMIT // 2**20} MiB ({SIZE_LIMIT:,} bytes)",
        got=got,
        hint="a model's config has a few kilobytes: is this the file of the weights?",
    )


def _parse(data: bytes, name: str) -> tuple[dict[str, Any], str]:
    if not data.strip():
        raise DataError(name, expected="a JSON object", got="an empty file", hint="fetch the file again")
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass").removeprefix("\ufeff")
        text.encode()  # a lone surrogate would only fail when it is printed
    except UnicodeError as error:
        got = f"{error.reason} at byte {error.start}" if isinstance(error, UnicodeDecodeError) else "half a character"
        hint = "give the config.json of its folder, or a GGUF file"
        raise DataError(name, expected="JSON text", got=f"no text: {got}", hint=hint) from None
    try:
        config = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, name))
    except json.JSONDecodeError as error:
        raise _not_json(name, text, error) from None
    except RecursionError:
        raise _too_deep(name) from None
    except DataError:
        raise
    except ValueError as error:  # an integer of more digits than Python converts
        raise DataError(name, expected="numbers of sane length", got=str(error), hint="mend the file") from None
    if not isinstance(config, dict):
        raise DataError(
            name,
            expected="a JSON object of settings at the top",
            got=_JSON_NAMES.get(type(config), "a number"),
            hint="give the model's config.json, not its vocabulary or index",
        )
    for depth, path, key, value in _leaves(config):
        if depth > DEPTH_LIMIT:
            raise _too_deep(name)
        where = path if path.isprintable() else ascii(path)
        if isinstance(value, float) and not math.isfinite(value) and re.search(_READ_KEY, key):
            raise DataError(
                name,
                expected=f"a finite number for {where}",
                got=f"{value} (or a number too large to hold)",
                hint="write the number that was meant",
            )
        if isinstance(value, str) and not _printable(value):
            raise DataError(name, expected=f"text for {where}", got="half a character", hint="mend the escape \\ud...")
    return config, text


_JSON_NAMES: dict[type, str] = {list: "a list", dict: "an object", str: "a string", bool: "a boolean", type(None): "null"}


def _object(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    settings = dict(pairs)
    if len(settings) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        values = [value for key, value in pairs if key == twice]
        raise DataError(
            name,
            expected="every key once in its object",
            got=f"{_short(twice)} {len(values)} times: {', '.join(_short(value) for value in values[:4])}",
            hint="keep the line that is meant; most programs would silently take the last",
        )
    return settings


def _short(value: Any) -> str:
    text = _JSON_NAMES[type(value)] if isinstance(value, list | dict) else json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _leaves(config: dict[str, Any]) -> Iterator[tuple[int, str, str, Any]]:
    """Depth, path, last key and value of all that is no container, and every key; iterative, so depth costs no stack."""
    waiting: list[tuple[int, str, str, Any]] = [(0, "", "", config)]
    while waiting:
        depth, where, last, value = waiting.pop()
        if isinstance(value, dict | list) and depth > DEPTH_LIMIT:
            yield depth, where, last, None
            return
        if isinstance(value, dict):
            for key, item in value.items():
                yield depth, "a key", "", key
                waiting.append((depth + 1, f"{where}.{key}" if where else key, key, item))
        elif isinstance(value, list):
            waiting.extend((depth + 1, where, last, item) for item in value)
        else:
            yield depth, where, last, value


def _printable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_json(name: str, text: str, error: json.JSONDecodeError) -> DataError:
    if not text.lstrip().startswith(("{", "[")):
        got = f"text that begins with {_short(text.lstrip()[:20])}"
        return DataError(name, expected="a config in JSON, which begins with {", got=got, hint="give the model's config.json")
    cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    got = f"a fault at line {error.lineno}, column {error.colno}: {error.msg[0].lower()}{error.msg[1:]}"
    hint = "the file seems cut off: fetch it again" if cut else "mend it there"
    return DataError(name, expected="valid JSON", got=got, hint=hint)


def _too_deep(name: str) -> DataError:
    return DataError(
        name,
        expected=f"at most {DEPTH_LIMIT} levels of nesting",
        got="more",
        hint="a config has a handful of levels: this is no config",
    )


def _fetch(name: str) -> Path:
    """The config of a model on the hub, from the cache or the network."""
    page = re.match(r"(?:hf://|(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/)(?:models/)?([\w.-]+/[\w.-]+)", name)
    if page is not None or "://" in name:
        local = f"pass {name.removeprefix('file://')}, its path" if name.startswith("file://") else "download it first"
        hint = f"pass {page[1]}, its id on the hub" if page is not None else local
        raise MissingDataError(name, expected="a file, a directory or an id on the hub", got="a web address", hint=hint)
    asked = re.fullmatch(_HUB_ID, name)
    if asked is None or name.endswith((".json", ".gguf")) or ".." in name:
        code = ".py:" in name or name.endswith(".py")
        hint = "to check code: ordinate verify" if code else "check the path, or give a hub id owner/name"
        raise MissingDataError(name, expected="a file or directory", got="nothing there", hint=hint)
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise MissingExtraError(
            name,
            expected="a file or directory, or the extra `hub` to look it up by id",
            got="no such file, and huggingface_hub is not installed",
            hint=f"check the path, or for models on the hub {install_command('hub')}",
        ) from None
    repository, revision, cached_only = asked["repository"], asked["revision"], False
    try:
        try:  # asked once: without a network a download tries six times, with half a minute of pauses
            huggingface_hub.get_hf_file_metadata(
                huggingface_hub.hf_hub_url(repository, _CONFIG_NAME, revision=revision), timeout=10.0
            )
        except HfHubHTTPError:
            raise
        except Exception as error:
            if huggingface_hub.try_to_load_from_cache(repository, _CONFIG_NAME, revision=revision) is None:
                raise error from None
            cached_only = True
        return Path(huggingface_hub.hf_hub_download(repository, _CONFIG_NAME, revision=revision, local_files_only=cached_only))
    except Exception as error:  # the transport below is not ours: httpx, requests, or a retry layer's own classes
        raise _not_given(name, error) from None


def _not_given(name: str, error: Exception) -> MissingDataError:
    reason = " ".join(str(error).split())
    sentence = f"{type(error).__name__}: {reason[:160]}{'...' if len(reason) > 160 else ''}" if reason else type(error).__name__
    return MissingDataError(
        name,
        expected="a file, a directory, or a model on the hub with a config.json",
        got=f"no such file, and from the hub {sentence}",
        hint="check the spelling; private models need `hf auth login`, without network only cached ones are found",
    )
