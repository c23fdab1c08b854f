# SPDX-License-Identifier: BSD-2-Clause
"""Runs tasks.c in QEMU, at a tick of 1 ms and at one of 10 ms, and judges the waits that it measured.

With --faults it then puts faults back into the port and the driver, one at a time, each with the run that must find it.
"""

import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ERASE_US = 50_000       # of a block of the chip, as tasks.c has it
LARGE_ERASE_US = 150_000
HANG_SECONDS = 300


class Failed(Exception):
    """A run does not end, or a wait is too long."""


def wait_for_erase(tick_us):
    """The rest of an erase, a program, and the driver's last look, which may be a tick late on both sides."""
    return ERASE_US + 5_000 + 2 * tick_us


def runs(tick_us):
    """Of each run its words, and for each line that it answers with the least and the most."""
    busy = wait_for_erase(tick_us)
    return {
        "reads 0": {"ELSEWHERE": (1, busy), "THERE": (1, busy), "ERASES": (10, None), "SUSPENDS": (0, 0)},
        "reads 1": {"ELSEWHERE": (1, 1_500), "THERE": (5_000, busy + 5_000), "ERASES": (10, None), "SUSPENDS": (20, None)},
        "reads 2": {"ELSEWHERE": (5_000, busy), "THERE": (1, busy), "ERASES": (10, None), "SUSPENDS": (0, 0)},
        "programs 0": {"PROGRAM": (5_000, busy), "ERASES": (3, None)},
        "programs 1": {"PROGRAM": (1, 3_000), "ERASES": (3, None)},
        "background 0": {"BOTH": (5_000, busy), "ERASED": (3, None), "MEANWHILE": (0, 0)},
        "background 1": {"BOTH": (1, 5_000), "ERASED": (3, None), "MEANWHILE": (20, None)},
        "volumes 0": {"WRITE": (1, 2 * LARGE_ERASE_US + busy), "ERASES": (20, None)},
        "volumes 1": {"WRITE": (1, 2 * LARGE_ERASE_US + busy), "ERASES": (20, None)},
        "below": {"GAP": (1, 2_000), "ERASES": (5, None), "UNSEEN": (0, 0)},
        "yields": {"YIELDS": (1, 8 * tick_us)},
        "clock": {"TICKS": (1, None)},
        "sleep": {},
    }


TICKS_US = {1000: 1_000, 100: 10_000}       # by the rate, which is in the program's name

# Name, rate and run that finds it, then what is replaced where: [file, text, replacement]...
PAUSE = ["freertos/nf2_freertos.c", "us >= SLEEP_US || us >= TICK_US", "us >= 2u * TICK_US"]
YIELDS = ["freertos/nf2_freertos.c", "} else if (yields_for_long(us)) {", "} else if (false) {"]
NO_CLAIM = ["spinor/spinor_command.c", "chip->bus->claim != NULL", "false"]
NO_RELEASE = ["spinor/spinor_command.c", "chip->bus->release != NULL", "false"]
FAULTS = [
    ("nobody holds the chip", 1000, "programs 0", [NO_CLAIM, NO_RELEASE]),
    ("the chip's holder inherits no priority", 1000, "programs 0",
     [["freertos/nf2_freertos.c", "chip->claim = xSemaphoreCreateMutexStatic(&chip->claim_memory);",
       "chip->claim = xSemaphoreCreateBinaryStatic(&chip->claim_memory); (void)xSemaphoreGive(chip->claim);"]]),
    ("an erase does not sleep at a slow tick", 100, "below", [PAUSE]),
    ("waits only yield, and nobody holds the chip", 1000, "reads 0",
     [PAUSE, YIELDS, NO_CLAIM, NO_RELEASE, ["spinor/spinor.c", "step_us = step_us < 1000u ? 2u * step_us : step_us;", ""]]),
    ("waits only yield, and nobody holds the chip: volumes", 1000, "volumes 0",
     [PAUSE, YIELDS, NO_CLAIM, NO_RELEASE, ["spinor/spinor.c", "step_us = step_us < 1000u ? 2u * step_us : step_us;", ""]]),
    ("who yields on and on never sleeps", 1000, "yields", [YIELDS]),
    ("a delay returns at once", 1000, "sleep", [["freertos/nf2_freertos.c", "        spin(us);\n    }\n}\n\n/*", "    }\n}\n\n/*"]]),
    ("a delay is a tick short", 100, "clock", [["freertos/nf2_freertos.c", "us / TICK_US + 2u", "us / TICK_US"]]),
    ("nothing is waited before the scheduler starts", 1000, "sleep",
     [["freertos/nf2_freertos.c", "static void spin(uint32_t us)\n{", "static void spin(uint32_t us)\n{\n    if (!running()) { return; }"]]),
    ("the clock is the tick count", 100, "clock",
     [["freertos/nf2_freertos.c", "return spun_us + passed * TICK_US;", "return (uint32_t)xTaskGetTickCount() * TICK_US + 0u * passed;"]]),
    ("an erase is not resumed", 1000, "reads 1",
     [["spinor/spinor.c", "int resumed = spinor_command(chip, chip->part.resume);", "int resumed = 0;"]]),
    ("a program does not suspend", 1000, "programs 1",
     [["spinor/spinor.c", "chip->part.programs_meanwhile && may_suspend(chip, address, length)", "false"]]),
    ("a read does not suspend", 1000, "reads 1", [["spinor/spinor.c", "chip->work == SPINOR_ERASES_NOW && chip->part.suspend != 0", "false"]]),
    ("a refused suspend is an error", 1000, "reads 2", [["spinor/spinor.c", "chip->stubborn = result == 0 && !stopped;",
                                                         "result = !stopped ? SPINOR_TIMEOUT : result;"]]),
    ("a refused suspend is taken for one", 1000, "reads 2", [["spinor/spinor.c", "chip->stubborn = result == 0 && !stopped;", ""]]),
    ("the bus is not free while the chip is busy", 1000, "reads 1",
     [["spinor/spinor_command.c", "        spinor_unlock(chip);\n        spinor_pause(chip, step_us);\n        spinor_lock(chip);\n",
       "        spinor_pause(chip, step_us);\n"]]),
    ("the bus has no lock", 1000, "volumes 0", [["spinor/spinor_command.c", "chip->bus->lock != NULL", "false"],
                                                ["spinor/spinor_command.c", "chip->bus->unlock != NULL", "false"]]),
]


