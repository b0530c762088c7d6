"""How soon the page of `ordinate explore` is seen: first contentful paint from disk, in headless Chromium.

    python bench/explore_paint.py [--runs 9]

Needs chromium, chromedriver and selenium. The first run starts the browser's caches and is not counted. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from ordinate.explore import page_html

PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "explore.html"
        page.write_text(page_html(), encoding="utf-8")
        browser = Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
        try:
            paints = []
            for _ in range(parser.parse_args().runs + 1):
                browser.get(page.as_uri())
                paints.append(WebDriverWait(browser, 20).until(lambda b: b.execute_script(PAINT)))
        finally:
            browser.quit()
        size = page.stat().st_size
    first, *later = paints
    print(f"page {size / 1000:.0f} kB; first paint {first:.0f} ms with a cold browser, then {statistics.median(later):.0f} ms")
    print(json.dumps({"bytes": size, "cold_ms": first, "median_ms": statistics.median(later), "worst_ms": max(later)}))


if __name__ == "__main__":
    main()
