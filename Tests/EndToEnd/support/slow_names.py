"""Names that hang, for servers that are started with this environment (`slow_names.c`)."""

import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).with_name("slow_names.c")


def environment(folder: pathlib.Path) -> dict[str, str]:
    """Compiles the library that replaces the system's resolver; returns the environment that preloads it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler comes with the toolchain"
    library = folder / "slow_names.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}
