# SPDX-License-Identifier: BSD-2-Clause
"""tools/product_page.py: the page of a week of a product, over a program that stands in for it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "product_page.py"
SOURCE = ROOT / "tests" / "product" / "product.c"

STAND_IN = """#!{python}
import json, sys
fs = sys.argv[sys.argv.index("--fs") + 1]
if fs in {failing}:
    sys.exit("product: " + fs + ", after 0.5 days: log_write returned -28")
print(json.dumps({row} | {{"fs": fs}}))
"""


def kinds():
    """The calls that the program reports, from its source."""
    text = SOURCE.read_text().split("kind_names[KINDS] = {")[1].split("};")[0]
    return [word.strip().strip('"') for word in text.split(",") if word.strip()]


def row():
    call = {"count": 2_000_000, "sum_us": 1, "p50": 400, "p99": 0, "p999": 51_450, "p9999": 200_000}
    call |= {"max": 2_362_500, "above_100ms": 4, "above_1s": 2}
    return {
        "days": 7,
        "records": 2_000_000,
        "busy": 0.056,
        "program_pages": 3_000_000,
        "erases": [13_503, 0, 5_683],
        "wear": {"least": 1, "mean": 26.5, "most": 71},
        "calls": {name: call for name in kinds()},
    }


def write(tmp_path, failing=()):
    program = tmp_path / "product"
    program.write_text(
        STAND_IN.format(python=sys.executable, failing=list(failing), row=json.dumps(row()))
    )
    program.chmod(0o755)
    options = ["--program", program, "--rows", tmp_path / "rows", "--page", tmp_path / "page.md"]
    done = subprocess.run([sys.executable, TOOL, *options], capture_output=True, text=True)
    return done, (tmp_path / "page.md").read_text()


def test_the_page_has_a_table_for_each_run(tmp_path):
    done, page = write(tmp_path)
    assert done.returncode == 0, done.stderr
    assert page.count("### NF2FS, ") == 5 and page.count("### LittleFS") == 1
    assert "| NF2FS, 100 ms idle | 0.4 | 0 | 51.5 | 200 | 2,362 | 2 | 1 |" in page
    assert "5.6% | 1.50 | 13,503, 0, 5,683 | 1, 26.5, 71 | 27 |" in page
    assert page.count("| log: sync | 2,000,000 | 0.4 |") == 6
    assert len((tmp_path / "rows").read_text().splitlines()) == 6


def test_a_run_that_fails_is_told(tmp_path):
    done, page = write(tmp_path, failing=["littlefs"])
    assert done.returncode == 1
    assert "log_write returned -28" in done.stderr and "log_write returned -28" in page
    assert page.count("### NF2FS, ") == 5 and "### LittleFS" not in page
