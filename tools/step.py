# SPDX-License-Identifier: BSD-2-Clause
"""Runs one step of the build, with a line that says what it is and how long it took.

Usage: step.py [--log DIRECTORY] "what it does" -- COMMAND...
 What the command prints goes into a log, and is shown where it fails. On a terminal the line shows
how far a CMake build has come and how long the rest will take at that pace; of other commands it
shows the time so far. Needs nothing but the standard library: it also runs before anything is
installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

SHARE = re.compile(rb"^\[ *(\d+)%\]")
BAR_WIDTH = 24
PACE_FROM_PCT = 10  # below that nothing is said of the time that is left
TAIL_LINES = 40
QUIET_S = 1.0  # a step that takes less is not worth a word about its time


class Line:
    """The line of the step: drawn over and over on a terminal, written twice elsewhere."""

    def __init__(self, title: str):
        self.title, self.began, self.percent = title, time.monotonic(), None
        self.live = sys.stdout.isatty()
        self.done = threading.Event()
        if not self.live:
            print(f"{title} ...", flush=True)

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def text(self) -> str:
        if self.percent is None:
            return f"{self.title} ... {self.seconds():.0f} s"
        filled = BAR_WIDTH * self.percent // 100
        text = f"{self.title}  [{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {self.percent}%"
        if self.percent >= PACE_FROM_PCT:
            text += f", about {self.seconds() * (100 - self.percent) / self.percent:.0f} s left"
        return text

    def draw(self) -> None:
        """Until the step is done."""
        while not self.done.wait(0.2):
            width = shutil.get_terminal_size().columns - 1
            print("\r\x1b[K" + self.text()[:width], end="", flush=True)

    def end(self, word: str) -> None:
        self.done.set()
        start = "\r\x1b[K" + self.title if self.live else self.title
        took = f" in {self.seconds():.0f} s" if self.seconds() >= QUIET_S else ""
        print(f"{start}: {word}{took}", flush=True)


def run(command: list[str], line: Line, log_path: str) -> int:
    with open(log_path, "wb") as log:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            log.write(f"{command[0]}: {error.strerror}\n".encode())
            return 127
        for output in process.stdout:
            log.write(output)
            found = SHARE.match(output)
            if found:
                line.percent = int(found[1])
        return process.wait()


def show_tail(log_path: str) -> None:
    with open(log_path, encoding="utf-8", errors="replace") as log:
        lines = log.read().splitlines()
    for text in lines[-TAIL_LINES:]:
        print(f"  {text}", file=sys.stderr)
    print(f"All of it is in {log_path}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(usage="step.py [--log DIRECTORY] TITLE -- COMMAND...")
    parser.add_argument("--log", default="build/logs")
    parser.add_argument("title")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.log, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", options.title.lower()).strip("-")
    log_path = os.path.join(options.log, f"{name}.log")
    line = Line(options.title)
    if line.live:
        threading.Thread(target=line.draw, daemon=True).start()
    try:
        code = run(options.command, line, log_path)
    except KeyboardInterrupt:
        line.end("interrupted")
        return 128 + signal.SIGINT
    line.end("done" if code == 0 else "failed")
    if code != 0:
        show_tail(log_path)
    return code


if __name__ == "__main__":
    sys.exit(main())
