# SPDX-License-Identifier: BSD-2-Clause
"""docs/LINUX.md: the tables of Sharif's comparison with ours beside them, and workloads of the
benchmark over Linux's file systems."""

from __future__ import annotations

import tomllib

from . import bench, linux_machine, linux_plan, linux_trees
from .bench_table import markdown_row, markdown_rule, status_text

PUBLISHED = linux_machine.SOURCES / "published.toml"
HEAD = linux_machine.SOURCES / "page.txt"
TEXT = {"file system", "workload", "", "worst call"}
CHIPS = {
    linux_plan.NAND: "NAND of 64 MiB (the paper's size; pages of 512 B)",
    linux_plan.NOR: "NOR of 32 MiB (W25Q256)",
    linux_plan.LARGE_NOR: "NOR of 128 MiB (W25Q01, times of W25Q256)",
}
BIG_MB, SMALL_MB = linux_trees.BIG_BYTES // linux_trees.MB, linux_trees.SMALL_BYTES / linux_trees.MB
TREES = {
    "big": f"One file of {BIG_MB} MB (modules of the kernel, which can be compressed)",
    "small": f"{linux_trees.SMALL_FILES} files, {SMALL_MB:g} MB together (likewise)",
    "random": f"One file of {BIG_MB} MB of random bytes, which cannot be compressed",
}
# Rows are better for ours, or for the peer, where they differ by more than this.
NOTABLE = 1.1


def seconds(us: float | None, digits: int = 3) -> str:
    return "-" if us is None else f"{us / 1e6:,.{digits}f}"


def kib(count: float | None) -> str:
    return "-" if not count else f"{count / 1024:,.0f}"


def millions(us: float | None) -> str:
    """A microsecond of the machine's clock is a thousand instructions (-icount shift=0)."""
    return "-" if us is None else f"{us / 1000:,.1f}"


class Rows:
    def __init__(self, rows: list[bench.Row]):
        self.rows = {linux_plan.key(row): row for row in rows}

    def get(self, fs: str, chip: str, workload: str) -> bench.Row | None:
        return self.rows.get((fs, chip, workload))

    def of(self, chip: str, workload: str) -> list[bench.Row]:
        """In the order of the plan."""
        wanted = [
            row for row in linux_plan.rows_of_page() if row.chip == chip and row.name == workload
        ]
        return [found for row in wanted if (found := self.get(row.fs, chip, workload))]


def published() -> dict:
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))


def printed(paper: dict, table: str, fs: str) -> list[str]:
    """What the paper prints of this file system, one text a column."""
    for value in paper[table]["value"]:
        if value["fs"] == fs:
            return [f"{one:,.2f}" for one in value["seconds"]]
    return ["-"] * len(paper[table]["columns"])


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    return [
        markdown_row(headings),
        markdown_rule(headings, TEXT),
        *(markdown_row(row) for row in rows),
        "",
    ]


def is_ours_on_host(row: bench.Row) -> bool:
    return row["fs"] == linux_plan.OURS


def mount_parts(row: bench.Row) -> tuple[float, float, float]:
    """UBI, the mount, and what threads did after it, at the mount of a volume that has content;
    microseconds."""
    if is_ours_on_host(row):
        return 0, row["mount_again"]["time_us"], 0
    ubi, after = row["kernel_attach_us"], row["kernel_after_mount_us"]
    return ubi, row["mount_again"]["time_us"] - ubi - after, after


def clock(row: bench.Row, step: str) -> float | None:
    return None if is_ours_on_host(row) else row[step]["clock_us"]


def mount_clock(row: bench.Row) -> float | None:
    """A server of FUSE is waited for, so that its mount has none."""
    return (
        None
        if is_ours_on_host(row) or row["fs"] == linux_plan.OURS_FUSE
        else row["kernel_mount_clock_us"]
    )


def memory(row: bench.Row) -> str:
    """NF2FS on the chip alone: its RAM; else what the kernel and, of FUSE, the server hold."""
    held = row["ram_bytes"] + row.get("kernel_server_bytes", 0)
    return f"{held / 1024:,.1f}" if is_ours_on_host(row) else kib(held)


