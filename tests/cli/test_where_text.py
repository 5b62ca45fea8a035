"""perf where on recordings made by hand: what each moment of a run had to wait for is worked out from the times of the events."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

SWITCH = "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"
WAKING = "comm/16,pid/4,prio/4,target_cpu/4"
BIO = "dev/4,sector/8,nr_sector/4"
REMAP = "dev/4,sector/8,nr_sector/4,old_dev/4,old_sector/8"
HARDIRQ, SOFTIRQ = 8, 16
BASE = 0xffffffff81000000
FUNCTIONS = ["__schedule", "schedule", "io_schedule", "futex_wait_queue", "pipe_read", "do_wait", "do_nanosleep", "filemap_fault", "handle_mm_fault",
             "asm_exc_page_fault", "do_epoll_wait", "tcp_recvmsg", "strange_wait", "copy_page", "__x64_sys_read", "__x64_sys_wait4", "__x64_sys_futex",
             "__x64_sys_clock_nanosleep", "do_syscall_64", "rwsem_down_read_slowpath",
             "schedule_hrtimeout_range_clock", "do_sys_poll", "do_sigtimedwait", "posix_lock_inode_wait", "__x64_sys_fcntl",
             "irq_exit_rcu", "do_softirq", "run_ksoftirqd"]
AT = {name: BASE + 0x1000 * (number + 1) for number, name in enumerate(FUNCTIONS)}

HEAD = "feature nrcpus 2\nfeature osrelease 6.1.0\n" + "".join(
    f"tracepoint {name} id={number} fields={fields}\nevent {name} type=2 config={number} ids={number} "
    f"sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW flags=sample_id_all,comm,task,context_switch,comm_exec\n"
    for number, (name, fields) in enumerate((("sched:sched_switch", SWITCH), ("sched:sched_waking", WAKING), ("block:block_bio_queue", BIO),
                                             ("block:block_bio_remap", REMAP), ("block:block_bio_complete", BIO)), 1))
HEAD += ("event cpu-clock type=1 config=0 ids=9 freq=999 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all\n"
         f"mmap pid=-1 tid=0 addr={BASE:#x} len=0x100000 pgoff={BASE:#x} misc=1 name=[kernel.kallsyms]_text\n")


def when(ms):
    return f"time={1000000000 + round(ms * 1000000)}"


def chain(*names):
    return "kernel," + ",".join(f"{AT[name]:#x}" for name in names)


def switch(ms, cpu, prev, state, following, *stack):
    bits = {"R": 0, "S": 1, "D": 2, "Z": 0x20}[state]
    raw = recording.raw_of(1, SWITCH, "", prev, 120, bits, "", following, 120)
    stack = chain("__schedule", "schedule", *stack) if stack else chain("__schedule")
    return f"sample id=1 {when(ms)} cpu={cpu} pid={prev} tid={prev} ip={AT['__schedule']:#x} chain={stack} raw={raw}\n"


def waking(ms, cpu, waker, woken, flags=0, stack=()):
    raw = recording.raw_of(2, WAKING, "", woken, 120, cpu, flags=flags)
    return f"sample id=2 {when(ms)} cpu={cpu} pid={waker} tid={waker} ip={AT['schedule']:#x} chain={chain('schedule', *stack)} raw={raw}\n"


def bio(ms, number, tid, *values):
    raw = recording.raw_of(number, REMAP if number == 4 else BIO, *values)
    return f"sample id={number} {when(ms)} cpu=0 pid={tid} tid={tid} ip={AT['schedule']:#x} chain={chain('schedule')} raw={raw}\n"


def clock(ms, tid, *stack):
    return f"sample id=9 {when(ms)} cpu=0 pid={tid} tid={tid} ip={AT[stack[0]]:#x} chain={chain(*stack)}\n"


def device(major, minor):
    return major << 20 | minor


# main starts a child and waits for it. The child first waits for a CPU, runs, reads md 9:0, which is dm 253:1 behind, and runs again.
#
#   ms   0     2  3    5                    25 26     30 31 33
#   main ══════┤ wait4()                                 ├══╡
#   child   ·──┴──┤═════┤ read(): disk       ├──┤══════┤
STORY = HEAD + "".join((
    "comm pid=10 tid=10 name=perf-exec time=1\n",
    switch(-1, 1, 7, "S", 10, "do_nanosleep"), f"comm pid=10 tid=10 name=story exec=1 {when(0)} id=1\n",
    f"fork pid=20 ppid=10 tid=20 ptid=10 {when(1)} id=1\n",
    switch(2, 0, 10, "S", 0, "do_wait", "__x64_sys_wait4", "do_syscall_64"),
    switch(3, 1, 30, "R", 20), f"comm pid=20 tid=20 name=reader exec=1 {when(3.1)} id=1\n",
    clock(3.5, 20, "copy_page", "__x64_sys_read", "do_syscall_64"), clock(4, 20, "copy_page", "__x64_sys_read", "do_syscall_64"),
    clock(4.5, 20, "copy_page", "__x64_sys_read", "do_syscall_64"),
    bio(4.6, 3, 20, device(9, 0), 1000, 8), bio(4.7, 4, 20, device(253, 1), 500, 8, device(9, 0), 1000), bio(4.8, 3, 20, device(253, 1), 500, 8),
    switch(5, 1, 20, "D", 0, "io_schedule", "__x64_sys_read", "do_syscall_64"),
    bio(24, 5, 0, device(253, 1), 508, 0), bio(24.5, 5, 0, device(9, 0), 1008, 0),
    waking(25, 1, 40, 20, HARDIRQ), switch(26, 1, 40, "R", 20),
    f"exit pid=20 ppid=10 tid=20 ptid=10 {when(29.5)} id=1\n", waking(30, 1, 20, 10), switch(30.5, 1, 20, "Z", 40, "do_wait"),
    switch(31, 0, 40, "R", 10), f"exit pid=10 ppid=1 tid=10 ptid=1 {when(33)} id=1\n", switch(34, 0, 10, "Z", 0)))

STORY_TEXT = """\
The run of story took 33.0 ms, with 2 threads. What its end had to wait for:

  60.6 %    20.0 ms  reader waited for disk I/O on device 9:0 → device 253:1, in read(); story
                     waited for it to end.
  18.2 %     6.0 ms  reader ran, 100 % of it in the kernel: copy_page() in read() 100 %; story
                     waited for it to end.
  12.1 %     4.0 ms  story ran.
   6.1 %     2.0 ms  reader could run, but :30 and :40 had the CPU, 2 times, 1.0 ms each; story
                     waited for it to end.
   3.0 %     1.0 ms  story could run, but :40 had the CPU.

