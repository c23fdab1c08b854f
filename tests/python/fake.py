# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for the compiled library: same methods as nf2fs.native, a tree in memory kept in the image file.

It lets the Python parts be tested with names and failures that a sound volume never shows.
"""

import base64
import json
import threading
import os

from nf2fs.errors import BADF, BLANK, EXIST, FOREIGN, GEOMETRY, INVAL, ISDIR, NOENT, NOSPC, NOTDIR, NOTEMPTY, NF2Error
from nf2fs.native import Chip, Finding, decode, encode_path
from nf2fs.volume import O_APPEND, O_CREAT, O_EXCL, O_SYNC, O_TRUNC

MAGIC = b"FAKE"
CHIPS = [Chip("tiny", "tiny", "a chip for tests", 1 << 20, 256, 4096, 1, 1000, 4096, 50000),
         Chip("twin", "twin", "another chip of that size", 1 << 20, 512, 8192, 1, 1000, 8192, 50000),
         Chip("large", "large", "a larger one", 1 << 21, 256, 4096, 1, 1000, 4096, 50000)]
TEXTS = {NOENT: "no such file or directory", EXIST: "the name exists", NOTDIR: "not a directory",
         ISDIR: "is a directory", NOTEMPTY: "the directory has entries", NOSPC: "no space",
         BLANK: "the chip is erased", FOREIGN: "the chip holds something else", GEOMETRY: "another geometry",
         INVAL: "a bad argument", BADF: "bad handle"}


def error(code, path=None):
    return NF2Error(code, TEXTS[code], path)


class FakeLibrary:
    def version(self):
        return "fake"

    def error_text(self, code):
        return TEXTS[code]

    def chips(self):
        return CHIPS

    def probe(self, data, geometry):
        return GEOMETRY

    def chip(self, name):
        for chip in CHIPS:
            if chip.name == name:
                return chip
        raise NF2Error(NOENT, f"no chip is named '{name}'")

    def open_repair(self, chip, path):
        return FakeRepair()

    def open_memory(self, chip):
        return FakeImage(self.chip(chip), None, False)

    def open_image(self, chip, path, read_only):
        return FakeImage(self.chip(chip), path, read_only)


class FakeRepair:
    """There is nothing to repair."""

    def close(self):
        pass

    def lossy(self):
        return False

    def clean(self):
        return True

    def items(self):
        return []

    def names_lost(self):
        return False

    def findings(self):
        return []

    def state_text(self, state):
        return state

    def path_of(self, number):
        return f"/path of {number}"


class FakeImage:
    def __init__(self, chip, path, read_only):
        self.chip, self.path, self.read_only, self.root = chip, path, read_only, None
        self.limit = chip.size // 2
        self.lock = threading.RLock()
        self.cells = bytearray(b"\xff" * chip.size)  # of a chip in memory

    def memory(self, size):
        return self.cells

    def close(self):
        pass

    def flush(self):
        if self.read_only:
            return
        if self.root is None:
            data = b"\xff" * self.chip.size
        else:
            data = MAGIC + json.dumps({"chip": self.chip.name, "root": self.root}).encode()
            data = data.ljust(self.chip.size, b"\xff")
        if self.path is None:
            self.cells[:] = data
            return
        with open(self.path, "wb") as file:
            file.write(data)

    def format(self, erase):
        self.root = {}
        self.flush()

    def mount(self, read_only):
        data = bytes(self.cells)
        if self.path is not None:
            with open(self.path, "rb") as file:
                data = file.read()
        if not data.rstrip(b"\xff"):
            raise error(BLANK)
        if not data.startswith(MAGIC):
            raise error(FOREIGN)
        stored = json.loads(data[len(MAGIC):].rstrip(b"\xff"))
        if stored["chip"] != self.chip.name:
            raise error(GEOMETRY)
        self.root = stored["root"]

    def unmount(self):
        pass

    def maintain(self, budget_us):
        return False

    def statfs(self):
        blocks = self.chip.size // self.chip.block_size
        return {"block_size": self.chip.block_size, "blocks": blocks, "free": blocks - 6, "erased": blocks - 16,
                "available": blocks - 10, "bad": 1}

    def health(self):
        return {"erases_min": 0, "erases_max": 3, "erases_mean": 1, "erases_total": 99, "mounts_unclean": 0,
                "blocks_bad": 1}

    def counts(self):
        return {"time_us": 0}

    def blocks(self, count):
        return bytes([3] + [2] * 5 + [0] * 10 + [1] * (count - 16)), [index % 4 for index in range(count)]

    def left_cleanly(self):
        return True

    def check(self):
        wrong = [Finding("node", "a finding", block=7, id=3)] if "broken" in self.root else []
        return len(wrong), wrong

    def _parts(self, path):
        return [part for part in decode(encode_path(path)).split("/") if part]

    def _find(self, path, below=None):
        place = self.root
        for part in self._parts(path)[:below]:
            if not isinstance(place, dict):
                raise error(NOTDIR, path)
            if part not in place:
                raise error(NOENT, path)
            place = place[part]
        return place

    def _parent(self, path):
        parts = self._parts(path)
        if not parts:
            raise error(INVAL, path)
        parent = self._find(path, -1)
        if not isinstance(parent, dict):
            raise error(NOTDIR, path)
        return parent, parts[-1]

    @staticmethod
    def _facts(node):
        return (2, 0) if isinstance(node, dict) else (1, len(base64.b64decode(node)))

    def stat(self, path):
        return self._facts(self._find(path))

    def mkdir(self, path):
        parent, name = self._parent(path)
        if name in parent:
            raise error(EXIST, path)
        parent[name] = {}

    def remove(self, path):
        parent, name = self._parent(path)
        if self._find(path) and isinstance(parent[name], dict):
            raise error(NOTEMPTY, path)
        del parent[name]

    def rename(self, source, target):
        node = self._find(source)
        to_parent, to_name = self._parent(target)
        from_parent, from_name = self._parent(source)
        del from_parent[from_name]
        to_parent[to_name] = node

    def entries(self, path):
        return iter(self.list(path))

    def list(self, path):
        node = self._find(path)
        if not isinstance(node, dict):
            raise error(NOTDIR, path)
        return [(name, *self._facts(node[name])) for name in sorted(node)]

    def open_file(self, path, flags):
        parent, name = self._parent(path)
        if isinstance(parent.get(name), dict):
            raise error(ISDIR, path)
        if name in parent and flags & O_EXCL:
            raise error(EXIST, path)
        if name not in parent and not flags & O_CREAT:
            raise error(NOENT, path)
        return FakeFile(self, parent, name, flags, path)


class FakeFile:
    def __init__(self, image, parent, name, flags, path):
        self.image, self.parent, self.name, self.flags, self.path = image, parent, name, flags, path
        self.data = bytearray() if flags & O_TRUNC else bytearray(base64.b64decode(parent.get(name, "")))
        self.position, self.handle = 0, self

    def close(self):
        self.sync()
        self.handle = None

    def drop(self):
        self.handle = None

    discard = drop

    def sync(self):
        if self.flags & 2:
            self.parent[self.name] = base64.b64encode(self.data).decode()

    def readinto(self, buffer):
        piece = self.data[self.position:self.position + len(buffer)]
        buffer[:len(piece)] = piece
        self.position += len(piece)
        return len(piece)

    def write(self, data):
        if self.flags & O_APPEND:
            self.position = len(self.data)
        end = self.position + len(data)
        if end > self.image.limit:
            if self.flags & O_SYNC:  # what was not synced is given up with it
                self.data = bytearray(base64.b64decode(self.parent.get(self.name, "")))
            raise error(NOSPC, self.path)
        self.data.extend(bytes(max(0, self.position - len(self.data))))
        self.data[self.position:end] = data
        self.position = end
        return len(data)

    def seek(self, offset, whence):
        base = (0, self.position, len(self.data))[whence]
        if base + offset < 0:
            raise error(INVAL, self.path)
        self.position = base + offset
        return self.position

    def size(self):
        return len(self.data)

    def truncate(self, size):
        self.data = self.data[:size].ljust(size, b"\0")

    def preallocate(self, size):
        pass


def plant(path, root, chip="tiny"):
    """Writes an image that holds `root` as it is: folders are dictionaries, files are bytes."""
    def encoded(node):
        if isinstance(node, dict):
            return {name: encoded(below) for name, below in node.items()}
        return base64.b64encode(node).decode()

    image = FakeImage(FakeLibrary().chip(chip), os.fspath(path), False)
    image.root = encoded(root)
    image.flush()
