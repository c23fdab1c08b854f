# SPDX-License-Identifier: BSD-2-Clause
"""Programs and bytes of the core on a fresh W25Q256: what was reached is kept. The numbers are counted, not timed.

A bound is what was measured. Some lie above a gate (python/nf2fs/gates.toml), which is missed as long as they do; MISSED names them,
and a bound that comes below its gate leaves the list.
"""

from __future__ import annotations

import pytest

from nf2fs import bench, gates

BOUNDS = {
    "create": {"program_pages": 109},
    "create32": {"program_pages": 106},
    "create32s": {"program_pages": 232},
    "delete32": {"program_pages": 117},
    "smallio": {"program_pages": 980},
    "rwrite20": {"program_pages": 108, "program_bytes": 22_300},
    "rwrite200": {"program_pages": 1_140},
    "rwrite2000": {"program_pages": 12_075, "most_read_pages_in_call": 1_900},
    "ota2m": {"program_pages": 354},
    "ota2mal": {"program_pages": 353},
    "log16d": {"program_pages": 16_520, "consumed_bytes": 429_568},
    "log32d": {"program_pages": 16_600, "consumed_bytes": 716_544},
    "config": {"program_pages": 7_269, "consumed_bytes": 813_824, "marked_program_pages": 2_284, "most_read_pages_in_call": 300},
    "mountfirstwrite": {"program_pages": 2},
}

# Pages read in a look-up with nothing cached, in a directory of 10,000 names.
COLD_LOOKUPS = {"dir10000": 79, "dir10000n": 111}

# Gate: the figure that it allows, and the bound above that stands in its place.
MISSED = {
    "create32": (102, BOUNDS["create32"]["program_pages"]),
    "create32s": (200, BOUNDS["create32s"]["program_pages"]),
    "config-programs": (2.15, BOUNDS["config"]["marked_program_pages"] / 857),
    "dir-lookup": (30, COLD_LOOKUPS["dir10000"]),
    "dir-lookup-long": (50, COLD_LOOKUPS["dir10000n"]),
}


def run(workload):
    try:
        program = bench.find_program()
    except bench.BenchError:
        pytest.skip("norbench-cell is not built")
    row = bench.run_cell(program, bench.Cell("nf2fs", "w25q256", workload), 120)
    assert bench.is_good(row), row
    return row


@pytest.mark.parametrize("workload", COLD_LOOKUPS)
def test_cold_lookups(workload):
    assert run(workload)["steps"]["look-up cold"]["read_pages_max"] <= COLD_LOOKUPS[workload]


@pytest.mark.parametrize("workload", BOUNDS)
def test_programs(workload):
    row = run(workload)
    for key, bound in BOUNDS[workload].items():
        assert row[key] <= bound, f"{key} is {row[key]}"


def test_the_gates_that_are_missed():
    stated = {gate.id: gate.bound for gate in gates.load_gates()}
    for name, (allowed, bound) in MISSED.items():
        assert float(stated[name]) == allowed < bound, name
