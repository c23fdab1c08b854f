# SPDX-License-Identifier: BSD-2-Clause
"""Code size, RAM and stack on a Cortex-M4, of the core and of LittleFS: what `make size` measures, by the same tool. Nothing is run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

COMPILER = "arm-none-eabi-gcc"
WORKLOAD = "target"
RAM_512 = ["nf2_t", "nf2_file_t", "char[NF2_BUFFER_SIZE(512u)]", "char[512]"]


def measure(root: Path, fs: str = "nf2fs") -> dict | None:
    """A row with code, RAM and stack bytes of nf2fs or littlefs; None without its sources, the tool or a compiler."""
    tools, littlefs = root / "tools", Path(os.environ.get("NF2FS_LITTLEFS", root / "build" / "littlefs"))
    if not (tools / "target_size.py").is_file() or shutil.which(COMPILER) is None:
        return None
    if fs == "littlefs" and not (littlefs / "lfs.c").is_file():
        return None
    row = {"fs": fs, "workload": WORKLOAD, "state": "fresh", "chip": "cortex-m4", "seed": 42, "status": "ok", "verified": True}
    sys.path.insert(0, str(tools))
    try:
        import target_build
        import target_size
    finally:
        sys.path.remove(str(tools))
    try:
        with tempfile.TemporaryDirectory() as folder:
            build = target_build.Build(folder)
            core = (target_build.littlefs(littlefs) if fs == "littlefs" else
                    target_build.nf2fs(sorted((root / "src").glob("*.c")), [root / "include", root / "src"]))
            settings = tomllib.loads((root / "target" / "size.toml").read_text(encoding="utf-8"))
            most, everything, reading = (target_size.measure_program(build, core, settings, name) for name in ("most", "all", "read"))
            ram = target_size.measure_ram(build, core, settings)
            larger = {"ram_bytes_512": sum(target_build.sizes(build, core, RAM_512))} if fs == "nf2fs" else {}
    except target_build.Failure as failure:
        return {**row, "status": "failed", "verified": False, "error": str(failure).splitlines()[0][:200]}
    return row | {
        "code_bytes": most["code"], "code_bytes_all": everything["code"], "code_bytes_read": reading["code"],
        "ram_bytes": ram["volume"]["bytes"] + ram["file"]["bytes"], **larger, **stack_of(most["stack"]),
    }


def stack_of(stack: dict) -> dict:
    """The deepest call of a program; a circle of calls, or a frame without a fixed size, leaves no bound."""
    loose = [*stack["circles"], *stack["frames_not_fixed"]]
    if loose:
        return {"unbounded": {"stack_bytes": f"no bound: {', '.join(loose)}"}}
    deep = stack["calls"][0]
    return {"stack_bytes": deep["bytes"], "stack_chain": deep["path"]}
