# SPDX-License-Identifier: BSD-2-Clause
"""Bytes of code, static RAM and stack of a file system on a Cortex-M4: linked programs, each file,
function and mechanism.

Reads target/size.toml. Writes JSON and Markdown into the build folder and prints the Markdown.
`make size` calls it.
"""

import argparse
import json
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import target_build
import target_stack
from target_build import TARGET, Failure

CODE = ("text", "rodata", "data")
# Of libgcc, for division of 64-bit numbers; the others of it are small.
DIVISION = {
    "_aeabi_uldivmod",
    "_aeabi_ldivmod",
    "_udivmoddi4",
    "_divmoddi4",
    "_udivdi3",
    "_umoddi3",
    "_divdi3",
    "_moddi3",
}


def matches(name, patterns):
    return any(fnmatch(name, pattern) for pattern in patterns)


def program_calls(settings, program, system):
    """The public functions that a program calls, and the flags that the file system is compiled
    with for it."""
    own = program.get(system.name, {})
    if "calls" in own:
        return own["calls"], own.get("flags", [])
    left_out = [pattern for group in program["without"] for pattern in settings["groups"][group]]
    return [name for name in target_build.calls(system) if not matches(name, left_out)], []


def caller(system, names):
    """The source of a program that calls these functions and nothing else."""
    header = "nf2fs/nf2fs.h" if system.name == "nf2fs" else "lfs.h"
    return "\n".join(
        [
            f'#include "{header}"',
            "typedef void call(void);",
            '__attribute__((used, section(".calls"))) call *const start[] = {',
            *[f"    (call *){name}," for name in names],
            "};",
            "",
        ]
    )


def mechanism(table, section):
    for name, patterns in table.items():
        for pattern in patterns:
            source, _, function = pattern.partition(":")
            if fnmatch(section.member, source) and fnmatch(section.symbol, function or "*"):
                return name
    return section.member


def library(sections, name):
    """Members of libgcc or libc that were linked, with their bytes."""
    found = Counter()
    for section in sections:
        if section.archive == name:
            found[section.member.removeprefix("lib_a-")] += section.size
    return dict(sorted(found.items()))


def measure_program(build, system, settings, name):
    program = settings["programs"][name]
    names, flags = program_calls(settings, program, system)
    objects = build.compile(system, system.sources, flags)
    start = build.write(f"{system.name}_{name}.c", caller(system, names))
    made = [*objects, *build.compile(system, [start], flags)]
    tag = f"{system.name}_{name}"
    _, listing = build.link(tag, made, "-Wl,--entry=start", "-Wl,--undefined=start")
    sections = target_build.linked_sections(listing)
    own = [section for section in sections if not section.archive and section.member != start.stem]
    code = [section for section in own if section.kind in CODE]
    table = settings["mechanisms"][system.name]
    files, mechanisms, functions = Counter(), Counter(), Counter()
    for section in code:
        files[section.member] += section.size
        mechanisms[mechanism(table, section)] += section.size
        functions[f"{section.member}:{section.symbol}"] += section.size
    libgcc = library(sections, "libgcc")
    linked = {section.symbol for section in own if section.kind == "text"}
    return {
        "program": name,
        "title": program["title"],
        "calls": names,
        "own": sum(section.size for section in code),
        "code": sum(section.size for section in code) + sum(libgcc.values()),
        "variables": sum(section.size for section in own if section.kind in ("data", "bss")),
        "libgcc": libgcc,
        "division_64": sorted(DIVISION & set(libgcc)),
        "libc": library(sections, "libc"),
        "files": dict(files.most_common()),
        "mechanisms": dict(mechanisms.most_common()),
        "functions": dict(functions.most_common()),
        "stack": target_stack.worst(objects, system.headers(), linked, names),
    }


def measure_ram(build, system, settings):
    parts = settings["ram"][system.name]
    found = {}
    for part, names in parts.items():
        values = target_build.sizes(build, system, names)
        found[part] = {"bytes": sum(values), "parts": dict(zip(names, values, strict=True))}
    return found


def measure(build, system, settings):
    return {
        "file_system": system.name,
        "compiler": build.compiler,
        "flags": target_build.FLAGS[:-1],
        "ram": measure_ram(build, system, settings),
        "programs": {
            name: measure_program(build, system, settings, name) for name in settings["programs"]
        },
    }


# ---- the page ----------------------------------------------------------------------------------


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 1)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def against(value, gate):
    """A figure beside its gate."""
    return f"{value:,} ({'met' if value <= gate else 'missed'})"


def markdown(ours, theirs, settings):
    return (
        "\n\n".join(
            [
                *gates(ours, theirs, settings),
                *drawn(ours, theirs),
                *parts(ours, theirs, settings["buys"]),
                *stacks(ours, theirs),
            ]
        )
        + "\n"
    )


def gates(ours, theirs, settings):
    rows = []
    for name, program in settings["programs"].items():
        mine, other = ours["programs"][name], theirs["programs"][name]
        rows.append(
            [
                f"code: {program['title']}",
                f"{program['bytes']:,}",
                against(mine["code"], program["bytes"]),
                f"{other['code']:,}",
            ]
        )
    limits = settings["gates"]
    ram, other_ram = ours["ram"], theirs["ram"]
    one = [found["volume"]["bytes"] + found["file"]["bytes"] for found in (ram, other_ram)]
    rows.append(
        [
            "RAM with one open file",
            f"{limits['mounted_with_one_file']:,}",
            against(one[0], limits["mounted_with_one_file"]),
            f"{one[1]:,}",
        ]
    )
    further = [found["file"]["bytes"] for found in (ram, other_ram)]
    rows.append(
        [
            "RAM of a further file",
            f"{limits['further_file']:,}",
            against(further[0], limits["further_file"]),
            f"{further[1]:,}",
        ]
    )
    deep = [found["programs"]["most"]["stack"]["calls"][0]["bytes"] for found in (ours, theirs)]
    rows.append(
        [
            "stack, worst call but `nf2_save`, driver left out",
            f"{limits['stack']:,}",
            against(deep[0], limits["stack"]),
            f"{deep[1]:,}",
        ]
    )
    return [
        f"Bytes on a Cortex-M4. {ours['compiler']}, `{' '.join(ours['flags'])}`, linked with "
        "--gc-sections. Code counts libgcc, "
        "not libc. LittleFS has the same flags, without its assertions and messages.",
        table(["", "gate", "NF2FS", "LittleFS"], rows),
    ]


