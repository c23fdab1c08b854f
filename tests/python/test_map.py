# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 map --html` and the owners of blocks."""

import html.parser
import json
import random
import re
import shutil
import subprocess

import pytest

import nf2fs
from nf2fs import native, owners

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
HOSTILE = "</script><b>&'\"x"


@pytest.fixture
def image(tmp_path):
    path, source = tmp_path / "flash.img", random.Random(4)
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/large", source.randbytes(100000))
        volume.write_bytes("/other", source.randbytes(60000))
        volume.makedirs("/d")
        for index in range(20):
            volume.write_bytes(f"/d/small {index}", source.randbytes(30))
        volume.write_bytes("/" + HOSTILE.replace("/", "_"), source.randbytes(20000))
    return path


@pytest.mark.parametrize("chip", ("w25q80", "w25q80@256K+512K"))
def test_owners(tmp_path, chip):
    path, source = tmp_path / "flash.img", random.Random(4)
    nf2fs.format_image(path, chip)
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/large", source.randbytes(100000))
        volume.write_bytes("/other", source.randbytes(60000))
        volume.mkdir("/d")
        volume.write_bytes("/d/small", source.randbytes(30))
    with nf2fs.open_image(path, read_only=True) as volume:
        states, _ = volume.blocks()
        found = owners.find(volume, states).owners
    assert len(found) == len(states)
    assert [one is None for one in found] == [state != 2 for state in states]
    kinds = [one.kind for one in found if one]
    paths = [one.path for one in found if one]
    assert 25 <= paths.count("/large") <= 27 and 15 <= paths.count("/other") <= 17
    assert kinds.count("names") >= 1 and "/d/small" not in paths
    assert kinds.count("log") >= 4 and "volume" not in kinds  # nothing waits to be reclaimed


class Links(html.parser.HTMLParser):
    found = ()

    def handle_starttag(self, tag, attributes):
        self.found += tuple(value for name, value in attributes if name in ("src", "href"))


def test_the_page_stands_alone(image, tmp_path, nf2):
    code, out, err = nf2("map", image, "--html", tmp_path / "map.html")
    assert (code, err) == (0, "") and "map.html" in out
    text = (tmp_path / "map.html").read_text()
    links = Links()
    links.feed(text)
    assert not links.found and "@import" not in text and not re.search(r"https?://", text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    found = json.loads(nf2("map", "--json", "--owners", image)[1])
    assert data["owner"] == found["owner"] and len(found["owner"]) == len(found["states"]) == 256
    assert sum(one["blocks"] for one in data["owners"]) == found["totals"]["used"]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing (Debian: chromium)")
@pytest.mark.parametrize("view", ("owner",))
def test_a_browser_shows_it(image, tmp_path, nf2, view):
    assert nf2("map", image, "--html", tmp_path / "map.html")[0] == 0
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        "--enable-logging=stderr",
        "--dump-dom",
        f"file://{tmp_path}/map.html#{view}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr, done.stderr
    text = done.stdout
    assert (
        f'aria-pressed="true" id="view-{view}"' in text
        or f'id="view-{view}" aria-pressed="true"' in text
    )
    assert (
        "<td>/large</td>" in text
        and "<td>used</td>" in text
        and "256 blocks of 4,096 bytes" in text
    )
    assert "&lt;_script&gt;&lt;b&gt;" in text


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing (Debian: chromium)")
@pytest.mark.parametrize("view", ("state", "owner", "wear"))
@pytest.mark.parametrize("scheme, number", [("dark", 0), ("light", 1)])
def test_what_is_free_is_not_brighter_than_the_rest_in_the_dark(image, tmp_path, nf2, view, scheme, number):
    """Most of a volume is free, as a rule: its colour is near that of the page."""
    assert nf2("map", image, "--html", tmp_path / "map.html")[0] == 0
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        f"--blink-settings=preferredColorScheme={number}",
        "--dump-dom",
        f"file://{tmp_path}/map.html#{view}",
    ]
    text = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    legend = re.findall(r'background: rgb\(([\d, ]+)\);?"></i>([^<]+)', text)
    shades = [(name, sum(map(int, rgb.split(",")))) for rgb, name in legend]
    least = {"state": "free and erased", "owner": "free"}.get(view, "0 erases")
    assert len(shades) > 1 and least in dict(shades), shades
    assert dict(shades[::-1])[least] == (min if scheme == "dark" else max)(shade for _, shade in shades)


def test_a_damaged_volume_is_shown_as_far_as_it_can_be_read(image, tmp_path, nf2):
    with nf2fs.open_image(image) as volume:
        with volume.open("/log", "wb", buffering=0) as log:
            for _ in range(40):
                log.write(b"a line that is looked for\n" * 4)
                log.sync()
    data = bytearray(image.read_bytes())
    for _ in range(3):
        data[data.index(b"a line that is looked for") + 3] ^= 0x41
    image.write_bytes(data)
    found = json.loads(nf2("map", "--json", "--owners", image)[1])
    assert {one["path"] for one in found["unread"]} <= {"/", "/log"} and found["unread"]
    assert len(found["owner"]) == 256 and found["totals"]["used"] > 40
    code, _, err = nf2("dump", image)
    assert code == 0 and "have no known owner" in err
    assert nf2("map", image, "--html", tmp_path / "map.html")[0] == 0
    assert '"unread": [{"path": "/' in (tmp_path / "map.html").read_text()
