"""A headless Chromium, spoken to over two pipes (the DevTools protocol; no further package)."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from shutil import which

import pytest

from tests.processes import PATIENCE

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip

LAUNCH = """
import os, sys
ends = [os.dup2(int(end), 100 + i) for i, end in enumerate(sys.argv[1:3])]
for i, end in enumerate(ends):
    os.dup2(end, 3 + i)  # Chromium reads from descriptor 3 and writes to 4
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextmanager
def opened(profile):
    """A browser with an empty profile in that folder; skips where there is none."""
    found = which("chromium") or which("chromium-browser") or which("google-chrome")
    if found is None and os.environ.get("QPSVM_REQUIRE_CHROMIUM"):
        pytest.fail("QPSVM_REQUIRE_CHROMIUM is set and there is no Chromium on the PATH")
    if found is None:
        pytest.skip("no Chromium on the PATH")
    browser = Browser(found, profile)
    try:
        yield browser
    finally:
        browser.close()


class Browser:
    """One browser with one tab; ``complaints`` is what it said on its console."""

    def __init__(self, chromium, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = ours_in, ours_out
        self.buffer, self.numbers, self.session = b"", count(1), None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.input)
        os.close(self.output)

    # --- the protocol ----------------------------------------------------------------------------

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda m: m.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            message = self._read()
            if wanted(message):
                return message
            self.events.append(message)
        raise TimeoutError(f"Chromium did not answer within {PATIENCE} s")

    def _read(self):
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], PATIENCE)[0]:
                raise TimeoutError(f"Chromium said nothing for {PATIENCE} s")
            received = os.read(self.input, 1 << 16)
            assert received, "Chromium has gone"
            self.buffer += received
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    # --- what tests do ---------------------------------------------------------------------------

    def open(self, path, width, *, scheme="light"):
        """Load a file; from here on events are about it."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self._until(lambda m: m.get("method") == "Page.loadEventFired")

    def run(self, script):
        """The value of a script's last expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key):
        """A key on the keyboard."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        text = {"text": {"Enter": "\r"}.get(key, key)} if key in ("Enter", " ") else {}
        for kind in ("keyDown", "keyUp"):
            pressed = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
            self.call("Input.dispatchKeyEvent", type=kind, **pressed, **text)

    def click(self, x, y):
        """A click of the mouse."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def contrasts(self):
        """Contrast of all texts with their background (WCAG 2.1, criterion 1.4.3)."""
        found = {}
        for pair in self.run(COLOURS):
            lightness = sorted(map(luminance, pair.split("|")))
            found[pair] = (lightness[1] + 0.05) / (lightness[0] + 0.05)
        return found

    @property
    def complaints(self):
        self.run("0")  # whatever was on its way has arrived
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in kinds]

    @property
    def requests(self):
        """Addresses the page asked for, but for what is inside of it."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]


COLOURS = """
(() => {
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
  };
  const found = new Set();
  const texts = "p, h1, h2, h3, td, th, dt, dd, span, strong, figcaption, caption, button, summary";
  for (const e of document.querySelectorAll(texts))
    if (e.textContent.trim() && !e.disabled) found.add(getComputedStyle(e).color + "|" + ground(e));
  return [...found];
})()
"""


def luminance(colour):
    """Relative luminance of ``rgb(r, g, b)`` as WCAG defines it."""
    channels = [int(v) / 255 for v in colour.removeprefix("rgb(").removesuffix(")").split(",")[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
