"""The page in a real browser: the slider moves the picture by keyboard, play plays, nothing is logged, nothing is requested."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the PATH")
selenium = pytest.importorskip("selenium", reason="needs selenium")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
        "--window-size=1200,1000",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Chrome(options=options, service=Service(str(DRIVER)))
    yield browser
    browser.quit()


@pytest.fixture
def page(driver: Any, finished_report: Path) -> Any:
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get((finished_report / "index.html").as_uri())
    return driver


def wait_until(driver: Any, condition: Callable[[Any], bool]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 15, poll_frequency=0.05).until(condition)


def find(page: Any, selector: str) -> Any:
    return page.find_element("css selector", selector)


def drawn(page: Any) -> str:
    return str(find(page, "figure[data-frames] svg").get_attribute("innerHTML"))


def test_the_slider_moves_the_picture_by_keyboard(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    slider = find(page, "figure[data-frames] input[type=range]")
    first, text_of_page = drawn(page), find(page, "figure[data-frames] output").text
    assert "position" in text_of_page
    slider.send_keys(Keys.ARROW_RIGHT)
    second = drawn(page)
    assert second != first
    assert find(page, "figure[data-frames]").get_attribute("data-frame") == "1"
    assert find(page, "figure[data-frames] output").text != text_of_page
    slider.send_keys(Keys.END)
    assert find(page, "figure[data-frames]").get_attribute("data-frame") == "39"
    assert drawn(page).count('class="earlier"') == 4 * 39
    slider.send_keys(Keys.HOME)
    assert drawn(page) == first


def test_the_point_lies_where_the_data_say(page: Any, finished_report: Path) -> None:
    (path,) = (finished_report / "figures").glob("*.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    place = page.execute_script(
        "const svg = document.querySelector('figure[data-frames] svg');"
        "const curve = svg.querySelector('.truth').getAttribute('points').split(' ').map(p => p.split(',').map(Number));"
        "const at = c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))];"
        "return {curve, from: at(svg.querySelector('.from')), to: at(svg.querySelector('.to'))};"
    )
    position = data["frames"][0]
    assert place["from"] == pytest.approx(place["curve"][position], abs=0.1)
    assert place["to"] == pytest.approx(place["curve"][position + data["ahead"]], abs=0.1)


def test_play_plays_pauses_and_stops_at_the_end(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    figure, button = find(page, "figure[data-frames]"), find(page, "figure[data-frames] button")
    button.send_keys(Keys.ENTER)  # by keyboard too
    assert button.text == "Pause"
    wait_until(page, lambda _: int(figure.get_attribute("data-frame")) >= 2)
    button.send_keys(Keys.SPACE)
    assert button.text == "Play"
    stopped = figure.get_attribute("data-frame")
    page.execute_async_script("setTimeout(arguments[0], 400)")
    assert figure.get_attribute("data-frame") == stopped
    slider = find(page, "figure[data-frames] input[type=range]")
    slider.send_keys(Keys.END, Keys.ARROW_LEFT)
    button.send_keys(Keys.ENTER)
    wait_until(page, lambda _: button.text == "Play" and figure.get_attribute("data-frame") == "39")


def test_nothing_is_logged_and_nothing_is_requested(page: Any, finished_report: Path) -> None:
    find(page, "figure[data-frames] button").send_keys("\n")
    assert page.get_log("browser") == []
    requested = []
    for entry in page.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            requested.append(message["params"]["request"]["url"])
    assert (finished_report / "index.html").as_uri() in requested  # or this test could not notice any
    assert [url for url in requested if not url.startswith(("file:", "data:"))] == []
    assert len({url for url in requested if url.startswith("file:")}) == 1


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(page: Any, width: int) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    charts = "[...document.querySelectorAll('figure:not(.animation) .chart svg')]"
    scales = page.execute_script(f"return {charts}.map((one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width)")
    assert min(scales) > 0.9  # letters keep their size; a wide chart scrolls within its frame


def test_the_filter_leaves_one_verdict_and_a_link_brings_all_back(page: Any, finished_report: Path) -> None:
    from selenium.webdriver.support.ui import Select

    rows = json.loads((finished_report / "claims.json").read_text(encoding="utf-8"))
    corrected = [row["id"] for row in rows if row["verdict"] == "corrected"]
    other = next(row["id"] for row in rows if row["verdict"] != "corrected")
    assert 0 < len(corrected) < len(rows)

    def left() -> list[str]:
        return [one.get_attribute("id") for one in page.find_elements("css selector", "main section") if one.is_displayed()]

    Select(page.find_element("name", "verdict")).select_by_visible_text("corrected")
    assert left() == corrected
    assert page.find_element("css selector", ".filter output").text == f"{len(corrected)} of {len(rows)} claims"
    page.execute_script(f"location.hash = '{other}'")
    assert left() == [row["id"] for row in rows]
