"""Plain words: sources, documents and help do not use the words that DESIGN.md's table replaces.

A package or a page that is still to be rewritten stands in `TO_DO`; the list only ever gets shorter, which a test checks too.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ordinate"

# Parts of an identifier, apart by underscores or capitals.
PARTS = {"told", "ladder", "ladders", "ledger", "house", "hinge", "whence", "regrouped", "nearness"}
# Whole identifiers that say nothing: `result`, `config`, `error`, ... say what it is.
NAMES = {"found", "given", "made", "held", "shown"}
# In docstrings, comments, messages and pages.
TEXT = re.compile(
    r"\b(told|ladders?|ledgers?|hinges?|the house|of the house|house's|houses|ground floor|floor \d|rooms|"
    r"there whole or not at all|laws?|held to|held against|spell it so|choose one|choose another)\b",
    re.IGNORECASE,
)
FINE = re.compile(r"\b(power law|square law|scaling laws?|law of large numbers)\b", re.IGNORECASE)

TO_DO = {
    "inspect.md", "inspection", "position", "verify", "verify-proof.md",
}  # fmt: skip


def files() -> dict[str, list[Path]]:
    """Files by the name of what they belong to: a package or module of the sources, or a page."""
    result: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        part = "/".join(parts[:2]) if parts[0] == "cli" and len(parts) > 2 else parts[0]
        result.setdefault(part, []).append(path)
    for path in [ROOT / "README.md", ROOT / "DESIGN.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if path.exists():
            result[path.name] = [path]
    return result


FILES = files()


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Comments and strings with their lines."""
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def wrong(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8").split("\n## Words\n")[0]  # DESIGN.md's own table of them
    place = path.relative_to(ROOT)
    result = []
    if path.suffix == ".py":
        for line, name in identifiers(ast.parse(content)):
            parts = {part.lower() for part in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name)}
            if name in NAMES or parts & PARTS:
                result.append(f"{place}:{line}: {name}")
        pieces = list(texts(content))
    else:
        prose = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), content, flags=re.DOTALL | re.MULTILINE)
        pieces = list(enumerate(prose.splitlines(), 1))
    for line, text in pieces:
        result += [f"{place}:{line}: {match[0]}" for match in TEXT.finditer(FINE.sub("", text))]
    return result


@pytest.mark.parametrize("part", sorted(set(FILES) - TO_DO))
def test_the_words_are_plain(part: str) -> None:
    assert [line for path in FILES[part] for line in wrong(path)] == []


def test_what_is_to_do_still_has_something_to_do() -> None:
    assert set(FILES) >= TO_DO
    assert [part for part in sorted(TO_DO) if not any(wrong(path) for path in FILES[part])] == []


def test_the_check_sees_identifiers_comments_strings_and_pages(tmp_path: Path) -> None:
    source = 'def f(told):\n    """What it told."""\n    found = 1  # the ladder\n    return found\n'
    assert [name for _, name in identifiers(ast.parse(source))] == ["f", "told", "found"]
    assert [text for _, text in texts(source)] == ['"""What it told."""', "# the ladder"]
