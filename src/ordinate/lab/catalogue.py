"""Claims read from a package, a folder or a file, and chosen by id.

A claim's record is a call of `Claim` with literal arguments, assigned to `CLAIM`; it is read from the file's syntax tree, as
setuptools reads a package's version, so that a claim that needs torch is listed without importing it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ordinate.arguments import did_you_mean
from ordinate.errors import DataError, MissingDataError, UnknownNameError
from ordinate.file_kinds import kind_of_file
from ordinate.lab.claim import Claim

__all__ = ["choose", "full_results", "read_claims"]


def read_claims(source: str | Path) -> tuple[Claim, ...]:
    """Every claim of a package, a module, a folder or a file, in the order of their ids.

    Files below a package or folder that assign no `CLAIM` are passed over. A string `TITLE` in the `__init__.py` beside a claim
    is the claim's `article`.

    Args:
        source: the name of a module or package ("ordinate.articles"), or the path of a file or folder.

    Raises:
        MissingDataError: there is no such module, file or folder, or it has no claim.
        DataError: a record that is not a call of `Claim` with literal arguments, or an id that stands twice.

    >>> [claim.id for claim in read_claims("ordinate.articles")][:2]
    ['A1', 'A2']
    """
    root, package = _locate(source)
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    claims: dict[str, Claim] = {}
    for path in files:
        claim = _read_claim(path)
        if claim is None:
            continue
        if claim.id in claims:
            raise DataError(str(path), expected="an id of its own", got=f"{claim.id}, which {claims[claim.id].origin} has")
        origin = str(path.resolve()) if package is None else _module_name(path, root, package)
        claims[claim.id] = replace(claim, origin=origin, article=claim.article or _title_beside(path))
    if not claims:
        kind = kind_of_file(root)
        got = str(source) if kind in (None, "a folder", "a Python file") else f"{source}, {kind}"
        raise MissingDataError("--claims", expected="a Python file, a folder or a package with a CLAIM", got=got)
    return tuple(sorted(claims.values(), key=lambda claim: _order(claim.id)))


def full_results(source: str | Path) -> dict[str, dict[str, Any]]:
    """What long measurements of these claims came to when they were last run, by id: `full_results.json` beside the claims.

    Each has `verdict`, `key_figure`, `date`, `minutes` and `machine`. Empty where there is no such file.
    """
    root, _ = _locate(source)
    path = (root if root.is_dir() else root.parent) / "full_results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def choose(claims: Sequence[Claim], ids: Sequence[str] = (), *, full: bool = False) -> tuple[Claim, ...]:
    """The claims of the given ids in that order, or all quick ones (with `full`: all).

    Args:
        claims: what there is to choose from.
        ids: such as "A3", in any case; a letter alone means the whole article. A claim named twice is run once.
        full: without ids, take the long ones as well.

    Raises:
        UnknownNameError: an id that no claim has.

    >>> [claim.id for claim in choose(read_claims("ordinate.articles"), ["a5", "A1"])]
    ['A5', 'A1']
    """
    if not ids:
        return tuple(claim for claim in claims if full or not claim.full_only)
    known = [claim.id for claim in claims]
    letters = dict.fromkeys(_order(one)[0] for one in known)
    chosen: dict[str, Claim] = {}
    for name in ids:
        wanted = name.strip().upper()
        matching = [claim for claim in claims if wanted in (claim.id.upper(), _order(claim.id)[0].upper())]
        if not matching:
            raise UnknownNameError(
                "CLAIM",
                expected=f"the id of one of {len(known)} claims, or the letters of a collection ({', '.join(letters)})",
                got=repr(name),
                hint=f"{_nearest(wanted, known)} `ordinate lab --list` shows them all".strip(),
            )
        chosen.update((claim.id, claim) for claim in matching)
    return tuple(chosen.values())


def _locate(source: str | Path) -> tuple[Path, str | None]:
    """The file or folder to read, and the name of its package if it is one that can be imported."""
    path = Path(source)
    if path.exists():
        return path, None
    name = str(source)
    try:
        spec = find_spec(name) if all(part.isidentifier() for part in name.split(".")) else None
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.origin:
        raise MissingDataError(
            "--claims", expected="a file, a folder or the name of a module", got=f"{name!r}, which is none of them"
        )
    origin = Path(spec.origin)
    return (origin.parent if spec.submodule_search_locations else origin), name


def _nearest(wanted: str, known: Sequence[str]) -> str:
    """Of a collection that there is, how far its claims go; of any other, the nearest id."""
    letters, _ = _order(wanted)
    own = [one for one in known if _order(one)[0].upper() == letters]
    return f"{letters} has {own[0]} to {own[-1]};" if len(own) > 1 else did_you_mean(wanted, known)


def _module_name(path: Path, root: Path, package: str) -> str:
    parts = path.relative_to(root).with_suffix("").parts if root.is_dir() else ()
    return ".".join((package, *parts))


def _order(claim_id: str) -> tuple[str, int]:
    """Letters, then the number: A2 before A10."""
    letters, digits = re.fullmatch(r"(.*?)(\d*)", claim_id).groups()  # type: ignore[union-attr]
    return letters, int(digits or 0)


def _read_claim(path: Path) -> Claim | None:
    """The record in a file, or None where there is none."""
    value = _assigned(path, "CLAIM")
    if value is None:
        return None
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    if not isinstance(value, ast.Call) or name != "Claim" or value.args:
        raise DataError(f"{path}, line {value.lineno}", expected="CLAIM = Claim(id=..., ...)", got=ast.unparse(value)[:60])
    settings = {}
    for keyword in value.keywords:
        try:
            settings[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            raise DataError(
                f"{path}, line {keyword.value.lineno}",
                expected=f"{keyword.arg} written out, as claims are listed without running their files",
                got=ast.unparse(keyword.value)[:60],
            ) from None
    try:
        return Claim(**settings)
    except TypeError as error:
        raise DataError(f"{path}, line {value.lineno}", expected="the arguments of Claim", got=str(error)) from None


def _title_beside(path: Path) -> str:
    package = path.with_name("__init__.py")
    title = _assigned(package, "TITLE") if package.is_file() else None
    return str(title.value) if isinstance(title, ast.Constant) else path.parent.name


def _assigned(path: Path, name: str) -> ast.expr | None:
    """What the file assigns to a name at its top level."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        kind = kind_of_file(path) or "a file that is no UTF-8 text"
        raise DataError(str(path), expected="a Python file with a CLAIM", got=kind) from None
    if f"{name} = " not in text:
        return None
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise DataError(f"{path}, line {error.lineno}", expected="a Python file", got=str(error.msg)) from None
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return node.value
    return None
