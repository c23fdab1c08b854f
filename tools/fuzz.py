# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzes with clang's libFuzzer: builds each target, runs it for its share of the time, and adds what was done to a record.

Without sanitizers, for speed: the targets end the process by themselves at whatever is wrong. At the end the corpus of each target
runs once more with the address and undefined behaviour sanitizers. The corpus begins with the inputs that are kept (tests/fuzz/*.lines); --keep N writes those of the N smallest inputs back that are needed for the coverage of all.
"""

import argparse
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
RIG = ["explore", "session", "tally", "model_copy", "rig", "model", "model_tree", "expect", "image", "calls", "random_ops", "core_traits", "fast_crc"]
TARGETS = {
    "calls": {"what": "lists of calls, cuts and mounts, compared with the model", "length": 96,
              "sources": ["tests/fuzz/fuzz_calls.c", "tests/fuzz/fuzz_count.c", *(f"tests/harness/{name}.c" for name in RIG)], "chip": True},
    "image": {"what": "edits of images whose checks always fit, then calls", "length": 256,
              "sources": ["tests/fuzz/fuzz_image.c", "tests/fuzz/fuzz_count.c", "tests/fuzz/flat_chip.c", "tests/fuzz/weak_crc.c"], "chip": False},
}


def run(command, **options):
    result = subprocess.run(command, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"failed: {' '.join(str(word) for word in command)}")


CORE = "src"


def kept(name):
    """The file of the inputs that are kept."""
    return ROOT / f"tests/fuzz/{name}.lines"


def compile_all(clang, sources, folder, flags):
    """Each source to an object in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{ROOT / name}" for name in ("", "include", CORE, "tests/harness", "tests", "vflash")]
    objects = []
    for source in sources:
        target = folder / (str(source).replace("/", "_") + ".o")
        run([clang, "-std=gnu11", "-O2", "-g", *includes, *flags, "-c", ROOT / source, "-o", target])
        objects.append(target)
    return objects


def build(clang, name, out, sanitize):
    """The core counts its edges; the tests around it do not."""
    target, folder = TARGETS[name], out / ("asan" if sanitize else "plain") / name
    flags = SANITIZE if sanitize else []
    inside = [path.relative_to(ROOT) for path in sorted((ROOT / CORE).glob("*.c")) if path.name != "crc.c"]
    around = [*target["sources"], "inspect/inspect.c", *(path.relative_to(ROOT) for path in sorted((ROOT / "vflash").glob("*.c")) if target["chip"])]
    objects = compile_all(clang, inside, folder, [*flags, "-fsanitize-coverage=inline-8bit-counters,pc-table"])
    objects += compile_all(clang, around, folder, flags)
    program = folder / "fuzz"
    run([clang, "-fsanitize=fuzzer", *flags, *objects, "-o", program])
    return program


def unpack(name, corpus):
    corpus.mkdir(parents=True, exist_ok=True)
    lines = kept(name)
    for line in lines.read_text(encoding="ascii").split() if lines.is_file() else []:
        data = bytes.fromhex(line)
        (corpus / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def counts(path):
    return struct.unpack("<3Q", path.read_bytes()) if path.is_file() and path.stat().st_size == 24 else (0, 0, 0)


def fuzz(arguments, name, program, seconds):
    """Runs the processes until the time is over or enough was executed; one that ends at a failure is replaced. What was done."""
    out = arguments.out / name
    corpus, found, count = out / "corpus", out / "found", out / "count"
    unpack(name, corpus)
    found.mkdir(exist_ok=True)
    count.unlink(missing_ok=True)
    environment = dict(os.environ, NF2_FUZZ_COUNT=str(count))
    begun, processes, seed = time.monotonic(), [], arguments.seed
    while (left := seconds - (time.monotonic() - begun)) > 0 and len(list(found.iterdir())) < arguments.failures:
        if arguments.executions and counts(count)[0] >= arguments.executions:
            break
        processes = [process for process in processes if process.poll() is None]
        while len(processes) < arguments.jobs:
            log = open(out / f"log_{seed}.txt", "wb")
            processes.append(subprocess.Popen(
                [program, corpus, f"-max_len={TARGETS[name]['length']}", "-len_control=0", "-entropic=0", "-reload=30", f"-seed={seed}", "-timeout=20",
                 f"-max_total_time={max(1, int(left))}", f"-artifact_prefix={found}/"], env=environment, stdout=log, stderr=log))
            seed += 1
        time.sleep(0.5)
    for process in processes:
        process.terminate()
        process.wait()
    executions, calls, cuts = counts(count)
    return {"name": name, "what": TARGETS[name]["what"], "executions": executions, "calls": calls, "cuts": cuts,
            "seconds": round((time.monotonic() - begun) * arguments.jobs, 1), "corpus": len(list(corpus.iterdir())), "found": len(list(found.iterdir()))}


def with_sanitizers(arguments, name):
    """The whole corpus once: the number of inputs that fail."""
    program = build(arguments.clang, name, arguments.out, True)
    result = subprocess.run([program, arguments.out / name / "corpus", "-runs=0", f"-artifact_prefix={arguments.out / name / 'found'}/"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    (arguments.out / name / "sanitizers.txt").write_bytes(result.stderr)
    return result.returncode


def keep(arguments, name, program):
    """The inputs that are needed for the coverage of all, smallest first, back to where they are kept."""
    small = arguments.out / name / "small"
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir()
    run([program, "-merge=1", small, arguments.out / name / "corpus"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    inputs = sorted((path.read_bytes() for path in small.iterdir()), key=lambda data: (len(data), data))
    step = max(1, len(inputs) // arguments.keep)
    lines = [data.hex() for data in inputs[::step] if data]
    kept(name).write_text("\n".join(lines) + "\n", encoding="ascii")


def add(record, rows, version):
    """Sums up with what is in the record already; how much each version ran is kept."""
    known = {row["name"]: row for row in record.get("targets", [])}
    executions = sum(row["executions"] for row in rows)
    for row in rows:
        before = known.get(row["name"])
        for key in ("executions", "calls", "cuts", "seconds", "found") if before else ():
            row[key] += before[key]
        known[row["name"]] = row
    versions = dict(record.get("versions", {}))
    versions[version] = versions.get(version, 0) + executions
    return {"targets": list(known.values()), "versions": versions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang", default="clang")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--executions", type=int, default=0, help="of each target: enough")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=int, default=20, help="of each target: it stops there")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--keep", type=int, default=0)
    parser.add_argument("--version", default="unknown", help="of NF2FS, for the record")
    parser.add_argument("--fresh", action="store_true", help="begins the record anew")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    names = arguments.target or list(TARGETS)
    rows = []
    for name in names:
        (arguments.out / name).mkdir(parents=True, exist_ok=True)
        program = build(arguments.clang, name, arguments.out, False)
        rows.append(fuzz(arguments, name, program, arguments.seconds / len(names)))
        row = rows[-1]
        print(f"{name}: {row['executions']} executions in {row['seconds']} s, {row['cuts']} cuts, {row['found']} failures", flush=True)
        if with_sanitizers(arguments, name) != 0:
            row["found"] += 1
            print(f"{name}: an input fails with sanitizers, see {arguments.out / name / 'sanitizers.txt'}")
        if arguments.keep:
            keep(arguments, name, program)
    path = arguments.out / "record.json"
    record = {} if arguments.fresh or not path.is_file() else json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(add(record, rows, arguments.version), indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["found"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
