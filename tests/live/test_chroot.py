"""Processes in a chroot inside another mount namespace: the kernel names their files from outside the chroot."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

PROGRAM = r"""
	.globl	_start
_start:	movl	$1, %edi
	leaq	ready(%rip), %rsi
	movl	$1, %edx
	movl	$1, %eax
	syscall
1:	movl	$34, %eax
	syscall
	jmp	1b
ready:	.ascii	"\n"
"""


# Fills pages that were never touched, by a function of libc, when it is told to.
FILLS = r"""
#include <string.h>
#include <unistd.h>
static char pages[64 * 4096];
int main(void)
{
	char byte = '\n';
	memset(pages, byte, 1); /* bound, and its code there: from now on it has no faults but those of its pages */
	while (write(1, &byte, 1) == 1 && read(0, &byte, 1) == 1)
		memset(pages, byte, sizeof(pages));
}
"""


LEAKS = pathlib.Path(__file__).resolve().parent / "leaky.c"


@pytest.fixture
def inside(tmp_path):
    """A program that says when it runs, and waits; its path."""
    if os.geteuid() or not shutil.which("unshare") or os.uname().machine != "x86_64":
        pytest.skip("needs root, unshare and x86-64")
    (tmp_path / "jail").mkdir()
    (tmp_path / "x.s").write_text(PROGRAM)
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", "jail/waits", "x.s"], cwd=tmp_path, check=True)
    started = subprocess.Popen(["unshare", "-m", "chroot", tmp_path / "jail", "/waits"], stdout=subprocess.PIPE)
    if started.stdout.read(1) != b"\n":
        started.wait()
        pytest.skip("no mount namespace can be made here")
    yield started.pid, tmp_path / "jail/waits"
    started.kill()
    started.wait()
    started.stdout.close()


def test_build_ids(perf, inside, tmp_path):
    pid, path = inside
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes).group(1)
    done = perf("record", "-e", "dummy:u", "--buildid-all", "-p", pid, "-o", tmp_path / "perf.data", "--", "true",
                env={**os.environ, "PERF_BUILDID_DIR": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    assert f"{build_id} {path}" in perf("buildid-list", "-i", tmp_path / "perf.data").stdout
    assert (tmp_path / f"cache{path}" / build_id / "elf").exists()


def root_of_its_own(folder, source):
    """A root directory with a program and what it is linked to."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("needs root and unshare")
    (folder / "x.c").write_text(source)
    (folder / "root").mkdir()
    subprocess.run(["gcc", "-fno-builtin", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id", "-o", "root/program", "x.c"],
                   cwd=folder, check=True)
    needed = subprocess.run(["ldd", folder / "root/program"], capture_output=True, text=True, check=True).stdout
    for path in re.findall(r"/\S+", needed):
        (folder / "root" / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), folder / "root" / path[1:])
    return folder / "root"


def named(tool, path, environment):
    """The functions of libc that have samples."""
    text = tool("report", "--stdio", "-s", "dso,sym", "-i", path, env=environment).stdout
    return [line.split()[-1] for line in text.splitlines() if "libc.so" in line]


def test_functions_of_its_libc(perf, oracle, tmp_path):
    """Each page's first touch is a sample, in memset(); the name stays when the files are gone from where they were, and in the cache only."""
    root, environment = root_of_its_own(tmp_path, FILLS), {**os.environ, "PERF_BUILDID_DIR": str(tmp_path / "cache")}
    os.mkfifo(tmp_path / "go")
    with open(os.open(tmp_path / "go", os.O_RDWR), "rb", buffering=0) as go, \
            subprocess.Popen(["unshare", "-m", "chroot", root, "/program"], stdin=go, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout.read(1) != b"\n":
                pytest.skip("no mount namespace can be made here")
            filled = f"echo >{tmp_path}/go; read -r line </proc/{process.pid}/fd/1"
            done = perf("record", "-e", "page-faults:u", "-c", 1, "-o", tmp_path / "perf.data", "-p", process.pid, "--", "sh", "-c", filled, env=environment)
            assert done.returncode == 0, done.stderr
        finally:
            process.kill()
    ours, theirs = (named(tool, tmp_path / "perf.data", environment) for tool in (perf, oracle))
    assert len(ours) == 1 and "memset" in ours[0] and ours == theirs
    root.rename(tmp_path / "gone")
    assert named(perf, tmp_path / "perf.data", environment) == ours


def test_leaks_in_its_libc(perf, tmp_path):
    """The functions are those of the file that the process has mapped, not of ours by that name; the name may lead nowhere by now."""
    root = root_of_its_own(tmp_path, LEAKS.read_text())
    with subprocess.Popen(["unshare", "-m", "chroot", root, "/program", "later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while os.readlink(f"/proc/{process.pid}/exe") != str(root / "program") or "libc.so" not in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
            time.sleep(0.01)
        libc, = root.rglob("libc.so*")
        libc.unlink()
        with subprocess.Popen([perf.path, "leaks", "-p", str(process.pid), "--interval", "1", "--top", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True) as watcher:
            first = watcher.stdout.readline()
            if not first:
                error = watcher.stderr.read()
                assert "BPF" in error or "bpf" in error, error
                pytest.skip(error.strip())
            process.stdin.close()
            rest = watcher.communicate()[0]
    assert "21,000 bytes in 7 allocations" in rest[rest.rindex("Outstanding"):]