def drawn(ours, theirs):
    """What the linker drew in beside the file system."""
    rows = []
    for system in (ours, theirs):
        for name, program in system["programs"].items():
            division = ", ".join(program["division_64"]) or "none"
            rows.append(
                [
                    f"{system['file_system']}, {name}",
                    listed(program["libgcc"]),
                    division,
                    listed(program["libc"]),
                    program["variables"],
                ]
            )
    return [
        "What each program draws in, and its variables:",
        table(
            ["program", "libgcc", "division of 64 bits", "libc (not counted)", "variables"], rows
        ),
    ]


def listed(members):
    return ", ".join(f"{name} {size}" for name, size in members.items()) or "none"


def parts(ours, theirs, buys):
    """Bytes of each mechanism, with what it buys, and of each file in each program."""
    result = []
    for key, title in (("mechanisms", "mechanism"), ("files", "file")):
        programs = ours["programs"]
        names = programs["all"][key]
        rows = [
            [name, *[f"{program[key].get(name, 0):,}" for program in programs.values()]]
            for name in names
        ]
        rows.append(
            ["libgcc", *[f"{sum(program['libgcc'].values()):,}" for program in programs.values()]]
        )
        rows.append(["sum", *[f"{program['code']:,}" for program in programs.values()]])
        rows.append(
            ["LittleFS", *[f"{program['code']:,}" for program in theirs["programs"].values()]]
        )
        headings = [title, *programs]
        if key == "mechanisms":
            headings.append("what it buys")
            rows = [[*row, buys.get(row[0], "")] for row in rows]
        result += [f"NF2FS, bytes a {title}:", table(headings, rows)]
    return result


def stacks(ours, theirs):
    rows, notes = [], []
    for system in (ours, theirs):
        name, stack = system["file_system"], system["programs"]["all"]["stack"]
        rows += [[f"{name}: `{call['call']}`", f"{call['bytes']:,}"] for call in stack["calls"][:6]]
        notes.append(
            f"{name}, the deepest path with the bytes of each frame: "
            f"{' > '.join(stack['calls'][0]['path'])}. Counted as 0: "
            f"{', '.join(stack['without_information']) or 'nothing'}; circles of calls: "
            f"{'; '.join(stack['circles']) or 'none'}; "
            f"frames whose size is not fixed: {', '.join(stack['frames_not_fixed']) or 'none'}."
        )
    return [
        "Worst stack by what the compiler says of frames and calls. It does not see the driver, "
        "the caller's hooks, interrupts, "
        "libc and libgcc. A call through a pointer counts as one of each function with as many "
        "parameters whose address is taken above it. A function that ends with a jump to another "
        "one has given up its frame by then: it counts as 0 there.",
        table(["call", "bytes of stack"], rows),
        *notes,
    ]


def changes(before, now, key):
    """Lines that name what grew or shrank since the last run."""
    old, new = before["programs"]["all"][key], now["programs"]["all"][key]
    found = [(new.get(name, 0) - old.get(name, 0), name) for name in {*old, *new}]
    return [
        f"  {name} {change:+,}"
        for change, name in sorted(found, key=lambda item: (-abs(item[0]), item[1]))
        if change
    ]


def report_changes(before, now, limit):
    total = now["programs"]["all"]["code"] - before["programs"]["all"]["code"]
    lines = changes(before, now, "functions")
    if lines:
        print(f"\nSince the last run {total:+,} bytes:", *lines[:limit], sep="\n")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, required=True, help="folder of what is built")
    options.add_argument("--sources", nargs="*", required=True)
    options.add_argument("--include", nargs="*", required=True)
    options.add_argument("--littlefs", required=True, help="folder with lfs.c")
    options.add_argument(
        "--functions", type=int, default=0, help="also print that many of the largest functions"
    )
    options.add_argument("--jobs", type=int, default=1)
    given = options.parse_args()
    try:
        target_build.require(target_build.CROSS + "gcc")
        build = target_build.Build(given.out, given.jobs)
        settings = tomllib.loads((TARGET / "size.toml").read_text())
        ours = measure(build, target_build.nf2fs(given.sources, given.include), settings)
        theirs = measure(build, target_build.littlefs(given.littlefs), settings)
    except Failure as failure:
        sys.exit(f"make size: {failure}")
    record = given.out / "size.json"
    before = json.loads(record.read_text())["nf2fs"] if record.is_file() else None
    page = markdown(ours, theirs, settings)
    record.write_text(json.dumps({"nf2fs": ours, "littlefs": theirs}, indent=1) + "\n")
    record.with_suffix(".md").write_text(page)
    print(page, end="")
    if given.functions:
        print("\nLargest functions:")
        for name, size in list(ours["programs"]["all"]["functions"].items())[: given.functions]:
            print(f"  {size:6,} {name}")
    if before:
        report_changes(before, ours, 20)
    print(f"\n{record}")


if __name__ == "__main__":
    main()
