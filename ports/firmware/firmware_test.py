# SPDX-License-Identifier: BSD-2-Clause
"""Runs the firmware in QEMU, exchanges images with the host's nf2, and kills it at random instants.

What the firmware acknowledged over its console is a promise: after each kill the image is judged on the host
(firmware_judge) and by the firmware itself when it starts again. Half of the kills tear a program or erase first.

The emulator is stopped by SIGTERM and by a reset of the board, never by SIGKILL or an exit at once: it keeps what its
chip has programmed in a queue of writes to the image's file, and only a shutdown in order empties that. (test_image
shows it with a slow disk.)
"""

import argparse
import collections
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

CHIP = 32 << 20
RUN_OFFSET = 16 << 20
RUN_SIZE = 1 << 20
WORKLOADS_SIZE = 8 << 20
ACTORS = 4
SLOW_DISK = ",throttling.iops-write=200"
RUN_CHIP = """name = board-run
size = 1M
page_size = 256
block_size = 4K
erase_sizes = 4K, 64K
erase_us = 50000, 150000
read_page_us = 4
program_page_us = 400
"""


class Failed(Exception):
    """What was promised does not hold."""


class Board:
    def __init__(self, options):
        self.options = options
        self.image = options.folder / "flash.bin"

    def blank(self):
        self.image.write_bytes(b"\xff" * CHIP)

    def start(self, *arguments, disk=""):
        words = "".join(f",arg={word}" for word in ("firmware", *arguments))
        return subprocess.Popen(
            [self.options.qemu, "-M", "ast1030-evb,fmc-model=w25q256", "-nographic", "-monitor", "none",
             "-serial", "stdio", "-semihosting-config", f"enable=on,target=native{words}",
             "-drive", f"if=mtd,format=raw,file={self.image}{disk}", "-icount", "shift=3,sleep=off",
             "-no-reboot", "-kernel", str(self.options.firmware)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def run(self, *arguments, code=0, seconds=300, disk=""):
        """Runs to the end; the lines that it printed."""
        process = self.start(*arguments, disk=disk)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Failed(f"{' '.join(arguments)}: not done after {seconds} s\n{out[-500:]}") from None
        text, ended, number = out.rpartition("\nEXIT ")
        if process.returncode != 0 or not ended or number.strip() != str(code):
            raise Failed(f"{' '.join(arguments)}: did not end with exit code {code}\n{out[-500:]}{err[-500:]}")
        return text.splitlines()

    def run_and_kill(self, steps, tear, seed, seconds, disk):
        """Runs the actors until the power fails. Returns the steps promised, and how it ended."""
        process = self.start("run", str(seed), str(tear), *map(str, steps), "0", disk=disk)
        deadline = time.monotonic() + seconds
        try:
            out, err = process.communicate(timeout=seconds if tear == 0 else 300)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate(timeout=300)
        if process.returncode == -signal.SIGTERM and out == "":
            # the emulator was not ready for signals yet: it runs nothing before
            return self.run_and_kill(steps, tear, seed, seconds + 0.1, disk)
        promised, ended = list(steps), "killed"
        lines = out.split("\n")
        for text in lines[:-1]:         # the last one may be cut
            found = re.fullmatch(r"(RESUME|S) (\d) (\d+)", text)
            if found:
                promised[int(found[2])] = int(found[3])
            elif text == "TORN":
                ended = "torn"
            elif text.startswith(("BAD", "FAULT", "STOP", "stack of")):
                raise Failed(f"the firmware says: {text}")
        if process.returncode != 0:
            raise Failed(f"the emulator ended with {process.returncode}: {out[-300:]}{err[-300:]}")
        if tear and ended != "torn":
            raise Failed(f"operation {tear} was not torn within {time.monotonic() - deadline + seconds:.0f} s")
        return promised, ended


def files_of(lines):
    found = {}
    for text in lines:
        match = re.fullmatch(r"FILE (\S+) (\d+) ([0-9A-F]{8})", text)
        if match:
            found[match[1]] = (int(match[2]), int(match[3], 16))
    return found


def tree_of(folder):
    return {"/" + path.relative_to(folder).as_posix(): (path.stat().st_size, zlib.crc32(path.read_bytes()))
            for path in folder.rglob("*") if path.is_file()}


def nf2(options, *arguments):
    done = subprocess.run([options.nf2, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"nf2 {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
    return done.stdout


def fetch_all(options, board, name):
    """All files of the image, by the host's nf2."""
    out = options.folder / name
    shutil.rmtree(out, ignore_errors=True)
    nf2(options, "check", board.image)
    nf2(options, "get", board.image, "/", out)
    return tree_of(out)


def test_board(options, board):
    board.blank()
    lines = board.run("selftest")
    print(f"selftest on the board: passed ({lines[0].removeprefix('CHIP ')})")
    if "FAULT" not in board.run("unaligned", code=3):
        raise Failed("an unaligned access did not trap")
    print("an unaligned access traps: all that follows made none")


def test_image(options, board):
    """The image holds what the chip held when the board stopped, however slow the host's disk is."""
    images = []
    for disk in ("", SLOW_DISK):
        board.blank()
        board.run("run", "1", "0", "0", "0", "0", "0", "40", disk=disk)
        images.append(zlib.crc32(board.image.read_bytes()))
    if images[0] != images[1]:
        raise Failed("an image on a slow disk lacks what the chip had programmed")
    print("the image on a slow disk is that on a fast one")


def test_exchange(options, board):
    board.blank()
    made = files_of(board.run("make"))
    if options.nf2 is None:
        shown = files_of(board.run("show"))
        if len(made) < 2 or {k: v for k, v in shown.items() if k != "/from-the-board.txt"} != made:
            raise Failed(f"the board made {made}, and reads {shown}")
        print("left out: the exchange of images with the host's nf2. What the board made, it reads after a start")
        return
    found = fetch_all(options, board, "made")
    if len(made) < 2 or found != made:
        raise Failed(f"the board made {made}, the host reads {found}")
    print(f"board to host: {len(made)} files, {sum(size for size, _ in made.values())} bytes, check clean")

    source = options.folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    generator = random.Random(options.seed)
    for i in range(24):
        path = source / ("etc" if i % 3 else "var/data") / f"file{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(generator.randbytes(generator.choice([0, 7, 300, 5000, 70000])))
    nf2(options, "format", board.image, "--chip", "w25q256", "--quick", "--force")
    nf2(options, "put", board.image, source, "/")
    shown = files_of(board.run("show"))
    found = fetch_all(options, board, "shown")
    if found != shown or {k: v for k, v in shown.items() if k != "/from-the-board.txt"} != tree_of(source):
        raise Failed(f"the host wrote {tree_of(source)}, the board reads {shown}, the host reads back {found}")
    print(f"host to board and back: {len(shown)} files, one of them the board's, check clean")


def test_full(options, board):
    board.blank()
    found = next(text for text in board.run("full") if text.startswith("FULL "))
    first, second = map(int, found.split()[1:])
    if first < RUN_SIZE // 2 or second < first * 9 // 10:
        raise Failed(f"of {RUN_SIZE} bytes {first} were filled, and {second} after all was removed")
    print(f"a volume of {RUN_SIZE} bytes took {first}, and {second} after all was removed", flush=True)


def test_workloads(options, board):
    """Those of norbench, in tasks at once: they read and leave on the board what they read and leave on the host."""
    board.blank()
    done = subprocess.run([options.judge, "workloads", str(WORKLOADS_SIZE)], capture_output=True, text=True, check=False)
    expected = sorted(text for text in done.stdout.splitlines() if text.startswith(("FILE", "READ")))
    if done.returncode != 0 or len(expected) < 100:
        raise Failed(f"the workloads on the host: {done.stdout[-500:]}{done.stderr}")
    lines = board.run("workloads", seconds=580)
    found = sorted(text for text in lines if text.startswith(("FILE", "READ")))
    if lines[-1] != "DONE" or found != expected:
        raise Failed(f"only on the board: {set(found) - set(expected)}; only on the host: {set(expected) - set(found)}")
    reads = sum(text.startswith("READ") for text in found)
    print(f"norbench's workloads and the model in {reads} tasks at once: {len(found) - reads} files as on the host", flush=True)


def test_tasks(options, board):
    board.blank()
    lines = board.run("run", "1", "0", "0", "0", "0", "0", str(options.steps), seconds=580)
    counts = collections.Counter(text.split()[1] for text in lines if text.startswith("S "))
    if lines[-1] != "DONE" or set(counts.values()) != {options.steps}:
        raise Failed(f"the tasks did {dict(counts)}, the last line is {lines[-1]!r}")
    stack = max(int(text.split()[2]) for text in lines if text.startswith("STACK "))
    print(f"{ACTORS} tasks at once, {options.steps} steps each, compared and checked; the deepest stack {stack} bytes", flush=True)


def judge(options, board, promised):
    done = subprocess.run([options.judge, str(board.image), str(RUN_OFFSET), str(RUN_SIZE), *map(str, promised)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"the host's judge, promised {promised}: {done.stdout}{done.stderr}")


def test_judge(options, board, promised):
    """A promise that was not kept is found: forty steps more than were done (two may change nothing)."""
    for actor in range(ACTORS):
        more = [steps + 40 * (i == actor) for i, steps in enumerate(promised)]
        try:
            judge(options, board, more)
        except Failed:
            continue
        raise Failed(f"the judge takes {more} for {promised}")


def check_slice(options, board):
    """The host's nf2 on the volume alone, which lies in the middle of the chip."""
    chip = options.folder / "run.chip"
    chip.write_text(RUN_CHIP)
    volume = options.folder / "run.bin"
    with board.image.open("rb") as file:
        file.seek(RUN_OFFSET)
        volume.write_bytes(file.read(RUN_SIZE))
    nf2(options, "ls", volume, "--chip", chip)


def test_kills(options, board):
    generator = random.Random(options.seed)
    board.blank()
    board.run("run", "1", "0", "0", "0", "0", "0", "1")     # formats: a format that is cut leaves no volume
    promised, ends = [1] * ACTORS, collections.Counter()
    began = time.monotonic()
    for number in range(1, options.kills + 1):
        tear = 0
        if generator.random() < 0.5:
            tear = generator.choice([generator.randrange(1, 8), generator.randrange(1, 120), generator.randrange(1, 400)])
        seconds = generator.choice([generator.uniform(0.05, 0.6), generator.uniform(0.3, 2.5)])
        disk = SLOW_DISK if number % 3 == 0 else ""
        before = options.folder / "before.bin"
        shutil.copyfile(board.image, before)
        last = promised
        try:
            promised, ended = board.run_and_kill(promised, tear, number, seconds, disk)
            judge(options, board, promised)
            if number % 25 == 0 and options.nf2 is not None:
                check_slice(options, board)
        except Failed as error:
            raise Failed(f"kill {number} of {options.kills}, seed {options.seed}, tear {tear}, promised before {last} "
                         f"({before} is the image before it): {error}") from None
        ends[ended] += 1
        if number % 25 == 0:
            print(f"{number} power losses, {sum(promised)} steps, {time.monotonic() - began:.0f} s", flush=True)
    test_judge(options, board, promised)
    if options.kills >= 10 and (min(ends["killed"], ends["torn"]) < 2 or sum(promised) == 0):
        raise Failed(f"too little happened: {dict(ends)}, {promised}")
    print(f"{options.kills} power losses ({ends['killed']} kills, {ends['torn']} torn operations), {sum(promised)} steps: "
          "every promise kept, by the host's judge and the board's own")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--firmware", type=pathlib.Path, required=True)
    parser.add_argument("--judge", required=True, help="the program firmware_judge")
    parser.add_argument("--nf2", help="the host's command; without it images are not exchanged, only judged")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="for images")
    parser.add_argument("--qemu", default="qemu-system-arm")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--steps", type=int, default=300, help="of each task in the run without power loss")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    board = Board(options)
    try:
        for test in (test_board, test_image, test_exchange, test_full, test_workloads, test_tasks, test_kills):
            test(options, board)
    except Failed as error:
        print(f"firmware-test: FAILED: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