# ---- Sharif's comparison ----


def boot_table(rows: list[bench.Row], paper: dict | None) -> list[str]:
    headings = [
        "file system",
        "UBI s",
        "mount s",
        "load s",
        "all s",
        "threads after the mount s",
        "M instr. mount",
        "M instr. load",
        "memory KiB",
        "modules KiB",
        "image KiB",
        *(["Sharif: mount s", "load s"] if paper else []),
    ]
    lines = []
    for row in rows:
        if not bench.is_good(row):
            lines.append([row["fs"], status_text(row), *["-"] * (len(headings) - 2)])
            continue
        ubi, mount, after = mount_parts(row)
        load = row["load"]["time_us"]
        lines.append(
            [
                row["fs"],
                seconds(ubi),
                seconds(mount),
                seconds(load),
                seconds(ubi + mount + load),
                seconds(after),
                millions(mount_clock(row)),
                millions(clock(row, "load")),
                memory(row),
                kib(row.get("kernel_module_bytes")),
                kib(row.get("kernel_image_bytes")),
                *(printed(paper, "boot", row["fs"]) if paper else []),
            ]
        )
    return table(headings, lines)


def write_table(rows: list[bench.Row], tree: str, paper: dict | None) -> list[str]:
    headings = [
        "file system",
        "mount s",
        "copy s",
        "unmount s",
        "all s",
        "pages programmed",
        "erases",
        "M instr. copy",
        "memory KiB",
        *(["Sharif: mount s", "copy s", "unmount s"] if paper else []),
    ]
    lines = []
    for row in rows:
        if not bench.is_good(row):
            lines.append([row["fs"], status_text(row), *["-"] * (len(headings) - 2)])
            continue
        steps = [row[step]["time_us"] for step in ("mount", "copy", "unmount")]
        programs = sum(row[step]["program_pages"] for step in ("mount", "copy", "unmount"))
        erases = sum(row[step]["erases"] for step in ("mount", "copy", "unmount"))
        lines.append(
            [
                row["fs"],
                *map(seconds, steps),
                seconds(sum(steps)),
                f"{programs:,}",
                f"{erases:,}",
                millions(clock(row, "copy")),
                memory(row),
                *(printed(paper, tree, row["fs"]) if paper else []),
            ]
        )
    return table(headings, lines)


def paper_tables(rows: Rows) -> list[str]:
    paper = published()
    lines = [
        "## The tables of Sharif's comparison",
        "",
        "The steps of `peers/linux/copy_tree.c`: a fresh chip is mounted, files are copied to it "
        "in pieces of 4 KiB, it is unmounted; it is mounted again, all files are loaded and "
        "compared, it is unmounted. The paper names neither its files nor its part.",
        "",
    ]
    for chip, title in CHIPS.items():
        lines += [f"### {title}", ""]
        found = rows.of(chip, "copy-root")
        if found:
            files = next((row for row in found if bench.is_good(row)), found[0])
            lines += [
                "**Boot: mount, and load of a root file system** "
                f"({files.get('files', 0)} programs and libraries, "
                f"{files.get('bytes', 0) / linux_trees.MB:.1f} MB). Image: what a read-only file "
                "system takes on the flash. Memory: what the kernel (of FUSE: and the server) "
                "keeps for the mounted volume, its caches dropped. Modules: code of the file "
                "system and of what lies below it.",
                "",
                *boot_table(found, paper if chip == linux_plan.NAND else None),
            ]
        for tree, text in TREES.items():
            found = rows.of(chip, f"copy-{tree}")
            if found:
                lines += [
                    f"**{text}.**",
                    "",
                    *write_table(
                        found, tree, paper if chip == linux_plan.NAND and tree in paper else None
                    ),
                ]
    return lines


# ---- read-only images ----


