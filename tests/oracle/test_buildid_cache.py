"""perf buildid-cache and the kernel's perf work on one cache: what one has put there the other lists, finds and removes."""
import os
import re
import shutil
import subprocess

import pytest


@pytest.fixture(name="cache")
def cache_fixture(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".debug"


@pytest.fixture(name="program")
def program_fixture(tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (tmp_path / "x.c").write_text("__attribute__((noinline)) int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }"
                                  " int main(void) { return work(200000000) == 1; }")
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    return tmp_path / "x"


def listed(tool):
    return sorted(tool("buildid-cache", "-l").stdout.splitlines())


def files(cache):
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if not path.is_dir() and path.name != "probes")


def test_same_cache(perf, oracle, cache, program):
    assert oracle("buildid-cache", "-a", program).returncode == 0
    theirs, files_theirs = listed(oracle), files(cache)
    assert len(theirs) == 1 and theirs[0].endswith(f" {program}")
    assert listed(perf) == theirs
    done = perf("buildid-cache", "-r", program)
    assert done.returncode == 0 and not done.stderr
    assert files(cache) == [] and listed(oracle) == []
    assert perf("buildid-cache", "-v", "-a", program).stderr == f"{program}: Ok\n"
    assert listed(oracle) == theirs and files(cache) == files_theirs
    assert oracle("buildid-cache", "-r", program).returncode == 0
    assert listed(perf) == [] and files(cache) == []


def test_versions(perf, cache, program):
    """-p removes copies of older builds too, -r only that of the file as it is."""
    first = subprocess.run(["cat", program], capture_output=True, check=True).stdout
    perf("buildid-cache", "-a", f"{program},/usr/bin/env")
    subprocess.run(["gcc", "-O0", "-Wl,--build-id", "-o", "x", "x.c"], cwd=program.parent, check=True)
    assert program.read_bytes() != first
    perf("buildid-cache", "-a", program, "-u", program)
    assert [line.split()[1] for line in listed(perf)].count(str(program)) == 2
    perf("buildid-cache", "-r", program)
    assert [line.split()[1] for line in listed(perf)].count(str(program)) == 1
    perf("buildid-cache", "-a", program)
    assert perf("buildid-cache", "-p", program).returncode == 0
    assert [os.path.basename(line) for line in listed(perf)] == ["env"]
    assert perf("buildid-cache", "-P").returncode == 0 and files(cache) == []
    assert not [path for path in cache.rglob("*") if path.name == "x"], "empty directories are left"


def test_recording_after_the_program_has_changed(perf, live, cache, program):
    """Names and lines come from the copy; -M tells what is not in the cache."""
    data = program.parent / "perf.data"
    assert perf("record", "-N", "-q", "-e", "cpu-clock:u", "-F", "1000", "-o", data, "--", program).returncode == 0
    assert f" {program}" in perf("buildid-cache", "-M", data).stdout
    perf("buildid-cache", "-a", program)
    assert f" {program}" not in perf("buildid-cache", "-M", data).stdout
    program.unlink()
    report = perf("report", "--stdio", "-i", data, "-s", "sym,srcline").stdout
    assert "[.] work" in report and "x.c:1" in report
    perf("buildid-cache", "-P")
    assert "[.] work" not in perf("report", "--stdio", "-i", data, "-s", "sym").stdout


@pytest.mark.parametrize("words, reason", [
    (["-a", "/nonexistent"], "No such file"), (["-a", "/etc/passwd"], "no build-id"), (["-r", "/usr/bin/env"], "is not in the cache"),
    (["-p", "/usr/bin/env"], "is not in the cache"), ([], "nothing to do"), (["x"], "unexpected argument"), (["-k", "x"], "/proc/kcore"),
])
def test_refusals(perf, cache, words, reason):
    done = perf("buildid-cache", *words)
    assert done.returncode and reason in done.stderr and done.stderr.count("\n") <= 3


def test_code_of_the_kernel(perf, cache, root):
    """In a guest, kcore.sh, it is looked at; here whether it is there, or the reason is."""
    done = perf("buildid-cache", "-v", "-k", "/proc/kcore")
    copies = list(cache.glob("[[]kernel.kcore]/*/*/kcore"))
    if done.returncode:
        assert re.search("CONFIG_PROC_KCORE|lockdown|kptr_restrict", done.stderr) and not copies
    else:
        assert len(copies) == 1
        assert perf("buildid-cache", "-P").returncode == 0 and not list(cache.glob("[[]kernel.kcore]*"))


def test_a_link_out_of_the_cache_is_left_alone(perf, cache, program):
    """A hostile link doesn't make us remove what is elsewhere."""
    victim = program.parent / "victim" / ("ab" * 20)
    victim.mkdir(parents=True)
    (victim / "elf").write_text("x")
    (cache / ".build-id" / "ab").mkdir(parents=True)
    (cache / ".build-id" / "ab" / ("ab" * 19)).symlink_to(f"../../../victim/{'ab' * 20}")
    perf("buildid-cache", "-P")
    assert (victim / "elf").exists()
