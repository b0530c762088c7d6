"""From rows to one HTML file that opens from disk: styles, script, charts and data are all inside, nothing is fetched.

The page is made from `claims.json` and the figure files it names, and from nothing else, so an old run can be shown again and
nobody can type in a verdict.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from ordinate.errors import DataError, MissingDataError
from ordinate.lab.figures import GRID, INK
from ordinate.lab.measurement import Role, Verdict

__all__ = ["ROWS_FILE", "SYMBOLS", "read_rows", "render"]

ROWS_FILE = "claims.json"
_WIDEST = 7.4 * 72  # points of the report's column: narrower charts keep the size of their letters

SYMBOLS = {
    Verdict.REPRODUCED: "✓",
    Verdict.CORRECTED: "≈",
    Verdict.REFUTED: "✗",
    Verdict.NOT_TESTABLE: "?",
    Verdict.FAILED: "!",
}


def render(folder: Path) -> str:
    """The page of the rows in a folder.

    Args:
        folder: holds `claims.json` and the figure files that it names.

    Raises:
        MissingDataError, DataError: rows or figures are missing or damaged.
    """
    rows = read_rows(folder)
    page = resources.files("ordinate.lab").joinpath("page")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: page.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["powers"] = _powers
    try:
        embedded = [{**row, "figures": [_embed(figure, row["id"], folder) for figure in row["figures"]]} for row in rows]
        return environment.get_template("report.html.j2").render(
            articles=[(article, list(group)) for article, group in groupby(embedded, key=lambda row: row["article"])],
            rows=embedded,
            tally=_tally(rows),
            symbols={str(verdict): symbol for verdict, symbol in SYMBOLS.items()},
            slugs={str(verdict): str(verdict).replace(" ", "-") for verdict in Verdict},
            roles=_ROLES,
            setups=_SETUPS,
            style=Markup(page.joinpath("report.css").read_text(encoding="utf-8")),
            verdicts=_VERDICTS,
            script=Markup("\n".join(page.joinpath(name).read_text(encoding="utf-8") for name in ("filter.js", "animation.js"))),
        )
    except (jinja2.UndefinedError, KeyError, TypeError) as problem:
        raise DataError(
            str(folder / ROWS_FILE), expected="complete rows", got=f"rows without {problem}", hint="run `ordinate lab` again"
        ) from problem


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a report's folder.

    Raises:
        MissingDataError: there are none.
        DataError: the file is not a list of rows.
    """
    path = folder / ROWS_FILE
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise MissingDataError(
            str(path), expected="the rows of a run", got="no such file", hint="run `ordinate lab` first"
        ) from None
    except (ValueError, OSError) as problem:
        raise DataError(
            str(path), expected="a list of rows in JSON", got=str(problem), hint="run `ordinate lab` again"
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise DataError(str(path), expected="a list of rows in JSON", got="other JSON", hint="run `ordinate lab` again")
    return rows


_SETUPS = {
    "same": "as in the source",
    "smaller": "smaller than in the source",
    "other data": "other data than in the source",
    "none stated": "the source describes no experiment",
}

_VERDICTS = {
    str(Verdict.REPRODUCED): "everything that is stated or concluded holds",
    str(Verdict.CORRECTED): "something stated fails, and holds once a detail is put right",
    str(Verdict.REFUTED): "something stated fails, and no correction holds",
    str(Verdict.NOT_TESTABLE): "a control does not respond, or the data or the size are not here",
    str(Verdict.FAILED): "the measurement broke off: nothing is known about the claim",
}
_ROLES = {
    str(Role.AS_STATED): "the article's own number or property, in its own setting",
    str(Role.GENERALISATION): "what the article concludes from it, beyond that setting",
    str(Role.DETAIL_FIXED): "the same claim once one stated detail is put right",
    str(Role.CONTROL): "must come out otherwise, or the measurement could not have noticed",
    str(Role.LIMIT): "where the effect ends; without weight in the verdict",
}


def _powers(text: object) -> Markup:
    """Text with 1.5e-12 as a reader writes it, 1.5 x 10 to the -12, and n^2 with its exponent raised."""
    raised = re.sub(r"\b(\d+(?:\.\d+)?)e([+-]?)0*(\d+)\b", _power, str(escape(text)))
    return Markup(re.sub(r"\b([A-Za-z0-9]+)\^(-?\d+(?:\.\d+)?)", r"\1<sup>\2</sup>", raised))


def _power(match: re.Match[str]) -> str:
    factor, sign, exponent = match.groups()
    power = f"10<sup>{'−' if sign == '-' else ''}{exponent}</sup>"
    return power if factor == "1" else f"{factor}\u00a0×\u00a0{power}"


def _tally(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    counted = Counter(row["verdict"] for row in rows)
    return [(str(verdict), counted[str(verdict)]) for verdict in Verdict if counted[str(verdict)]]


def _embed(figure: dict[str, Any], claim: str, folder: Path) -> dict[str, Any]:
    """The row's figure with its file's content, ready to stand in the page."""
    path = folder / figure["file"]
    try:
        text = path.read_text(encoding="utf-8")
        if figure["kind"] == "animation":
            data = json.dumps(json.loads(text), separators=(",", ":")).replace("<", "\\u003c")
            return {**figure, "content": Markup(data)}
    except (OSError, ValueError) as problem:
        raise DataError(str(path), expected="a figure of this run", got=str(problem), hint="run `ordinate lab` again") from None
    return {**figure, "content": Markup(_inline(text, f"{claim}-{figure['name']}-"))}


def _inline(svg: str, prefix: str) -> str:
    """An SVG document as an element of the page: unique ids, the page's colours, the page's width."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    taken: set[str] = set()

    def unique(match: re.Match[str]) -> str:  # matplotlib names an image by its content, so two alike have one id
        if match[1] in taken:
            return ""
        taken.add(match[1])
        return f'id="{prefix}{match[1]}"'

    svg = re.sub(r'\bid="([^"]+)"', unique, svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', svg)
    svg = svg.replace(INK, "currentColor").replace(GRID, "var(--grid)")
    head, tail = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    width = re.search(r'viewBox="0 0 ([\d.]+)', head)
    part = min(1.0, float(width[1]) / _WIDEST) if width else 1.0
    # on a narrow screen a chart is scrolled rather than shrunk: letters stay as large as in the widest one
    scale = f' style="max-width:{part:.0%};min-width:{36 * part:.1f}rem"' if part < 1 else ""
    return f'{head}{scale} aria-hidden="true" focusable="false">{tail}'  # the figure itself carries the text alternative
