"""Counts system calls and shows them every few seconds: perf script sctop [comm] [interval]."""
from collections import Counter

from ready import comm_and_interval, most_first, table
from Util import clear_term, nsecs, syscall_name

for_comm, interval = comm_and_interval('sctop [comm] [interval]')
calls = Counter()
next_time = None


def show():
    clear_term()
    table('System calls' + (' of ' + for_comm if for_comm else ''), ['call', 'count'], [(syscall_name(id), n) for id, n in most_first(calls)])
    calls.clear()


def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, args):
    global next_time
    now = nsecs(common_secs, common_nsecs)
    if next_time is None or now >= next_time:
        if next_time is not None:
            show()
        next_time = now + interval * 1000000000
    if for_comm is None or common_comm == for_comm:
        calls[id] += 1


def trace_end():
    show()
