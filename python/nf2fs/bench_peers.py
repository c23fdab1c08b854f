# SPDX-License-Identifier: BSD-2-Clause
"""`norbench peers`: the file systems that can be measured, which of them are built, and how to get the others."""

from __future__ import annotations

from dataclasses import dataclass

from . import bench

MEASURED_ELSEWHERE = "in no registry; its figures in norbench/data/measured_elsewhere.csv were measured apart from this project"


@dataclass(frozen=True)
class Peer:
    title: str
    entries: tuple[str, ...]        # as `norbench list` names them; none: it cannot be built here
    licence: str
    source: str                     # where it comes from, pinned by version and hash in `fetch`
    fetch: str = ""                 # the script and the name of its CMake variable
    option: str = ""
    command: str = ""               # instead: what measures it, outside of the program of the others


PEERS = (
    Peer("raw flash", ("native",), "BSD-2-Clause", "this project"),
    Peer("NF2FS", ("nf2fs",), "BSD-2-Clause", "this project"),
    Peer("LittleFS 2.11", ("littlefs", "littlefs-p256", "littlefs-erasecheck", "littlefs-p256-erasecheck"), "BSD-3-Clause",
         "PyPI, source package littlefs-python", "littlefs", "NF2FS_LITTLEFS_DIR"),
    Peer("FatFs R0.15", ("fatfs",), "BSD-1-Clause style", "PyPI, source package fatfs", "fatfs", "NF2FS_FATFS_DIR"),
    Peer("YAFFS2", ("yaffs2", "yaffs1"), "GPL-2.0, in an executable of its own (norbench-cell-gpl)",
         "Debian 12, source package u-boot", "yaffs2", "NF2FS_YAFFS2_DIR"),
    Peer("JFFS2, UBIFS, cramfs, squashfs", (), "GPL-2.0, in a virtual machine under Debian's kernel", "Debian 12, packages of the kernel and of tools",
         command="norbench linux build, then norbench linux run"),
    Peer("SPIFFS", (), "MIT", MEASURED_ELSEWHERE),
    Peer("JesFS", (), "MIT", MEASURED_ELSEWHERE),
    Peer("FileX with LevelX", (), "MIT", MEASURED_ELSEWHERE),
    Peer("NF2FS of the paper's authors", (), "not stated", "in no registry; what the paper prints of it stands in docs/VALIDATION.md"),
    Peer("TSFS, Dhara", (), "not stated; MIT", "in no registry; nothing was measured"),
)


def state(peer: Peer, present: set[str]) -> str:
    if peer.command:
        return "in a virtual machine"
    if not peer.entries:
        return "cannot be built"
    missing = [name for name in peer.entries if name not in present]
    if not missing:
        return "built"
    return "not built" if len(missing) == len(peer.entries) else "in part: without " + ", ".join(missing)


def how(peer: Peer, present: set[str]) -> str:
    """What the user does to get it; empty where nothing is to be done."""
    if peer.command:
        return peer.command
    if not peer.entries:
        return "peers/README.md shows how an adapter is written for sources that you have"
    if all(name in present for name in peer.entries):
        return ""
    if not peer.fetch:
        return "make release"
    return (f"peers/{peer.fetch}/fetch.sh build/{peer.fetch}, then cmake -D{peer.option}=build/{peer.fetch} "
            "(`make release` does both; the script says what failed)")


def facts(present: set[str]) -> list[dict]:
    return [{"peer": peer.title, "entries": list(peer.entries), "state": state(peer, present), "licence": peer.licence,
             "source": peer.source, "how": how(peer, present)} for peer in PEERS]


def print_facts(catalogue: bench.Catalogue) -> None:
    for fact in facts(set(catalogue.file_systems)):
        print(f"{fact['peer']}: {fact['state']}" + (f" ({', '.join(fact['entries'])})" if fact["entries"] else ""))
        print(f"    from     {fact['source']}")
        print(f"    licence  {fact['licence']}")
        if fact["how"]:
            print(f"    to get   {fact['how']}")
    known = {name for peer in PEERS for name in peer.entries}
    for name in catalogue.file_systems:
        if name not in known:
            print(f"{name}: built (an adapter of yours)")
