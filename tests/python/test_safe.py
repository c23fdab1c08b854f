# SPDX-License-Identifier: BSD-2-Clause
"""What a command must not do: lose what it was not asked to, or claim what it does not know."""

import fcntl
import importlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import formats
import pytest
from conftest import NATIVE

import nf2fs
from nf2fs import checking, chips, images, show
from nf2fs.errors import NF2Error

pytestmark = pytest.mark.skipif(not NATIVE, reason="the library is not built")
ROOT = Path(__file__).resolve().parents[2]
CHIP, BLOCK = "tiny2m", 4096
FILES = {
    f"/d{index % 4}/file {index}": random.Random(index).randbytes(
        index * 61 % 900 if index % 5 else 6000
    )
    for index in range(300)
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "flash.img"
    images.format_image(path, CHIP)
    with nf2fs.open_image(path, CHIP) as volume:
        for name, data in FILES.items():
            volume.makedirs(os.path.dirname(name), exist_ok=True)
            volume.write_bytes(name, data)
    return path.read_bytes()


@pytest.fixture
def flash(tmp_path, filled):
    path = tmp_path / "flash.img"
    path.write_bytes(filled)
    return path


def environment():
    return os.environ | {
        "PYTHONPATH": os.path.dirname(os.path.dirname(nf2fs.__file__)),
        "NF2FS_LIBRARY": str(NATIVE),
    }


def copied(top):
    return {
        "/" + os.path.relpath(os.path.join(directory, name), top): open(
            os.path.join(directory, name), "rb"
        ).read()
        for directory, _, names in os.walk(top)
        for name in names
    }


def leaves(data):
    return formats.heads(data, BLOCK, b"N", 0)


# ---- honest words ----


def test_flipped_data_is_not_called_whole(flash, nf2):
    """Bits of large files are flipped: no check covers them, and no word says that they are
    well."""
    data = bytearray(flash.read_bytes())
    source = random.Random(3)
    large = [content for content in FILES.values() if len(content) == 6000]
    hit = 0
    for content in large[:20]:
        at = data.find(content[:64])
        if at >= 0:
            data[at + source.randrange(64)] ^= 1 << source.randrange(8)
            hit += 1
    assert hit > 5
    flash.write_bytes(data)
    for command in (["check", flash], ["check", "--repair", flash]):
        code, out, _ = nf2(*command)
        assert code == 0 and "not verifiable" in out
        assert "nothing is lost" not in out and "nothing wrong" not in out and ": clean" not in out
    found = json.loads(nf2("check", "--json", flash)[1])
    assert found["data"]["files_not_verifiable"] >= hit
    assert (
        found["data"]["files_not_verifiable"] + sum(len(one) < 150 for one in FILES.values())
        <= found["data"]["files"]
        == len(FILES)
    )


def test_small_files_are_verified(tmp_path, nf2):
    images.format_image(tmp_path / "x.img", CHIP)
    with nf2fs.open_image(tmp_path / "x.img") as volume:
        volume.write_bytes("/small", b"a few bytes")
    code, out, _ = nf2("check", tmp_path / "x.img")
    assert code == 0 and "no damage found: structure and data are whole" in out
    assert "all data of 1 file verified" in out
    code, out, _ = nf2("get", tmp_path / "x.img", "/", tmp_path / "out")
    assert code == 0 and out.endswith(", all of it verified by checks\n")


def test_the_size_from_which_data_has_no_check(tmp_path, nf2):
    """The number that the texts name."""
    images.format_image(tmp_path / "x.img", CHIP)
    with nf2fs.open_image(tmp_path / "x.img") as volume:
        for size in range(150, 300):
            volume.write_bytes(f"/{size}", bytes(size))
    unchecked = checking.examine(tmp_path / "x.img").unchecked
    assert unchecked == {f"/{size}": size for size in range(216, 300)}
    for text in (nf2("check", "--help")[1], (ROOT / "docs/guide/choosing.md").read_text()):
        assert "216 bytes" in " ".join(text.split())


def test_zeros_over_data_are_not_passed_over_in_silence(flash, nf2, tmp_path):
    """No check covers them, so no command can tell; each one says so."""
    data = bytearray(flash.read_bytes())
    at = min(data.find(content[:64]) for content in FILES.values() if len(content) == 6000)
    data[at : at + 2 * BLOCK] = bytes(2 * BLOCK)
    flash.write_bytes(data)
    report = checking.examine(flash)
    if not report.sound:
        pytest.fail("the zeros have met a record: choose another place")
    code, out, _ = nf2("check", flash)
    assert code == 0 and "no damage found, but not all data could be verified" in out
    code, out, err = nf2("get", flash, "/", tmp_path / "out")
    size = sum(report.unchecked.values())
    assert (code, err) == (0, "") and out.endswith(
        f"; {show.size_text(size)} of it carry no check and were not verified\n"
    )
    got = copied(tmp_path / "out")
    wrong = {name for name in FILES if got[name] != FILES[name]}
    assert wrong and wrong <= set(report.unchecked)
    found = json.loads(nf2("get", "--json", flash, "/", tmp_path / "again")[1])
    assert wrong <= {one["path"] for one in found["not_verifiable"]} and not found["damaged"]


def flip_bits(path, whole, seed, flips):
    """Bits all over what is used of a volume."""
    source, data = random.Random(seed), bytearray(whole)
    used = [at for at in range(0, len(data), BLOCK) if data[at : at + BLOCK].strip(b"\xff")]
    for _ in range(flips):
        at = source.choice(used)
        length = len(data[at : at + BLOCK].rstrip(b"\xff"))
        data[at + source.randrange(length)] ^= 1 << source.randrange(8)
    path.write_bytes(data)


def test_get_copies_no_less_than_salvage(flash, filled, nf2, tmp_path):
    """Every file that is whole comes out under its own name, and what is not known to be right is
    listed."""
    tried = 0
    for seed in range(40):
        flip_bits(flash, filled, seed, 8 + seed)
        report = checking.examine(flash)
        if report.error is not None or report.sound:
            continue
        out, tried = tmp_path / f"got{seed}", tried + 1
        code, _, err = nf2("get", flash, "/", out)
        nf2("salvage", flash, tmp_path / f"saved{seed}")
        got, saved = copied(out), copied(tmp_path / f"saved{seed}")
        assert {name for name in saved if name in FILES} <= set(got)
        assert code == 3 and "the volume is damaged" in err
        for name, content in got.items():
            assert content == FILES[name] or name in report.unchecked or f" {name}" in err
            assert name not in report.unchecked or f"NOT VERIFIABLE {name}: " in err or "more" in err
        if tried == 4:
            break
    assert tried == 4


def as_it_was(path):
    """A directory whose name was found in an older state alone has a word behind it."""
    directory, name = path.rsplit("/", 1)
    return directory.removesuffix(".damaged") + "/" + name


def test_get_goes_on_behind_damage(flash, nf2, tmp_path):
    """Each leaf is lost in turn; some of them are of the past."""
    whole, kinds = flash.read_bytes(), {}
    for leaf in leaves(whole):
        data = whole[: leaf * BLOCK] + bytes(BLOCK) + whole[(leaf + 1) * BLOCK :]
        flash.write_bytes(data)
        out = tmp_path / f"out{leaf}"
        code, _, err = nf2("get", flash, "/", out)
        got = copied(out)
        assert len(got) == len(FILES) if code == 0 else code in (1, 3)
        assert all(FILES[as_it_was(name)] == content for name, content in got.items())
        renamed = {os.path.dirname(name) for name in got if as_it_was(name) != name}
        assert all(f"OLD    {name}: older than it was" in err for name in renamed)
        if code == 3 and got:
            assert "not copied" in err and "nf2 salvage" in err.splitlines()[-1]
            kinds[bool(renamed)] = data, got
    assert kinds
    for number, (data, got) in kinds.items():
        flash.write_bytes(data)
        code, out, _ = nf2("check", flash)
        assert code == 1 and "there may have been more files" in out
        code, out, _ = nf2("salvage", flash, tmp_path / f"saved{number}")
        saved = copied(tmp_path / f"saved{number}")
        assert code == 3 and "WRONG" in out
        assert set(got) <= set(saved) and len(saved) >= len(got)
        for name, content in saved.items():
            assert FILES.get(as_it_was(name), content) == content
        assert flash.read_bytes() == data


def test_salvage_of_a_sound_image_and_of_none(flash, nf2, tmp_path):
    assert nf2("salvage", flash, tmp_path / "saved")[0] == 0
    assert copied(tmp_path / "saved") == FILES
    code, _, err = nf2("salvage", flash, tmp_path / "saved")
    assert code == 1 and "is not an empty directory" in err
    (tmp_path / "noise.img").write_bytes(random.Random(2).randbytes(2 << 20))
    code, _, err = nf2("salvage", tmp_path / "noise.img", tmp_path / "none")
    assert code == 1 and "nothing of a volume" in err and not (tmp_path / "none").exists()


# ---- images of a wrong size ----


def test_an_image_that_is_cut_short(flash, nf2, tmp_path):
    whole = flash.read_bytes()
    flash.write_bytes(whole[:1_500_000])
    for command in (["ls", flash], ["ls", flash, "--chip", CHIP], ["put", flash, __file__]):
        code, _, err = nf2(*command)
        assert code == 1 and "cut short" in err and str(len(whole) - 1_500_000) in err
    code, out, _ = nf2("check", flash)
    assert code == 1 and "cut short" in out and "not known" in out
    assert nf2("salvage", flash, tmp_path / "saved")[0] == 3
    code, out, _ = nf2("check", "--repair", flash)
    assert code == 1 and flash.stat().st_size == len(whole)
    assert (tmp_path / "flash.img.damaged").stat().st_size == 1_500_000
    assert nf2("check", flash)[0] == 0


def test_an_image_that_is_too_long(flash, nf2, tmp_path):
    whole = flash.read_bytes()
    flash.write_bytes(whole + b"\0" * 1000)
    code, _, err = nf2("ls", flash)
    assert code == 1 and "too long: 1000 bytes" in err
    code, out, _ = nf2("check", flash)
    assert code == 1 and "too long: 1000 bytes" in out
    assert nf2("check", "--repair", flash)[0] == 0
    assert flash.read_bytes() == whole


# ---- chips that are not in the catalogue ----

OWN = """name = own
size = 3M
page_size = 256
block_size = 8K
erase_us = 1000
read_page_us = 9
program_page_us = 99
"""


def test_an_own_chip_is_found_again(tmp_path, nf2):
    (tmp_path / "own").write_text(OWN)
    flash = tmp_path / "flash.img"
    assert nf2("format", flash, "--chip", tmp_path / "own")[0] == 0
    (tmp_path / "own").unlink()
    for command in (
        ["mkdir", flash, "/x"],
        ["ls", flash],
        ["check", flash],
        ["df", flash],
        ["map", flash],
    ):
        assert nf2(*command)[0] == 0
    assert json.loads(nf2("info", "--json", flash)[1])["chip"]["name"] == "own"
    os.unlink(chips.memory_path(str(flash)))  # then the volume itself tells its geometry
    assert nf2("ls", flash)[:2] == (0, "x/\n")
    assert "generic" in json.loads(nf2("info", "--json", flash)[1])["chip"]["name"]
    assert nf2("mkdir", flash, "/y")[0] == 0
    assert nf2("check", flash)[0] == 0


def test_what_is_remembered_harms_nothing(tmp_path, nf2):
    flash, kept = tmp_path / "flash.img", tmp_path / "flash.img.chip"
    kept.write_text(OWN)
    assert nf2("format", flash, "--chip", "w25q64")[0] == 0
    assert kept.read_text() == OWN  # the user's own file
    kept.unlink()
    (tmp_path / "own").write_text(OWN)
    assert nf2("format", flash, "--force", "--chip", tmp_path / "own")[0] == 0
    images.format_image(tmp_path / "other.img", "w25q64")
    flash.write_bytes((tmp_path / "other.img").read_bytes())
    code, _, err = nf2("ls", flash)
    assert code == 1 and str(kept) in err and "Remove that file" in err
    code, out, _ = nf2("check", flash)
    assert code == 0 and "no damage found" in out, out  # the image knows better
    assert nf2("ls", flash, "--chip", "w25q64")[0] == 0
    assert nf2("format", flash, "--force", "--chip", kept)[0] == 0 and nf2("ls", flash)[0] == 0
    assert kept.read_text().count("kept beside it") == 1
    assert nf2("format", flash, "--force", "--chip", "w25q64")[0] == 0 and not kept.exists()
    kept.write_text("something else")
    code, _, err = nf2("format", tmp_path / "flash.img", "--force", "--chip", tmp_path / "own")
    assert code == 1 and "in the way" in err and kept.read_text() == "something else"
    assert nf2("ls", flash, "--chip", "w25q64")[0] == 0  # nothing was changed


def test_a_volume_on_a_part_of_the_chip(tmp_path, nf2):
    flash = tmp_path / "flash.img"
    assert nf2("format", flash, "--chip", f"{CHIP}@1M+512K")[0] == 0
    assert flash.stat().st_size == 2 << 20
    assert nf2("put", flash, __file__, "/")[0] == 0
    assert json.loads(nf2("df", "--json", flash)[1])["blocks"] == 128
    first = flash.read_bytes()
    assert first[: 1 << 20] == b"\xff" * (1 << 20)
    assert (
        nf2("format", flash, "--chip", f"{CHIP}@256K+256K")[0] == 0
    )  # another part: nothing is lost, nothing asked
    assert flash.read_bytes()[1 << 20 :] == first[1 << 20 :]
    assert nf2("ls", flash)[1] == ""
    assert nf2("ls", flash, "--chip", f"{CHIP}@1M+512K")[1] == "test_safe.py\n"
    code, out, _ = nf2("check", "--chip", f"{CHIP}@1M+512K", flash)
    assert code == 0, out
    for wrong in ("@1000+512K", "@2M+4K", "@1M+2M", "@0+0K1"):
        assert nf2("ls", flash, "--chip", CHIP + wrong)[0] == 1


# ---- asking ----


def test_format_asks_before_it_destroys(flash, nf2):
    before = flash.read_bytes()
    for chip in (CHIP, "w25q80"):
        code, _, err = nf2("format", flash, "--chip", chip)
        assert code == 1 and "--force" in err and flash.read_bytes() == before
        other = f"{flash} has 2097152 bytes, not the 1048576 of chip w25q80, and would be replaced. "
        assert (other in err) == (chip == "w25q80")
        with pytest.raises(NF2Error) as caught:
            images.format_image(flash, chip)
        assert "force=True" in str(caught.value) and "--" not in str(caught.value)
    assert nf2("format", flash, "--chip", CHIP, "--force")[0] == 0
    assert nf2("ls", flash)[1] == ""
    flash.write_bytes(b"\xff" * (2 << 20))
    assert nf2("format", flash, "--chip", CHIP)[0] == 0  # erased: there is nothing to lose


def test_a_directory_with_files_is_not_removed_unasked(flash, nf2):
    before = flash.read_bytes()
    for path in ("/", "/d1", "d1/"):
        code, _, err = nf2("rm", "-r", flash, path)
        assert code == 1 and "--force" in err
    assert flash.read_bytes() == before
    assert nf2("rm", flash, "/d1/file 1", "/none")[0] == 1
    assert "file 1\n" in nf2("ls", flash, "/d1")[1]  # all or none
    assert nf2("rm", flash, "/d1/file 1")[0] == 0
    assert nf2("rm", "-r", "-f", flash, "/d1")[0] == 0
    assert nf2("ls", flash)[1] == "d0/\nd2/\nd3/\n"
    assert nf2("rm", "-rf", flash, "/")[0] == 0
    assert nf2("ls", flash)[1] == "" and nf2("check", flash)[0] == 0


# ---- signals ----


def caught_signals(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(next(line.split()[1] for line in status if line.startswith("SigCgt")), 16)


def wait_for_change(process, image, blocks):
    """Until so many blocks have something in them that the format left blank."""
    empty = b"\xff" * BLOCK
    before = image.read_bytes()
    blank = [at for at in range(0, len(before), BLOCK) if before[at : at + BLOCK] == empty]
    while process.poll() is None:
        now = image.read_bytes()
        if sum(now[at : at + BLOCK] != empty for at in blank) >= blocks:
            break
        time.sleep(0.002)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="needs /proc to see when a command has begun"
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_time(number, tmp_path, nf2):
    """A line that says what went in, and an image that is whole; never a traceback."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, data in FILES.items():
        (tree / name.replace("/", "_")).write_bytes(data)
    for index in range(900):
        (tree / f"more{index}").write_bytes(b"%d" % index)
    ended, source = [], random.Random(number)
    whole_s = 0.0
    for round_number in range(8):
        image = tmp_path / f"{round_number}.img"
        images.format_image(image, CHIP)
        process = subprocess.Popen(
            [sys.executable, "-m", "nf2fs.cli", "put", image, tree, "/"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not caught_signals(process) >> (signal.SIGTERM - 1) & 1:
            time.sleep(0.001)  # the interpreter itself starts
        began = time.monotonic()
        if round_number % 2:
            wait_for_change(process, image, source.randrange(1, 30))
        elif round_number:  # the first one shows how long it takes
            time.sleep(source.random() * whole_s)
        if round_number:
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        whole_s = whole_s or time.monotonic() - began
        assert process.returncode in (0, 128 + number) and "Traceback" not in err
        report = checking.examine(image, CHIP)
        assert report.sound
        if process.returncode == 0:
            continue
        assert out == "" and err.startswith("nf2: interrupted") and err.count("\n") == 1
        if "were put" in err:
            ended.append(int(err.split()[2]))
            with nf2fs.open_image(image, read_only=True) as volume:
                assert len(volume.listdir("/")) == ended[-1]
                assert all(
                    volume.read_bytes(f"/{name}") == (tree / name).read_bytes()
                    for name in volume.listdir("/")
                )
    assert ended, "no signal came in the middle of a copy"


@pytest.mark.parametrize(
    "words",
    [
        ["put", "SOURCE", "/new"],
        ["get", "/d1", "TARGET"],
        ["rm", "/d0/file 0"],
        ["salvage", "TARGET"],
    ],
)
def test_a_signal_behind_the_last_word(words, flash, nf2, tmp_path, monkeypatch):
    """A command that has said that all is done does not take it back."""

    def say_and_stop(text):
        print(text)
        os.kill(os.getpid(), signal.SIGINT)

    (tmp_path / "source").write_bytes(b"new")
    places = {"SOURCE": tmp_path / "source", "TARGET": tmp_path / "target"}
    monkeypatch.setattr(importlib.import_module("nf2fs.commands.app"), "say", say_and_stop)
    command, *rest = [places.get(word, word) for word in words]
    ended, out, err = nf2(command, "--json", flash, *rest)
    assert (ended, err) == (0, "") and json.loads(out)


def test_names_are_said_once(tmp_path, nf2):
    (tmp_path / "closed").mkdir()
    for command in (
        ["ls", tmp_path / "closed"],
        ["ls", tmp_path / "none.img"],
        ["format", tmp_path / "no" / "x.img", "--chip", CHIP],
    ):
        code, _, err = nf2(*command)
        assert code == 1 and err.count(str(tmp_path)) == 1 and err.count("\n") == 1, err
        assert "/." not in err.replace(str(tmp_path), "")


def test_a_directory_is_not_moved_into_itself(flash, nf2):
    for source, target in (("/d1", "/d1/x"), ("/d1/", "/d1/../d1/y"), ("/", "/d1")):
        code, _, err = nf2("mv", flash, source, target)
        assert code == 1 and "into itself" in err, err
    assert len(json.loads(nf2("ls", "--json", flash, "/d1")[1])) == len(FILES) // 4


def test_a_repair_that_is_interrupted_leaves_all_as_it_was(flash, nf2, tmp_path, monkeypatch):
    data = bytearray(flash.read_bytes())
    data[0 : 3 * BLOCK] = bytes(3 * BLOCK)
    flash.write_bytes(data)

    def stop(report, path):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(checking, "_prove", stop)
    code, out, err = nf2("check", "--repair", flash)
    assert (code, out, err) == (130, "", "nf2: interrupted\n")
    assert os.listdir(tmp_path) == ["flash.img"] and flash.read_bytes() == data


@pytest.mark.parametrize("answer, code", [("n", 1), ("y", 0), ("\x03", 130)])
def test_the_answer_counts(flash, answer, code):
    """On a terminal: no, yes, and Ctrl-C."""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "nf2fs.cli", "rm", "-r", flash, "/d1"],
        env=environment(),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        close_fds=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )
    os.close(follower)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(leader, 1000)
    time.sleep(0.3)  # it shows the question before it reads
    os.write(leader, answer.encode() + (b"" if answer == "\x03" else b"\n"))
    deadline = time.monotonic() + 60
    try:
        while select.select([leader], [], [], max(0, deadline - time.monotonic()))[0]:
            piece = os.read(leader, 1000)
            shown += piece
            if not piece:
                break
    except OSError:  # the end, on Linux
        pass
    if process.poll() is None and time.monotonic() >= deadline:
        process.kill()
    assert process.wait(timeout=60) == code and b"Traceback" not in shown
    with nf2fs.open_image(flash, read_only=True) as volume:
        assert volume.exists("/d1") == (code != 0)


# ---- what killed runs leave ----


@pytest.mark.parametrize(
    "command",
    [
        ("pack", "tree", "new.img", "--chip", CHIP),
        ("format", "new.img", "--chip", CHIP),
        ("get", "flash.img", "/", "out"),
        ("check", "short.img", "--chip", CHIP),
    ],
    ids=lambda command: command[0],
)
def test_what_a_killed_run_left_is_removed_by_the_next_one(flash, tmp_path, command, monkeypatch):
    """Where nobody works on it, and not what another run still makes, or what is the user's own."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    (tmp_path / "out").mkdir()
    (tmp_path / "short.img").write_bytes(flash.read_bytes()[:-BLOCK])
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    place = {"get": "nf2fs.trees.os.replace", "check": "nf2fs.checking.examine_readable"}.get(
        command[0], "nf2fs.images._format"
    )
    program = (
        "import sys, nf2fs.trees, nf2fs.checking, nf2fs.images, nf2fs.cli\n"
        f"def end(*_, **__):\n    {kill}\n{place} = end\nnf2fs.cli.main()"
    )
    before = set(tmp_path.rglob("*"))
    killed = subprocess.run(
        [sys.executable, "-c", program, *command], cwd=tmp_path, env=environment(), timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    left = {path for path in set(tmp_path.rglob("*")) - before if "nf2-" in path.name}
    assert left
    for path in left:
        os.utime(path, (0, 0))
    (one,) = [path for path in left if "nf2-" not in path.parent.name]
    held, own = one.with_name(one.name[:-8] + "aaaaaaaa"), one.with_name(one.name[:-8] + "of mine")
    young = one.with_name(one.name[:-8] + "bbbbbbbb")
    for other in (held, own, young):
        other.mkdir() if one.is_dir() else other.touch()
    for other in (held, own):
        os.utime(other, (0, 0))
    holder = os.open(held, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nf2fs.cli", *command], cwd=tmp_path, env=environment(), timeout=60
        )
    finally:
        os.close(holder)
    assert done.returncode in (0, 1)
    assert not one.exists() and held.exists() and own.exists() and young.exists()
