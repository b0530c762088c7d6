"""An encoding of your own in a sweep: where it is, what its source is, how it is built, and what to start from.

A class has one method of an encoding (`encode`, `rotate`, `rotate_query` and `rotate_key`, `bias`, or `scores`); all else has a
default. Its arguments are filled in by their names. The digest of its source is part of a cell's name, so an edited class is
run again. Nothing here imports torch.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
from pathlib import Path
from typing import Any

from ordinate.errors import RefusedError
from ordinate.resolve import resolve

__all__ = ["TEMPLATES", "build_own", "fill_arguments", "is_own", "source_digest"]

_METHODS = ("encode", "rotate", "rotate_query", "bias", "scores")

TEMPLATES = {
    "adds": '''import torch


class MyEncoding(torch.nn.Module):
    """Adds a vector to each embedding."""

    def __init__(self, dim):
        super().__init__()
        self.frequencies = torch.nn.Parameter(10000.0 ** -torch.linspace(0, 1, dim // 2))

    def encode(self, positions):  # [T] -> [T, dim]
        angles = positions[:, None] * self.frequencies
        return torch.cat((angles.sin(), angles.cos()), dim=-1)
''',
    "rotates": '''import torch


class MyEncoding(torch.nn.Module):
    """Turns pairs of channels of queries and keys; for other ways for the two, write rotate_query and rotate_key."""

    def __init__(self, head_dim):
        super().__init__()
        self.frequencies = torch.nn.Parameter(10000.0 ** -torch.linspace(0, 1, head_dim // 2))

    def rotate(self, x, positions):  # [B, H, T, head_dim], [T] -> [B, H, T, head_dim]
        angles = positions[:, None] * self.frequencies
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()), dim=-1)
''',
    "biases": '''import torch


class MyEncoding(torch.nn.Module):
    """Adds a number to each score, before the softmax; to see content, take query, key and scale too."""

    def __init__(self, num_heads):
        super().__init__()
        self.slopes = torch.nn.Parameter(0.5 ** torch.arange(1.0, num_heads + 1))

    def bias(self, query_positions, key_positions):  # [T], [S] -> [num_heads, T, S]
        distance = query_positions[:, None] - key_positions
        return -self.slopes[:, None, None] * distance.abs()
''',
    "scores": '''import torch


class MyEncoding(torch.nn.Module):
    """Computes the scores, before mask and softmax."""

    def __init__(self, head_dim):
        super().__init__()
        self.decay = torch.nn.Parameter(torch.tensor(0.1))

    def scores(self, query, key, query_positions, key_positions, scale):  # -> [B, H, T, S]
        distance = (query_positions[:, None] - key_positions).abs()
        return scale * (query @ key.transpose(-1, -2)) * torch.exp(-self.decay * distance)
''',
}
"""A class to start from, by what it does."""

_ALSO_CALLED = {
    "dim": ("embed_dim", "d_model", "hidden_size", "hidden_dim"),
    "num_heads": ("heads", "n_heads", "nhead", "num_attention_heads"),
    "head_dim": ("d_head", "dim_head"),
    "longest": ("max_len", "max_length", "max_seq_len", "max_position_embeddings"),
}


def is_own(name: str) -> bool:
    """Whether a name is "module:object" or "file.py:object"."""
    return ":" in name


def build_own(name: str, known: dict[str, Any]) -> Any:
    """The encoding that `name` names, made with the arguments that it asks for by name.

    Raises:
        ArgumentError: it cannot be imported.
        RefusedError: it cannot be made, or has no method of an encoding.
    """
    thing = resolve(name, "encoding")
    if isinstance(thing, type) or inspect.isfunction(thing):
        arguments = fill_arguments(thing, known)
        try:
            thing = thing(**arguments)
        except (Exception, SystemExit) as error:  # whatever its constructor does
            raise RefusedError("encoding", expected=f"{name} to be made", got=f"{type(error).__name__}: {error}") from error
    if not any(callable(getattr(thing, method, None)) for method in _METHODS):
        raise RefusedError(
            "encoding",
            expected="an object with encode, rotate, rotate_query, bias or scores (ordinate.position.protocols)",
            got=f"{name}, a {type(thing).__name__}",
            hint="`ordinate sweep --template biases` prints one to start from",
        )
    if hasattr(thing, "rotate_query") and not hasattr(thing, "rotate_key"):
        raise RefusedError("encoding", expected="rotate_key beside rotate_query", got=f"{name} with the one alone")
    if hasattr(thing, "bias") and not hasattr(thing, "needs_content"):
        try:
            thing.needs_content = "query" in inspect.signature(thing.bias).parameters
        except AttributeError:
            raise RefusedError("encoding", expected="an attribute needs_content", got=f"{name} without one") from None
    return thing


def fill_arguments(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `kind` without a default, by their names.

    Raises:
        RefusedError: a name that nothing is known for.
    """
    by_name = known | {alias: known[name] for name, aliases in _ALSO_CALLED.items() if name in known for alias in aliases}
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return {}
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    unknown = [name for name in needed if name not in by_name]
    if unknown:
        raise RefusedError(
            "encoding",
            expected=f"arguments among {', '.join(known)}, or with a default",
            got=f"{getattr(kind, '__name__', kind)} with {', '.join(unknown)}",
            hint="wrap it in a class of your own that needs none, and give that as module:object",
        )
    return {name: by_name[name] for name in needed}


def source_digest(name: str) -> str:
    """A digest of the source of an object and of what its module imports from the same folder, or "" where there is no source.

    Raises:
        ArgumentError: it cannot be imported.
    """
    thing = resolve(name, "encoding")
    kind = thing if isinstance(thing, type) or inspect.isfunction(thing) else type(thing)
    place = name.rpartition(":")[0]
    try:
        path = Path(place) if place.endswith(".py") else Path(inspect.getsourcefile(sys.modules[place]) or "")
        own = inspect.getsourcefile(kind)
        files = _with_imports(path.resolve()) | ({Path(own).resolve()} if own else set())
        digest = hashlib.sha256()
        for file in sorted(files):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    except (KeyError, OSError, TypeError, SyntaxError, ValueError):
        return ""
    return digest.hexdigest()[:16]


def _with_imports(path: Path) -> set[Path]:
    """A file and those it imports, as far as they are no installed packages."""
    installed = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")]
    files, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file in files or not file.is_file():
            continue
        files.add(file)
        if any(file.is_relative_to(folder) for folder in installed):
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            for module, folder in _imported(node, file.parent):
                beside = folder / module.replace(".", "/")
                places = [getattr(sys.modules.get(module), "__file__", None), f"{beside}.py", beside / "__init__.py"]
                for candidate in (Path(place).resolve() for place in places if place):
                    if candidate.suffix == ".py" and not any(candidate.is_relative_to(folder) for folder in installed):
                        waiting.append(candidate)
    return files


def _imported(node: ast.AST, folder: Path) -> list[tuple[str, Path]]:
    """The modules that a statement imports, or a call with a name written out, and the folder from which each is looked for."""
    if isinstance(node, ast.Import):
        return [(alias.name, folder) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        for _ in range(node.level - 1):
            folder = folder.parent
        inside = [f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names]
        return [(name, folder) for name in ([node.module] if node.module else []) + inside]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called, name = node.func, node.args[0].value
        if getattr(called, "attr", getattr(called, "id", "")) in ("import_module", "__import__") and isinstance(name, str):
            return [(name.lstrip("."), folder)]
    return []
