# SPDX-License-Identifier: BSD-2-Clause
"""Runs a file system on an emulated Cortex-M4 and counts its instructions: what target_cost.py and
target_profile.py share."""

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import target_build
from target_build import CROSS, ROOT, TARGET, Failure, run

HARNESS = ["board.c", "chip.c", "row.c", "rows.c"]
HARNESS_FLAGS = [
    "-O2",
    "-std=gnu11",
    "-ffreestanding",
    "-fno-tree-loop-distribute-patterns",
    "-Wall",
    "-Wextra",
    "-Werror",
    f"-I{TARGET}",
    f"-I{ROOT / 'vflash'}",
]
COUNTED_HERE = "known_loop"
MARKS = {
    "row_begin": "mark_row_begin",
    "row_end": "mark_row_end",
    "profile": "mark_profile",
    "op_begin": "mark_op_begin",
    "op_end": "mark_op_end",
    "enter": "enter",
    "enter_end": "enter_end",
    "read": "drive_read",
    "program": "drive_program",
    "erase": "drive_erase",
}
CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
CALL = re.compile(rf"blx?({CONDITIONS})?(\.[nw])?$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{4} ?)+)\s*\t(\S+)")
SUITE_SECONDS = 1800


@dataclass
class Program:
    """A linked program, and what the plugin has to know of it."""

    elf: Path
    table: Path
    functions: list  # sections that are counted, by address
    stripped: Path  # the program without names and lines


def add_options(options):
    """What target_cost.py and target_profile.py are told of what to build."""
    options.add_argument("--out", type=Path, required=True, help="folder of what is built")
    options.add_argument("--sources", nargs="*", required=True)
    options.add_argument("--include", nargs="*", required=True)
    options.add_argument("--littlefs", required=True, help="folder with lfs.c")
    options.add_argument("--jobs", type=int, default=1)


def prepare(given):
    """The build of these options, and functions that give the file systems."""
    target_build.require(CROSS + "gcc", "qemu-system-arm")
    build = target_build.Build(given.out, given.jobs)
    return build, {
        "nf2fs": lambda: target_build.nf2fs(given.sources, given.include),
        "littlefs": lambda: target_build.littlefs(given.littlefs),
    }


def build_program(build, system, ram):
    """The rows over this file system, with so much RAM (0: its usual settings)."""
    objects = build.compile(system, system.sources)
    flags = [*HARNESS_FLAGS, f"-DRAM_BYTES={ram}"]
    sources = [TARGET / name for name in [*HARNESS, f"volume_{system.name}.c"]]
    harness = build.compile(system, sources, flags)
    loop = build.compile(system, [TARGET / f"{COUNTED_HERE}.c"], flags)
    refuse_shared(harness)
    name = f"{system.name}_{ram}"
    elf, listing = build.link(
        name, [*harness, *loop, *objects], f"-Wl,--script={TARGET / 'mps2.ld'}"
    )
    own = {path.stem for path in sources}
    sections = target_build.linked_sections(listing)
    functions = sorted(
        (one for one in sections if one.kind == "text" and (one.archive or one.member not in own)),
        key=lambda one: one.address,
    )
    table = build.folder / f"{name}.table"
    table.write_text(
        "\n".join(
            [
                *function_lines(functions, {*target_build.calls(system), COUNTED_HERE}),
                *call_lines(elf),
                *mark_lines(elf),
            ]
        )
        + "\n"
    )
    stripped = elf.with_suffix(".stripped")
    run(CROSS + "strip", elf, "-o", stripped)
    return Program(elf, table, functions, stripped)


def refuse_shared(harness):
    """A function of libc that the rows used, too, would be counted as the file system's."""
    for thing in harness:
        asked = re.findall(r" U (mem\w+|str\w+|__aeabi\w+)", run(CROSS + "nm", thing))
        if asked:
            raise Failure(f"{thing.stem} uses {', '.join(asked)}, which is counted")


def function_lines(functions, public):
    return [
        f"F {one.address:x} {one.address + one.size:x} {int(one.symbol in public)}"
        for one in functions
    ]


