"""What is in each type of record: the kernel's perf reads the fields that src/perfdata/records.def describes, and finds in them what was written."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

# No two fields of a record have the same value, as far as they can have any.
TEXT = """
event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME|ID|CPU flags=sample_id_all,mmap,comm,task read=ENABLED|RUNNING|ID ids=1
feature arch x86_64
mmap pid=11 tid=12 addr=0x1000 len=0x2000 pgoff=0x3000 time=5 id=1 name=/a
mmap pid=11 tid=12 addr=0x1000 len=0x2000 pgoff=0x3000 time=5 misc=0x2002 id=1 name=/a
comm pid=11 tid=12 name=abc exec=1 time=5 id=1
fork pid=13 ppid=11 tid=14 ptid=12 time=5 id=1
exit pid=13 ppid=11 tid=14 ptid=12 time=5 id=1
lost id=1 lost=9 time=6
throttle time=6 id=1
unthrottle time=6 id=1
read pid=11 tid=12 value=5 values=6,7,1 time=6 id=1
mmap2 pid=11 tid=12 addr=0x1000 len=0x2000 pgoff=0x3000 maj=8 min=1 ino=5 inode_generation=6 prot=5 flags=1 time=7 id=1 name=/lib/a.so
mmap2 pid=11 tid=12 addr=0x4000 len=0x2000 pgoff=0x3000 misc=0x4002 build_id_size=20 build_id=000102030405060708090a0b0c0d0e0f10111213 \\
      time=7 id=1 name=/lib/b.so
aux offset=0x10 len=0x20 flags=1 time=8 id=1
itrace_start pid=11 tid=12 time=8 id=1
lost_samples lost=3 id=1 time=9
switch out=1 pid=11 tid=12 time=9 id=1
switch misc=2 pid=11 tid=12 time=9 id=1
switch_cpu_wide misc=0x6002 other_pid=15 other_tid=16 pid=11 tid=12 time=10 id=1
namespaces pid=11 tid=12 ns=4/0xf9,4/0xfa,4/0xfb,5/0xfc,5/0xfd,6/0xfe,6/0xff time=10 id=1
ksymbol address=0xffffffffc0001000 len=77 type=1 flags=2 name=bpf_prog_a time=10 id=1
bpf type=1 flags=2 id=7 time=11
cgroup cgroup=5 name=/a/b time=11 id=1
text_poke address=0xffffffff81000010 old_length=5 new_length=4 bytes=010203040506070809000000 time=11 id=1
aux_output_hw_id hw_id=0x55 time=12 id=1
id_index entries=1/2/3/12
thread_map threads=11/6162,12/63
cpu_map cpus=00000400000001000200070000000000
stat id=1 cpu=2 thread=3 value=5 enabled_ns=4 running_ns=6
stat_round is_final=1 time_ns=7
stat_round is_final=0 time_ns=8
time_conv shift=1 multiplier=2 zero=3 cycles=4 mask=0xff cap_zero=1 cap_short=0
event_update what=2 id=1 value=6e616d6500000000
round
"""
SHOWN = [f"--show-{kind}-events" for kind in ("task", "mmap", "namespace", "switch", "lost", "bpf", "cgroup", "text-poke")]


def fields(text):
    """From a record's name on, with the lines that belong to it; without the note of the kernel's perf that nothing is done with it, and without how it spaces
    a list of namespaces."""
    text = text.replace(": unhandled!\n", "\n")
    return [re.sub(r"\s+", " ", record).strip() for record in re.findall(r"\[0x[0-9a-f]+\]: (PERF_RECORD_.*?)(?=\n0x|\Z|\nAggregated)", text, re.DOTALL)]


def dumped(run, path):
    return fields(run("report", "-D", "-i", path).stdout)


def test_each_type_says_what_the_kernels_perf_finds_in_it(kernel_form, oracle, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(TEXT))
    theirs, ours = dumped(oracle, path), dumped(kernel_form, path)
    types = {line.split(maxsplit=1)[0].split("(")[0].rstrip(":") for line in theirs}
    assert len(types) == 28, types
    assert ours == theirs


@pytest.mark.sanitize
def test_the_other_byte_order_says_the_same(kernel_form, tmp_path):
    """… of all whose bytes aren't left as they came, as an EVENT_UPDATE's and the words of a set of CPUs are."""
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith(("event_update", "cpu_map")))
    native, foreign = tmp_path / "native", tmp_path / "foreign"
    native.write_bytes(recording.make(text))
    foreign.write_bytes(recording.make(text, swap=True))
    assert dumped(kernel_form, foreign) == dumped(kernel_form, native)
    shown = kernel_form("script", *SHOWN, "-i", native).stdout
    assert len(re.findall("PERF_RECORD_", shown)) == 16
    assert kernel_form("script", *SHOWN, "-i", foreign).stdout == shown
