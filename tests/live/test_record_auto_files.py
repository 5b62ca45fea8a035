"""Complete stacks (record -g) of programs that are not what their path leads to: deleted, replaced, without a path, in a mount namespace of their own, set-user-ID;
and as a user without rights. Stacks are told by their addresses, since nobody finds the names afterwards."""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

# Says that it has begun, then is in turn() for ever, below ten calls of down(), without frame pointers.
PROGRAM = r"""
#include <stdio.h>
static volatile unsigned sink;
__attribute__((noinline)) static void turn(void)
{
	puts("begun");
	fflush(stdout);
	for (;;)
		sink++;
}
__attribute__((noinline)) static unsigned down(int n)
{
	volatile char room[100];
	room[0] = (char)n;
	if (n)
		return down(n - 1) + room[0];
	turn();
	return room[0];
}
int main(void)
{
	return (int)down(9);
}
"""
FRAMES = 1 + 10 + 1 + 3  # turn, down, main, what calls main in the C library, _start
CLOCK = ["-e", "cpu-clock:u", "-c", "1000000"]
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture(name="mode", params=["auto,bpf", "auto,copy"])
def make_mode(request):
    if request.param == "auto,bpf":
        request.getfixturevalue("bpf")
        if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 1):
            pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    return request.param


@pytest.fixture(scope="module", name="built")
def build(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("files")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-Wl,-z,now", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


@contextlib.contextmanager
def running(*command, **arguments):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **arguments) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            yield process.pid
        finally:
            process.kill()


@contextlib.contextmanager
def deleted(path, **arguments):
    with running(path, **arguments) as pid:
        path.unlink()
        yield pid


@contextlib.contextmanager
def replaced(path):
    """By a program whose rules lead elsewhere."""
    with running(path) as pid:
        shutil.copy("/bin/bash", path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
        yield pid


@contextlib.contextmanager
def without_a_path(path):
    memory = ctypes.CDLL(None).memfd_create(b"program", 0)
    os.write(memory, path.read_bytes())
    try:
        with running(f"/proc/self/fd/{memory}", pass_fds=[memory]) as pid:
            yield pid
    finally:
        os.close(memory)


@contextlib.contextmanager
def in_a_container(path):
    """Own mounts and process ids; the program lies in a file system that is mounted there only."""
    place = path.parent / "mounted"
    place.mkdir()
    script = f"mount -t tmpfs tmpfs {place} && cp {path} {place}/program && rm {path} && exec {place}/program"
    with subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script], stdout=subprocess.PIPE, text=True) as outer:
        try:
            if outer.stdout.readline() != "begun\n":
                pytest.skip("namespaces and mounts can't be made here")
            yield started.child_named(outer.pid, "program")
        finally:
            outer.kill()


@contextlib.contextmanager
def set_user_id(path):
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    with running(path) as pid:
        yield pid


def lengths(perf, path):
    """How many addresses the stacks have."""
    done = perf("script", "-f", "-F", "ip", "-i", path)
    assert done.returncode == 0, done.stderr
    return [len(block.split()) for block in done.stdout.split("\n\n") if block.strip()]


@pytest.mark.parametrize("way", [deleted, replaced, without_a_path, in_a_container, set_user_id], ids=lambda way: way.__name__)
def test_programs_that_are_not_what_their_path_leads_to(perf, live, root, mode, tmp_path, built, way):
    path = pathlib.Path(shutil.copy(built, tmp_path / "program"))
    with way(path) as pid:
        done = perf("record", "-o", tmp_path / "data", *CLOCK, "--call-graph", mode, "-p", pid, "--", *started.while_it_runs(pid, 0.1))
    assert done.returncode == 0, done.stderr
    assert re.search(r"Unwound \d+ stacks, all complete", done.stderr), done.stderr
    found = lengths(perf, tmp_path / "data")
    assert found and set(found) == {FRAMES}


@pytest.mark.parametrize("way", [running, deleted], ids=lambda way: way.__name__)
def test_as_a_user_without_rights(perf, live, paranoid, tmp_path, built, way):
    """Copies are unwound while they come; a program of the user's own that was deleted can still be read."""
    if not shutil.which("setpriv") or subprocess.run([*NOBODY, perf, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("needs setpriv, and a perf that others may run")
    paranoid(2)
    folder = pathlib.Path(subprocess.run([*NOBODY, "mktemp", "-d"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    try:
        path = pathlib.Path(shutil.copy(built, folder / "program"))
        with way(path, user=65534, group=65534, extra_groups=[]) as pid:
            done = subprocess.run([*NOBODY, perf.path, "record", "-v", "-o", folder / "data", *CLOCK, "-g", "-p", str(pid), "--", *started.while_it_runs(pid, 0.1)],
                                  capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "stacks are copied, and unwound by the recorder" in done.stderr and re.search(r"Unwound \d+ stacks, all complete", done.stderr), done.stderr
        found = lengths(perf, folder / "data")
        assert found and set(found) == {FRAMES}
    finally:
        shutil.rmtree(folder)
