"""Texts of -e: a recording of ours holds the same names and attributes as one by the kernel's perf."""
import re
import subprocess

import pytest

# Each line is one recording: its texts are given by several -e.
RECORDINGS = """
cpu-clock
cpu-clock:u
task-clock:uk
bpf-output
cpu-clock/call-graph=fp/
cpu-clock/max-stack=5,no-inherit/
cpu-clock/time=0/
cpu-clock:k cpu-clock:h cpu-clock:H cpu-clock:I cpu-clock:ppp cpu-clock:P cpu-clock:W cpu-clock:b cpu-clock:e cpu-clock// cpu-clock//u cpu-clock:
task-clock task-clock:u dummy dummy:HG cgroup-switches context-switches cs cpu-migrations migrations page-faults faults:k minor-faults major-faults
alignment-faults emulation-faults duration_time user_time system_time 1:0 1:9:u software/config=1/ software/config=0x2/u
cpu-clock/period=1000/ cpu-clock/period=0x10000/u cpu-clock/freq=1000,name=foo/u cpu-clock/freq=100/ cpu-clock/config=1/ cpu-clock/config1=5/
cpu-clock/call-graph=no/ cpu-clock/max-stack=5/ cpu-clock/inherit/ cpu-clock/inherit=0/ cpu-clock/percore/ cpu-clock/nr=5/ task-clock/call-graph=dwarf/
cpu-clock/call-graph=dwarf,stack-size=4096/
cpu-clock,task-clock cpu-clock:u,cs:k,faults
{cpu-clock,task-clock} {cpu-clock,task-clock}:u {cpu-clock:u,task-clock}:k {cpu-clock,task-clock}:P {cpu-clock,task-clock},faults grp{cpu-clock,cs}
grp{cpu-clock,task-clock}:S
{cpu-clock,task-clock}:S
mem:0x1000 mem:0x1000:rw mem:0x1000:w
mem:0x1000:x mem:0x1000/4:w mem:0x1000/2 mem:0x1000:rw:u
mem:0x1000/8:rw:u
sched:sched_switch
sched:sched_switch:u sched:sched_switch/max-stack=4/ sched:sched_switch/call-graph=fp/u
sched:sched_wak* syscalls:sys_enter_op* raw_syscalls:*
{sched:sched_switch,cpu-clock} sched:sched_switch,cpu-clock
""".strip().splitlines()


def evlist(oracle, path, *options):
    """The kernel tool's list."""
    out = subprocess.run([oracle, "evlist", *options, "-i", path], capture_output=True, text=True, check=True).stdout
    return [line for line in out.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("line", RECORDINGS)
def test_attributes(perf, oracle, tmp_path, line):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    options = [word for text in line.split() for word in ("-e", text)]
    for tool, path in ((oracle, theirs), (perf, ours)):
        done = subprocess.run([tool, "record", "-q", "-o", path, *options, "true"], capture_output=True, text=True, check=False)
        if tool is oracle and done.returncode:
            pytest.skip(f"the kernel's perf cannot record {line} here: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
    assert evlist(oracle, ours, "-v") == evlist(oracle, theirs, "-v")
    assert evlist(oracle, ours, "-g") == evlist(oracle, theirs, "-g")


REFUSED = ["xx", "cpu-clock,xx", "cpu-clock,,task-clock", "cpu-clock:q", "cpu-clock:uu", "cpu-clock:pppp", "cpu-clock/foo/", "cpu/cycles/", "msr/foo/",
           "{cpu-clock", "foo:bar", "sched:sched_foo", "sched:foo*", "cpu-clock/period=foo/", "cpu-clock/call-graph=x/", "cpu-clock/period", ""]


def test_refused(perf, tmp_path):
    for text in REFUSED:
        done = perf("record", "-o", tmp_path / "x", "-e", text, "true")
        assert done.returncode == 129, text
        assert re.search(r"\n +\^", done.stderr), text
        assert not (tmp_path / "x").exists()


def test_nearest_names(perf, tmp_path):
    for text, near in (("cpu-clok", "cpu-clock"), ("shed:sched_switch", "sched:sched_switch"), ("sched:sched_swich", "sched:sched_switch"),
                       ("sched_switch", "sched:sched_switch"), ("L1-dcache-lod-misses", "L1-dcache-load-misses")):
        done = perf("record", "-o", tmp_path / "x", "-e", text, "true")
        assert f"^ did you mean '{near}'?" in done.stderr, text
