"""Reads and writes of each process, every few seconds: perf script rwtop [interval]."""
from ready import comm_and_interval
from rw import ReadsAndWrites
from Util import clear_term
import Util

MOST_ROWS = 20

interval = comm_and_interval('rwtop [interval]')[1]
sums = ReadsAndWrites()
next_time = None


def tick(secs, nsecs):
    global next_time
    now = Util.nsecs(secs, nsecs)
    if next_time is None or now >= next_time:
        if next_time is not None:
            show()
        next_time = now + interval * 1000000000


def show():
    clear_term()
    sums.show(MOST_ROWS)
    sums.clear()


def syscalls__sys_enter_read(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, fd, buf, count, *more):
    tick(secs, nsecs)
    sums.enter('read', pid, comm, count)


def syscalls__sys_enter_write(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, fd, buf, count, *more):
    tick(secs, nsecs)
    sums.enter('write', pid, comm, count)


def syscalls__sys_exit_read(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, ret):
    tick(secs, nsecs)
    sums.leave('read', pid, comm, ret)


def syscalls__sys_exit_write(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, ret):
    tick(secs, nsecs)
    sums.leave('write', pid, comm, ret)


def trace_end():
    show()
