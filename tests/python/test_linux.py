# SPDX-License-Identifier: BSD-2-Clause
"""`norbench linux`: file systems of the Linux kernel in a virtual machine. What needs no machine
is tested everywhere."""

import os
import shutil
from pathlib import Path

import pytest

from nf2fs import (
    bench,
    bench_cli,
    linux_choose,
    linux_machine,
    linux_page,
    linux_plan,
    linux_run,
    linux_trees,
)

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = Path(os.environ.get("NF2FS_LINUX_MACHINE", ROOT / "build" / "linux"))
CELL = bench.Cell("jffs2", "w25q256", "create32")
JOB = linux_run.cell_job(CELL)


class FakeMachine:
    facts = {"release": "6.1.0-1-amd64", "packages": {"linux-image-6.1.0-1-amd64": "6.1.2-3"}}


def output(code: int, row: str, kernel: str, errors: str = "") -> str:
    mark = linux_run.MARK
    start, end = f"noise\n{mark} start 0\n", f"\n{mark} end 0 {code}\n{errors}{mark} done 0\n"
    return f"{start}{row}\r\n{kernel}\r\n{end}"


def row_of(text: str) -> bench.Row:
    ((_, code, said, errors),) = linux_run.parse(text)
    return linux_run.row_of(CELL, FakeMachine, code, said, errors)


ROW = (
    '{"fs": "jffs2", "version": "Linux", "chip": "w25q256", "status": "ok", "verified": true, '
    '"operations": 100, "time_us": 5}'
)
KERNEL = '{{"linux": "jffs2", "image_bytes": {image}, "mounts": {mounts}, "same": {same}}}'


def test_a_row_and_what_the_kernel_said_of_it():
    row = row_of(output(0, ROW, KERNEL.format(image=0, mounts=2, same="true")))
    assert (
        bench.is_good(row)
        and row["version"] == "Linux 6.1.2-3"
        and row["kernel_mounts"] == 2
        and row["workload"] == "create32"
    )


def test_a_row_whose_chips_differ_fails():
    row = row_of(output(0, ROW, KERNEL.format(image=0, mounts=2, same="false")))
    assert not bench.is_good(row) and "does not hold" in row["error"]


def test_a_read_only_file_system_fails_a_workload_that_writes():
    assert (
        "read-only"
        in row_of(output(0, ROW, KERNEL.format(image=4096, mounts=1, same="true")))["error"]
    )
    assert bench.is_good(row_of(output(0, ROW, KERNEL.format(image=4096, mounts=2, same="true"))))


def test_a_program_that_dies_says_why():
    row = row_of(
        output(2, "", "", "the module ubifs cannot be loaded: No such file or directory\n")
    )
    assert not bench.is_good(row) and "ubifs cannot be loaded" in row["error"]


def test_a_job_that_never_ends_has_no_exit_code():
    ((_, code, _, _),) = linux_run.parse(f"{linux_run.MARK} start 0\n{ROW}\n")
    assert code is None


def run_with(monkeypatch, tmp_path, script: str) -> bench.Row:
    """A job in a machine that is this script instead."""
    (tmp_path / "initramfs").write_bytes(b"")
    machine = type(
        "Machine",
        (FakeMachine,),
        {"initramfs": tmp_path / "initramfs", "kernel": tmp_path / "kernel"},
    )
    monkeypatch.setattr(linux_run, "chip_mib", lambda machine, chip: 1)
    monkeypatch.setattr(
        linux_run,
        "emulator",
        lambda machine, memory, initrd, folder: ["sh", "-c", f"cd {folder}; {script}"],
    )
    (row,) = linux_run.run(machine, [JOB], 0)
    return row


def test_a_machine_that_dies_says_its_last_words(monkeypatch, tmp_path):
    row = run_with(monkeypatch, tmp_path, "echo 'Kernel panic - not syncing' >console")
    assert row["status"] == "failed" and "Kernel panic" in row["error"]


def test_a_machine_that_hangs_is_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr(linux_run, "BOOT_SECONDS", 1)
    row = run_with(monkeypatch, tmp_path, "exec sleep 600")
    assert row["status"] == "failed" and "ended before this cell did" in row["error"]