def image_table(rows: list[bench.Row]) -> list[str]:
    headings = [
        "file system",
        "image KiB",
        "mount ms",
        "load ms",
        "1 KiB at random ms",
        "M instr. load",
        "memory KiB",
    ]
    lines = []
    for row in rows:
        if not bench.is_good(row):
            lines.append([row["fs"], status_text(row), *["-"] * (len(headings) - 2)])
            continue
        image = row["fs"] in linux_plan.IMAGES
        random_ms = row["random"]["time_us"] / 1000 / row["random_reads"] if image else None
        lines.append(
            [
                row["fs"],
                kib(row.get("image_bytes") or row.get("kernel_image_bytes")),
                f"{row['mount_again']['time_us'] / 1000:,.3f}",
                f"{row['load']['time_us'] / 1000:,.1f}",
                "-" if random_ms is None else f"{random_ms:,.3f}",
                millions(clock(row, "load")),
                f"{row['ram_bytes'] / 1024:,.1f}" if image else memory(row),
            ]
        )
    return table(headings, lines)


def image_tables(rows: Rows) -> list[str]:
    titles = {
        "busybox": "BusyBox: its program, and a small file for each applet",
        "web": "Web assets: Bootstrap, jQuery, Font Awesome",
    }
    lines = [
        "## Read-only images",
        "",
        "`nf2 pack --read-only` makes images for a microcontroller (packed/README.md): `nf2-image` "
        "without compression, `-lz4` in chunks of 4 KiB, `-lz4-32k` in chunks of 32 KiB, "
        "`-heatshrink` in chunks of 1 KiB. They are mounted, and all files loaded and compared, by "
        "a program in the same machine, without the kernel: its instructions are those of the "
        "whole machine, too, but its memory is that of the reader and its one chunk, as a "
        "microcontroller would need it (on a processor of 64 bits). At random: 1 KiB somewhere in "
        "the largest file, the mean. `nf2fs` is an ordinary volume with the same files. On "
        "W25Q256.",
        "",
    ]
    for tree, title in titles.items():
        found = rows.of(linux_plan.NOR, f"copy-{tree}")
        good = [row for row in found if bench.is_good(row)]
        if good:
            lines += [
                f"**{title}** ({good[0]['files']} files, "
                f"{good[0]['bytes'] / linux_trees.MB:.1f} MB).",
                "",
                *image_table(found),
            ]
    return [*lines, *image_choice()]


def image_choice() -> list[str]:
    return [
        "| what is asked for | choose |",
        "|---|---|",
        "| Linux reads it, space is short | squashfs-xz: the smallest image; its processor works "
        "longest |",
        "| Linux reads it, memory is short | cramfs |",
        "| a microcontroller reads it, in place or byte by byte (programs, fonts, models) | a "
        "read-only image without compression: each file in one piece |",
        "| a microcontroller reads it, space is short, a few KiB of RAM are free | a read-only "
        "image with LZ4; a larger chunk takes less space and more RAM |",
        "| the same with hardly any RAM, and time to spare | heatshrink in chunks of 1 KiB or less |",
        "| files change, or more are to come | an ordinary volume; `put --compress` for those that "
        "do not change |",
        "| some of it is written by the device, most is not | two partitions: a volume, and an "
        "image (`read-only = true` in a manifest) |",
        "",
    ]


# ---- workloads ----


def workload_table(rows: Rows) -> list[str]:
    headings = [
        "workload",
        "file system",
        "flash ms",
        "pages programmed",
        "pages read",
        "erases",
        "unmount ms",
        "longest call ms",
        "worst call",
        "by threads %",
        "memory KiB",
    ]
    lines = []
    for workload in linux_plan.WORKLOADS:
        for row in rows.of(linux_plan.NOR, workload):
            if not bench.is_good(row):
                lines.append([workload, row["fs"], status_text(row), *["-"] * (len(headings) - 3)])
                continue
            lines.append(
                [
                    workload,
                    row["fs"],
                    f"{row['time_us'] / 1000:,.1f}",
                    f"{row['program_pages']:,}",
                    f"{row['read_pages']:,}",
                    f"{row['erases']:,}",
                    f"{row['unmount_us'] / 1000:,.1f}",
                    f"{row['worst_call_us'] / 1000:,.1f}",
                    row["worst_call_name"],
                    threads(row),
                    memory(row),
                ]
            )
    return [
        "## Workloads of the benchmark",
        "",
        "On W25Q256, fresh; `norbench list` says what each one does. Erases are counted in blocks "
        "of 4 KiB: one of 64 KiB counts as sixteen, and is charged as the data sheet says. Rows "
        "are as durable as the workload states, but for `ubifs-writeback`. By threads: of the "
        "flash time of the whole row, its preparation included, what threads of the kernel did.",
        "",
        *table(headings, lines),
    ]


