"""What tests take out of recordings of the whole machine (tests/lib/own.py): the neighbours, and nothing else."""
import struct

import alike
import own
import pytest
import recording

TEXT = """
feature hostname box
feature sample_time 5 60
event cpu-clock type=1 config=0 period=1000 sample=IP|TID|TIME|ID|CPU|CALLCHAIN|IDENTIFIER flags=sample_id_all,mmap,comm,context_switch ids=1
event sched:sched_switch type=2 config=7 period=1 sample=IP|TID|TIME|ID|CPU|PERIOD|CALLCHAIN|IDENTIFIER flags=sample_id_all ids=2
fork pid=10 ppid=7 tid=10 ptid=7 time=1
fork pid=11 ppid=10 tid=11 ptid=10 time=1
fork pid=12 ppid=11 tid=12 ptid=11 time=30
fork pid=20 ppid=7 tid=20 ptid=7 time=1
fork pid=15 ppid=2 tid=15 ptid=2 time=1
comm pid=11 tid=11 name=own time=2
comm pid=20 tid=20 name=neighbour time=2
mmap pid=11 tid=11 addr=0x400000 len=0x1000 name=/own time=3
mmap pid=20 tid=20 addr=0x400000 len=0x1000 name=/neighbour time=3
sample ip=0x400010 id=1 pid=11 tid=11 time=10 chain=user,0x400010
sample ip=0x400010 id=1 pid=20 tid=20 time=11 chain=user,0x400010
sample ip={kernel:#x} id=1 pid=0 tid=0 time=12 misc=1 chain=kernel,{kernel:#x}
sample ip={kernel:#x} id=1 pid=15 tid=15 time=13 misc=1 chain=kernel,{kernel:#x}
sample ip={kernel:#x} id=1 pid=11 tid=11 time=14 misc=1 chain=kernel,{kernel:#x},0xfffffffff0000010,user,0x400010
sample ip=0x400010 id=1 pid=-1 tid=-1 time=15 chain=user,0x400010
switch out=1 id=1 pid=20 tid=20 time=20
switch out=1 id=1 pid=11 tid=11 time=21
lost id=1 lost=9 time=22
sample event=1 ip={kernel:#x} id=2 pid=11 tid=11 time=23 misc=1 chain=kernel,{kernel:#x}
sample event=1 ip={kernel:#x} id=2 pid=11 tid=11 time=24 misc=1 chain=kernel,{kernel:#x},0xfffffffff0000010
sample ip=0x400020 id=1 pid=12 tid=12 time=40 chain=user,0x400020
sample ip=0x400020 id=1 pid=30 tid=30 time=41 chain=user,0x400020
"""
GONE = ["pid=20", "0xfffffffff0000010", "pid=30"]


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_neighbours_are_taken_out(pipe):
    """The recorder is process 10. Whoever began is told from records of any time."""
    kernel = (own.kernel_text()[0] or 0xFFFFFFFF81000000) + 0x100
    text = TEXT.format(kernel=kernel)
    if not own.kernel_text()[1]:
        text = text.replace(",0xfffffffff0000010", "")  # without the right to see where the kernel is, nothing is known of its code
    wanted = "\n".join(line for line in text.splitlines() if not any(word in line for word in GONE))
    assert own.of(recording.make(text, pipe=pipe), 10) == recording.make(wanted, pipe=pipe)


def test_recordings_of_own_processes_keep_them_all():
    text = TEXT.format(kernel=0xFFFFFFFF81000100).replace(",0xfffffffff0000010", "")
    data = recording.make("\n".join(line for line in text.splitlines() if "0xffffffff81000100" not in line))
    assert own.of(data) == data


def test_hostile_names_of_neighbours_are_taken_out():
    head = "event sched:sched_switch type=2 config=7 period=1 sample=IP|TID|TIME|ID|RAW flags=sample_id_all ids=2\n"
    samples = [f"sample pid=0 tid=0 time={i} id=2 raw={recording.raw_of(7, 'next_comm/16', name)}\n" for i, name in enumerate(("own", "ev\x1b[31m", "\x1b]0;a", "\x1bx"))]
    assert own.of(recording.make(head + "".join(samples)), 10) == recording.make(head + samples[0] + samples[3])


def test_names_of_generated_code_may_differ():
    frame = "\tffffffffc0025c74 {} ({})"
    program, unknown = frame.format("bpf_prog_6deef7357e7b4530_first+0x10", "bpf_prog_6deef7357e7b4530_first"), frame.format("[unknown]", "[unknown]")
    assert alike.line(program, unknown) and alike.line(unknown, program) and alike.line(unknown, frame.format("[unknown]", "[kernel.kallsyms]"))
    assert not alike.line(program, frame.format("do_syscall_64+0x10", "[kernel.kallsyms]"))
    assert not alike.line(program, unknown.replace("c74", "c75"))


def test_code_that_came_meanwhile():
    """Records of it go, what was there before stays; drop_kernel_code() takes nothing else away."""
    event = "event cpu-clock type=1 config=0 period=1000 sample=IP|TID|TIME|ID flags=sample_id_all ids=1\n"
    before, meanwhile = (f"ksymbol address=0xffffffffc0000000 length=64 type=1 flags=0 name=bpf_prog_1_x pid=0 tid=0 time={time} id=0\n" for time in (0, 5))
    sample = "sample ip=0x400010 id=1 pid=11 tid=11 time=10\n"
    data = recording.make(event + before + meanwhile + sample)
    assert own.of(data) == recording.make(event + before + sample)
    assert own.of_file(data, None, own.KERNEL_CODE) == recording.make(event + sample)


def sections_first(data):
    """The same recording as one that a full disk has cut: its feature sections stand before the data, their table behind it."""
    start, size = struct.unpack_from("<QQ", data, 40)
    end = start + size
    count = bin(int.from_bytes(data[72:104], "little")).count("1")
    sections = data[end + 16 * count:]
    table = b"".join(struct.pack("<QQ", offset - end - 16 * count + start, length) for offset, length in struct.iter_unpack("<QQ", data[end:end + 16 * count]))
    return data[:40] + struct.pack("<QQ", start + len(sections), size) + data[56:start] + sections + data[start:end] + table


def test_features_before_the_data_stay_where_they_are():
    event = "feature hostname box\nevent cpu-clock type=1 config=0 period=1000 sample=IP|TID|TIME|ID flags=sample_id_all ids=1\n"
    code = "ksymbol address=0xffffffffc0000000 length=64 type=1 flags=0 name=bpf_prog_1_x pid=0 tid=0 time=5 id=0\n"
    sample = "sample ip=0x400010 id=1 pid=11 tid=11 time=10\n"
    with_code, without = (sections_first(recording.make(text)) for text in (event + code + sample, event + sample))
    assert own.of_file(with_code, None, own.KERNEL_CODE) == without