Each thread's time in milliseconds:

#    ms  CPU user  CPU kernel  Waiting for a CPU   Disk  Child  Waits  TID  Thread
# .....  ........  ..........  .................  .....  .....  .....  ...  ......
#
   28.5       0.0         5.5                3.0   20.0    0.0      1   20  reader
   33.0       4.0         0.0                1.0    0.0   28.0      1   10  story
"""


@pytest.fixture
def where(perf, tmp_path):
    (tmp_path / "kallsyms").write_text("".join(f"{at:x} T {name}\n" for name, at in AT.items()))

    def run(text, *words, **more):
        path = tmp_path / "perf.data"
        path.write_bytes(recording.make(text))
        done = perf("where", "-i", path, "--kallsyms", tmp_path / "kallsyms", *words, **more)
        assert done.returncode == 0, done.stderr
        return done
    return run


def tables(done):
    """Rows by the table that they are of."""
    rows = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        rows.setdefault(row["table"], []).append(row)
    return rows


@pytest.mark.sanitize
def test_the_story_in_words(where):
    assert where(STORY).stdout == STORY_TEXT


def test_the_story_by_wake_ups_that_are_told_later(where):
    """A recording that has sched_wakeup only, as older ones."""
    assert where(STORY.replace("sched:sched_waking", "sched:sched_wakeup")).stdout == STORY_TEXT


@pytest.mark.sanitize
def test_the_story_for_programs(where):
    rows = tables(where(STORY, "--format", "json"))
    assert tables(where(STORY, "--json")) == rows
    assert [(row["kind"], row["comm"], row["time"], row["waiting_comm"]) for row in rows["reasons"]] == [
        ("disk", "reader", 20000000, "story"), ("cpu", "reader", 6000000, "story"), ("cpu", "story", 4000000, ""), ("queue", "reader", 2000000, "story"),
        ("queue", "story", 1000000, "")]
    assert rows["reasons"][0]["syscall"] == "read" and rows["reasons"][0]["devices"] == "device 9:0 → device 253:1"
    for row in rows["threads"]:
        assert row["wall"] == row["user"] + row["kernel"] + sum(row[kind] for kind in (
            "queue", "disk", "fault", "network", "lock", "kernel_lock", "pipe", "timer", "child", "poll", "signal", "stopped", "other", "unknown"))


def test_sums_are_the_lives_of_threads(where):
    """To the nanosecond, in whatever state a thread was at both ends: from the exec, or its birth, to its end, or that of the run."""
    lives = {tid: sum(value for name, value in row.items() if isinstance(value, int) and name not in ("wall", "waits", "tid"))
             for tid, row in ((row["tid"], row) for row in tables(where(STORY, "--json"))["threads"])}
    assert lives == {10: 33000000, 20: 28500000}
    # Three threads that were there before; nobody sees the end of two of them, one of which never runs.
    text = HEAD + "".join((
        "comm pid=10 tid=10 name=prog time=1\n", "comm pid=10 tid=11 name=one time=1\n", "comm pid=10 tid=12 name=two time=1\n",
        switch(0, 0, 10, "S", 11, "do_nanosleep", "__x64_sys_clock_nanosleep"), switch(10, 0, 11, "R", 0), waking(40, 1, 0, 12, HARDIRQ),
        switch(70, 1, 0, "R", 10), f"exit pid=10 ppid=1 tid=10 ptid=1 {when(90)} id=1\n", switch(100, 0, 60, "S", 0)))
    for words in (("-p", "10"), ()):
        rows = {row["tid"]: row for row in tables(where(text, *words, "--idle", "--json"))["threads"]}
        assert {tid: (row["wall"], row["user"] + row["kernel"], row["queue"], row["timer"], row["unknown"]) for tid, row in rows.items() if tid < 60} == {
            10: (90000000, 20000000, 0, 70000000, 0), 11: (100000000, 10000000, 90000000, 0, 0), 12: (100000000, 0, 60000000, 0, 40000000)}


def test_page_faults_are_whose_who_causes_them(where):
    """Two of three samples are in the kernel for a page fault; none was waited for."""
    fault = ("copy_page", "handle_mm_fault", "asm_exc_page_fault")
    text = HEAD + "".join((
        "comm pid=10 tid=10 name=perf-exec time=1\n", switch(-1, 1, 7, "S", 10, "do_nanosleep"), f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n",
        clock(1, 10, *fault), clock(2, 10, *fault), clock(3, 10, "copy_page", "__x64_sys_read", "do_syscall_64"),
        f"exit pid=10 ppid=1 tid=10 ptid=1 {when(30)} id=1\n"))
    assert "prog ran, 100 % of it in the kernel, 67 % for page faults." in " ".join(where(text).stdout.split())
    [row] = tables(where(text, "--json"))["reasons"]
    assert (row["kind"], row["page_faults"]) == ("cpu", 20000000)


WALL = """\
reader;do_syscall_64;__x64_sys_read;copy_page 5500000
reader;waits: disk;do_syscall_64;__x64_sys_read;io_schedule;schedule;__schedule 20000000
reader;waits: for a CPU 3000000
story;[ran too shortly to be sampled] 4000000
story;waits: child;do_syscall_64;__x64_sys_wait4;do_wait;schedule;__schedule 28000000
story;waits: for a CPU 1000000
"""


@pytest.mark.sanitize
def test_the_story_as_a_picture(where, tmp_path):
    """What runs and what waits, of each thread: the sums are those of the table."""
    where(STORY, "--flamegraph", tmp_path / "wall.folded")
    assert sorted((tmp_path / "wall.folded").read_text().splitlines()) == sorted(WALL.splitlines())
    where(STORY, "--flamegraph", tmp_path / "wall.html")
    page = (tmp_path / "wall.html").read_text()
    assert "waiting" in page and "waits: disk" in page and "io_schedule" in page


def wait(*stack, state="S", waker=0, flags=HARDIRQ, waker_stack=()):
    """A thread 10 of process 10 that waits from 10 to 90 ms of 100; its path is only itself, or its waker's."""
    return HEAD + "".join((
        "comm pid=10 tid=10 name=perf-exec time=1\n", "comm pid=50 tid=50 name=other time=1\n", switch(-1, 1, 7, "S", 10, "do_nanosleep"),
        f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n", switch(5, 1, 60, "R", 50), switch(10, 0, 10, state, 0, *stack),
        waking(90, 1, waker, 10, flags, waker_stack), switch(90, 0, 60, "R", 10), f"exit pid=10 ppid=1 tid=10 ptid=1 {when(100)} id=1\n"))


