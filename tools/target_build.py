# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a file system for a bare Cortex-M4: what target_size.py and target_cost.py share.

Objects are kept by a hash of all that goes into them, so that a second run compiles only what
changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target"
CROSS = "arm-none-eabi-"
CPU = ["-mcpu=cortex-m4", "-mthumb"]
# Both file systems are compiled with these.
FLAGS = [
    *CPU,
    "-Os",
    "-std=c11",
    "-ffunction-sections",
    "-fdata-sections",
    "-DNDEBUG",
    "-g",
    f"-ffile-prefix-map={ROOT}=.",
]
LITTLEFS_FLAGS = [
    "-DLFS_NO_MALLOC",
    "-DLFS_NO_DEBUG",
    "-DLFS_NO_WARN",
    "-DLFS_NO_ERROR",
    "-DLFS_NO_ASSERT",
]
PACKAGES = {
    CROSS + "gcc": ["gcc-arm-none-eabi", "libnewlib-arm-none-eabi"],
    "qemu-system-arm": ["qemu-system-arm"],
}


class Failure(Exception):
    """Something that the user can mend; the text says how."""


@dataclass
class FileSystem:
    name: str
    sources: list[Path]
    includes: list[Path]
    header: Path  # declares the calls
    flags: list[str] = field(default_factory=list)  # beside FLAGS

    def headers(self):
        """The public headers: those beside the one that declares the calls."""
        return sorted(self.header.parent.glob("*.h"))

    def include_flags(self):
        return [f"-I{path}" for path in self.includes]


