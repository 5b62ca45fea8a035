"""A root directory in which there is nothing but perf and the libraries that it needs: what is read there, a recording must bring itself."""
import os
import pathlib
import re
import shutil
import subprocess

LOADED_LATE = ["capstone"]  # by name, when they are needed


def libraries(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def late_libraries():
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(path) for name in LOADED_LATE for path in re.findall(rf"lib{name}\.so\.\S+ .*=> (\S+)", cache)[:1]}


class EmptyRoot:
    """run(recording, "report", …): what perf says of it there."""

    def __init__(self, program, folder):
        self.folder = folder
        (folder / "work").mkdir(parents=True)
        (folder / "tmp").mkdir()
        shutil.copy(program, folder / "perf")
        late = late_libraries()
        for library in libraries(program) | late | {other for path in late for other in libraries(path)}:
            place = folder / str(library).lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)

    def run(self, path, *words):
        shutil.copy(path, self.folder / "work/perf.data")

        def enter():
            os.chroot(self.folder)
            os.chdir("/work")
        return subprocess.run(["/perf", *words], preexec_fn=enter, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              env={"HOME": "/tmp", "PERF_CONFIG": "/none", "LC_ALL": "C"})
