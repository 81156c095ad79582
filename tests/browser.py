"""A headless Chromium that tests open pages in, spoken to over a pipe in its own protocol (Chrome DevTools)."""
from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = "chromium", "chromium-browser", "google-chrome", "chrome"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    """One page in a window of a size. What it asks of the network, and what its scripts report, is in `events`.

    The test is skipped where there is no browser.
    """

    def __init__(self, width: int = 1200, height: int = 800, dark: bool = False) -> None:
        path = next(filter(None, map(shutil.which, NAMES)), None)
        if path is None:
            pytest.skip(f"none of {', '.join(NAMES)} is installed")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]

        def placed() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen([path, *FLAGS, f"--user-data-dir={self.folder.name}", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
                                        preexec_fn=placed)
        for fd in (theirs_in, theirs_out, *theirs):
            os.close(fd)
        self.ours_in, self.ours_out = ours_in, ours_out
        self.buffer, self.count, self.session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{room}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.ask("Browser.close")       # its processes end before their folder goes
            self.process.wait(20)
        finally:
            self.process.kill()
        os.close(self.ours_in)
        os.close(self.ours_out)
        self.folder.cleanup()

    def next(self) -> dict[str, Any]:
        """What the browser says next."""
        while b"\0" not in self.buffer:
            part = os.read(self.ours_in, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.ours_out, json.dumps(message).encode() + b"\0")
        while (said := self.next()).get("id") != self.count:
            self.events.append(said)
        assert "error" not in said, said
        return said["result"]

    def open(self, path: Path) -> None:
        """Goes to a file, and waits until it has loaded and drawn."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.run("new Promise(done => { const ready = () => requestAnimationFrame(() => requestAnimationFrame(done));"
                 " document.readyState === 'complete' ? ready() : addEventListener('load', ready); })")

    def run(self, script: str) -> Any:
        """What an expression of JavaScript is on the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def frame(self) -> None:
        """Waits until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, x: float, y: float) -> None:
        """A click of the mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        self.frame()

    def press(self, selector: str) -> None:
        """A click on the middle of an element."""
        x, y = self.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
                        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        self.click(x, y)

    def type(self, text: str) -> None:
        """Text where the focus is."""
        self.ask("Input.insertText", text=text)
        self.frame()

    def shot(self, path: Path) -> None:
        """A picture of the page."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def requests(self) -> list[str]:
        """What the page asked for, itself left out."""
        asked = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["request"]["url"] for e in asked][1:]

    def complaints(self) -> list[str]:
        """Errors of scripts, and what the page's policy has stopped."""
        return [json.dumps(e["params"]) for e in self.events
                if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