def run(*command, **options):
    """Runs a command and returns what it prints; a failure shows all of it."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        raise Failure(f"{' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(*programs):
    """Installs what is missing when run as root on Debian; else says what to install."""
    missing = [name for name in programs if not shutil.which(name)]
    if not missing:
        return
    packages = sorted({package for name in missing for package in PACKAGES[name]})
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {' '.join(packages)}", file=sys.stderr)
        command = [
            "apt-get",
            "-o",
            "DPkg::Lock::Timeout=600",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
        ]
        run(*command, *packages, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        missing = [name for name in programs if not shutil.which(name)]
    if missing:
        raise Failure(
            f"{', '.join(missing)} not found: install {' '.join(packages)} (names of Debian's "
            "packages)"
        )


def nf2fs(sources, includes):
    """The core that is made of these sources; its header is found as the compiler would find it."""
    sources, includes = [Path(path) for path in sources], [Path(path) for path in includes]
    if not sources:
        raise Failure("there are no sources of this core")
    missing = [path for path in sources if not path.is_file()]
    if missing:
        raise Failure(f"no such source: {', '.join(map(str, missing))}")
    for folder in includes:
        if (folder / "nf2fs" / "nf2fs.h").is_file():
            return FileSystem("nf2fs", sources, includes, folder / "nf2fs" / "nf2fs.h")
    raise Failure(f"no nf2fs/nf2fs.h in {', '.join(map(str, includes))}")


def littlefs(folder):
    folder = Path(folder)
    if not (folder / "lfs.c").is_file():
        raise Failure(f"no lfs.c in {folder}: fetch it with peers/littlefs/fetch.sh {folder}")
    return FileSystem(
        "littlefs",
        [folder / "lfs.c", folder / "lfs_util.c"],
        [folder],
        folder / "lfs.h",
        LITTLEFS_FLAGS,
    )


# A declaration of a function with one of these prefixes, at the beginning of a line.
CALL = re.compile(r"^(?:const\s+)?\w+\s+\**((?:nf2|lfs)_\w+)\s*\(", re.MULTILINE)


def calls(system):
    """The names of all public functions, in the order of the headers."""
    parts = [path for path in system.headers() if path.stem == "attributes"]
    text = "\n".join(path.read_text() for path in [system.header, *parts])
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [
        name for name in dict.fromkeys(CALL.findall(text)) if not name.startswith("lfs_migrate")
    ]


def sizes(build, system, names):
    """The value of sizeof for each name of a type or constant expression, in bytes."""
    header = "nf2fs/nf2fs.h" if system.name == "nf2fs" else "lfs.h"
    lines = [f'#include "{header}"'] + [
        f"char size_{i}[sizeof({name})];" for i, name in enumerate(names)
    ]
    unit = build.write("sizes.c", "\n".join(lines) + "\n")
    listed = run(CROSS + "nm", "-S", build.compile(system, [unit])[0])
    found = {
        words[3]: int(words[1], 16)
        for words in map(str.split, listed.splitlines())
        if len(words) == 4
    }
    return [found[f"size_{i}"] for i in range(len(names))]


class Build:
    """A folder of objects and programs."""

    def __init__(self, folder, jobs=1):
        self.folder = Path(folder)
        self.jobs = jobs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.compiler = run(CROSS + "gcc", "--version").splitlines()[0]

    def write(self, name, text):
        """A generated source, written only when it changes."""
        path = self.folder / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
        return path

    def compile(self, system, sources, flags=()):
        """Objects of these sources, each in a folder of its own beside what the compiler says of
        it."""
        flags = [*FLAGS, *system.flags, *system.include_flags(), *flags, "-fcallgraph-info=su,da"]
        state = hashlib.sha256(repr([self.compiler, flags]).encode())
        for folder in dict.fromkeys([*system.includes, TARGET]):
            for path in sorted(folder.rglob("*.h")):
                state.update(path.read_bytes())
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(
                pool.map(lambda source: self._compile(Path(source), flags, state.copy()), sources)
            )

    def _compile(self, source, flags, state):
        state.update(str(source).encode() + source.read_bytes())
        folder = self.folder / "objects" / state.hexdigest()[:16]
        result = folder / f"{source.stem}.o"
        if not result.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            run(CROSS + "gcc", *flags, "-c", source, "-o", folder / f"{source.stem}.new.o")
            for made in folder.glob(f"{source.stem}.new.*"):
                if made.suffix != ".o":
                    made.rename(folder / made.name.replace(".new.", "."))
            (folder / f"{source.stem}.new.o").rename(result)
        return result

    def link(self, name, objects, *flags):
        """Links with garbage collection of sections; returns the program and its map."""
        program = self.folder / f"{name}.elf"
        listing = self.folder / f"{name}.map"
        run(
            CROSS + "gcc",
            *CPU,
            "-nostartfiles",
            "-Wl,--gc-sections",
            f"-Wl,-Map={listing}",
            *flags,
            *objects,
            "-o",
            program,
        )
        return program, listing


@dataclass
class Section:
    """An input section that was linked: a function, a table or a variable."""

    name: str
    address: int
    size: int
    place: str  # path of the object, or "archive(member)"

    @property
    def symbol(self):
        parts = self.name.split(".", 2)
        return parts[2] if len(parts) > 2 else parts[1]

    @property
    def kind(self):
        return self.name.split(".")[1]

    @property
    def archive(self):
        """The archive that it comes from without its suffix, or an empty text."""
        found = re.search(r"([^/]+)\.a\(", self.place)
        return found.group(1) if found else ""

    @property
    def member(self):
        """The source, or the member of the archive, without folder and suffix."""
        found = re.search(r"\(([^)]+)\.o\)$", self.place)
        return found.group(1) if found else Path(self.place).stem


LINE = re.compile(r"^ (\.[\w.$-]+|\*fill\*|COMMON)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?: (.+))?$")


LOADED = (".text", ".rodata", ".data", ".bss", ".ARM.exidx", ".ARM.extab")


def linked_sections(listing):
    """What the map of a linked program says is in it. A gap in front of a section counts as the
    section's in front of it."""
    text = Path(listing).read_text().split("Linker script and memory map", 1)[1]
    text = re.sub(r"^( \.\S+)\n\s+(0x)", r"\1 \2", text, flags=re.MULTILINE)
    result = []
    for found in filter(None, map(LINE.match, text.splitlines())):
        name, address, size, place = (
            found.group(1),
            int(found.group(2), 16),
            int(found.group(3), 16),
            found.group(4),
        )
        if name == "*fill*" and result:
            result[-1].size += size
        elif size and place and name.startswith(LOADED):
            result.append(Section(name, address, size, place))
    return result