@pytest.mark.parametrize("stack, kind", [
    (("io_schedule", "__x64_sys_read", "do_syscall_64"), "disk"),
    (("io_schedule", "filemap_fault", "handle_mm_fault", "asm_exc_page_fault"), "fault"),
    (("futex_wait_queue", "__x64_sys_futex", "do_syscall_64"), "lock"),
    (("rwsem_down_read_slowpath", "__x64_sys_read", "do_syscall_64"), "kernel_lock"),
    (("rwsem_down_read_slowpath", "handle_mm_fault", "asm_exc_page_fault"), "fault"),
    (("pipe_read", "__x64_sys_read", "do_syscall_64"), "pipe"),
    (("do_nanosleep", "__x64_sys_clock_nanosleep", "do_syscall_64"), "timer"),
    (("do_epoll_wait", "do_syscall_64"), "poll"),
    (("schedule_hrtimeout_range_clock", "do_sys_poll", "do_syscall_64"), "poll"),
    (("schedule_hrtimeout_range_clock", "do_sigtimedwait", "do_syscall_64"), "signal"),
    (("tcp_recvmsg", "__x64_sys_read", "do_syscall_64"), "network"),
    (("do_wait", "__x64_sys_wait4", "do_syscall_64"), "child"),
    (("strange_wait", "__x64_sys_read", "do_syscall_64"), "other"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_kinds_of_waits(where, stack, kind):
    rows = tables(where(wait(*stack), "--format", "json"))["reasons"]
    assert [(row["kind"], row["time"]) for row in rows] == [(kind, 80000000), ("cpu", 20000000)]


def test_file_locks_are_no_futexes(where):
    text = where(wait("posix_lock_inode_wait", "__x64_sys_fcntl", "do_syscall_64")).stdout
    assert "prog waited for a file lock or System V semaphore, in fcntl()." in " ".join(text.split())
    [row] = [row for row in tables(where(wait("posix_lock_inode_wait", "__x64_sys_fcntl"), "--json"))["reasons"] if row["kind"] != "cpu"]
    assert (row["kind"], row["lock"]) == ("lock", "")


@pytest.mark.parametrize("stack, reason", [
    # A packet to this machine is delivered while it is sent; one of another machine, or of a timer, in whoever's time.
    (("do_softirq", "do_syscall_64"), ("cpu", "other", "network", "prog")), ((), ("cpu", "other", "network", "prog")),
    (("irq_exit_rcu",), ("network", "prog", "", "")), (("do_softirq", "run_ksoftirqd"), ("network", "prog", "", ""))])
def test_who_is_interrupted_by_a_packet_has_not_sent_it(where, stack, reason):
    text = wait("tcp_recvmsg", "__x64_sys_read", "do_syscall_64", waker=50, flags=SOFTIRQ, waker_stack=stack)
    first = tables(where(text, "--format", "json"))["reasons"][0]
    assert (first["kind"], first["comm"], first["waiting_kind"], first["waiting_comm"]) == reason


def test_who_woke_it_up_is_the_cause(where):
    """Where another thread ends a wait, it is what that one did: the other ran all the time."""
    pipe = ("pipe_read", "__x64_sys_read", "do_syscall_64")
    rows = tables(where(wait(*pipe, waker=50, flags=0), "--format", "json"))["reasons"]
    assert [(row["kind"], row["comm"], row["time"], row["waiting_kind"], row["waiting_comm"]) for row in rows] == [
        ("cpu", "other", 80000000, "pipe", "prog"), ("cpu", "prog", 20000000, "", "")]
    # An interrupt in the other one's time is none of its business, nor is a disk's end.
    rows = tables(where(wait(*pipe, waker=50, flags=HARDIRQ), "--format", "json"))["reasons"]
    assert [(row["kind"], row["comm"]) for row in rows] == [("pipe", "prog"), ("cpu", "prog")]
    rows = tables(where(wait("io_schedule", waker=50, flags=0), "--format", "json"))["reasons"]
    assert [(row["kind"], row["comm"]) for row in rows] == [("disk", "prog"), ("cpu", "prog")]


# a sends b a byte through a pipe, b sends c one, c sleeps first: three wakers deep.
CHAIN = HEAD + "".join((
    "comm pid=10 tid=10 name=perf-exec time=1\n", "comm pid=11 tid=11 name=two time=1\n", "comm pid=12 tid=12 name=three time=1\n",
    switch(-1, 1, 7, "S", 10, "do_nanosleep"), f"comm pid=10 tid=10 name=one exec=1 {when(0)} id=1\n",
    switch(1, 0, 12, "S", 11, "do_nanosleep", "__x64_sys_clock_nanosleep"), switch(2, 0, 11, "S", 0, "pipe_read", "__x64_sys_read"),
    switch(3, 1, 10, "S", 0, "pipe_read", "__x64_sys_read"), waking(50, 1, 0, 12, HARDIRQ), switch(50, 1, 0, "R", 12), waking(51, 1, 12, 11),
    switch(51, 0, 0, "R", 11), waking(52, 0, 11, 10), switch(52, 1, 12, "S", 10, "do_nanosleep"), f"exit pid=10 ppid=1 tid=10 ptid=1 {when(53)} id=1\n"))


@pytest.mark.sanitize
def test_a_chain_of_wakers(where):
    rows = tables(where(CHAIN, "--format", "json"))["reasons"]
    assert [(row["kind"], row["comm"], row["time"], row["waiting_comm"]) for row in rows] == [
        ("timer", "three", 47000000, "two"), ("cpu", "one", 4000000, ""), ("cpu", "three", 1000000, "two"), ("cpu", "two", 1000000, "one")]


def test_an_end_that_was_lost(where):
    """main leaves the CPU at 10 ms and again at 60: it was woken at 40, and what it did since then counts as running. Without the wake-up it has waited."""
    begin = HEAD + "".join(("comm pid=10 tid=10 name=perf-exec time=1\n", switch(-1, 1, 7, "S", 10, "do_nanosleep"),
                            f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n", switch(10, 0, 10, "S", 0, "do_nanosleep")))
    end = switch(60, 0, 10, "S", 0, "do_nanosleep") + switch(80, 0, 50, "S", 10) + f"exit pid=10 ppid=1 tid=10 ptid=1 {when(100)} id=1\n"
    for woken, slept in ((waking(40, 1, 0, 10, HARDIRQ), 50000000), ("", 70000000)):
        done = where(begin + woken + end, "--format", "json")
        assert {row["kind"]: row["time"] for row in tables(done)["reasons"]} == {"timer": slept, "cpu": 100000000 - slept}
        assert done.stderr == "perf: The end of 1 wait was not recorded: what is not known of it counts as running.\n"


@pytest.mark.parametrize("woken, unknown, queued", [("", 0, 20), (waking(5, 1, 0, 10, HARDIRQ), 5, 15), (None, 20, 0)], ids=["queued", "woken", "wake-ups aren't told"])
def test_who_is_first_heard_of_when_it_comes_back(where, woken, unknown, queued):
    """It had the CPU before the recording. Nobody has woken it up: it was not asleep any more, and what it had waited for is over."""
    text = HEAD + "comm pid=10 tid=10 name=prog time=1\n" + switch(0, 1, 60, "S", 0, "do_nanosleep") + (woken or "") + switch(20, 0, 50, "S", 10) + switch(30, 0, 10, "S", 0, "pipe_read")
    if woken is None:
        text = text.replace("sched:sched_waking", "sched:sched_other")
    reasons = {row["kind"]: row["time"] // 1000000 for row in tables(where(text, "-p", "10", "--format", "json"))["reasons"]}
    assert reasons == {kind: ms for kind, ms in (("cpu", 10), ("unknown", unknown), ("queue", queued)) if ms}


def test_of_others_no_end_is_missed(where):
    """A program that isn't asked for has lost an event, and others have ended: all of these are -1 in what they leave."""
    begin = HEAD + "".join(("comm pid=10 tid=10 name=perf-exec time=1\n", "comm pid=50 tid=50 name=cc1 time=1\n", "comm pid=51 tid=51 name=as time=1\n",
                            switch(-1, 1, 7, "S", 10, "do_nanosleep"), f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n",
                            switch(1, 1, 60, "S", 0, "do_nanosleep"), switch(2, 1, 60, "S", 0, "do_nanosleep"), switch(10, 0, 10, "R", 50)))
    ended = [switch(30, 1, 51, "Z", 0), switch(40, 0, 50, "Z", 10)]
    gone = [event.replace(f"pid={tid} tid={tid}", "pid=-1 tid=-1") for event, tid in zip(ended, (51, 50))]
    assert gone != ended
    done = where(begin + "".join(gone) + f"exit pid=10 ppid=1 tid=10 ptid=1 {when(100)} id=1\n")
    assert not done.stderr and "prog could run, but cc1 had the CPU." in " ".join(done.stdout.split())


def test_who_had_the_cpu_is_who_had_it_longest(where):
    """Not who was the last: of the 50 ms that it could have run, a compiler had 39 in two parts, another one 10 and a thread of the kernel 1."""
    begin = HEAD + "".join(("comm pid=10 tid=10 name=perf-exec time=1\n", "comm pid=50 tid=50 name=cc1 time=1\n", "comm pid=51 tid=51 name=as time=1\n",
                            "comm pid=52 tid=52 name=rcu_preempt time=1\n", switch(-1, 1, 7, "S", 10, "do_nanosleep"),
                            f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n"))
    runs = (switch(10, 0, 10, "R", 50), switch(30, 0, 50, "R", 51), switch(40, 0, 51, "R", 50), switch(59, 0, 50, "R", 52), switch(60, 0, 52, "S", 10))
    done = where(begin + "".join(runs) + f"exit pid=10 ppid=1 tid=10 ptid=1 {when(100)} id=1\n")
    assert not done.stderr and "prog could run, but cc1 had the CPU." in " ".join(done.stdout.split())


def test_a_command_of_another_recorder(where):
    """Two recorders start a command each: the one whose name is in the command line is this recording's, whichever comes first."""
    other = (f"comm pid=60 tid=60 name=perf-exec time=1\ncomm pid=60 tid=60 name=other exec=1 {when(-0.5)} id=1\n")
    begin = HEAD + "feature cmdline perf record -a -- /usr/bin/story\n"
    for text in (STORY.replace(HEAD, begin + other), STORY.replace(HEAD, begin).replace("fork pid=20", other.replace("-0.5", "0.5") + "fork pid=20")):
        assert "name=other" in text and where(text).stdout.startswith("The run of story took 33.0 ms, with 2 threads.")
    assert where(STORY.replace(HEAD, HEAD + other)).stdout.startswith("The run of other took"), "the first one, when nothing tells"


def test_processes_without_a_command(where):
    """-p: the sum of what their threads did, without a path."""
    rows = tables(where(STORY, "-p", "20", "--format", "json"))
    assert {row["tid"] for row in rows["threads"]} == {20}
    assert rows["reasons"][0]["kind"] == "disk" and rows["reasons"][0]["time"] == 20000000 and rows["reasons"][0]["waiting_comm"] == ""
    done = where(STORY, "-p", "4711")
    assert not done.stdout and done.stderr == (
        "Nothing of what was asked for ran during the measurement: it was blocked throughout, or there is no such process.\n")


def test_recording_without_stacks(where):
    """As of perf sched record: what is known is that it waited, not for what; one line says what helps."""
    text = "".join(re.sub(r" chain=\S+", "", line) if " id=1 " in line else line for line in STORY.splitlines(True)).replace(
        "event sched:sched_switch type=2 config=1 ids=1 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW",
        "event sched:sched_switch type=2 config=1 ids=1 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW")
    done = where(text)
    assert "reader waited for something unknown; story waited for it." in " ".join(done.stdout.split())
    assert done.stderr == ("perf: The recording has no stacks, which show what threads wait for; record them with 'perf where -o FILE COMMAND' or 'perf sched record "
                           "-g'.\n")
    assert where(STORY).stderr == ""


def test_recording_of_another_kernel(perf, tmp_path):
    """Whose functions have no names here: one line says what helps."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(STORY))
    done = perf("where", "-i", path)
    assert done.returncode == 0 and "reader waited for something unknown" in done.stdout
    assert done.stderr == ("perf: The kernel's functions, which show what threads wait for, have no names: they are of another kernel (6.1.0). Read it with --kallsyms "
                           "FILE, a copy of that machine's /proc/kallsyms (made by root), or with --vmlinux FILE.\n")


def test_hostile_names(where):
    done = where(STORY.replace("name=reader", r"name='re\x1b[31m'".encode().decode("unicode_escape")))
    assert "\x1b" not in done.stdout and r"re\x1b[31m" in done.stdout


@pytest.fixture(name="locks", scope="module")
def file_with_locks(tmp_path_factory):
    """A program, where its code and data are mapped, and its symbols."""
    path = tmp_path_factory.mktemp("locks") / "prog"
    source = "void work(void) { __asm__ volatile(\"nop; nop\"); } int table_lock[4] = {1};"
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,separate-code", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    base, maps = 0x550000000000, ""
    loads = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for offset, address, size, flags in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ (0x\w+) ([RWE ]{3})", loads):
        into = int(address, 16) % 4096
        maps += (f"mmap pid=10 tid=10 addr={base + int(address, 16) - into:#x} len={-(-(int(size, 16) + into) // 4096) * 4096:#x} "
                 f"pgoff={int(offset, 16) - into:#x} misc={2 if 'E' in flags else 2 | 1 << 13} name={path} {when(0)}\n")
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return maps, {line.split()[2]: base + int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}


@pytest.mark.parametrize("symbol, offset, name", [("table_lock", 0, "table_lock"), ("table_lock", 8, "table_lock+0x8"), (None, 0x7f0000000010, "at 0x7f0000000010")])
def test_lock_by_the_argument_of_futex(where, locks, symbol, offset, name):
    """A register of the program has the lock's address: it is named by its variable."""
    maps, symbols = locks
    address = (symbols[symbol] if symbol else 0) + offset
    begin = HEAD.replace("CALLCHAIN|RAW flags", "CALLCHAIN|RAW|REGS_USER regs_user=0x20 flags").replace("feature nrcpus", "feature arch x86_64\nfeature nrcpus")
    events = ["comm pid=10 tid=10 name=perf-exec time=1\n", switch(-1, 1, 7, "S", 10, "do_nanosleep"), f"comm pid=10 tid=10 name=prog exec=1 {when(0)} id=1\n", maps,
              f"fork pid=10 ppid=10 tid=11 ptid=10 {when(1)} id=1\ncomm pid=10 tid=11 name=keeper {when(1)} id=1\n", switch(2, 1, 60, "R", 11),
              switch(10, 0, 10, "S", 0, "futex_wait_queue", "__x64_sys_futex", "do_syscall_64").replace("raw=", f"regs={address:#x} raw="),
              waking(90, 1, 11, 10).replace("pid=11", "pid=10"), switch(90, 0, 60, "R", 10), f"exit pid=10 ppid=1 tid=10 ptid=1 {when(100)} id=1\n"]
    done = where(begin + "".join(events))
    assert f"keeper ran; prog waited for it at the lock or condition (futex) {name}." in " ".join(done.stdout.split()), done.stdout
    row = tables(where(begin + "".join(events), "--format", "json"))["reasons"][0]
    assert (row["waiting_kind"], row["waiting_lock"], row["waiting_object"]) == ("lock", "futex", name)
    row = tables(where(begin + "".join(events), "-p", "10", "--format", "json"))["reasons"]
    assert [(found["lock"], found["object"]) for found in row if found["kind"] == "lock"] == [("futex", name)]


def test_what_it_refuses(perf, tmp_path):
    for words, said in ((("-i", "x", "ls"), "-i reads a recording"), (("-p", "1", "-a"), "-p and -a"), (("-F", "0", "ls"), "use at least 1")):
        done = perf("where", *words, cwd=tmp_path)
        assert done.returncode == 129 and said in done.stderr
    for command in ("where", "trace"):
        done = perf(command, "--flamegraph", "x.png", "ls", cwd=tmp_path)
        assert done.returncode == 255 and "x.png: only .html, .svg and .folded can be written" in done.stderr and not list(tmp_path.iterdir())
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("event cycles type=0 config=0 ids=1 sample=IDENTIFIER|IP|TID|TIME\nsample id=1 ip=1 pid=1 tid=1 time=5\n"))
    done = perf("where", "-i", path)
    assert done.returncode == 255 and "no sched:sched_switch events; record them with 'perf where -o FILE COMMAND'" in done.stderr
