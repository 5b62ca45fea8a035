"""What a recording says about the machine is what the kernel's perf says about it."""
import os
import pathlib
import re
import subprocess

import pytest

RECORDINGS = [
    [],
    ["-k", "mono"],
    ["-e", "sched:sched_switch"],
    ["-a"],
]
# Times, sizes and names of tools; memory that is free now; ids of counters; BPF programs of neighbours. Empty sections are left out by us.
CHANGING = re.compile(r"^# (captured on|data offset|data size|feat offset|perf version|cmdline|event :|time of|sample duration|reference time|clockid|missing|bpf_prog_info|\tsub_prog|btf info)"
                      r"|, free = .*")


def tidy(line):
    """PMUs in the order of their names, as we have them; the kernel's perf takes the directory's."""
    title, _, pmus = line.partition("# pmu mappings: ")
    return "# pmu mappings: " + ", ".join(sorted(pmus.split(", "))) if pmus and not title else CHANGING.sub("", line)


def header(oracle, path):
    out = subprocess.run([oracle, "report", "--header-only", "-I", "-i", path], capture_output=True, text=True, check=True).stdout
    return [tidy(line) for line in out.splitlines() if not CHANGING.match(line)]


def total_memory():
    """The host of a virtual machine may take memory away, and give it back, at any moment."""
    return re.search(r"MemTotal: .*", pathlib.Path("/proc/meminfo").read_text(encoding="ascii"))[0]


def missing(oracle, path):
    out = subprocess.run([oracle, "report", "--header-only", "-I", "-i", path], capture_output=True, text=True, check=True).stdout
    return set(re.search(r"missing features: (.*)", out)[1].split())


@pytest.mark.parametrize("options", RECORDINGS, ids=" ".join)
def test_facts(perf, oracle, tmp_path, options):
    memory = None
    while memory != total_memory():
        memory = total_memory()
        for tool, name in ((perf, "ours"), (oracle, "theirs")):
            done = subprocess.run([tool, "record", "-q", "-o", tmp_path / name, *options, "true"], capture_output=True, text=True, check=False)
            if tool is oracle and done.returncode:
                pytest.skip(f"the kernel's perf cannot record here: {done.stderr.strip()}")
            assert done.returncode == 0, done.stderr
    assert header(oracle, tmp_path / "ours") == header(oracle, tmp_path / "theirs")
    optional = {"BPF_PROG_INFO", "BPF_BTF", "PMU_CAPS", "BUILD_ID", "SAMPLE_TIME"}
    assert missing(oracle, tmp_path / "ours") - optional == missing(oracle, tmp_path / "theirs") - optional


def test_clock(perf, oracle, tmp_path):
    path = tmp_path / "x"
    assert perf("record", "-q", "-k", "boot", "-o", path, "true").returncode == 0
    out = subprocess.run([oracle, "report", "--header-only", "-i", path], capture_output=True, text=True, check=True).stdout
    assert re.search(r"clockid: boottime \(7\)", out)
    wall = re.search(r"reference time: .* = (\d+)\.\d+ \(TOD\) = \d+\.\d+ \(boottime\)", out)
    assert wall and abs(int(wall[1]) - path.stat().st_mtime) < 60


def test_captured_when_its_content_last_changed(perf, oracle, tmp_path):
    """A copy is dated like the original by cp -p, although its inode is younger."""
    path = tmp_path / "x"
    assert perf("record", "-q", "-o", path, "true").returncode == 0
    os.utime(path, (1, 1234567890.9))
    ours, theirs = [re.search("^# captured on.*", tool("report", "--header-only", "-i", path).stdout, re.MULTILINE)[0] for tool in (perf, oracle)]
    assert ours == theirs and "2009" in ours
