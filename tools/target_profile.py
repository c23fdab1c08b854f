# SPDX-License-Identifier: BSD-2-Clause
"""Where the instructions of a row go, function by function, on an emulated Cortex-M4. `make target-
profile ROW=...` calls it.

For the whole row and for its dearest operation: instructions of each function alone and with what
it calls, calls, reads and programs of the chip. With --function: who calls it and whom it calls.
With --lines: the sources' lines that run most.
"""

import argparse
import bisect
import re
import subprocess
import sys
import tomllib
from collections import Counter

import target_build
import target_run
from target_build import CROSS, TARGET, Failure

HEADINGS = (
    f"{'self':>14} {'%':>5} {'with callees':>14} {'%':>5} {'calls':>9} {'reads':>7} "
    f"{'programs':>8}  function"
)


def functions_of(profile, letter, names):
    """One record for each function of the row (S) or of its dearest operation (W)."""
    keys = ("calls", "self", "all", "reads", "programs", "erases")
    return [
        {"name": names[words[0]], **dict(zip(keys, words[1:], strict=True))}
        for kind, words in profile
        if kind == letter
    ]


def edges_of(profile, letter, names):
    keys = ("calls", "all", "reads", "programs", "erases")
    return [
        {"from": names[words[0]], "to": names[words[1]], **dict(zip(keys, words[2:], strict=True))}
        for kind, words in profile
        if kind == letter + "E"
    ]


def percent(part, whole):
    return f"{100 * part / max(1, whole):.1f}"


def print_table(functions, order, count, operations):
    total = sum(one["self"] for one in functions)
    print(HEADINGS)
    for one in sorted(functions, key=lambda one: (-one[order], one["name"]))[:count]:
        print(
            f"{one['self'] / operations:14,.0f} {percent(one['self'], total):>5} "
            f"{one['all'] / operations:14,.0f} "
            f"{percent(one['all'], total):>5} {one['calls'] / operations:9,.2f} "
            f"{one['reads'] / operations:7,.2f} "
            f"{one['programs'] / operations:8,.2f}  {one['name']}"
        )


def print_around(edges, name, total, operations):
    """Who calls this function, and whom it calls: sources of statics are left out of the name that
    is asked for."""
    for title, here, there in (("called by", "to", "from"), ("calls", "from", "to")):
        found = [edge for edge in edges if edge[here] == name or edge[here].endswith(":" + name)]
        print(f"{name} {title}:" if found else f"{name} {title}: nothing here")
        for edge in sorted(found, key=lambda edge: -edge["all"]):
            print(
                f"{edge['all'] / operations:14,.0f} {percent(edge['all'], total):>5} "
                f"{edge['calls'] / operations:9,.2f} calls "
                f"{edge['reads'] / operations:7,.2f} reads  {edge[there]}"
            )


def line_counts(profile, elf):
    """Instructions of each line of the sources, with the functions that were inlined on the way to
    it."""
    listing = target_build.run(CROSS + "objdump", "-d", elf).splitlines()
    places = [
        int(found.group(1), 16)
        for found in filter(None, map(target_run.INSTRUCTION.match, listing))
    ]
    counts = Counter()
    for kind, words in profile:
        if kind == "B":
            begin, length, times = words
            at = bisect.bisect_left(places, begin)
            for address in places[at : at + length]:
                counts[address] += times
    asked = "\n".join(f"{address:#x}" for address in counts)
    told = subprocess.run(
        [CROSS + "addr2line", "-e", elf, "-f", "-i", "-a"],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = Counter()
    for part in re.split(r"^(?=0x[0-9a-f]{8}$)", told, flags=re.MULTILINE):
        if part.strip():
            address, function, place, *outer = part.split("\n")
            place = re.sub(r" \(discriminator \d+\)", "", place)
            place = place.rpartition("/")[2] if place.startswith("/") else place.removeprefix("./")
            within = f" in {outer[-3]}" if len(outer) > 2 else ""
            lines[f"{place} {function}{within}"] += counts[int(address, 16)]
    return lines


def source_line(place):
    """The text of `path:line function`, where the source is there."""
    path, _, line = place.split(" ")[0].rpartition(":")
    path = target_build.ROOT / path
    if not line.isdigit() or not path.is_file():
        return ""
    return path.read_text().splitlines()[int(line) - 1].strip()[:70]


def show(given, program, rows, profile):
    row = next(row for row in rows if row["row"] == given.row)
    names = [
        f"{one.member}:{one.symbol}"
        if not one.archive
        else f"{one.archive}:{one.member.removeprefix('lib_a-')}"
        for one in program.functions
    ]
    costs = row["instructions"]
    most = max(costs)
    print(
        f"{given.row}: {len(costs):,} operations, {sum(costs) / len(costs):,.0f} instructions "
        "each, the dearest (number "
        f"{costs.index(most)}) {most:,}; dearest call {max(row['calls']):,} "
        f"({row['callees'][row['calls'].index(max(row['calls']))]})"
    )
    for letter, title, operations in (
        ("S", "An operation on the average", len(costs)),
        ("W", "The dearest operation", 1),
    ):
        if given.only and letter not in given.only:
            continue
        functions = functions_of(profile, letter, names)
        total = sum(one["self"] for one in functions)
        if given.function:
            print(f"\n{title}")
            print_around(edges_of(profile, letter, names), given.function, total, operations)
            continue
        print(f"\n{title}: instructions of the function itself")
        print_table(functions, "self", given.top, operations)
        print(f"\n{title}: instructions with those of what it calls")
        print_table(functions, "all", given.top, operations)
    if given.lines:
        lines = line_counts(profile, program.elf)
        print(f"\nLines, instructions an operation on the average ({sum(lines.values()):,} in all)")
        for place, count in lines.most_common(given.lines):
            print(
                f"{count / len(costs):14,.0f} {percent(count, sum(lines.values())):>5}  {place}  | "
                f"{source_line(place)}"
            )


def main():
    settings = tomllib.loads((TARGET / "rows.toml").read_text())["rows"]
    options = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Rows: " + ", ".join(settings),
    )
    options.add_argument("--row", required=True)
    target_run.add_options(options)
    options.add_argument("--fs", choices=["nf2fs", "littlefs"], default="nf2fs")
    options.add_argument(
        "--ram", type=int, default=0, help="bytes of RAM with one open file; 0: its usual settings"
    )
    options.add_argument("--top", type=int, default=25, help="how many functions")
    options.add_argument(
        "--function", help="show who calls this function and whom it calls instead"
    )
    options.add_argument(
        "--lines", type=int, default=0, help="show that many of the lines that run most, too"
    )
    options.add_argument(
        "--only",
        choices=["S", "W"],
        help="only the whole row (S) or only its dearest operation (W)",
    )
    given = options.parse_args()
    if given.row not in settings:
        sys.exit(f"target-profile: there is no row {given.row}: {', '.join(settings)}")
    try:
        build, systems = target_run.prepare(given)
        program = target_run.build_program(build, systems[given.fs](), given.ram)
        _, rows, profile = target_run.run_suite(
            build, program, settings[given.row]["suite"], given.row
        )
    except Failure as failure:
        sys.exit(f"target-profile: {failure}")
    show(given, program, rows, profile)


if __name__ == "__main__":
    main()