def run(options, program, words, limits):
    arguments = "".join(f",arg={word}" for word in ("tasks", *words.split()))
    try:
        done = subprocess.run(
            [options.qemu, "-M", "ast1030-evb", "-nographic", "-monitor", "none", "-serial", "stdio",
             "-semihosting-config", f"enable=on,target=native{arguments}", "-icount", "shift=4,sleep=off",
             "-no-reboot", "-kernel", str(program)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=HANG_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words}: not done after {HANG_SECONDS} s") from None
    lines = done.stdout.split("\n")
    if "DONE" not in lines:
        raise Failed(f"{words}: {done.stdout[-300:].strip()} {done.stderr[-300:].strip()}")
    found = {match[1]: int(match[2]) for match in (re.fullmatch(r"([A-Z]+) (\d+)", text) for text in lines) if match}
    for name, (least, most) in limits.items():
        if name not in found or found[name] < least or (most is not None and found[name] > most):
            raise Failed(f"{words}: {name} is {found.get(name)}, not {least} to {'any' if most is None else most}")
    return ", ".join(f"{name.lower()} {found[name]}" for name in limits)


def compile_with(options, rate, replacements):
    """The program of that rate with changed sources: only those are compiled anew."""
    folder = options.build / "fault"
    folder.mkdir(exist_ok=True)
    commands = json.loads((options.build / "compile_commands.json").read_text())
    target = f"tasks_{rate}"
    link = (options.build / "CMakeFiles" / f"{target}.dir" / "link.txt").read_text()
    texts = {}
    for name, old, new in replacements:
        path = (HERE.parent / name).resolve()
        text = texts.get(path) or path.read_text()
        if text.count(old) != 1:
            raise Failed(f"{name} has {text.count(old)} times: {old}")
        texts[path] = text.replace(old, new)
    for path, text in texts.items():
        source = folder / path.name
        source.write_text(text)
        command = next(entry for entry in commands
                       if pathlib.Path(entry["file"]).resolve() == path and f"{target}.dir" in entry["command"])
        words = shlex.split(command["command"])
        before = words[words.index("-o") + 1]
        words[words.index("-o") + 1] = str(folder / f"{path.name}.obj")
        words[words.index(command["file"])] = str(source)
        subprocess.run([*words, "-Wno-error", "-w"], cwd=command["directory"], check=True)
        link = link.replace(before, str(folder / f"{path.name}.obj"))
    words = shlex.split(link)
    program = folder / "tasks.elf"
    words[words.index("-o") + 1] = str(program)
    subprocess.run(words, cwd=options.build, check=True)
    return program


def judge_tasks(options):
    for rate in options.rates:
        for words, limits in runs(TICKS_US[rate]).items():
            if options.only and words not in options.only:
                continue
            said = run(options, options.build / f"tasks_{rate}.elf", words, limits)
            print(f"{rate} ticks a second, {words}: {said or 'passed'}", flush=True)


def judge_faults(options):
    """Each fault put back must be found."""
    for name, rate, words, replacements in FAULTS[:options.faults]:
        program = compile_with(options, rate, replacements)
        try:
            said = run(options, program, words, runs(TICKS_US[rate])[words])
        except Failed as error:
            print(f"found: {name}: {str(error).splitlines()[0]}", flush=True)
        else:
            raise Failed(f"the fault that {name} is not found: {words}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="where ports/firmware was built")
    parser.add_argument("--qemu", default="qemu-system-arm")
    parser.add_argument("--rates", type=int, nargs="+", default=[1000, 100], choices=sorted(TICKS_US))
    parser.add_argument("--only", nargs="+", help="these runs alone, such as \"reads 1\"")
    parser.add_argument("--faults", type=int, nargs="?", const=len(FAULTS), default=0, help="so many faults, or all")
    options = parser.parse_args()
    options.build = options.build.resolve()
    try:
        judge_tasks(options)
        judge_faults(options)
    except Failed as error:
        print(f"firmware-tasks: FAILED: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
