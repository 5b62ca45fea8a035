"""Sums of reads and writes by process: for rw-by-pid and rwtop."""
from collections import defaultdict

from ready import table


class Sums:
    def __init__(self):
        self.comm = ''
        self.calls = self.wanted = self.done = self.failed = 0


class ReadsAndWrites:
    """'read' and 'write' → pid → Sums."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.sums = {'read': defaultdict(Sums), 'write': defaultdict(Sums)}

    def enter(self, what, pid, comm, count):
        sums = self.sums[what][pid]
        sums.comm = comm
        sums.calls += 1
        sums.wanted += count

    def leave(self, what, pid, comm, ret):
        sums = self.sums[what][pid]
        sums.comm = sums.comm or comm
        if ret < 0:
            sums.failed += 1
        else:
            sums.done += ret

    def show(self, most=None):
        for what, title in (('read', 'Reads'), ('write', 'Writes')):
            rows = [(pid, sums.comm, sums.calls, sums.wanted, sums.done, sums.failed) for pid, sums in self.sums[what].items()]
            rows.sort(key=lambda row: (-row[4], row[0]))
            table('%s by process' % title, ['pid', 'comm', 'calls', 'bytes asked for', 'bytes', 'failed'], rows[:most])
