# SPDX-License-Identifier: BSD-2-Clause
"""What calls cost the processor: instructions counted on an emulated Cortex-M4, for NF2FS and
LittleFS. `make target-cost` calls it.

Builds target/rows.c over each file system and each amount of RAM, runs the suites in QEMU with the
plugin target/count.c, and prints each row beside its gate (target/rows.toml). A whole run writes
JSON lines and the page, too; a part of it (--fs, --ram, --suite) is only printed.
"""

import argparse
import json
import re
import statistics
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import target_run
import target_size
from target_build import TARGET, Failure
from target_size import table

RAM = [2048, 4096, 8192]  # bytes with one open file
USUAL = 0  # LittleFS with small caches, as it is used where RAM is short
MHZ = 100
CYCLES = 1.5  # an instruction, about: loads, branches and flash wait states
SYSTEMS = ["nf2fs", "littlefs"]
NAMES = {"nf2fs": "NF2FS", "littlefs": "LittleFS"}


def record(system, version, ram, said, row, settings):
    """One line of the results: a row of one file system with so much RAM."""
    costs, count = row["instructions"], row["operations"]
    processor_us = [cost * CYCLES / MHZ for cost in costs]
    total_us = [
        round(flash + processor)
        for flash, processor in zip(row["flash_us"], processor_us, strict=True)
    ]
    return {
        "file_system": system,
        "version": version,
        "ram_given": ram,
        "ram": said["ram"],
        "row": row["row"],
        "title": settings["title"],
        "suite": settings["suite"],
        "operations": count,
        "instructions": sum(costs),
        "mean": round(sum(costs) / count),
        "median": round(statistics.median(costs)),
        "most": max(costs),
        "most_at": costs.index(max(costs)),
        "call_most": max(row["calls"]),
        "call": row["callees"][row["calls"].index(max(row["calls"]))],
        "stack": row["stack"],
        **{
            key: row[key]
            for key in (
                "reads",
                "read_bytes",
                "programs",
                "program_bytes",
                "block_erases",
                "large_erases",
            )
        },
        "flash_us_mean": round(sum(row["flash_us"]) / count),
        "flash_us_most": max(row["flash_us"]),
        "total_us_most": max(total_us),
        "gate_mean": settings.get("mean"),
        "gate_most": settings.get("most"),
        "budget_us": settings.get("budget_us"),
    }


def versions(systems):
    """What is measured: NF2FS's version is in its header, LittleFS's too."""
    found = {}
    for name, give in systems.items():
        text = give().header.read_text()
        if name == "nf2fs":
            found[name] = re.search(r'NF2_VERSION "([^"]+)"', text).group(1)
        else:
            number = int(re.search(r"LFS_VERSION (0x[0-9a-f]+)", text).group(1), 16)
            found[name] = f"{number >> 16}.{number & 0xFFFF}"
    return found


def plan(given):
    """File system and RAM of each program: first those of the main table."""
    places = [("nf2fs", RAM[0]), ("littlefs", USUAL)]
    places += [(system, ram) for ram in RAM for system in SYSTEMS if (system, ram) not in places]
    return [
        (system, ram)
        for system, ram in places
        if system in (given.fs or SYSTEMS) and ram in (given.ram or [USUAL, *RAM])
    ]


def measure(given, build, systems, rows):
    suites = given.suite or list(dict.fromkeys(row["suite"] for row in rows.values()))
    known = versions(systems)
    programs = {
        (system, ram): target_run.build_program(build, systems[system](), ram)
        for system, ram in plan(given)
    }
    target_run.build_plugin(build)
    work = [(place, suite) for place in programs for suite in suites]

    def run_one(one):
        place, suite = one
        said, found = target_run.kept_suite(build, programs[place], suite, given.fresh)
        print(f"{NAMES[place[0]]}, {said['ram']:,} bytes: {suite}", file=sys.stderr)
        # A row that several suites pass counts where the settings say.
        return [
            record(place[0], known[place[0]], place[1], said, row, rows[row["row"]])
            for row in found
            if rows[row["row"]]["suite"] == suite
        ]

    with ThreadPoolExecutor(given.jobs) as pool:
        results = [line for lines in pool.map(run_one, work) for line in lines]
    order = list(rows)
    return sorted(
        results,
        key=lambda line: (
            order.index(line["row"]),
            SYSTEMS.index(line["file_system"]),
            line["ram_given"],
        ),
    )


