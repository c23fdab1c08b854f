# SPDX-License-Identifier: BSD-2-Clause
"""The commands and code blocks of the documentation's pages, and how they are run.

    ```console               commands behind "$ ", each followed by what it prints; "..." stands for
    anything,
                             and "[exit code N]" behind a command for a failure that is meant
    ```python                run as they stand, all of a page in one process
    ```rust                  run by cargo: tests/python/test_rust.py
    ```c title="main.c"      written to a file of that name, for the commands (also cmake, ini, toml)

A block with requires="fuse" (or "littlefs") is left out where that is missing. `make` is asked only
whether it would do it (make -n): what it does has tests of its own.
"""

import re
import subprocess
import sys
import threading
from dataclasses import dataclass

FENCE = re.compile(r"^```(?P<kind>\w+)(?P<more>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
SECONDS = 120  # that a block of Python may take
FILES = ("c", "cmake", "ini", "toml")


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int
    attributes: dict


def blocks(text):
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(
            Block(match["kind"], match["text"], line, dict(ATTRIBUTE.findall(match["more"])))
        )
    return found


def commands(text):
    """(command, what it prints, exit code)."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], [], 0))
        elif match := re.fullmatch(r"\[exit code (\d+)\]", line):
            found[-1] = (*found[-1][:2], int(match[1]))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines), code) for command, lines, code in found]


def matches(expected, printed):
    """ "..." alone on a line stands for any lines, inside of a line for any characters."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return (
        re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n")
        is not None
    )


def run_page(text, where, environment, available):
    """Runs the blocks of a page in a directory, and returns how many ran.

    Raises AssertionError with what went wrong.
    """
    ran = 0
    with Interpreter(where, environment) as python:
        for block in blocks(text):
            if (needed := block.attributes.get("requires")) and needed not in available:
                continue
            ran += 1
            if block.kind == "console":
                run_console(block, where, environment)
            elif block.kind == "python":
                python.run("\n" * block.line + block.text)
            elif block.kind == "rust":
                continue
            elif block.kind in FILES and "title" in block.attributes:
                (where / block.attributes["title"]).write_text(block.text)
            else:
                raise AssertionError(f"line {block.line}: nothing runs this block of {block.kind}")
    return ran


def run_console(block, where, environment):
    for command, expected, code in commands(block.text):
        shown = f"line {block.line}: $ {command}"
        if command.startswith("make "):
            command = "make -n " + command.removeprefix("make ") + " > /dev/null"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=where,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, f"{shown}\nexit code {done.returncode}\n{done.stdout}"
        assert matches(expected, done.stdout), (
            f"{shown}\nprinted:\n{done.stdout}\nthe page says:\n{expected}"
        )


class Interpreter:
    """Runs the Python of a page, each block with the names of those above it."""

    LOOP = (
        "import sys, traceback\n"
        "names = {'__name__': '__main__'}\n"
        "while length := sys.stdin.buffer.readline():\n"
        "    text, answer = sys.stdin.buffer.read(int(length)).decode(), b'ok\\n'\n"
        "    try:\n"
        "        exec(compile(text, 'page', 'exec'), names)\n"
        "    except BaseException:\n"
        "        answer = traceback.format_exc().replace('\\n', '\\r').encode() + b'\\n'\n"
        "    sys.stderr.buffer.write(answer)\n"
        "    sys.stderr.buffer.flush()\n"
    )

    def __init__(self, where, environment):
        self.where, self.environment, self.process = where, environment, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.communicate(timeout=60)

    def run(self, text):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.LOOP],
                cwd=self.where,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        data = text.encode()
        self.process.stdin.write(b"%d\n%b" % (len(data), data))
        self.process.stdin.flush()
        killed = threading.Timer(SECONDS, self.process.kill)  # a loop that never ends
        killed.start()
        answer = self.process.stderr.readline().decode().replace("\r", "\n")
        killed.cancel()
        assert answer == "ok\n", answer or f"no end within {SECONDS} s"