def test_a_row_that_came_before_the_machine_died_counts(monkeypatch, tmp_path):
    (tmp_path / "said").write_text(output(0, ROW, KERNEL.format(image=0, mounts=2, same="true")))
    assert bench.is_good(run_with(monkeypatch, tmp_path, f"cp {tmp_path / 'said'} output; exit 1"))


def test_what_is_missing_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(
        linux_machine,
        "which",
        lambda name: None if name == linux_machine.EMULATOR else "/bin/" + name,
    )
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["linux", "build", "--directory", str(tmp_path)])
    assert (
        stop.value.code == 1
        and "no qemu-system-x86_64 (Debian: qemu-system-x86)" in capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())


def test_packages_that_are_there_are_not_downloaded_again(monkeypatch, tmp_path):
    asked = []

    def download(directory, names):
        asked.extend(names)
        return dict.fromkeys(names, "1")

    monkeypatch.setattr(linux_machine, "download", download)
    monkeypatch.setattr(linux_machine, "kernel_release", lambda: "6.1.0-1-amd64")
    monkeypatch.setattr(linux_machine, "take_left_out", lambda directory, release: "1")
    facts: dict = {}
    linux_machine.get_packages(tmp_path, facts, lambda text: None)
    assert "linux-image-6.1.0-1-amd64" in asked and "linux-kbuild-6.1" in asked
    del facts["packages"]["genromfs"], asked[:]
    linux_machine.get_packages(tmp_path, facts, lambda text: None)
    assert asked == ["genromfs"]


def test_an_archive_that_cpio_can_read(tmp_path):
    if shutil.which("cpio") is None:
        pytest.skip("no cpio")
    archive = linux_machine.Archive()
    archive.file("a/b/c", b"content", 0o100644)
    archive.link("a/d", "b/c")
    (tmp_path / "archive").write_bytes(archive.whole())
    linux_machine.run(["sh", "-c", "cpio -id <archive"], cwd=tmp_path)
    assert (tmp_path / "a/d").read_bytes() == b"content"


def test_sizes_of_the_small_files():
    sizes = linux_trees.small_sizes()
    assert (
        len(sizes) == linux_trees.SMALL_FILES
        and sum(sizes) == linux_trees.SMALL_BYTES
        and min(sizes) > 0
    )


def step(time_us: int) -> dict:
    return {"time_us": time_us, "read_pages": 1, "program_pages": 2, "erases": 3, "clock_us": 4000}


def copied(fs: str, chip: str, tree: str) -> bench.Row:
    steps = {
        name: step(1_000_000)
        for name in ("mount", "copy", "unmount", "mount_again", "load", "unmount_again")
    }
    kernel = (
        {}
        if fs == "nf2fs"
        else {
            "kernel_attach_us": 0,
            "kernel_mount_us": 7,
            "kernel_after_mount_us": 8,
            "kernel_module_bytes": 2048,
            "kernel_mount_clock_us": 9,
            "kernel_image_bytes": 0,
        }
    )
    return {
        "fs": fs,
        "chip": chip,
        "workload": f"copy-{tree}",
        "status": "ok",
        "verified": True,
        "files": 2,
        "bytes": 10,
        "ram_bytes": 4096,
        "version": "Linux 1",
        **steps,
        **kernel,
    }


def test_the_page_has_the_papers_columns_and_rows_that_failed():
    failed = bench.failed_row(
        bench.Cell("squashfs-xz", "nand64", "copy-root"), "failed", "it broke"
    )
    text = linux_page.page(
        [copied("jffs2", "nand64", "root"), copied("nf2fs", "w25q256", "big"), failed],
        "norbench linux page",
    )
    assert "| jffs2 | 0.000 | 1.000 | 1.000 | 2.000 |" in text and "| 5.96 | 8.54 |" in text
    assert (
        "failed: it broke" in text and "| nf2fs | 1.000 | 1.000 | 1.000 | 3.000 | 6 | 9 |" in text
    )


def test_the_page_has_images_of_both_kinds():
    kernels = copied("squashfs-xz", "w25q256", "web") | {"kernel_image_bytes": 4096}
    ours = copied("nf2-image-lz4", "w25q256", "web") | {
        "image_bytes": 2048,
        "random": step(20_000),
        "random_reads": 10,
    }
    for key in [key for key in ours if key.startswith("kernel_")]:
        del ours[key]
    text = linux_page.page([kernels, ours], "norbench linux page")
    assert "| squashfs-xz | 4 | 1,000.000 | 1,000.0 | - | 4.0 | 4 |" in text
    assert "| nf2-image-lz4 | 2 | 1,000.000 | 1,000.0 | 2.000 | 4.0 | 4.0 |" in text


