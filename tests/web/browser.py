# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium by way of chromedriver: as much of W3C WebDriver as these tests need."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from tests.common import need
from tests.common.limits import limit

ARGUMENTS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
             "--no-first-run", "--hide-scrollbars", "--no-sandbox"]


def needed():
    """Skips where there is no browser."""
    need.program("chromium")
    need.program("chromedriver", "chromium-driver")


class ScriptError(Exception):
    """A script has thrown: what it looks for may not be drawn yet."""


class Browser:
    """A window of its own, with a profile that is thrown away."""

    def __init__(self, width=1400, height=1000, dark=False):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = None
        try:
            self.base = f"http://127.0.0.1:{self._port()}/session"
            arguments = [*ARGUMENTS, f"--window-size={width},{height}", *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
            options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
                       "goog:loggingPrefs": {"browser": "ALL"}}
            self.session = self._ask("POST", "", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        except BaseException:
            self.close()
            raise

    def _port(self):
        """Chromedriver says on which port it listens."""
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip().rstrip(".").rsplit(" ", 1)[1])
        raise RuntimeError("chromedriver does not start")

    def _ask(self, method, path, body=None):
        url = self.base + (f"/{self.session}" if self.session else "") + path
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=limit(60)) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:  # W3C WebDriver, section 6.6: the body says which error it is
            value = json.load(error)["value"]
            kind = ScriptError if value["error"] == "javascript error" else RuntimeError
            raise kind(f"{value['error']}: {value['message']}") from None

    def close(self):
        if self.session:
            self._ask("DELETE", "")
        self.driver.terminate()
        self.driver.wait(limit(10))
        self.driver.stdout.close()

    def open(self, url):
        self._ask("POST", "/url", {"url": url})

    def run(self, script, *args):
        """The value that a function body of JavaScript returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, script, *args, seconds=30):
        """The first value of the script that is true. A page that does not have yet what the script looks for is waited for."""
        end = time.monotonic() + limit(seconds)
        while True:
            try:
                value, last = self.run(script, *args), ""
            except ScriptError as error:
                value, last = None, f"{error}\n"
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {script}\n{last}{self.run('return document.body.innerText')[:2000]}")
            time.sleep(0.1)

    def errors(self):
        """What the browser has complained of since the last call."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self._ask("GET", "/screenshot")))
