# SPDX-License-Identifier: BSD-2-Clause
"""Code size, RAM and stack of the core on a Cortex-M4: what `make size` measures, by the same tool. Nothing is run."""

from __future__ import annotations

import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

COMPILER = "arm-none-eabi-gcc"
WORKLOAD = "target"
RAM = ["nf2_t", "nf2_file_t", "char[NF2_BUFFER_SIZE(256u)]", "char[NF2_BUFFER_SIZE(512u)]"]


def measure(root: Path) -> dict | None:
    """A row with code, RAM and stack bytes; None without the sources, the tool or a compiler."""
    tools = root / "tools"
    if not (tools / "target_size.py").is_file() or shutil.which(COMPILER) is None:
        return None
    row = {"fs": "nf2fs", "workload": WORKLOAD, "state": "fresh", "chip": "cortex-m4", "seed": 42, "status": "ok", "verified": True}
    sys.path.insert(0, str(tools))
    try:
        import target_build
        import target_size
    finally:
        sys.path.remove(str(tools))
    try:
        with tempfile.TemporaryDirectory() as folder:
            build = target_build.Build(folder)
            core = target_build.nf2fs(sorted((root / "src").glob("*.c")), [root / "include", root / "src"])
            settings = tomllib.loads((root / "target" / "size.toml").read_text(encoding="utf-8"))
            most, everything = (target_size.measure_program(build, core, settings, name) for name in ("most", "all"))
            volume, file, *buffers = target_build.sizes(build, core, RAM)
    except target_build.Failure as failure:
        return {**row, "status": "failed", "verified": False, "error": str(failure).splitlines()[0][:200]}
    return row | {
        "code_bytes": most["code"], "code_bytes_all": everything["code"],
        "ram_bytes": volume + file + buffers[0] + 256, "ram_bytes_512": volume + file + buffers[1] + 512,
        **stack_of(everything["stack"]),
    }


def stack_of(stack: dict) -> dict:
    """The deepest call of a program; a circle of calls, or a frame without a fixed size, leaves no bound."""
    loose = [*stack["circles"], *stack["frames_not_fixed"]]
    if loose:
        return {"unbounded": {"stack_bytes": f"no bound: {', '.join(loose)}"}}
    deep = stack["calls"][0]
    return {"stack_bytes": deep["bytes"], "stack_chain": deep["path"]}