def test_the_trees_are_made_once_each(monkeypatch, tmp_path):
    made = []

    def maker(root, target):
        made.append(target.name)
        (target / "file").write_bytes(b"1")

    monkeypatch.setattr(linux_trees, "MAKERS", {"one": maker})
    assert linux_trees.make(tmp_path)["one"].is_dir() and made == ["one.part"]
    linux_trees.make(tmp_path)
    monkeypatch.setattr(linux_trees, "MAKERS", {"one": maker, "two": maker})
    assert set(linux_trees.make(tmp_path)) == {"one", "two"} and made == ["one.part", "two.part"]


def test_each_row_that_the_paper_prints_has_a_place():
    planned = {
        (row.fs, row.workload) for row in linux_plan.rows_of_page() if row.chip == linux_plan.NAND
    }
    for name, part in linux_page.published().items():
        for value in part["value"]:
            assert (value["fs"], {"boot": "root"}.get(name, name)) in planned


def test_choose_says_who_is_better_and_who_does_not_fit():
    def row(fs: str, time_us: int, ram: int = 0) -> bench.Row:
        return {
            "fs": fs,
            "workload": "config",
            "status": "ok",
            "verified": True,
            "time_us": time_us,
            "ram_bytes": ram,
        }

    rows = [
        row("nf2fs-fuse", 100),
        row("jffs2", 50),
        row("ubifs", 400),
        row("ubifs-sync", 400, 9 << 20),
    ]
    fitting, too_large = linux_choose.split_by_memory(rows, 8)
    text = linux_choose.advice(fitting, too_large, 8)
    assert (
        "ubifs-sync does not fit: it needs 9.0 MiB" in text
        and "jffs2: the better choice: the flash works 50 us with it, 100 us with NF2FS" in text
    )
    assert "ubifs: not the better choice: the flash works 400 us with it, 100 us with NF2FS" in text


@pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="not possible here: the machine is made for x86-64"
)
@pytest.mark.skipif(
    bool(linux_machine.missing()),
    reason="the virtual machine cannot be made: " + "; ".join(linux_machine.missing()),
)
def test_a_slice_in_the_machine(tmp_path):
    """Both kinds of flash, a written and a read-only file system, and NF2FS through FUSE with the
    counts that it has on the virtual chip alone."""
    try:
        machine = linux_machine.build(DIRECTORY)
    except linux_machine.RegistryError as error:
        pytest.skip(str(error))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(bytes(range(256)) * 64)
    nand = str(linux_plan.CHIP_FILES[linux_plan.NAND])
    jobs = [
        linux_run.cell_job(bench.Cell("jffs2", "w25q64", "create32")),
        linux_run.cell_job(bench.Cell("ubifs", nand, "create")),
        linux_run.cell_job(bench.Cell("nf2fs-fuse", "w25q64", "create32")),
        linux_run.copy_job("squashfs-gzip", "w25q64", "tree", tmp_path / "tree"),
        linux_run.cell_job(bench.Cell("squashfs-gzip", "w25q64", "create32")),
        linux_run.cell_job(bench.Cell("nf2fs-fuse", "w25q64", "unclean")),
    ]
    jffs2, ubifs, ours, squashfs, refused, cut = linux_run.run(machine, jobs, 120)
    assert [row["status"] for row in (jffs2, ubifs, ours, squashfs)] == ["ok"] * 4, (
        jffs2,
        ubifs,
        ours,
        squashfs,
    )
    assert all(row["kernel_same"] for row in (jffs2, ubifs, ours, squashfs))
    assert (
        jffs2["program_pages"] > 200
        and jffs2["kernel_module_bytes"] > 0
        and ubifs["kernel_attach_us"] > 0
    )
    assert squashfs["load"]["read_pages"] > 0 and squashfs["kernel_image_bytes"] > 0
    assert "read-only" in refused["error"]
    alone = bench.run_cell(machine.cell, bench.Cell("nf2fs", "w25q64", "create32"))
    assert ours["program_pages"] == alone["program_pages"] > 0
    assert cut["status"] == "ok" and cut["kernel_mounts"] == 3, cut
