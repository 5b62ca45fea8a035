"""Counts system calls of each process: perf script report syscall-counts-by-pid [comm or pid]."""
from collections import Counter

from ready import arguments, table
from Util import syscall_name

words = arguments('syscall-counts-by-pid [comm]', 0, 1)
wanted = words[0] if words else None
calls = Counter()


def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, args):
    if wanted is None or wanted in (common_comm, str(common_pid)):
        calls[common_comm, common_pid, id] += 1


def trace_end():
    rows = [(comm, pid, syscall_name(id), n) for (comm, pid, id), n in sorted(calls.items(), key=lambda item: (item[0][0], item[0][1], -item[1]))]
    table('System calls by process', ['comm', 'pid', 'call', 'count'], rows)
