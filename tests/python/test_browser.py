# SPDX-License-Identifier: BSD-2-Clause
"""The pages for a browser: one shows an image that is dropped on it, one is a chip whose power may be
cut. In a headless Chromium, with the compiled module.
"""

import io
import json
import random
import tarfile

import pytest
from browsing import CHROMIUM, Browser

import nf2fs
from nf2fs import browser as pages
from nf2fs import native

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing (Debian: chromium)"),
    pytest.mark.skipif(
        pages.find_module() is None,
        reason="there is no WebAssembly module (Debian: clang lld wasi-libc "
        "libclang-rt-dev-wasm32, before the build)",
    ),
    pytest.mark.filterwarnings("ignore:This process"),  # threads of others, where the browser starts
]

FILES = {
    "/read me": b"a text\n",
    "/logs/days.csv": b"".join(b"%d,%d\n" % (day, day % 7) for day in range(3000)),
    "/deep/" + "/".join("directory %d" % i for i in range(9)) + "/file": b"far down",
    "/grüße.txt": "schöne Grüße\n".encode(),
    "/<b>&amp;.html": b"<script>alert(1)</script>",
    "/empty": b"",
    "/binary": bytes(range(256)) * 300,
    "/a name of more than twenty-three bytes, as FORMAT.md has it": b"its rest is in the body",
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    for name in pages.PAGES:
        text = pages.page(name, pages.find_module().read_bytes())
        (place / f"{name}.html").write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def page(browser, site, tmp_path):
    """Opens a page; at the end nothing went wrong in it, and it asked for nothing."""

    def open_page(name, path=None):
        browser.errors.clear()
        browser.requests.clear()
        browser.look()
        browser.save_to(tmp_path)
        browser.open(path or site / f"{name}.html")
        return browser

    yield open_page
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "blob:"))] == []


def fill(path, chip="w25q80", sessions=3):
    """An image with FILES in it and some changes; the last session ends without an unmount."""
    nf2fs.format_image(path, chip, library=native.Library(native.find_library()))
    with nf2fs.open_image(path) as volume:
        for name, data in FILES.items():
            volume.makedirs(name.rpartition("/")[0] or "/", exist_ok=True)
            volume.write_bytes(name, data)
    for session in range(sessions):
        with nf2fs.open_image(path) as volume:
            for i in range(30):
                volume.write_bytes("/counter", b"%d %d" % (session, i))
                with volume.open("/log", "ab", buffering=0) as log:
                    log.write(b"a line of session %d\n" % session)
            volume.write_bytes("/gone", b"x")
            volume.rename("/counter", "/renamed")
            volume.remove("/gone")
    return path


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("image") / "flash.img")


def contents(path):
    with nf2fs.open_image(path, read_only=True) as volume:
        found = {}
        for place, _, files in volume.walk("/"):
            for name in files:
                path = f"{place.rstrip('/')}/{name}"
                found[path] = volume.read_bytes(path)
        return found


def show(browser, path):
    browser.run(
        "document.getElementById('name').textContent = '';"
        "document.getElementById('failure').hidden = true"
    )
    browser.drop(path)
    browser.until(
        f"document.getElementById('name').textContent === {json.dumps(path.name)} "
        "|| !document.getElementById('failure').hidden"
    )


# ---- the page that shows an image ----


def test_a_dropped_image_is_shown(page, image):
    browser = page("image")
    show(browser, image)
    assert "All structures are whole." in browser.text("#verdict")
    assert "256 blocks of 4 KiB" in browser.text("#facts")
    expected = contents(image)
    found = browser.run("items.filter(one => !one.isDirectory).map(one => [one.path, one.size])")
    assert dict(found) == {path: len(data) for path, data in expected.items()}
    assert f"{len(expected)} files" in browser.text("#totals")
    browser.click('[data-path="/<b>&amp;.html"]')
    assert browser.text("#content") == "<script>alert(1)</script>"
    browser.click('[data-path="/binary"]')
    assert "00 01 02 03" in browser.text("#content")


