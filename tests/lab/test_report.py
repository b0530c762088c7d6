"""The page: one section a claim, nothing fetched, readable by everyone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from ordinate.lab.report import _inline, read_rows, render

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """Collects what the tests ask for, and fails on tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def text(finished_report: Path) -> str:
    return (finished_report / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_there_is_one_section_a_claim_and_a_link_to_each(page: Page, finished_report: Path) -> None:
    claims = [row["id"] for row in read_rows(finished_report)]
    assert claims == ["A1", "A2", "A3", "A4", "A5"]
    assert [section["id"] for section in page.all("section")] == claims
    assert {f"#{claim}" for claim in claims} <= {link["href"] for link in page.all("a")}


def test_the_verdicts_are_those_of_the_rows(page: Page, finished_report: Path) -> None:
    text_of_page = "".join(page.text)
    for row in read_rows(finished_report):
        assert f"Verdict: {row['verdict']}" in text_of_page
        assert row["reason"] in text_of_page
    verdicts = {row["verdict"] for row in read_rows(finished_report)}
    assert {"reproduced", "corrected"} <= verdicts <= {"reproduced", "corrected", "refuted", "not testable here"}


def test_nothing_is_fetched(page: Page, text: str) -> None:
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "data", "poster", "srcset", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    style = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert "@import" not in style
    assert not re.search(r"url\((?!#)", text)
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_ids_are_unique_and_every_reference_has_its_target(page: Page, text: str) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:href="#|url\(#)([^")]+)', text):
        assert target in ids


def test_headings_descend_by_one_and_the_language_is_named(page: Page) -> None:
    assert page.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_picture_has_a_text_in_its_place(page: Page, finished_report: Path) -> None:
    pictures = [attributes for _, attributes in page.tags if attributes.get("role") == "img"]
    assert len(pictures) == sum(len(row["figures"]) for row in read_rows(finished_report))
    assert len(pictures) >= len(read_rows(finished_report))
    assert all(len(picture["aria-label"] or "") > 40 for picture in pictures)


def test_every_input_has_a_label(page: Page) -> None:
    labelled = {label["for"] for label in page.all("label")}
    assert {field["id"] for field in page.all("input")} <= labelled


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_the_contrast_that_wcag_asks_for_on_light_and_dark_pages(text: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    schemes = [
        dict(re.findall(r"--([a-z]+(?:-wash)?): (#[0-9a-f]{6})", part))
        for part in re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    ]
    light, dark = schemes[0], schemes[1]
    for scheme in (light, dark):
        pairs = [(front, back) for front in ("ink", "muted", "link") for back in ("page", "paper")]
        pairs += [(verdict, f"{verdict}-wash") for verdict in ("good", "fixed", "bad", "none", "broken")]
        pairs += [("ink", f"{verdict}-wash") for verdict in ("good", "fixed", "bad", "none", "broken")]
        for front, back in pairs:
            bright, dim = sorted((luminance(scheme[front]), luminance(scheme[back])), reverse=True)
            assert (bright + 0.05) / (dim + 0.05) >= 4.5, (front, back)


def test_what_a_claim_says_is_never_taken_for_markup(finished_report: Path, tmp_path: Path) -> None:
    rows = read_rows(finished_report)[2:3]
    rows[0].update(title="<script>alert(1)</script>", reason="a < b & 1e-12", key_figure="1.5e-07 of <b>", figures=[])
    (tmp_path / "claims.json").write_text(json.dumps(rows))
    rendered = render(tmp_path)
    assert "<script>alert(1)" not in rendered
    assert "a &lt; b &amp; 10<sup>−12</sup>" in rendered
    assert "1.5\u00a0×\u00a010<sup>−7</sup> of &lt;b&gt;" in rendered


def test_charts_take_the_pages_colours(text: str, finished_report: Path) -> None:
    charts = re.findall(r'<div class="chart"[^>]*>(<svg.*?</svg>)', text, re.DOTALL)
    kinds = [figure["kind"] for row in read_rows(finished_report) for figure in row["figures"]]
    assert len(charts) == len(kinds)  # an animation has an empty canvas
    assert sum("currentColor" in chart for chart in charts) == kinds.count("chart") == len(kinds) - 1
    assert all("#1b1c1e" not in chart for chart in charts)


def test_two_images_of_one_content_do_not_share_an_id() -> None:
    inlined = _inline('<svg width="1"><image id="image1" x="0"/><image id="image1" x="5"/></svg>', "A1-")
    assert inlined.count('id="A1-image1"') == 1
    assert inlined.count("<image") == 2
