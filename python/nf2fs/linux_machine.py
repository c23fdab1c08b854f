# SPDX-License-Identifier: BSD-2-Clause
"""The virtual machine in which the file systems of the Linux kernel are measured: Debian's own
kernel, and a small root in memory.

All of it comes from packages of the Debian registry and from this project's sources; it is made
once and kept in a directory. apt checks what it downloads. Debian removes a kernel when the next
one comes out, so the versions cannot be pinned: each row names them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import bench

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "peers" / "linux"
ARCHITECTURE = "amd64"
EMULATOR = "qemu-system-x86_64"
# Programs of the host, and the Debian package of each.
PROGRAMS = {
    EMULATOR: "qemu-system-x86",
    "apt-get": "apt",
    "apt-cache": "apt",
    "dpkg-deb": "dpkg",
    "make": "make",
    "cmake": "cmake",
    "gcc-12": "gcc-12",
    "cc": "gcc",
    "tar": "tar",
    "xz": "xz-utils",
}
# What the machine takes from the registry beside the kernel: programs, and the libraries that
# they need.
PROGRAM_PACKAGES = (
    "busybox-static",
    "squashfs-tools",
    "genromfs",
    "util-linux",
    "libfuse3-dev",
    "libc6",
    "liblz4-1",
    "liblzma5",
    "liblzo2-2",
    "libzstd1",
    "zlib1g",
    "libgcc-s1",
)
# Files that stand for the web assets of a device: linux_trees.py takes some of them.
WEB_PACKAGES = ("libjs-bootstrap5", "libjs-jquery", "fonts-font-awesome")
# Two modules that Debian leaves out of its kernel, and the files of the kernel's sources that
# they are made from: peers/linux/more/Kbuild.
LEFT_OUT = ("cramfs", "gluebi")
LEFT_OUT_FILES = (
    "fs/cramfs/inode.c",
    "fs/cramfs/uncompress.c",
    "fs/cramfs/internal.h",
    "drivers/mtd/ubi/gluebi.c",
    "drivers/mtd/ubi/ubi-media.h",
)
# Modules of the kernel that are loaded by name; what they need comes with them.
MODULES = (
    "mtdram",
    "nandsim",
    "mtdblock",
    "jffs2",
    "ubi",
    "ubifs",
    "zstd",
    "squashfs",
    "romfs",
    "fuse",
    *LEFT_OUT,
)
PROBE = "nf2_mtd_probe"
IMAGE_PROGRAMS = ("usr/bin/mksquashfs", "usr/bin/genromfs", "sbin/mkfs.cramfs")
COMMAND = "norbench-cell-own"
COPY = "norbench-linux-copy"  # peers/linux/copy_tree.c
FUSE = "nf2-fuse"  # peers/linux/nf2_fuse.c
PACKED = "norbench-packed"  # packed/load.c
CODECS = ROOT / "examples" / "compressed"
STEP_SECONDS = 900


class MachineError(bench.BenchError):
    """The machine cannot be made here."""


class RegistryError(MachineError):
    """The registry, or the list of its packages, cannot be reached."""


@dataclass(frozen=True)
class Machine:
    kernel: Path
    initramfs: Path
    cell: Path  # programs of the machine; they are static, so that they run on the host, too
    copy: Path
    facts: dict


def which(name: str) -> str | None:
    """A program on the PATH, or beside the Python that runs this: the project's own environment
    has a CMake."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else shutil.which(name)


def missing() -> list[str]:
    """What the host lacks, in words; nothing: the machine can be made."""
    found = [
        f"no {name} (Debian: {package})"
        for name, package in PROGRAMS.items()
        if which(name) is None
    ]
    if not SOURCES.is_dir():
        found.append(f"{SOURCES} is not there: the machine is made in a clone of the repository")
    if os.uname().machine != "x86_64":
        found.append("the machine has the processor of its host, and is made for x86-64 alone")
    return found


# ---- packages ----


def run(command: list, cwd: Path | None = None, error: type[MachineError] = MachineError) -> str:
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            cwd=cwd,
            timeout=STEP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise error(f"{command[0]} took longer than {STEP_SECONDS} s") from None
    if done.returncode:
        raise error(
            f"`{' '.join(map(str, command))}` failed: {(done.stderr or done.stdout).strip()[-600:]}"
        )
    return done.stdout


def kernel_release() -> str:
    """Of the newest kernel that the registry has: the package linux-image-amd64 needs it."""
    text = run(["apt-cache", "depends", f"linux-image-{ARCHITECTURE}"], error=RegistryError)
    found = re.search(r"Depends: linux-image-(\S+)", text)
    if not found:
        raise RegistryError(
            f"the package linux-image-{ARCHITECTURE} is not known: is there a package index "
            "(apt-get update)?"
        )
    return found.group(1)