def threads(row: bench.Row) -> str:
    if "kernel_background_us" not in row:
        return "-"
    background = row["kernel_background_us"]
    return f"{100 * background / max(background + row['kernel_foreground_us'], 1):.0f}"


# ---- which to choose ----


def faster(row: bench.Row, ours: bench.Row) -> float:
    return ours["time_us"] / max(row["time_us"], 1)


def better_rows(rows: Rows) -> list[str]:
    """Where a peer that promises the same needs less flash time than NF2FS in the same machine."""
    lines = []
    for workload in linux_plan.WORKLOADS:
        ours = rows.get(linux_plan.OURS_FUSE, linux_plan.NOR, workload)
        good = [
            row
            for row in rows.of(linux_plan.NOR, workload)
            if bench.is_good(row)
            and row["fs"] not in (linux_plan.OURS, linux_plan.OURS_FUSE, "ubifs-writeback")
        ]
        if bench.is_good(ours) and good:
            best = min(good, key=lambda row: row["time_us"])
            factor = faster(best, ours)
            verdict = (
                f"{best['fs']}, {factor:.1f} times as fast as NF2FS"
                if factor > NOTABLE
                else f"NF2FS, {1 / factor:.1f} times as fast as {best['fs']}"
                if factor < 1 / NOTABLE
                else f"NF2FS and {best['fs']} are level"
            )
            lines.append(f"- `{workload}`: {verdict}.")
    return lines


def choosing(rows: Rows) -> list[str]:
    measured = better_rows(rows)
    return [
        "## Which to choose where there is Linux",
        "",
        "- NAND: UBIFS. NF2FS cannot use it.",
        "- A root file system that does not change: squashfs (cramfs where memory is short). It "
        'takes a fraction of the space, as the column "image" says.',
        "- Files that can be compressed, a processor with time to spare: UBIFS or JFFS2 write "
        "fewer pages, as the tables of copied files say.",
        "- Owners, modes, links, times, extended attributes, mapped files: the kernel's file "
        "systems have all of them. NF2FS does not, and FUSE stands between it and the program.",
        "- A volume that a microcontroller without Linux uses, too: NF2FS. Files for it that do not "
        'change: see "Read-only images".',
        "- Small records and settings that must be durable one by one on NOR: by the rows above "
        "(flash time in the same machine, `ubifs-writeback` left out, as it promises less):",
        *(f"  {line}" for line in measured),
        "",
    ]


def missing(rows: Rows) -> list[str]:
    """What the page should have, and no row is there."""
    absent = [
        f"{row.name} on {row.fs} ({row.chip})"
        for row in linux_plan.rows_of_page()
        if rows.get(row.fs, row.chip, row.name) is None
    ]
    return ["Not measured yet: " + ", ".join(absent) + ".", ""] if absent else []


def version_of(rows: list[bench.Row]) -> str:
    versions = {str(row.get("version")) for row in rows}
    found = sorted(version for version in versions if version.startswith("Linux "))
    return ", ".join(found) or "not measured yet"


def page(rows: list[bench.Row], command: str) -> str:
    found = Rows(rows)
    return "\n".join(
        [
            HEAD.read_text(encoding="utf-8").format(command=command, version=version_of(rows)),
            *paper_tables(found),
            *image_tables(found),
            *workload_table(found),
            *choosing(found),
            *missing(found),
        ]
    )
