# SPDX-License-Identifier: BSD-2-Clause
"""Builds norbench-cell for an emulated ARM processor, so that the instructions of a cell are
counted: `make processor` calls it, `norbench --processor` runs what it makes.

The file systems are compiled as target_cost.py compiles them, for a Cortex-M4 with -Os. Each gets
copies of its own of what it calls in libc and libgcc: only these and the file system's own
functions are counted, not the benchmark, the adapters, the driver and the virtual chip. Written
beside norbench-cell: the program NAME-m4, a table NAME-m4.table for the plugin target/count.c, and
the plugin.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import target_build
import target_run
from target_build import CPU, CROSS, ROOT, TARGET, Build, Failure, FileSystem, run

CELL_FLAGS = ["-O2", "-std=gnu11", "-DNORBENCH_TARGET", "-w"]
MARKS = {"op_begin": "mark_call_begin", "op_end": "mark_call_end"}
# What a file system may call that is counted as its own: plain functions that need nothing else.
COPIED = re.compile(r"(mem|str)\w+|__aeabi_\w+|__\w+[sd]i[23]")
# norbench/target/absent.c stands in for the first two; what checks cost is counted with the core's own.
ABSENT_HERE = {"stacks.c", "image.c", "fast_crc.c"}
PLUGIN = "libnorbench-count.so"
YAFFS2_FLAGS = [
    "-DCONFIG_YAFFS_DIRECT",
    "-DCONFIG_YAFFS_YAFFS2",
    "-DCONFIG_YAFFS_PROVIDE_DEFS",
    "-DCONFIG_YAFFSFS_PROVIDE_VALUES",
    "-D_GNU_SOURCE",
    "-w",
]
WRAPPED = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "free")]
target_build.PACKAGES["qemu-arm"] = ["qemu-user"]


def fatfs(folder):
    folder = Path(folder)
    sources = [folder / "ff.c", folder / "ffunicode.c"]
    return FileSystem(
        "fatfs", sources, [ROOT / "peers" / "fatfs", folder], folder / "ff.h", ["-w"]
    )


def yaffs2(folder):
    folder = Path(folder)
    sources = sorted(folder.glob("yaffs_*.c")) + [folder / "yaffsfs.c"]
    listed = yaffs2_sources()
    sources = [path for path in sources if path.stem in listed]
    includes = [ROOT / "peers" / "yaffs2" / "shim", folder]
    return FileSystem("yaffs2", sources, includes, folder / "yaffsfs.h", YAFFS2_FLAGS)


def yaffs2_sources():
    """As peers/CMakeLists.txt lists them."""
    text = (ROOT / "peers" / "CMakeLists.txt").read_text()
    names = re.search(r"set\(yaffs2_sources\s+([^)]*)\)", text).group(1).split()
    return {f"yaffs_{name}" for name in names} | {"yaffsfs"}


def undefined(thing):
    return {line.split()[-1] for line in run(CROSS + "nm", "-u", thing).splitlines()}


def counted_object(build, name, objects):
    """One object of a file system with copies of what it calls in libc; nobody else sees these."""
    plain = build.folder / f"{name}.plain.o"
    run(CROSS + "ld", "-r", *objects, "-o", plain)
    wanted = sorted(one for one in undefined(plain) if COPIED.fullmatch(one))
    copies = build.folder / f"{name}.copies.o"
    asked = [f"-Wl,-u,{one}" for one in wanted]
    run(CROSS + "gcc", *CPU, "-r", "-nostdlib", *asked, "-lc", "-lgcc", "-o", copies)
    left = undefined(copies)
    if left:
        raise Failure(f"what {name} calls in libc needs {', '.join(sorted(left))}")
    public = build.folder / f"{name}.public"
    symbols = run(CROSS + "nm", "-g", "--defined-only", "--format=posix", plain).splitlines()
    public.write_text("".join(line.split()[0] + "\n" for line in symbols))
    both = build.folder / f"{name}.both.o"
    run(CROSS + "ld", "-r", plain, copies, "-o", both)
    counted = build.folder / f"{name}.counted.o"
    run(CROSS + "objcopy", f"--keep-global-symbols={public}", both, counted)
    return counted


def cell_sources(kind):
    """Those of norbench/CMakeLists.txt, without what only this computer has."""
    text = (ROOT / "norbench" / "CMakeLists.txt").read_text()
    names = re.search(r"set\(cell_sources\s+([^)]*)\)", text).group(1).split()
    found = [ROOT / "norbench" / name for name in names]
    found += sorted((ROOT / "vflash").glob("*.c")) + sorted((ROOT / "vfs").glob("*.c"))
    found += sorted((ROOT / "norbench" / "target").glob("*.c"))
    peers = ROOT / "peers"
    if kind == "gpl":
        found += [peers / "peers_gpl.c", *sorted((peers / "yaffs2").glob("*.c"))]
    else:
        found += [peers / "peers.c"]
    return [path for path in found if path.name not in ABSENT_HERE]


def build_cell(build, kind, systems, folder):
    """The program of these file systems, its table, and where they were put."""
    counted = [
        counted_object(build, one.name, build.compile(one, one.sources)) for one in systems
    ]
    loop = FileSystem("known_loop", [TARGET / "known_loop.c"], [], TARGET / "row.h")
    counted.append(counted_object(build, loop.name, build.compile(loop, loop.sources)))
    adapters = [
        ROOT / "peers" / one.name / f"vfs_{one.name}.c"
        for one in systems
        if one.name in ("littlefs", "fatfs")
    ]
    includes = [ROOT / name for name in ("norbench", "norbench/workloads", "vflash", "vfs", "peers")]
    includes += [path for one in systems for path in one.includes]
    flags = [f"-DNF2FS_PEER_{one.name.upper()}" for one in systems]
    flags += [flag for one in systems for flag in one.flags if flag.startswith("-D")]
    harness = FileSystem("cell", [], includes, ROOT / "vfs" / "vfs.h", [*flags, *CELL_FLAGS])
    objects = build.compile(harness, [*cell_sources(kind), *adapters])
    name = "norbench-cell-gpl-m4" if kind == "gpl" else "norbench-cell-m4"
    elf, listing = build.link(name, [*objects, *counted, "-lm"], "-Wl,-e,_start", *WRAPPED)
    sections = sorted(
        (
            one
            for one in target_build.linked_sections(listing)
            if one.kind == "text" and one.place.endswith(".counted.o")
        ),
        key=lambda one: one.address,
    )
    lines = [f"# compiler {short_name(build.compiler)}"]
    lines += [f"# code-{one.name} {code_bytes(listing, one.name)}" for one in systems]
    lines += target_run.function_lines(sections, set())
    addresses = symbols_of(elf)
    lines += [f"M {mark} {addresses[symbol]:x}" for mark, symbol in MARKS.items()]
    (folder / f"{name}.table").write_text("\n".join(lines) + "\n")
    run(CROSS + "strip", elf, "-o", folder / name)
    print(f"{folder / name}: {', '.join(one.name for one in systems)}")


def code_bytes(listing, name):
    """What of a file system was linked, with its tables and its copies of libc's functions."""
    kinds = ("text", "rodata", "data")
    return sum(
        one.size
        for one in target_build.linked_sections(listing)
        if one.place.endswith(f"/{name}.counted.o") and one.kind in kinds
    )