def package_names(release: str) -> list[str]:
    common = release.removesuffix(f"-{ARCHITECTURE}")
    kbuild = "linux-kbuild-" + ".".join(release.split(".")[:2])
    return [
        f"linux-image-{release}",
        f"linux-headers-{release}",
        f"linux-headers-{common}-common",
        kbuild,
        *PROGRAM_PACKAGES,
        *WEB_PACKAGES,
    ]


def download(directory: Path, names: list[str]) -> dict[str, str]:
    """Into directory/packages; the version of each."""
    folder = directory / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    run(["apt-get", "download", "-qq", *names], cwd=folder, error=RegistryError)
    found = {}
    for name in names:
        archives = sorted(folder.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
        if not archives:
            raise MachineError(f"apt-get downloaded no {name}")
        found[name] = run(["dpkg-deb", "-f", archives[-1], "Version"]).strip()
        run(["dpkg-deb", "-x", archives[-1], directory / "root"])
    return found


# ---- the kernel's modules ----


def needs_of(module: Path) -> list[str]:
    """The modules that it names in its section .modinfo."""
    found = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return [name.decode() for name in found.group(1).split(b",") if name] if found else []


def all_needs(name: str, modules: dict[str, Path]) -> list[str]:
    """Names in the order in which they are loaded, without the module itself."""
    ordered: list[str] = []

    def visit(one: str) -> None:
        if one not in modules:
            raise MachineError(f"the kernel's package has no module {one}")
        for other in needs_of(modules[one]):
            visit(other)
            if other not in ordered:
                ordered.append(other)

    visit(name)
    return ordered


def kernel_modules(root: Path, release: str) -> dict[str, Path]:
    return {
        path.stem.replace("-", "_"): path
        for path in (root / "lib/modules" / release / "kernel").rglob("*.ko")
    }


def source_package(release: str) -> str:
    return "linux-source-" + ".".join(release.split(".")[:2])


def take_left_out(directory: Path, release: str) -> str:
    """The sources of the modules that the kernel's package lacks; the version of their package,
    of which nothing else is kept."""
    name = source_package(release)
    version = download(directory, [name])[name]
    archive = directory / "root/usr/src" / f"{name}.tar.xz"
    wanted = [f"{name}/{path}" for path in LEFT_OUT_FILES]
    run(["tar", "-xJf", archive, "--occurrence", "-C", directory, *wanted])  # ends at the last one
    archive.unlink()
    for package in (directory / "packages").glob(f"{name}_*.deb"):
        package.unlink()
    return version


def build_modules(directory: Path, release: str) -> dict[str, Path]:
    """The project's module and those that were left out, made with the headers of this kernel."""
    headers = directory / "root/usr/src" / f"linux-headers-{release}"
    makefile = headers / "Makefile"
    text = makefile.read_text()
    if "include /usr/src/" in text:  # as it is installed; here it lies elsewhere
        makefile.write_text(text.replace("include /usr/src/", f"include {headers.parent}/"))
    folders = [directory / "modules" / name for name in ("probe", "more")]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SOURCES / folder.name, folder)
    for path in LEFT_OUT_FILES:
        shutil.copy(directory / source_package(release) / path, folders[1])
    for folder in folders:
        run(["make", "-C", headers, f"M={folder}", "modules"])
    return {path.stem: path for folder in folders for path in folder.glob("*.ko")}


# ---- the program ----


def programs(directory: Path) -> dict[str, Path]:
    folder = directory / "cell"
    return {
        COMMAND: folder / "norbench" / COMMAND,
        COPY: folder / "peers/own" / COPY,
        FUSE: folder / "peers/own" / FUSE,
        PACKED: folder / "packed" / PACKED,
    }


def build_programs(directory: Path) -> None:
    folder = directory / "cell"
    cmake = which("cmake")
    codecs = directory.parent / "codecs"  # where `make release` has them, too
    run(["env", f"PYTHON={sys.executable}", CODECS / "fetch.sh", codecs], error=RegistryError)
    run(
        [
            cmake,
            "-S",
            ROOT,
            "-B",
            folder,
            f"-DNF2FS_OWN_PEERS={SOURCES}",
            "-DCMAKE_EXE_LINKER_FLAGS=-static",
            "-DNF2FS_PYTHON=OFF",
            f"-DNF2FS_FUSE_ROOT={directory / 'root'}",
            f"-DNF2FS_CODECS_DIR={codecs}",
            "-DCMAKE_BUILD_TYPE=Release",
        ]
    )
    run([cmake, "--build", folder, "--target", *programs(directory)])


# ---- the root in memory ----


