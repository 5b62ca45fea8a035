"""Reads and writes of each process: perf script report rw-by-pid."""
from ready import arguments
from rw import ReadsAndWrites

arguments('rw-by-pid', 0, 0)
sums = ReadsAndWrites()


def syscalls__sys_enter_read(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, fd, buf, count, *more):
    sums.enter('read', pid, comm, count)


def syscalls__sys_enter_write(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, fd, buf, count, *more):
    sums.enter('write', pid, comm, count)


def syscalls__sys_exit_read(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, ret):
    sums.leave('read', pid, comm, ret)


def syscalls__sys_exit_write(event_name, context, cpu, secs, nsecs, pid, comm, callchain, nr, ret):
    sums.leave('write', pid, comm, ret)


def trace_end():
    sums.show()