def short_name(compiler):
    """arm-none-eabi-gcc 12.2.1"""
    return " ".join([compiler.split()[0], *re.findall(r"\b\d+\.\d+\.\d+\b", compiler)[:1]])


def symbols_of(elf):
    words = map(str.split, run(CROSS + "nm", elf).splitlines())
    return {one[2]: int(one[0], 16) & ~1 for one in words if len(one) == 3}


def build_plugin(build, folder):
    """The plugin for this version of qemu-arm."""
    version = int(re.search(r"version (\d+)", run("qemu-arm", "--version")).group(1))
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    interface = f"-DPLUGIN_VERSION={1 if version < 9 else 2}"
    made = build.folder / PLUGIN
    run("cc", *flags, interface, TARGET / "count.c", "-o", made)
    shutil.copyfile(made, folder / PLUGIN)


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    target_run.add_options(options)
    options.add_argument("--fatfs", help="folder with ff.c; where it is not there, without FatFs")
    options.add_argument("--yaffs2", help="folder with yaffs_guts.c, likewise")
    options.add_argument("--beside", type=Path, required=True, help="folder of norbench-cell")
    given = options.parse_args()
    try:
        target_build.require(CROSS + "gcc", "qemu-arm")
        build = Build(given.out, given.jobs)
        core = target_build.nf2fs(given.sources, given.include)
        peers = [core]
        if (Path(given.littlefs) / "lfs.c").is_file():
            peers.append(target_build.littlefs(given.littlefs))
        if given.fatfs and (Path(given.fatfs) / "ff.c").is_file():
            peers.append(fatfs(given.fatfs))
        build_plugin(build, given.beside)
        build_cell(build, "", peers, given.beside)
        if given.yaffs2 and (Path(given.yaffs2) / "yaffs_guts.c").is_file():
            systems = [core, yaffs2(given.yaffs2)]
            build_cell(build, "gpl", systems, given.beside)
    except Failure as failure:
        sys.exit(f"processor: {failure}")


if __name__ == "__main__":
    main()
