# SPDX-License-Identifier: BSD-2-Clause
"""Puts the record of a run into docs/PROOF.md, between the marks of its section. What is outside the marks is left alone.

    proof_page.py torture report.json      power cuts of NF2FS (make torture)
    proof_page.py peers peers.json         the same cuts over NF2FS and its peers (make torture-peers)
    proof_page.py fuzz record.json         inputs that a fuzzer made (make fuzz)
    proof_page.py coverage summary.json    lines and branches of the core that the tests reach (make coverage)
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "PROOF.md"

# What each file system promises of the columns below. Others are counted, in brackets.
PROMISES = {
    "runs": "no crash, no failed assertion, no endless loop",
    "mounts": "it mounts",
    "readable": "all that is listed can be read",
    "durable": "what was synced and is not the subject of the call is there, and nothing else",
    "whole": "a cut sync, close, mkdir or remove is done or not done",
    "rename": "a cut rename shows one name or the other",
    "no ghost": "a new file is not there, empty, before its first sync",
    "goes on": "more calls, and one more mount, do what they should",
    "space": "all space comes back when all is removed",
}
NOT_PROMISED = {"littlefs": {"no ghost"}, "littlefs-p256": {"no ghost"}, "fatfs": set(PROMISES)}


def number(value):
    return f"{value:,}"


def milliseconds(microseconds):
    return f"{microseconds / 1000:,.1f}"


def table(headings, rows, texts=1):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * texts + "---:|" * (len(headings) - texts)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def version(record):
    return f"NF2FS {record['version']}" if record.get("version") else "NF2FS of an unknown version"


# ---- power cuts ------------------------------------------------------------------------------------------


def torture(report):
    failed = report["failed"]
    parts = [f"{version(report)}: {number(report['cuts'])} cuts in {number(report['histories'])} histories of {number(report['calls'])} calls, "
             f"{number(failed)} failure{'' if failed == 1 else 's'}. Seed {report['seed']}, {report['seconds']:,.0f} s in {report['jobs']} "
             f"process{'' if report['jobs'] == 1 else 'es'}; {number(report['read_only_mounts'])} read-only mounts first, "
             f"{number(report['emptied'])} volumes emptied at the end."]
    parts.append(table(["campaign", "cells", "histories", "calls", "cuts", "failures"],
                       [[row["name"], *(number(row[key]) for key in ("cells", "histories", "calls", "cuts", "failures"))] for row in report["campaigns"]]))
    parts.append(table(["what the cuts left", "cuts"], [[name, number(count)] for name, count in report["cuts_by_what_they_left"].items()]))
    parts.append(table(["what the mount found", "mounts"], [[name, number(count)] for name, count in report["mounts_by_what_they_found"].items()]))
    depths = report["cuts_in_a_row"]
    parts.append(table(["cuts in a row", *(str(i + 1) for i in range(len(depths)) if depths[i])],
                       [["cuts", *(number(count) for count in depths if count)]]))
    chips = [[chip["name"], number(chip["cuts"]), number(chip["mounts"]), milliseconds(chip["mount_us_max"]), number(chip["mounts_above_10_ms"]),
              number(chip["mounts_with_an_erase"]), milliseconds(chip["first_write_us_max"]) if chip["first_writes"] else "-",
              number(chip["first_writes_above_10_ms"]) if chip["first_writes"] else "-"] for chip in report["chips"]]
    parts.append(table(["chip", "cuts", "mounts after a cut", "longest, ms", "above 10 ms", "with an erase", "longest with a first write, ms", "above 10 ms"],
                       chips))
    if report["failures"]:
        parts.append("\n".join(["Failures:", ""] + [f"- {row['campaign']}, {row['chip']}, {row['times']} times: {row['text']}" for row in report["failures"]]))
    return parts


# ---- the same cuts over the peers ------------------------------------------------------------------------


def broken_cell(row, promise):
    count = number(row["broken"][promise])
    return f"({count})" if promise in NOT_PROMISED.get(row["fs"], set()) else count


def peers(record):
    rows = record["rows"]
    systems = list(dict.fromkeys(row["fs"] for row in rows))
    parts = [f"{version(record)}. Each call of {max(row['scripts'] + row['stopped'] for row in rows)} scripts, of each operation a seeded choice: about "
             f"{number(record['cuts_a_script'])} cuts a script; seed {record['seed']}. "
             + " ".join(f"*{row['fs']}* is {row['description']} ({row['version']})." for row in {row["fs"]: row for row in rows}.values())]
    parts.append("Cuts after which a promise was broken; in brackets where it is none of that file system's own:")
    names = list(PROMISES)
    parts.append(table(["file system", "chip", "cuts", "second cuts", *names],
                       [[row["fs"], row["chip"], number(row["cuts"]), number(row["second_cuts"]), *(broken_cell(row, name) for name in names)] for row in rows], 2))
    parts.append("\n".join(f"- *{name}*: {text}." for name, text in PROMISES.items()))
    tears = list(rows[0]["tears"])
    cells = []
    for tear in tears:
        line = [tear]
        for system in systems:
            mine = [row for row in rows if row["fs"] == system]
            own = [name for name in names if name not in NOT_PROMISED.get(system, set())] or names
            bad = [(name, sum(row["tears_broken"][tear][name] for row in mine)) for name in own]
            text = ", ".join(f"{name} {number(count)}" for name, count in bad if count)
            total = number(sum(row["tears"][tear] for row in mine))
            none_promised = NOT_PROMISED.get(system) == set(PROMISES)
            line.append("-" if total == "0" else f"{total}: all kept" if not text else f"{total}: ({text})" if none_promised else f"{total}: {text}")
        cells.append(line)
    parts.append("By what the cut left, all chips: cuts, and own promises that were broken (of FatFs, which has none: all of them, in brackets):")
    parts.append(table(["what the cut left", *systems], cells, 1 + len(systems)))
    parts.append("Beside the promises:")
    parts.append(table(["file system", "chip", "longest mount, ms", "with a first write, ms", "mounts that erased", "wrong until the first write",
                        "programs against the chip's rules", "ghosts between calls", "scripts not ended"],
                       [[row["fs"], row["chip"], milliseconds(row["mount_us_max"]), milliseconds(row["first_write_us_max"]),
                         number(row["mounts_with_an_erase"]), number(sum(row["until_first_write"].values())), number(row["violations"]),
                         number(row["ghosts_between_calls"]), number(row["stopped"])] for row in rows], 2))
    stopped = [f"- {row['fs']}, {row['chip']}: {row['stopped_text']}" for row in rows if row["stopped"]]
    if stopped:
        parts.append("\n".join(["Scripts that did not come to their end, without a cut:", ""] + stopped))
    return parts


# ---- fuzzing ---------------------------------------------------------------------------------------------


def fuzz(record):
    rows = [[row["name"], row["what"], number(row["executions"]), number(row["calls"]), number(row["cuts"]),
             number(round(row["executions"] / row["seconds"])) if row["seconds"] else "-", number(row["corpus"]), number(row["found"])]
            for row in record["targets"]]
    total = sum(row["executions"] for row in record["targets"])
    before = [f"{number(count)} with {name}" for name, count in record.get("versions", {}).items() if name != record.get("version")]
    of = f" ({', '.join(before)}, all others with this version)" if before else ""
    return [f"{version(record)}: {number(total)} executions{of}, {number(sum(row['found'] for row in record['targets']))} inputs that failed.",
            table(["target", "input", "executions", "calls", "cuts", "executions a second", "corpus", "failed"], rows, 2)]


# ---- coverage --------------------------------------------------------------------------------------------


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def explained(path):
    """Lines that no test reaches, with the reason: `file: text of the line: reason`."""
    reasons = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if line.strip() and not line.startswith("#"):
            name, text, reason = line.split(" | ")
            reasons[name.strip(), text.strip()] = reason.strip()
    return reasons


def coverage(summary):
    """From gcovr's full JSON: sums, files below 100%, and each line that nothing reaches."""
    reasons = explained(ROOT / "tests" / "unreached.txt")
    rows, missing, unknown = [], [], 0
    all_lines = all_hit = all_branches = all_taken = 0
    for file in sorted(summary["files"], key=lambda entry: entry["file"]):
        source = (ROOT / file["file"]).read_text(encoding="utf-8").splitlines()
        lines = {}
        branches = {}
        for line in file["lines"]:
            place = line["line_number"]
            lines[place] = lines.get(place, 0) + line["count"]
            taken = [branch["count"] > 0 for branch in line["branches"]]
            known = branches.setdefault(place, taken)
            if known is not taken and len(known) == len(taken):
                branches[place] = [a or b for a, b in zip(known, taken)]
        hit = sum(count > 0 for count in lines.values())
        total = sum(len(taken) for taken in branches.values())
        taken = sum(sum(taken) for taken in branches.values())
        all_lines, all_hit, all_branches, all_taken = all_lines + len(lines), all_hit + hit, all_branches + total, all_taken + taken
        rows.append([Path(file["file"]).name, number(len(lines)), percent(hit, len(lines)), number(total), percent(taken, total)])
        for place, count in sorted(lines.items()):
            if count == 0:
                text = source[place - 1].strip()
                reason = reasons.get((Path(file["file"]).name, text))
                unknown += reason is None
                missing.append([Path(file["file"]).name, f"`{text.replace('|', chr(92) + '|')}`", reason or "**not explained**"])
    head = (f"{version(summary)}: {percent(all_hit, all_lines)} of {number(all_lines)} lines, {percent(all_taken, all_branches)} of "
            f"{number(all_branches)} branches. {number(len(missing))} lines are never reached, {number(unknown)} of them not explained.")
    parts = [head, table(["file", "lines", "reached", "branches", "taken"], rows)]
    if missing:
        parts += ["Lines that nothing reaches (the reasons are in `tests/unreached.txt`):", table(["file", "line", "why"], missing, 3)]
    return parts


# ---- the page --------------------------------------------------------------------------------------------


def replace_section(text, name, block):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if begin not in text or end not in text.split(begin, 1)[1]:
        sys.exit(f"docs/PROOF.md has no marks for {name}")
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end, 1)[1]}"


SECTIONS = {"torture": torture, "peers": peers, "fuzz": fuzz, "coverage": coverage}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("record", type=Path)
    parser.add_argument("--version", help="of NF2FS in this run; a file that holds it may be given as @FILE")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    record = json.loads(arguments.record.read_text(encoding="utf-8"))
    given = arguments.version
    if given:
        record["version"] = Path(given[1:]).read_text(encoding="utf-8").strip() if given.startswith("@") else given
    block = "\n\n".join(SECTIONS[arguments.section](record))
    arguments.page.write_text(replace_section(arguments.page.read_text(encoding="utf-8"), arguments.section, block), encoding="utf-8")
    print(f"{arguments.page}: {arguments.section}")


if __name__ == "__main__":
    main()
