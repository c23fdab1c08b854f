# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium that a test drives, through the pipe that it offers for this (no server, no
port, no further package)."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LIMIT = 60  # seconds, for hangs


class Browser:
    """One page. Errors of its scripts, and each request that leaves it, are kept in `errors`."""

    def __init__(self, profile, width=1100, dark=False):
        ours, theirs = os.pipe(), os.pipe()
        self.write, self.read, self.rest = ours[1], theirs[0], b""
        self.errors, self.requests, self.downloads, self.last = [], [], [], 0

        def ends():
            """Chromium reads from descriptor 3 and writes to 4."""
            first, second = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(first, 3)
            os.dup2(second, 4)

        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            command,
            preexec_fn=ends,
            close_fds=False,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.session = None
        page = next(
            one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"
        )
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.look(width, dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.write)
        os.close(self.read)

    # ---- messages ----

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self.rest:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            piece = os.read(self.read, 1 << 16)
            assert piece, "the browser has ended"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, facts):
        if method == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.errors.append(details.get("exception", details).get("description", str(details)))
        if method == "Log.entryAdded" and facts["entry"]["level"] == "error":
            self.errors.append(facts["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        if method == "Browser.downloadProgress" and facts["state"] == "completed":
            self.downloads.append(facts["guid"])

    # ---- what a test does ----

    def look(self, width=1100, dark=False, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path):
        self.call("Page.navigate", url=f"file://{path}")
        self.until("document.body?.dataset.ready === 'yes'")

    def run(self, expression):
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + LIMIT
        while not self.run(expression):
            assert time.monotonic() < end, (expression, self.errors)
            time.sleep(0.05)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText")

    def click(self, selector):
        """As a user does: in its middle, with the mouse."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def drop(self, path, x=200, y=200):
        """A file dragged from outside into the page."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def save_to(self, directory):
        session, self.session = self.session, None
        self.call(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(directory),
            eventsEnabled=True,
        )
        self.session = session

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.run(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
