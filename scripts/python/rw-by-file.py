"""Reads and writes of one program by file descriptor: perf script report rw-by-file COMM."""
from collections import defaultdict

from ready import arguments, table

for_comm = arguments('rw-by-file <comm>', 1, 1)[0]
reads = defaultdict(lambda: [0, 0])
writes = defaultdict(lambda: [0, 0])


def note(sums, comm, fd, count):
    if comm == for_comm:
        sums[fd][0] += 1
        sums[fd][1] += count


def syscalls__sys_enter_read(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, nr, fd, buf,
                             count, *more):
    note(reads, common_comm, fd, count)


def syscalls__sys_enter_write(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, nr, fd, buf,
                              count, *more):
    note(writes, common_comm, fd, count)


def trace_end():
    for what, sums in (('Reads', reads), ('Writes', writes)):
        rows = [(fd, calls, wanted) for fd, (calls, wanted) in sorted(sums.items(), key=lambda item: -item[1][1])]
        table('%s of %s' % (what, for_comm), ['fd', 'calls', 'bytes asked for'], rows)
