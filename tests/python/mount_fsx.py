# SPDX-License-Identifier: BSD-2-Clause
"""Random reads, writes, truncations and mapped changes of files in a directory, compared with files
in memory.

As a command, on any directory, also for hours: python mount_fsx.py DIRECTORY [--seed 1] [--steps
100000] [--files 8]
"""

import argparse
import mmap
import os
import random

SIZE_MAX = 64 * 1024


class Fsx:
    def __init__(self, directory, seed, files=8):
        self.directory, self.random = directory, random.Random(seed)
        self.data = [bytearray() for _ in range(files)]
        self.names = [os.path.join(directory, f"fsx {index}") for index in range(files)]
        self.handles = [os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL) for name in self.names]
        self.log = []

    def span(self, data, beyond):
        """An offset and a length; up to `beyond` bytes past the end."""
        start = self.random.randrange(len(data) + beyond)
        lengths = (1, 17, 256, self.random.randrange(1, 5000), self.random.randrange(1, 20000))
        return start, self.random.choice(lengths)

    def step(self):
        index = self.random.randrange(len(self.data))
        kind = self.random.choices(
            (
                "write",
                "append",
                "read",
                "truncate",
                "map_write",
                "map_read",
                "fsync",
                "reopen",
                "rename",
                "remove",
            ),
            (20, 10, 20, 8, 8, 8, 6, 6, 3, 1),
        )[0]
        self.log = self.log[-30:] + [(kind, index, len(self.data[index]))]
        getattr(self, kind)(index, self.data[index], self.handles[index])
        size = os.stat(self.names[index]).st_size
        assert size == len(self.data[index]), (self.log, size)

    def put(self, data, start, piece):
        data.extend(bytes(max(0, start - len(data))))
        data[start : start + len(piece)] = piece

    def write(self, index, data, handle):
        start, length = self.span(data, 3000)
        piece = self.random.randbytes(min(length, SIZE_MAX - start))
        if piece:
            assert os.pwrite(handle, piece, start) == len(piece)
            self.put(data, start, piece)

    def append(self, index, data, handle):
        piece = self.random.randbytes(self.random.choice((1, 32, 300)))
        if len(data) + len(piece) <= SIZE_MAX:
            with open(self.names[index], "ab", buffering=0) as file:
                assert file.write(piece) == len(piece)
            data.extend(piece)

    def read(self, index, data, handle):
        start, length = self.span(data, 100)
        assert os.pread(handle, length, start) == data[start : start + length], (
            self.log,
            start,
            length,
        )

    def truncate(self, index, data, handle):
        size = self.random.randrange(min(len(data) + 5000, SIZE_MAX))
        if self.random.random() < 0.5:
            os.ftruncate(handle, size)
        else:
            os.truncate(self.names[index], size)
        data[size:] = bytes(max(0, size - len(data)))

    def map_write(self, index, data, handle):
        if data:
            start, length = self.span(data, 0)
            piece = self.random.randbytes(min(length, len(data) - start))
            with mmap.mmap(handle, len(data)) as memory:
                memory[start : start + len(piece)] = piece
                if self.random.random() < 0.5:
                    memory.flush()
            data[start : start + len(piece)] = piece

    def map_read(self, index, data, handle):
        if data:
            with mmap.mmap(handle, len(data), prot=mmap.PROT_READ) as memory:
                assert memory[:] == data, self.log

    def fsync(self, index, data, handle):
        os.fsync(handle)

    def reopen(self, index, data, handle):
        os.close(handle)
        self.handles[index] = os.open(self.names[index], os.O_RDWR)

    def rename(self, index, data, handle):
        name = os.path.join(self.directory, f"fsx {index} renamed {self.random.randrange(3)}")
        os.rename(self.names[index], name)
        self.names[index] = name

    def remove(self, index, data, handle):
        """The removed file goes on through its handle; then a new one takes its place."""
        os.unlink(self.names[index])
        self.read(index, data, handle)
        os.pwrite(handle, b"after", 10)
        self.put(data, 10, b"after")
        assert os.pread(handle, SIZE_MAX, 0) == data, self.log
        os.close(handle)
        self.handles[index] = os.open(self.names[index], os.O_RDWR | os.O_CREAT | os.O_EXCL)
        del data[:]

    def close(self):
        """The path and content of each file."""
        for handle in self.handles:
            os.close(handle)
        return {os.path.basename(name): bytes(data) for name, data in zip(self.names, self.data)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--files", type=int, default=8)
    given = parser.parse_args()
    run = Fsx(given.directory, given.seed, given.files)
    for _ in range(given.steps):
        run.step()
    for name, data in run.close().items():
        with open(os.path.join(given.directory, name), "rb") as file:
            assert file.read() == data, name
    print(f"{given.steps} steps over {given.files} files: all as expected")


if __name__ == "__main__":
    main()
