"""Counts system calls that failed, by process and error: perf script report failed-syscalls-by-pid [comm or pid]."""
from collections import Counter

from ready import arguments, table
from Util import strerror, syscall_name

MOST_ERRNO = 4095

words = arguments('failed-syscalls-by-pid [comm]', 0, 1)
wanted = words[0] if words else None
failures = Counter()


def raw_syscalls__sys_exit(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, ret):
    if -MOST_ERRNO <= ret < 0 and (wanted is None or wanted in (common_comm, str(common_pid))):
        failures[common_comm, common_pid, id, ret] += 1


def trace_end():
    rows = [(comm, pid, syscall_name(id), strerror(ret), n)
            for (comm, pid, id, ret), n in sorted(failures.items(), key=lambda item: (item[0][0], item[0][1], -item[1]))]
    table('System calls that failed', ['comm', 'pid', 'call', 'error', 'count'], rows)
