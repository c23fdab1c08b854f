# SPDX-License-Identifier: BSD-2-Clause
"""Programs and bytes of the core on a fresh W25Q256: what was reached is kept. The numbers are counted, not timed."""

from __future__ import annotations

import pytest

from nf2fs import bench

BOUNDS = {
    "create": {"program_pages": 101},
    "create32": {"program_pages": 103},
    "create32s": {"program_pages": 216},
    "delete32": {"program_pages": 117},
    "smallio": {"program_pages": 980},
    "rwrite20": {"program_pages": 108, "program_bytes": 22_300},
    "rwrite200": {"program_pages": 1_140},
    "rwrite2000": {"program_pages": 12_075, "most_read_pages_in_call": 1_900},
    "ota2m": {"program_pages": 352},
    "ota2mal": {"program_pages": 353},
    "log16d": {"program_pages": 16_520, "consumed_bytes": 426_000},
    "log32d": {"program_pages": 16_600, "consumed_bytes": 713_031},
    "config": {"program_pages": 7_000, "consumed_bytes": 767_000, "marked_program_pages": 2_110, "most_read_pages_in_call": 650},
    "mountfirstwrite": {"program_pages": 2},
}


# Pages read in a look-up with nothing cached, in a directory of 10,000 names.
COLD_LOOKUPS = {"dir10000": 63, "dir10000n": 104}


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