class Archive:
    """The kernel's archive of its first root: entries of a cpio archive, each with a header of
    110 characters."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.count = 0
        self.folders = {""}

    def put(self, name: str, mode: int, data: bytes = b"") -> None:
        encoded = name.encode() + b"\0"
        fields = (self.count + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        head = b"070701" + b"".join(b"%08X" % value for value in fields) + encoded
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]
        self.count += 1

    def folder(self, name: str) -> None:
        if name not in self.folders:
            self.folder(name.rpartition("/")[0])
            self.folders.add(name)
            self.put(name, 0o40755)

    def file(self, name: str, data: bytes, mode: int = 0o100755) -> None:
        self.folder(name.rpartition("/")[0])
        self.put(name, mode, data)

    def link(self, name: str, target: str) -> None:
        self.folder(name.rpartition("/")[0])
        self.put(name, 0o120777, target.encode())

    def whole(self) -> bytes:
        self.put("TRAILER!!!", 0)
        return b"".join(self.parts)


def libraries(program: Path, root: Path) -> dict[str, Path]:
    """The shared libraries that a program names, and those that they name, from the packages."""
    found: dict[str, Path] = {}
    waiting = [program]
    names = re.compile(rb"(?<=\0)(?:lib[a-zA-Z0-9_+-]+|ld-linux-x86-64)\.so[.0-9]*(?=\0)")
    while waiting:
        for name in {match.decode() for match in names.findall(waiting.pop().read_bytes())}:
            places = [
                folder / name
                for folder in (root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu")
                if (folder / name).exists()
            ]
            if places and name not in found:
                found[name] = places[0]
                waiting.append(places[0])
    return found


def make_initramfs(directory: Path, release: str, built: dict[str, Path]) -> Path:
    root = directory / "root"
    modules = kernel_modules(root, release) | built
    archive = Archive()
    for name in ("dev", "proc", "sys", "tmp", "mnt", "bin"):
        archive.folder(name)
    archive.file("init", (SOURCES / "init.sh").read_bytes())
    archive.file("bin/busybox", (root / "bin/busybox").read_bytes())
    archive.link("bin/sh", "busybox")
    for name, path in programs(directory).items():
        archive.file(f"bin/{name}", path.read_bytes())
    shared: dict[str, Path] = {}
    for program in (root / name for name in IMAGE_PROGRAMS):
        archive.file(f"bin/{program.name}", program.read_bytes())
        shared |= libraries(program, root)
    for name, path in shared.items():
        archive.file(
            f"{'lib64' if name.startswith('ld-') else 'lib/x86_64-linux-gnu'}/{name}",
            path.read_bytes(),
        )
    needs, copied = [], set()
    for name in (*MODULES, PROBE):
        before = all_needs(name, modules)
        needs.append(" ".join([name, *before]))
        copied |= {name, *before}
    for name in sorted(copied):
        archive.file(f"modules/{name}.ko", modules[name].read_bytes(), 0o100644)
    archive.file("modules/needs", ("\n".join(needs) + "\n").encode(), 0o100644)
    path = directory / "initramfs.cpio"
    path.write_bytes(archive.whole())
    return path


# ---- all of it ----


def sources_digest() -> str:
    """Of what is compiled into the machine: a change makes it again."""
    digest = hashlib.sha256()
    folders = [
        SOURCES,
        ROOT / "src",
        ROOT / "include",
        ROOT / "vfs",
        ROOT / "vflash",
        ROOT / "norbench",
        ROOT / "packed",
        CODECS,
    ]
    for path in sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".c", ".h", ".sh") or path.name in ("Kbuild", "CMakeLists.txt")
    ):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def get_packages(directory: Path, facts: dict, say: Callable[[str], None]) -> None:
    """Those that are not there yet; `facts` says which are, and of which kernel."""
    if "release" not in facts:
        shutil.rmtree(directory / "root", ignore_errors=True)
        facts |= {"release": kernel_release(), "packages": {}}
    release, there = facts["release"], facts["packages"]
    lacking = [name for name in package_names(release) if name not in there]
    if lacking:
        say(f"downloading {len(lacking)} packages (Linux {release} and what its machine needs)")
        there |= download(directory, lacking)
    if source_package(release) not in there:
        there[source_package(release)] = take_left_out(directory, release)


def build(directory: Path, say: Callable[[str], None] = lambda text: None) -> Machine:
    """The machine in this directory, made anew where something that it is made of has changed."""
    lacking = missing()
    if lacking:
        raise MachineError("the virtual machine cannot be made: " + "; ".join(lacking))
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w") as lock:  # one of those who build at the same time does
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_locked(directory, say)


def build_locked(directory: Path, say: Callable[[str], None]) -> Machine:
    stamp, sources = directory / "machine.json", sources_digest()
    facts = json.loads(stamp.read_text()) if stamp.is_file() else {}
    initramfs = directory / "initramfs.cpio"
    if facts.get("sources") != sources or not initramfs.is_file():
        get_packages(directory, facts, say)
        facts.pop("sources", None)
        stamp.write_text(json.dumps(facts, indent=1) + "\n")
        say("compiling what runs in the machine")
        build_programs(directory)
        release = facts["release"]
        make_initramfs(directory, release, build_modules(directory, release))
        facts["sources"] = sources
        stamp.write_text(json.dumps(facts, indent=1) + "\n")
    kernel = directory / "root/boot" / f"vmlinuz-{facts['release']}"
    found = programs(directory)
    return Machine(kernel, initramfs, found[COMMAND], found[COPY], facts)