def test_it_states_what_the_tools_state(page, image, nf2):
    """Records, their places and kinds, erases and space: as the tools that have code of their own."""
    code, out, _ = nf2("dump", image, "--json")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    expected = [
        [one["block"], one["offset"], one.get("type", "FRAME")] for one in lines if one["kind"] in ("record", "frame")
    ]
    browser = page("image")
    show(browser, image)
    blocks = sorted({block for block, _, _ in expected})  # the page also reads what is not in use
    found = browser.run(
        f"{blocks}.map(block => look.records(block).map(one => [block, one.at, one.name])).flat()"
    )
    assert len(expected) > 50 and found == expected
    facts = json.loads(nf2("info", image, "--json")[1])
    assert browser.run("mounted.statfs.free") == facts["space"]["free"]
    states = json.loads(nf2("map", image, "--json")[1])
    assert browser.run("Array.from(mounted.erases)") == states["erases"]


def test_files_are_taken_out(page, image, browser, tmp_path):
    page("image")
    show(browser, image)
    browser.click('[data-path="/binary"]')
    wait_for(browser, tmp_path / "binary", lambda: browser.click("#save"))
    assert (tmp_path / "binary").read_bytes() == FILES["/binary"]
    wait_for(browser, tmp_path / "flash.tar", lambda: browser.click("#save-all"))
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "flash.tar").read_bytes())) as archive:
        found = {f"/{one.name}": archive.extractfile(one).read() for one in archive if one.isfile()}
    assert found == contents(image)


def wait_for(browser, path, action):
    before = len(browser.downloads)
    action()
    for _ in range(400):
        browser.run("new Promise(resolve => setTimeout(resolve, 25))")
        if len(browser.downloads) > before:
            return
    raise AssertionError(f"{path} was not saved")


def damaged(image, path, seed, flips):
    """A copy with bits turned over in blocks that hold records."""
    data = bytearray(image.read_bytes())
    places = [at for at in range(3 * 4096, len(data)) if data[at] != 0xFF and at % 4096 < 2048]
    for at in random.Random(seed).sample(places, flips):
        data[at] ^= 1 << at % 8
    path.write_bytes(data)
    return path


def test_damage_is_shown_as_the_checker_finds_it(page, image, nf2, tmp_path):
    path = damaged(image, tmp_path / "damaged.img", 4, 60)
    code, out, _ = nf2("check", path, "--json")
    told = json.loads(out)
    browser = page("image")
    show(browser, path)
    assert code != 0 and "damaged" in browser.text("#verdict")
    texts = browser.run("look.findings().filter(one => one.isDamage).map(one => one.text)")
    assert texts and len(texts) == len(told["findings"]), told
    assert browser.text("#findings").count("damage") >= len(texts)


def test_any_damage_is_survived(page, image, tmp_path):
    browser = page("image")
    for seed in range(12):
        path = damaged(image, tmp_path / f"flips {seed}.img", seed, 1 << seed % 12)
        show(browser, path)
        browser.run("for (let block = 0; block < (chip?.blocks ?? 0); block++) look?.records(block)")
        browser.run("look && items.filter(one => !one.isDirectory).forEach(one => look.read(one))")
        assert browser.text("#verdict") or browser.text("#failure")


@pytest.mark.parametrize(
    "data, told",
    [
        (b"", "is empty"),
        (b"no image at all", "it is no image of a chip"),
        (b"\xff" * (1 << 20), "error"),
        (random.Random(1).randbytes(1 << 20), "error"),
    ],
    ids=("empty", "text", "blank", "random"),
)
def test_what_is_no_image_is_said(page, image, tmp_path, data, told):
    browser = page("image")
    path = tmp_path / "what.img"
    path.write_bytes(data)
    browser.drop(path)
    browser.until("!document.getElementById('failure').hidden")
    text = browser.text("#failure")
    assert "what.img" in text and (told in text or told == "error"), text
    show(browser, image)  # and it goes on
    assert "All structures are whole." in browser.text("#verdict")


def test_a_part_of_a_chip_and_a_cut_dump(page, tmp_path):
    browser = page("image")
    part = fill(tmp_path / "part.img", "w25q80@256K+512K", 1)
    show(browser, part)
    assert "128 blocks of 4 KiB" in browser.text("#facts"), browser.text("#facts")
    short = tmp_path / "short.img"
    short.write_bytes(fill(tmp_path / "long.img", sessions=1).read_bytes()[: 600 * 1024])
    show(browser, short)
    assert "600 KiB of a chip of 1 MiB" in browser.text("#facts")
    assert "All structures are whole." in browser.text("#verdict")


