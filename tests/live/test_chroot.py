"""Processes in a chroot inside another mount namespace: the kernel names their files from outside the chroot."""
import os
import re
import shutil
import subprocess

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
