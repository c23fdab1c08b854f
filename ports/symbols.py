# SPDX-License-Identifier: BSD-2-Clause
"""What the library and its ports need from outside when they are linked: a table, made by compiling for each target.

    symbols.py BUILD                            prints it; BUILD is a build of the library that CMake has configured
    symbols.py BUILD --write docs/PORTING.md    puts it between the marks there

Compiles with warnings as errors, without unaligned accesses. Targets whose compiler is missing are an error.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import amalgamate

ROOT = pathlib.Path(__file__).resolve().parents[1]
MARKS = ("<!-- symbols: made by `make symbols` -->\n", "<!-- end of symbols -->\n")
FLAGS = ["-std=c11", "-Os", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-ffunction-sections"]
TARGETS = {
    "Cortex-M0+": ("arm-none-eabi-", ["-mcpu=cortex-m0plus", "-mthumb"]),
    "Cortex-M4": ("arm-none-eabi-", ["-mcpu=cortex-m4", "-mthumb", "-mno-unaligned-access"]),
    "RV32IMC": ("riscv64-unknown-elf-", ["-march=rv32imc", "-mabi=ilp32", "-mstrict-align", "--specs=picolibc.specs"]),
}
PARTS = {
    "the library": [],
    "ports/spinor": [f"ports/spinor/{name}.c" for name in ("spinor", "spinor_command", "spinor_maker", "spinor_sfdp", "spinor_start")],
    "selftest": ["ports/spinor/selftest.c"],
    "nf2_posix.c": ["ports/freertos/nf2_posix.c"],
}
OWN = re.compile(r"nf2_|spinor_")


def compile_part(tool, flags, sources, includes, work):
    undefined, defined = set(), set()
    for i, source in enumerate(sources):
        out = pathlib.Path(work) / f"{i}.o"
        subprocess.run([f"{tool}gcc", *FLAGS, *flags, *[f"-I{place}" for place in includes], "-c", str(source), "-o", out],
                       check=True)
        for line in subprocess.run([f"{tool}nm", out], capture_output=True, text=True, check=True).stdout.splitlines():
            *_, kind, name = line.split()
            (undefined if kind == "U" else defined).add(name)
    return {name for name in undefined - defined if not OWN.match(name)}


def table(build):
    """{part: {target: names}}"""
    found = {part: {} for part in PARTS}
    with tempfile.TemporaryDirectory() as work:
        made = amalgamate.Amalgamation.of_build(build)
        whole = pathlib.Path(work) / "nf2fs.c"
        (pathlib.Path(work) / "nf2fs.h").write_text(made.header())
        whole.write_text(made.source())
        places = [work, *made.public, ROOT / "include", ROOT / "ports/spinor", ROOT / "ports/freertos"]
        for part, files in PARTS.items():
            for target, (tool, flags) in TARGETS.items():
                files_here = [ROOT / file for file in files] or [whole]
                found[part][target] = compile_part(tool, flags, files_here, places, work)
    return found


def names(listed):
    return ", ".join(f"`{name}`" for name in sorted(listed, key=lambda name: (name.startswith("_"), name))) or "none"


def markdown(found):
    lines = ["| | " + " | ".join(TARGETS) + " |", "|---|" + "---|" * len(TARGETS)]
    for part, targets in found.items():
        lines.append(f"| {part} | " + " | ".join(names(targets[target]) for target in TARGETS) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    text = markdown(table(options.build))
    if options.write is None:
        print(text, end="")
        return 0
    page = options.write.read_text()
    begin, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    options.write.write_text(page[:begin] + text + page[end:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