# ---- the page ----------------------------------------------------------------------------------


def figure(value):
    """Instructions, shortened: 512, 8.2 k, 459 k, 5.7 M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit:
            return (
                f"{value / unit:.1f} {letter}"
                if value < 10 * unit
                else f"{value / unit:,.0f} {letter}"
            )
    return f"{value}"


def verdict(line):
    """Are the gates of a row met?"""
    pairs = [(line[key], line[f"gate_{key}"]) for key in ("mean", "most") if line[f"gate_{key}"]]
    if not pairs:
        return ""
    return "met" if all(value <= gate for value, gate in pairs) else "**missed**"


def gate(line):
    mean, most = (figure(line[key]) if line[key] else "-" for key in ("gate_mean", "gate_most"))
    return f"{mean} / {most}" if line["gate_mean"] or line["gate_most"] else ""


def both(line):
    return f"{figure(line['mean'])} / {figure(line['most'])}" if line else "-"


def pick(results, row, system, ram):
    return next(
        (
            line
            for line in results
            if (line["row"], line["file_system"], line["ram_given"]) == (row, system, ram)
        ),
        None,
    )


def main_table(results, rows):
    lines = []
    for row in rows:
        ours, theirs = pick(results, row, "nf2fs", RAM[0]), pick(results, row, "littlefs", USUAL)
        one = ours or theirs
        if one:
            lines.append(
                [
                    one["title"],
                    one["operations"],
                    gate(one),
                    both(ours),
                    verdict(ours) if ours else "",
                    both(theirs),
                    f"{ours['call']} {figure(ours['call_most'])}" if ours else "",
                    ours["stack"] if ours else "",
                ]
            )
    return table(
        ["operation", "count", "gate", "NF2FS", "", "LittleFS", "NF2FS, dearest call", "stack, B"],
        lines,
    )


def ram_table(results, rows):
    """The rows beside each other with each amount of RAM that was measured."""
    ram = {(line["file_system"], line["ram_given"]): line["ram"] for line in results}
    columns = sorted(ram, key=lambda place: (SYSTEMS.index(place[0]), place[1]))
    lines = []
    for row in rows:
        found = [pick(results, row, *place) for place in columns]
        if any(found) and row != "known_loop":
            lines.append([rows[row]["title"], *map(both, found)])
    headings = [f"{NAMES[place[0]]}, {ram[place]:,} B" for place in columns]
    return table(["operation", *headings], lines)


def idle_table(results, rows):
    lines = []
    for row in rows:
        line = pick(results, row, "nf2fs", RAM[0])
        if line and line["budget_us"]:
            erases = line["block_erases"] + line["large_erases"]
            idle = line["programs"] + erases == 0
            could = any(
                one["programs"]
                for one in results
                if one["suite"] == line["suite"]
                and one["budget_us"]
                and one["file_system"] == "nf2fs"
            )
            held = "met" if line["total_us_most"] <= line["budget_us"] else "**missed**"
            lines.append(
                [
                    line["title"],
                    f"{line['budget_us'] / 1000:,.0f}",
                    f"{line['total_us_most'] / 1000:,.1f}",
                    held,
                    line["operations"],
                    line["programs"],
                    erases,
                    "**no**" if idle and could else "yes" if could else "",
                ]
            )
    return table(
        [
            "step",
            "budget, ms",
            "longest, ms",
            "",
            "steps",
            "programs in all",
            "erases in all",
            "gets on",
        ],
        lines,
    )


def count_verdicts(results):
    found = [
        verdict(line)
        for line in results
        if line["file_system"] == "nf2fs" and line["ram_given"] == RAM[0]
    ]
    return f"{found.count('met')} of {len(found) - found.count('')} rows with a gate meet it."


def page(results, rows, size_text, stack_gate):
    version = {line["file_system"]: line["version"] for line in results}
    stack = max(
        line["stack"]
        for line in results
        if line["file_system"] == "nf2fs" and line["ram_given"] == RAM[0]
    )
    their_stack = max(
        line["stack"]
        for line in results
        if line["file_system"] == "littlefs" and line["ram_given"] == USUAL
    )
    return (
        "\n\n".join(
            [
                "# On a Cortex-M4",
                f"Made by `make target-cost`; do not edit. NF2FS {version['nf2fs']}, "
                f"LittleFS {version['littlefs']}. The figures "
                "are exact for a build, and the same on every run. `make target-profile ROW=...` "
                "shows where a row's instructions go; "
                "`make size` prints the bytes alone.",
                "## Instructions",
                "Instructions of an operation on the average / of the dearest one. An operation "
                "may be several calls, such as open, write "
                "and close. QEMU runs the program, a plugin counts each instruction of the file "
                "system and of the functions of libc and "
                "libgcc that it calls; those of the driver and of the rows themselves are left "
                "out. An instruction whose condition does "
                "not hold counts as one. Chip: 8 MiB (4 MiB where files are aged), pages of 256 B, "
                "erases of 4 and 64 KiB. "
                f"NF2FS has {RAM[0]:,} B of RAM with one open file, LittleFS its usual small "
                f"caches. {count_verdicts(results)}",
                main_table(results, rows),
                f"Most stack that was written in all rows, driver left out: NF2FS {stack:,} B "
                f"(gate {stack_gate:,} B), LittleFS {their_stack:,} B.",
                "## More RAM for caches",
                "The same with more RAM, all of it for a mounted volume with one open file. NF2FS "
                "gets it as the buffer of its "
                "configuration; LittleFS as larger caches and lookahead.",
                ram_table(results, rows),
                "## Idle work",
                "Steps of `nf2_maintain`. The longest step is the chip's time and the processor's "
                f"together, at {MHZ} MHz and {CYCLES} "
                "cycles an instruction; it should stay within the budget. Where there is work, a "
                "small budget should get on with it, too.",
                idle_table(results, rows),
                "## Bytes",
                size_text.strip(),
            ]
        )
        + "\n"
    )


def compare(results, path):
    """Prints all that was measured, with the means of the run before, and keeps it for the next."""
    old = {(line["file_system"], line["ram_given"], line["row"]): line for line in read_lines(path)}
    print_results(results, old)
    new = {(line["file_system"], line["ram_given"], line["row"]): line for line in results}
    write_lines(path, {**old, **new}.values())


def print_results(results, old):
    print(
        f"{'row':18} {'fs':8} {'ram':>5} {'mean':>12} {'before':>12} {'most':>13} {'gate':>15} "
        f"{'':8} {'stack':>5} {'flash most, ms':>14}  dearest call"
    )
    for line in results:
        was = old.get((line["file_system"], line["ram_given"], line["row"]))
        mean = f"{was['mean']:,}" if was else "-"
        print(
            f"{line['row']:18} {line['file_system']:8} {line['ram']:5} {line['mean']:12,} "
            f"{mean:>12} {line['most']:13,} {gate(line):>15} "
            f"{verdict(line).strip('*'):8} {line['stack']:5} {line['flash_us_most'] / 1000:14,.1f} "
            f" {line['call']} {line['call_most']:,}"
        )


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def main():
    rows = tomllib.loads((TARGET / "rows.toml").read_text())["rows"]
    suites = list(dict.fromkeys(row["suite"] for row in rows.values()))
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    target_run.add_options(options)
    options.add_argument("--fs", nargs="+", choices=SYSTEMS, help="only these")
    options.add_argument(
        "--ram",
        nargs="+",
        type=int,
        choices=[USUAL, *RAM],
        help="only with so many bytes (0: LittleFS's usual settings)",
    )
    options.add_argument("--suite", nargs="+", choices=suites, help="only these")
    options.add_argument(
        "--fresh", action="store_true", help="run what was run with the same programs before, too"
    )
    options.add_argument("--page", type=Path, help="where the page goes")
    given = options.parse_args()
    try:
        build, systems = target_run.prepare(given)
        results = measure(given, build, systems, rows)
        main_places = {USUAL, RAM[0]} <= {*(given.ram or [USUAL, *RAM])}
        whole = main_places and not given.fs and not given.suite
        path = given.out / "cost.jsonl"
        compare(results, path.with_suffix(".last.jsonl"))
        if not whole:
            return
        settings = tomllib.loads((TARGET / "size.toml").read_text())
        sizes = [target_size.measure(build, systems[name](), settings) for name in SYSTEMS]
    except Failure as failure:
        sys.exit(f"target-cost: {failure}")
    write_lines(path, results)
    print(path)
    if given.page:
        given.page.write_text(
            page(
                results,
                rows,
                target_size.markdown(*sizes, settings),
                settings["gates"]["stack"],
            )
        )
        print(given.page)


if __name__ == "__main__":
    main()