def test_nf2_writes_the_page_with_the_image_inside(page, image, nf2, tmp_path):
    code, out, err = nf2("map", image, "--viewer", tmp_path / "look.html")
    assert (code, err) == (0, "") and "look.html" in out
    browser = page("image", tmp_path / "look.html")
    assert browser.text("#name") == "flash.img"
    assert "All structures are whole." in browser.text("#verdict")
    part = fill(tmp_path / "part <&\".img", "w25q80@256K+512K", 0)
    assert nf2("map", part, "--viewer", tmp_path / "part.html")[0] == 0
    page("image", tmp_path / "part.html")
    assert browser.text("#name") == part.name
    assert browser.run("chip.place") == {"offset": 256 << 10, "size": 512 << 10}


# ---- the chip to play with ----


def put(browser, **values):
    for name, value in values.items():
        browser.run(f"document.getElementById('file-{name}').value = {json.dumps(value)}")


def test_the_power_is_cut_in_a_save(page):
    browser = page("chip")
    put(browser, name="settings", text="old")
    browser.click("#call-save")
    put(browser, text="new", times=2000)
    browser.click("#call-save")
    operations = browser.run("last.operations.length")
    assert operations > 3 and f"took {operations} operations" in browser.text("#verdict")
    browser.click(f'[data-operation="{operations - 1}"]')
    browser.click("#cut")
    assert f"operation {operations - 1} of {operations}" in browser.text("#verdict")
    assert "The power is off." in browser.text("#files")
    browser.click("#power")
    assert "as before the call" in browser.text("#verdict")
    assert browser.run("new TextDecoder().decode(chip.read('/settings'))") == "old\n"


def test_each_operation_of_a_call_may_be_the_last(page):
    browser = page("chip")
    for call in ("save", "append", "append", "save", "remove", "idle", "unmount"):
        put(browser, name="log", text=f"{call} ", times=300)
        browser.click(f"#call-{call}")
        operations = browser.run("last.operations.length")
        if operations == 0:
            continue
        browser.click("#every")
        browser.until("!document.getElementById('every-verdict').hidden")
        text = browser.text("#every-verdict")
        assert f"Cut {4 * operations} times" in text and "After none were they anything else." in text
        assert "failed" not in browser.text("#verdict")


def test_a_call_that_is_two_calls_is_found_out(page):
    """Else the search above could not fail."""
    browser = page("chip")
    browser.run(
        "callOf = () => ({text: 'two saves', run() { for (const name of ['/a', '/b']) "
        "chip.write(name, new Uint8Array(9000), OPEN.EMPTY); }})"
    )
    browser.click("#call-save")
    browser.click("#every")
    browser.until("!document.getElementById('every-verdict').hidden")
    assert "something else" in browser.text("#every-verdict")
    assert "NEITHER" in browser.text("#every-table")


def test_wrong_input_is_said(page):
    browser = page("chip")
    put(browser, name="no/such/directory")
    browser.click("#call-save")
    assert "failed" in browser.text("#verdict")
    put(browser, name="large", text="x" * 100, times=5000)
    browser.click("#call-save")
    assert "failed" in browser.text("#verdict")
    put(browser, times=100000)
    browser.click("#call-save")
    assert "more than the page writes" in browser.text("#verdict")
    browser.click("#new")
    assert "A new chip" in browser.text("#verdict") and "no files" in browser.text("#files")


# ---- both ----


@pytest.mark.parametrize("name", pages.PAGES)
def test_it_fits_a_telephone_and_the_dark(page, name, image):
    browser = page(name)
    if name == "image":
        show(browser, image)
        browser.click('[data-path="/logs/days.csv"]')
    else:
        browser.click("#call-save")
        browser.click("#every")
    backs = set()
    for width, dark in ((1100, False), (400, False), (400, True)):
        browser.look(width, dark)
        assert browser.overflow() == 0
        backs.add(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(backs) == 2
