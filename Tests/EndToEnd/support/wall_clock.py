"""A wall clock for the server that the test can set (`wall_clock.c`)."""

import mmap
import pathlib
import shutil
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("wall_clock.c")


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compiles the library that replaces the system's clock functions; returns its path."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler comes with the toolchain"
    library = folder / "wall_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class WallClock:
    """The server's wall clock, which is `ahead` seconds ahead of this process's clock."""

    def __init__(self, library: pathlib.Path, path: pathlib.Path, ahead: float = 0):
        path.write_bytes(struct.pack("=q", int(ahead * 1e9)))
        self.environment = {"LD_PRELOAD": str(library), "RINGLINE_TEST_CLOCK": str(path)}
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 8)

    def set(self, ahead: float):
        self.page[:8] = struct.pack("=q", int(ahead * 1e9))
