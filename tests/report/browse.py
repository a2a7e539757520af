"""Opens pages in Chromium as a person would, and says what happened; runs inside the image of the browser.

In: as JSON on stdin, a list of {url, width, height, dark, shot}. Out: as JSON on stdout, for each the widths of page
and window, what the console said, what was requested, what overflows, and the headings; a picture and a PDF as files.
Called by test_report_in_browser.py.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
# Elements that reach over the right edge, but for what scrolls in a box of its own.
OVERFLOWING = """
const wide = document.documentElement.clientWidth;
const inBox = (e) => { for (; e; e = e.parentElement)
  if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)) return true; return false; };
return [...document.querySelectorAll('body *')]
  .filter((e) => e.getBoundingClientRect().right > wide + 1 && !inBox(e) && !e.closest('svg'))
  .map((e) => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 60));
"""
MEASURES = """
const colours = (e) => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor];
return {scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth,
  inner: window.innerWidth, title: document.title, body: colours(document.body),
  headings: [...document.querySelectorAll('h1, h2, h3')].map((e) => Number(e.tagName[1])),
  scripts: document.scripts.length,
  foreign: document.querySelectorAll('img, iframe, script, object, embed, link, a').length,
  unnamed: [...document.querySelectorAll('svg')].filter((e) => !e.querySelector('title') && !e.ariaLabel
    && e.ariaHidden !== 'true').length};
"""


def browser(folder: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def visit(driver: webdriver.Chrome, page: dict[str, Any]) -> dict[str, Any]:
    size = {"width": page["width"], "height": page["height"], "deviceScaleFactor": 1, "mobile": page["width"] < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if page["dark"] else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get("about:blank")  # the page that a browser begins with has a console and requests of its own
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(page["url"])
    found: dict[str, Any] = driver.execute_script(MEASURES)
    found["overflowing"] = driver.execute_script(OVERFLOWING)
    found["console"] = [entry["message"] for entry in driver.get_log("browser")]
    found["requests"] = requests_of(driver)
    height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": min(height, 12000)})
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    Path(page["shot"]).write_bytes(base64.b64decode(shot["data"]))
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    Path(page["shot"]).with_suffix(".pdf").write_bytes(base64.b64decode(printed["data"]))
    return found


def requests_of(driver: webdriver.Chrome) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def main() -> None:
    pages = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        driver = browser(folder)
        try:
            json.dump([visit(driver, page) for page in pages], sys.stdout)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
