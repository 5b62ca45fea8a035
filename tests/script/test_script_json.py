"""perf script --json, and the Python module that reads it: the same as the text of the kernel's perf, sample by sample."""
import collections
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void deep(int depth) { if (depth) deep(depth - 1); else leaf(1000000); sink++; }
int main(void)
{
	for (int i = 0; i < 60; i++) {
		deep(i % 6);
		memset(malloc(1 << 16), 1, 1 << 16);
		usleep(100);
	}
	return 0;
}
"""
RECORDINGS = {"stacks": ["-g", "-e", "cpu-clock"], "calls": ["-e", "raw_syscalls:sys_enter,sched:sched_switch,syscalls:sys_enter_openat"],
              "faults": ["-d", "-e", "page-faults", "-c", "1"], "registers": ["--intr-regs=ip,sp", "-e", "cpu-clock"], "group": ["-e", "{cpu-clock,page-faults}:S"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("json")
    (path / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-plt", "-o", "work", "work.c"], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def record(folder, oracle, make_recorder):
    return make_recorder(oracle, folder, RECORDINGS, "./work")


def objects(perf, path, *words):
    result = perf("script", "--json", "-i", path, *words)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_same_samples_as_the_text(perf, oracle, record, name):
    path = record(name)
    fields = "comm,tid,time,period,event" if name != "calls" else "comm,tid,time,event"
    lines = oracle("script", "-i", path, "-G", "--ns", "-F", fields).stdout.splitlines()
    found = objects(perf, path)
    assert len(found) == len(lines) > 10
    for sample, line in zip(found, lines):
        words = line.split()
        assert (sample["comm"], sample["tid"]) == (words[0], int(words[1]))
        assert f"{sample['time_ns'] // 10**9}.{sample['time_ns'] % 10**9:09}" == words[2].rstrip(":")
        assert sample["event"] == words[-1].rstrip(":")


def test_stacks(perf, oracle, record):
    path = record("stacks")
    theirs = [[]]
    for line in oracle("script", "-i", path, "-F", "comm,ip,sym").stdout.splitlines():
        if line.startswith("work") or line.startswith("perf"):
            theirs.append([])
        elif line:
            theirs[-1].append(line.split(None, 1)[1])
    theirs = theirs[1:]
    ours = [[frame.get("symbol", "[unknown]") for frame in sample["stack"]] for sample in objects(perf, path, "--inline=unwound")]
    assert len(ours) == len(theirs)
    assert sum(a != b for a, b in zip(ours, theirs)) <= len(theirs) / 50
    deepest = max(objects(perf, path, "--inline=unwound", "--max-stack", "2"), key=lambda sample: len(sample["stack"]))
    assert len(deepest["stack"]) == 2 and all(re.fullmatch("0x[0-9a-f]+", frame["ip"]) for frame in deepest["stack"])


def test_fields_of_tracepoints(perf, oracle, record):
    path = record("calls")
    lines = oracle("script", "-i", path, "-F", "trace").stdout.splitlines()
    for sample, line in zip(objects(perf, path), lines):
        assert sample["text"] == line.strip()
        if sample["event"] == "raw_syscalls:sys_enter":
            numbers = re.fullmatch(r"NR (-?\d+) \((.*)\)", sample["text"])
            assert sample["fields"]["id"] == int(numbers[1]) and [f"{n:x}" for n in sample["fields"]["args"]] == numbers[2].split(", ")
        elif sample["event"] == "sched:sched_switch":
            assert f"prev_comm={sample['fields']['prev_comm']} " in sample["text"]


def test_memory_registers_counters(perf, oracle, record):
    addresses = oracle("script", "-i", record("faults"), "-F", "addr").stdout.split()
    assert [int(sample["addr"]["address"], 16) for sample in objects(perf, record("faults"))] == [int(word, 16) for word in addresses if
                                                                                             re.fullmatch("[0-9a-f]+", word)][:len(addresses)]
    registers = re.findall(r"SP:(0x[0-9a-f]+)", oracle("script", "-i", record("registers"), "-F", "iregs").stdout)
    assert [sample["registers"]["SP"] for sample in objects(perf, record("registers"))] == registers and registers
    assert all(len(sample["counters"]) == 2 for sample in objects(perf, record("group")))


def test_one_job_as_many(perf, record):
    path = record("stacks")
    assert perf("script", "--json", "-i", path, "--jobs", "1").stdout == perf("script", "--json", "-i", path, "--jobs", "4").stdout


@pytest.fixture
def module(perf, monkeypatch):
    monkeypatch.setenv("PERF", str(perf))
    spec = importlib.util.spec_from_file_location("perf", ROOT / "python/perf.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_module(perf, module, record, folder):
    recording = module.open(record("stacks"), lines=True)
    symbols = collections.Counter(sample.symbol for sample in recording)
    assert symbols["leaf"] > sum(symbols.values()) / 3
    sample = next(sample for sample in recording if sample.symbol == "leaf")
    assert sample.stack[0].symbol == "leaf" and "main" in [frame.symbol for frame in sample.stack] and sample.stack[0].source == "work.c"
    assert PROGRAM.splitlines()[sample.stack[0].line - 1].count("leaf(int n)") == 1
    assert sample.comm == "work" and sample.pid == sample.tid and 0 < sample.time < 1e9 and sample.addr is None and sample.branches == []
    calls = [sample for sample in module.open(record("calls")) if sample.event == "raw_syscalls:sys_enter"]
    assert calls and all(isinstance(sample.fields["id"], int) for sample in calls)
    few = list(module.open(record("stacks"), options=["--time", "0%-50%"]))
    assert 0 < len(few) < sum(symbols.values())
    with pytest.raises(module.Error, match="nowhere"):
        list(module.open(folder / "nowhere.data"))


def test_the_documented_example_runs(perf, module, record, folder, monkeypatch):
    """The ten lines of the tutorial."""
    text = (ROOT / "doc/tutorial.md").read_text()
    example = re.search(r"(?:^    .*\n|^\n)*^    import perf\n(?:^    .*\n|^\n)*", text, re.M)[0]
    code = "\n".join(line[4:] for line in example.splitlines())
    assert len([line for line in code.splitlines() if line]) <= 10
    (folder / "perf.data").write_bytes(record("stacks").read_bytes())
    result = subprocess.run(["/usr/bin/python3", "-c", code], cwd=folder, capture_output=True, text=True, check=False,
                            env={"PERF": str(perf), "PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin", "PERF_CONFIG": "/dev/null"})
    assert result.returncode == 0 and "leaf" in result.stdout, result.stderr


def test_the_module_is_found_by_exec_path(perf, record, folder):
    """Any Python, without installing and without PERF: the module runs the perf that it came with."""
    place = perf("--exec-path").stdout.strip()
    code = "import perf; print(sum(1 for sample in perf.open('perf.data')))"
    (folder / "perf.data").write_bytes(record("stacks").read_bytes())
    for python in ["/usr/bin/python3", sys.executable]:
        result = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
                                env={"PYTHONPATH": f"{place}/python", "PATH": "/nowhere", "PERF_CONFIG": "/dev/null"})
        assert result.returncode == 0 and int(result.stdout) == len(perf("script", "-i", "perf.data", "-G", cwd=folder).stdout.splitlines()), result.stderr
    assert perf("--exec-path=/elsewhere", "--exec-path").stdout == "/elsewhere\n"
