"""Counts system calls: perf script report syscall-counts [comm]."""
from collections import Counter

from ready import arguments, most_first, table
from Util import syscall_name

words = arguments('syscall-counts [comm]', 0, 1)
for_comm = words[0] if words else None
calls = Counter()


def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, args):
    if for_comm is None or common_comm == for_comm:
        calls[id] += 1


def syscalls__sys_enter(*arguments):
    raw_syscalls__sys_enter(*arguments)


def trace_end():
    table('System calls' + (' of ' + for_comm if for_comm else ''), ['call', 'count'], [(syscall_name(id), n) for id, n in most_first(calls)])