def call_lines(elf):
    lines = []
    for found in filter(
        None, map(INSTRUCTION.match, run(CROSS + "objdump", "-d", elf).splitlines())
    ):
        if CALL.match(found.group(3)):
            address = int(found.group(1), 16)
            lines.append(f"C {address:x} {address + len(found.group(2).replace(' ', '')) // 2:x}")
    return lines


def mark_lines(elf):
    addresses = {
        words[2]: int(words[0], 16) & ~1
        for words in map(str.split, run(CROSS + "nm", elf).splitlines())
        if len(words) == 3
    }
    return [
        f"M {mark} {addresses[symbol]:x}" for mark, symbol in MARKS.items() if symbol in addresses
    ]


def build_plugin(build):
    """The counting plugin; the version of QEMU's interface follows that of QEMU."""
    version = int(re.search(r"version (\d+)", run("qemu-system-arm", "--version")).group(1))
    interface = 1 if version < 9 else 2
    plugin = build.folder / f"count-{interface}.so"
    source = TARGET / "count.c"
    if not plugin.is_file() or plugin.stat().st_mtime < source.stat().st_mtime:
        run(
            "cc",
            "-O2",
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-DPLUGIN_VERSION={interface}",
            source,
            "-o",
            plugin,
        )
    return plugin


def kept_suite(build, program, suite, fresh):
    """As run_suite, but a result is kept, as the same program gives the same one again; `fresh`
    runs it all the same."""
    state = hashlib.sha256(
        build_plugin(build).read_bytes() + program.stripped.read_bytes() + suite.encode()
    )
    path = build.folder / "results" / f"{state.hexdigest()[:24]}.json"
    if fresh or not path.is_file():
        said, rows, _ = run_suite(build, program, suite)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([said, rows]))
    return json.loads(path.read_text())


def run_suite(build, program, suite, row=""):
    """Runs one suite; returns what it says of itself, its rows, and the lines of the profile of
    `row`."""
    stem = build.folder / f"{program.elf.stem}_{suite}{'_profile' if row else ''}"
    counts, printed = stem.with_suffix(".counts"), stem.with_suffix(".out")
    plugin = build_plugin(build)
    arguments = f"enable=on,target=native,chardev=text,arg={suite}" + (f",arg={row}" if row else "")
    command = [
        "qemu-system-arm",
        "-M",
        "mps2-an386",
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
        "-chardev",
        f"file,id=text,path={printed}",
        "-semihosting-config",
        arguments,
        "-plugin",
        f"{plugin.resolve()},table={program.table},out={counts},profile={'on' if row else 'off'}",
        "-kernel",
        program.elf,
    ]
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=SUITE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{suite} of {program.elf.stem} did not end in {SUITE_SECONDS} s") from None
    return read_results(program, suite, printed.read_text(), counts.read_text(), done)


def read_results(program, suite, printed, counts, done):
    said = [json.loads(line) for line in printed.splitlines()]
    problems = [line["failure"] for line in said if "failure" in line]
    if problems or done.returncode != 0 or not said or "end" not in said[-1]:
        raise Failure(
            f"{suite} of {program.elf.stem}: "
            + (
                "; ".join(problems)
                or f"ended with {done.returncode}: {done.stderr}{printed[-300:]}"
            )
        )
    rows = [line for line in said if "row" in line]
    profile = add_counts(rows, counts, program)
    return said[0], rows, profile


def add_counts(rows, counts, program):
    """Puts what the plugin counted into the rows, which it saw in the same order; returns the
    lines of a profile."""
    at, profile = -1, []
    for line in counts.splitlines():
        kind, *words = line.split()
        if kind == "R":
            at += 1
            rows[at].update(suite_row=at, instructions=[], calls=[], callees=[])
        elif kind == "O":
            rows[at]["instructions"].append(int(words[0]))
            rows[at]["calls"].append(int(words[1]))
            rows[at]["callees"].append(
                program.functions[int(words[2])].symbol if words[2] != "-1" else ""
            )
        else:
            profile.append((kind, [int(words[0], 16 if kind == "B" else 10), *map(int, words[1:])]))
    if at != len(rows) - 1 or any(len(row["instructions"]) != row["operations"] for row in rows):
        raise Failure("the plugin and the program do not agree on the operations")
    return profile
