#!/usr/bin/env python3
"""Opens a page of `prep report` in headless Chromium, as wide as a phone and as a desktop, light and dark.

`look.py [PAGE.html] [--pictures DIR] [--prep PROGRAM]`. Without PAGE.html, prepares and grades the program's samples, and
creates a page about the samples. Writes screenshots to DIR.

Fails if the console shows an error, the page sends a request, the page is wider than the window, a picture has no text
alternative, or text became markup.

Needs Debian's `chromium` and `chromium-driver`. Without these packages, prints a message and ends with exit code 77.
"""

import argparse
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb",
]
WIDTHS = [390, 1280, 1600]
EVIL = "<script>alert(1)</script>"


def browser_path():
    """Returns the path of Chromium, or of Chrome, which GitHub's runners have."""
    return next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)


class Browser:
    """A minimal WebDriver client."""

    def __init__(self, directory):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.strip().rstrip(".").rsplit(" ", 1)[1]
                self.base = f"http://127.0.0.1:{port}"
                break
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": browser_path(), "args": FLAGS + [f"--user-data-dir={directory}"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self.base += "/session/" + self.call("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def call(self, path, body):
        request = urllib.request.Request(
            self.base + path, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def tool(self, command, **parameters):
        return self.call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script):
        return self.call("/execute/sync", {"script": script, "args": []})

    def log(self, kind):
        return self.call("/se/log", {"type": kind})

    def close(self):
        request = urllib.request.Request(self.base, method="DELETE")
        try:
            urllib.request.urlopen(request, timeout=20).close()
        finally:
            self.driver.terminate()
            self.driver.wait()


def sort_and_filter(browser):
    """Presses each button above the overview. Yields a message for each wrong order or selection of rows."""
    rows = """
        const rows = [...document.querySelectorAll('.overview .row')].filter(one => one.getBoundingClientRect().height > 0);
        rows.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
        return rows.map(one => one.querySelector('a').textContent);"""
    press = "const one = document.getElementById('{}'); if (one) one.checked = true; return !!one;"
    initial = browser.run(rows)
    if not browser.run(press.format("sort-name")):
        return
    if browser.run(rows) != sorted(initial):
        yield f"sorted by name, the rows are {browser.run(rows)}"
    browser.run(press.format("sort-problems"))
    if browser.run(rows) != initial:
        yield "sorted by problems again, the rows are in another order than at first"
    for name in ("problems", "prepared", "empty"):
        if browser.run(press.format(f"show-{name}")):
            shown = len(browser.run(rows))
            announced = int(browser.run(f"return document.querySelector('#show-{name} + span small').textContent"))
            if shown != announced:
                yield f"the filter `{name}` shows {shown} rows and announces {announced}"
    browser.run(press.format("show-all"))


def look(browser, page, pictures):
    mistakes = []
    # The browser's initial page makes requests of its own.
    browser.call("/url", {"url": "about:blank"})
    for kind in ("browser", "performance"):
        browser.log(kind)
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            browser.tool("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
            browser.tool("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            began = time.monotonic()
            browser.call("/url", {"url": page.as_uri()})
            took = time.monotonic() - began
            where = f"{width} pixels, {scheme}"
            for entry in browser.log("browser"):
                mistakes.append(f"{where}: console: {entry['message']}")
            for entry in browser.log("performance"):
                message = json.loads(entry["message"])["message"]
                if message["method"] == "Network.requestWillBeSent":
                    url = message["params"]["request"]["url"]
                    if url != page.as_uri() and not url.startswith("data:"):
                        mistakes.append(f"{where}: request to {url}")
            found = browser.run("""
                for (const one of document.querySelectorAll('details')) one.open = true;
                const named = one => one.querySelector(':scope > title') || one.closest('[aria-label]');
                return {
                    wide: document.documentElement.scrollWidth,
                    height: document.documentElement.scrollHeight,
                    mute: [...document.querySelectorAll('svg')].filter(one => !named(one)).length,
                    blind: [...document.querySelectorAll('img')].filter(one => !one.alt || !one.naturalWidth).length,
                    evil: document.querySelectorAll('[onerror], script, iframe, object, embed').length,
                    ids: [...document.querySelectorAll('a[href^="#"]')]
                        .filter(one => !document.getElementById(one.hash.slice(1))).length,
                    pictures: document.querySelectorAll('svg.plot').length,
                    paper: getComputedStyle(document.body).backgroundColor,
                    small: [...document.querySelectorAll('svg.plot text')].filter(one => {
                        const box = one.getBoundingClientRect();
                        return box.height > 0 && box.height < 9;
                    }).length,
                    cut: [...document.querySelectorAll('.overview, .overview .row, .overview td')]
                        .filter(one => one.scrollWidth > one.clientWidth + 1).length,
                };""")
            mistakes += [f"{where}: {one}" for one in sort_and_filter(browser)]
            if found["wide"] > width:
                mistakes.append(f"{where}: the page is {found['wide']} pixels wide")
            for key, what in {
                "mute": "pictures without a title", "blind": "images without a text, or damaged",
                "evil": "elements that could run something", "ids": "links to nowhere", "small": "labels too small to read",
                "cut": "parts of the overview that are cut off",
            }.items():
                if found[key]:
                    mistakes.append(f"{where}: {found[key]} {what}")
            if (scheme == "dark") != (found["paper"] != "rgb(255, 255, 255)"):
                mistakes.append(f"{where}: the paper is {found['paper']}")
            height = min(found["height"], 12000)
            shot = browser.tool(
                "Page.captureScreenshot", captureBeyondViewport=True,
                clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
            target = pictures / f"report-{width}-{scheme}.png"
            target.write_bytes(base64.b64decode(shot["data"]))
            print(f"{where}: {found['pictures']} plots, {found['height']} pixels high, loaded in {took:.1f} s, {target}")
    return mistakes


def make_page(prep, directory):
    """Prepares and grades the program's samples, and creates a page about two experiments.

    The name of one experiment looks like markup, and so does the reason why one of its submissions is invalid.
    """
    run = lambda *given: subprocess.run([str(prep), *map(str, given)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    demo = directory / "demo"
    run("demo", "-o", demo)
    report = next(demo.rglob("*grading_report*.json"))
    graded = json.loads(report.read_text())
    first = graded["competition_reports"][0]
    no = dict.fromkeys([name for name, value in first.items() if value is True and name != "submission_exists"], False)
    first |= no | {"score": None, "reason": {"kind": "ids", "message": f"{EVIL} is not an id. " * 8}}
    other = directory / "other.json"
    other.write_text(json.dumps(graded))
    page = directory / "report.html"
    run("report", "--data-dir", demo / "data", "--cache-dir", demo / "cache", "--grading", f"mine={report}",
        "--grading", f"{EVIL}={other}", "-o", page)
    text = page.read_text()
    assert EVIL not in text and "&lt;script&gt;alert(1)" in text
    return page


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, default=pathlib.Path("target/report"))
    parser.add_argument("--prep", type=pathlib.Path, default=pathlib.Path("target/release/prep"))
    given = parser.parse_args()
    if not (browser_path() and shutil.which("chromedriver")):
        print("there is no chromium (apt install chromium chromium-driver)")
        return 77
    given.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        page = (given.page or make_page(given.prep.resolve(), directory)).resolve()
        print(f"{page.name}: {page.stat().st_size / 1e6:.2f} MB")
        browser = Browser(directory / "profile")
        try:
            mistakes = look(browser, page, given.pictures)
        finally:
            browser.close()
    for mistake in mistakes:
        print(f"error: {mistake}")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
