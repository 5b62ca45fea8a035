"""Which locks (futexes) threads waited for, and how long: perf script report futex-contention."""
from collections import defaultdict

from ready import arguments, table
from Util import FUTEX_CMD_MASK, FUTEX_WAIT, nsecs

arguments('futex-contention', 0, 0)
waiting = {}  # tid → (address, time)
waits = defaultdict(list)  # (tid, comm, address) → nanoseconds


def syscalls__sys_enter_futex(event_name, context, cpu, secs, ns, tid, comm, callchain, nr, uaddr, op, *more):
    if op & FUTEX_CMD_MASK == FUTEX_WAIT:
        waiting[tid] = (uaddr, nsecs(secs, ns))


def syscalls__sys_exit_futex(event_name, context, cpu, secs, ns, tid, comm, callchain, nr, ret):
    if tid in waiting:
        address, since = waiting.pop(tid)
        waits[tid, comm, address].append(nsecs(secs, ns) - since)


def trace_end():
    rows = [(comm, tid, '%#x' % address, len(times), sum(times) // len(times), max(times), sum(times))
            for (tid, comm, address), times in waits.items()]
    rows.sort(key=lambda row: -row[-1])
    table('Waiting for locks', ['comm', 'tid', 'lock', 'times', 'average ns', 'longest ns', 'all ns'], rows)
