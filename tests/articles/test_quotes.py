"""A claim's statement has no number that its article does not have at the place that the claim names.

The articles do not travel with the package; the numbers of the lines that claims name do, in `quotes.json`. Where the articles
are at hand, that file is held against them. `python -m tests.articles.test_quotes FOLDER` writes it anew.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import resources
from pathlib import Path

import pytest

from ordinate.lab.catalogue import read_claims
from ordinate.lab.claim import Claim
from tests.external import PLACES

CLAIMS = [claim for claim in read_claims("ordinate.articles") if claim.id[0] in "ABCD"]  # the field's papers are elsewhere
QUOTES = json.loads(resources.files("ordinate.articles").joinpath("quotes.json").read_text(encoding="utf-8"))
ARTICLES = next((place / "../articles" for place in PLACES if (place / "../articles/a.txt").is_file()), None)

SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"(?<![\w.])(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:e[+-]?\d+)?", re.ASCII)


def numbers(text: str) -> list[float]:
    """Every number of a text without its sign, as English and Japanese articles, LaTeX and code write them."""
    text = re.sub(r"[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda match: "^" + match[0].translate(SUPERSCRIPTS), text)
    powers = [float(base or 1) * 10.0 ** int(power) for base, power in re.findall(r"(?:([\d.]+) ?×)?10\^(-\d+)", text)]
    myriads = [float(count) * 10_000 for count in re.findall(r"(\d+)万", text)]
    text = re.sub(r"\b0,(\d)\b", r"0.\1", text)  # a decimal comma
    return [*powers, *myriads, *(float(match[0].replace(",", "")) for match in NUMBER.finditer(text))]


def lines_of(place: str) -> list[tuple[str, int]]:
    """The lines that "A14-26, A118" names."""
    lines = []
    for part in place.split(", "):
        letter, first, last = re.fullmatch(r"([A-D])(\d+)(?:-(\d+))?", part).groups()  # type: ignore[union-attr]
        lines += [(letter, line) for line in range(int(first), int(last or first) + 1)]
    return lines


def quotes(folder: Path) -> dict[str, dict[str, list[float]]]:
    """The numbers of each line that a claim names, by article and line."""
    result: dict[str, dict[str, list[float]]] = {letter: {} for letter in "ABCD"}
    texts = {letter: (folder / f"{letter.lower()}.txt").read_text(encoding="utf-8").splitlines() for letter in "ABCD"}
    for letter, line in sorted({line for claim in CLAIMS for line in lines_of(claim.place)}):
        values = sorted(set(numbers(texts[letter][line - 1])))
        if values:
            result[letter][str(line)] = values
    return result


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_every_number_of_a_statement_is_in_the_article_where_the_claim_says(claim: Claim) -> None:
    known = {value for letter, line in lines_of(claim.place) for value in QUOTES[letter].get(str(line), [])}
    assert [value for value in numbers(claim.statement) if value not in known] == []


@pytest.mark.skipif(ARTICLES is None, reason="missing data: the articles (a.txt to d.txt) beside the folder of data")
def test_the_quoted_numbers_are_those_of_the_articles() -> None:
    assert ARTICLES is not None
    assert quotes(ARTICLES) == QUOTES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("誤差5.55×10⁻¹⁷、10⁻¹²", [5.55e-17, 1e-12, 5.55, 10, 10]),
        ("100万枚", [1e6, 100]),
        (".0161 and 1,024 of W_1", [0.0161, 1024]),
        ("[0.1, 0,9, -0.9]", [0.1, 0.9, 0.9]),
        ("8.38e-14", [8.38e-14]),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, expected: list[float]) -> None:
    read = numbers(text)
    assert [value for value in expected if value not in read] == []


if __name__ == "__main__":
    path = Path(str(resources.files("ordinate.articles").joinpath("quotes.json")))
    entries = {
        letter: "{\n" + ",\n".join(f'  "{line}": {json.dumps(values)}' for line, values in lines.items()) + "\n }"
        for letter, lines in quotes(Path(sys.argv[1])).items()
    }
    path.write_text("{\n" + ",\n".join(f' "{letter}": {text}' for letter, text in entries.items()) + "\n}\n", encoding="utf-8")
