"""Addresses in reports: the key addr, and where mappings begin in their files."""
import pathlib
import re
import subprocess

import pytest


@pytest.fixture(scope="module")
def recording(perf, tmp_path_factory):
    path = tmp_path_factory.mktemp("addresses") / "perf.data"
    done = perf("record", "-q", "-g", "-d", "-F", "5000", "-o", path, "--", "ls", "-lR", "/usr/lib", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                capture_output=False)
    if done.returncode:
        pytest.skip(done.stderr)
    return path


def rows(program, path, *words):
    text = program("report", "--stdio", "-i", path, "-g", "none", *words).stdout
    return sorted(line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


@pytest.mark.parametrize("keys", ["addr", "comm,addr", "addr,sym"])
def test_addr(perf, oracle, recording, keys):
    ours, theirs = [rows(program, recording, "-s", keys, "--no-children") for program in (perf, oracle)]
    # Slots of .plt.got have names with us, and none in 6.1.
    slots = {word for row in ours if "@plt" in row for word in row.split() if word.startswith("0x")}
    ours, theirs = [[row for row in kept if not slots.intersection(row.split())] for kept in (ours, theirs)]
    assert len(ours) > 5 and ours == theirs


def test_callers_have_addresses_too(perf, oracle, recording):
    """The kernel's own: the oracle moves those of programs twice when it shows callers, and of BPF programs, too, which neighbours may have attached to what `ls` does."""
    ends = dict(re.findall(r"^([0-9a-f]+) \S (_stext|_etext)$", pathlib.Path("/proc/kallsyms").read_text(), re.MULTILINE))
    begin, end = (int(next((address for address, name in ends.items() if name == wanted), "0"), 16) for wanted in ("_stext", "_etext"))

    def kernel(program):
        found = [(row, int(re.search(r"0x([0-9a-f]+)", row).group(1), 16)) for row in rows(program, recording, "-s", "addr") if "0x" in row]
        return [row for row, address in found if begin <= address < end]
    ours = kernel(perf)
    if not ours:
        pytest.skip("no samples of the kernel")
    assert ours == kernel(oracle)


def test_what_is_left_of_a_mapping_begins_later_in_its_file(perf, oracle, recording):
    def maps(program):
        return sorted(line.split("|")[-1].strip() for line in program("report", "--stdio", "-i", recording, "--mmaps").stdout.splitlines() if "/usr/" in line)
    ours = maps(perf)
    assert len(ours) > 4 and ours == maps(oracle)
