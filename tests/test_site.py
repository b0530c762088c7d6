"""The documentation site: built without a warning, no link leads nowhere, nothing is fetched, and search works from disk.

`make docs` builds into `build/site` and passes that folder in `ORDINATE_SITE`; without it the test builds the site itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ordinate.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("ORDINATE_SITE"):
        return Path(built).resolve()
    pytest.importorskip("furo", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    source = folder / "source"  # a copy, because the build writes pages beside the others
    for name in ("docs", "src", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.glob("*.md"):
        shutil.copy(path, source)
    shutil.copy(ROOT / "LICENSE", source)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", source / "docs", folder / "html"],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.anchors.add(str(values["id"]))
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        loads = {"script": "src", "img": "src", "link": "href", "iframe": "src", "object": "data"}
        if tag in loads and values.get(loads[tag]):
            self.loads.append(str(values[loads[tag]]))


@cache
def page(path: Path) -> Page:
    return Page(path)


def test_every_link_of_every_page_leads_somewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    wrong = []
    for path in pages:
        for link in (*page(path).links, *page(path).loads):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = target.is_file()
            if found and parts.fragment and target.suffix == ".html":
                found = unquote(parts.fragment) in page(target).anchors
            if not found:
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not [load for load in page(path).loads if urlsplit(load).scheme or urlsplit(load).netloc], path
    for path in site.rglob("*.css"):
        assert not re.findall(r"url\(\s*[\"']?(?:https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_command_has_a_page_with_its_help(site: Path) -> None:
    for name in COMMANDS:
        assert f"Usage: ordinate {name} " in (site / "commands" / f"{name}.html").read_text(encoding="utf-8")
    assert "--normalisation" in (site / "commands" / "reservoir-laterality.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "page_name"), [("wavelength", "concepts/position"), ("SelfExtend", "api/position"), ("laterality", "commands/")]
)
def test_search_works_from_disk(site: Path, words: str, page_name: str) -> None:
    binary, program = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not (binary and program):
        pytest.skip("needs chromium and chromedriver on the PATH")
    pytest.importorskip("selenium", reason="needs selenium")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = ChromeOptions()
    options.binary_location = str(binary)
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    browser = Chrome(options=options, service=Service(str(program)))
    try:
        browser.get(f"{(site / 'search.html').as_uri()}?q={words}")
        WebDriverWait(browser, 20).until(lambda b: b.find_elements("css selector", "#search-results li a"))
        found = [link.get_attribute("href") for link in browser.find_elements("css selector", "#search-results li a")]
    finally:
        browser.quit()
    assert any(page_name in str(link) for link in found), found
