#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for norbench-cell: same arguments, invented numbers. Writes its process's life to $FAKE_CELL_LOG; $FAKE_CELL_CORE is the core that it says it has."""

import json
import os
import sys
import time

CATALOGUE = {
    "workloads": [{"name": "create", "group": "small", "mode": "durable", "chip": "w25q256", "description": "files"},
                  {"name": "swrite", "group": "stream", "mode": "batched", "chip": "w25q256", "description": "a stream"},
                  {"name": "gcfill", "group": "gc", "mode": "batched", "chip": "is25-16m", "description": "churn"},
                  {"name": "lifelog", "group": "lifespan", "mode": "batched", "chip": "w25q256", "description": "wear", "long": True},
                  {"name": "ow4k-50", "group": "overwrite", "mode": "durable", "chip": "w25q128", "description": "overwrites", "long": True},
                  {"name": "mixed25", "group": "latency", "mode": "durable", "chip": "w25q128", "description": "calls", "long": True},
                  {"name": "dir10", "group": "directory", "mode": "durable", "chip": "w25q256", "description": "names"},
                  {"name": "broken", "group": "gc", "mode": "batched", "chip": "w25q256", "description": "fails"}],
    "groups": {"small": ["create"], "stream": ["swrite"], "gc": ["gcfill", "broken"]},
    "file_systems": [{"name": name, "version": "1", "description": name} for name in ("native", "nf2fs", "littlefs")],
    "states": ["fresh", "aged"], "chips": [{"name": "w25q256", "description": ""}]}
CORE = {"core": os.environ["FAKE_CELL_CORE"]} if "FAKE_CELL_CORE" in os.environ else {}
CATALOGUE["file_systems"][1] |= CORE


def log(text):
    if os.environ.get("FAKE_CELL_LOG"):
        with open(os.environ["FAKE_CELL_LOG"], "a") as file:
            file.write(text + "\n")


def main():
    if sys.argv[1] == "--list":
        if len(sys.argv) == 4 and sys.argv[3] not in ("w25q256", "w25q256/4M"):
            print(f"norbench-cell: no chip \"{sys.argv[3]}\"", file=sys.stderr)
            return 2
        print(json.dumps(CATALOGUE))
        return 0
    words = [word for word in sys.argv[1:] if word != "--progress"]
    given = dict(zip((name[2:] for name in words[0::2]), words[1::2]))
    if given["workload"] == os.environ.get("FAKE_CELL_KILLED"):
        os.kill(os.getpid(), 9)
    log("begin")
    time.sleep(0.05)
    log("end")
    if given["workload"] == "broken" and given["fs"] != "native":
        print("it broke", file=sys.stderr)
        return 3
    if "wear" in given:
        print("progress 1.00 of 4.00, flash time 1.0 s", file=sys.stderr)
        with open(given["wear"], "w") as file:
            file.write("1\n3\n2\n")
    more = {}
    if given["workload"] == "lifelog":
        more = {"wear_min": 1, "wear_mean": 2, "wear_max": 3, "wear_sd": 1, "erases_minimum": 5, "user_bytes": 100}
        if "limit" in given:
            more |= {"limit": int(given["limit"]), "worn_out": 1, "prepared_bytes": 900_000}
    if given["workload"] == "ow4k-50":
        more = {"group": "overwrite", "speed_kib_s": 100.0 if given["fs"] == "nf2fs" else 0.5, "bound_kib_s": 202.0, "steady": 1, "operations": 10,
                "user_bytes": 40960, "time_us_slow": 800_000}
    if given["workload"] == "mixed25":
        ranks = {f"{what}_{rank}": value for what in ("us", "read_pages", "program_pages", "erases")
                 for rank, value in (("min", 0), ("median", 1), ("p99", 2), ("p999", 3), ("max", 4))}
        more = {"group": "latency", "calls": {kind: {"count": 9, "us": 9, "read_pages": 9, "program_pages": 9, "erases": 9, **ranks} for kind in ("sync", "write")}}
    if given["workload"] == "dir10":
        step = {"count": 10, "read_pages": 30, "read_pages_max": 4, "read_bytes": 900, "program_pages": 10, "program_pages_max": 1,
                "program_bytes": 200, "erases": 0, "us_max": 7}
        more = {"entries": 10, "group": "directory", "steps": {"create": step, "look-up cold": step}}
    time_us = {"native": 1000, "nf2fs": 1100, "littlefs": 2500}[given["fs"]]
    print(json.dumps({"fs": given["fs"], "version": "1", "workload": given["workload"], "state": given["state"],
                      "chip": given["chip"], "seed": int(given["seed"]), "status": "ok", "verified": True,
                      "maintain_budget_us": int(given.get("maintain", 0)), "time_us": time_us,
                      "program_pages": time_us // 10, "program_bytes": 25600, "read_pages": 3, "erases": 0,
                      "consumed_bytes": 10000, "worst_call_us": 400, **more, **(CORE if given["fs"] == "nf2fs" else {})}))
    return 0


sys.exit(main())
