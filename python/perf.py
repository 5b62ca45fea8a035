"""Recordings of perf in Python: an iterator of samples with resolved stacks.

    import perf

    for sample in perf.open("perf.data"):
        print(sample.time, sample.comm, sample.event, [frame.symbol for frame in sample.stack])

`make install` puts this module where the system's Python looks. Any other Python finds it by

    PYTHONPATH=$(perf --exec-path)/python python3

A recording is read by the program `perf` (perf script --json), which does the symbols: the one that PERF names, else the one that this module came with, else
perf-ng or perf in PATH. Samples come in the order of time, one after the other, so that a recording of any size needs little memory.
"""
import json
import os
import shutil
import subprocess
import tempfile

__all__ = ['Address', 'Error', 'Frame', 'Recording', 'Sample', 'open']


class Error(Exception):
    """What perf said when it couldn't read the recording."""


class Address:
    """An address and what is there."""

    __slots__ = ('address', 'symbol', 'offset', 'file')

    def __init__(self, fields):
        self.address = int(fields['address'], 16)
        self.symbol = fields.get('symbol')  # None = unknown
        self.offset = fields.get('offset')  # bytes from where the symbol begins
        self.file = fields.get('file')

    def __repr__(self):
        return '<%#x %s>' % (self.address, self.symbol or self.file or 'unknown')


class Frame:
    """One function of a stack."""

    __slots__ = ('ip', 'symbol', 'offset', 'file', 'inlined', 'source', 'line')

    def __init__(self, fields):
        self.ip = int(fields['ip'], 16)
        self.symbol = fields.get('symbol')
        self.offset = fields.get('offset')
        self.file = fields.get('file')  # "[kernel.kallsyms]", "/usr/bin/ls"; None = nothing is mapped there
        self.inlined = fields.get('inlined', False)
        self.source = fields.get('source')  # with lines=True
        self.line = fields.get('line')

    def __repr__(self):
        return '<%s>' % (self.symbol or '%#x' % self.ip)


class Sample:
    """What was recorded of one event. What a recording doesn't have is None, or empty."""

    __slots__ = ('raw', '_stack')

    def __init__(self, raw):
        self.raw = raw  # the object of perf script --json, a dictionary
        self._stack = None

    event = property(lambda self: self.raw['event'])
    time_ns = property(lambda self: self.raw.get('time_ns'))
    comm = property(lambda self: self.raw.get('comm'))
    pid = property(lambda self: self.raw.get('pid'))
    tid = property(lambda self: self.raw.get('tid'))
    cpu = property(lambda self: self.raw.get('cpu'))
    period = property(lambda self: self.raw['period'])
    cgroup = property(lambda self: self.raw.get('cgroup'))
    weight = property(lambda self: self.raw.get('weight'))
    data_source = property(lambda self: self.raw.get('data_src_text'))
    fields = property(lambda self: self.raw.get('fields', {}), doc='of a tracepoint, by name')
    text = property(lambda self: self.raw.get('text'), doc='what a tracepoint prints')

    @property
    def time(self):
        """Seconds, on the clock of the recording."""
        return None if self.time_ns is None else self.time_ns / 1e9

    @property
    def stack(self):
        """Frames, innermost first; of an event without stacks the one that was sampled."""
        if self._stack is None:
            self._stack = [Frame(fields) for fields in self.raw.get('stack', ())]
        return self._stack

    @property
    def symbol(self):
        """The function that ran."""
        return self.stack[0].symbol if self.stack else None

    @property
    def addr(self):
        """The address of the data."""
        return Address(self.raw['addr']) if 'addr' in self.raw else None

    @property
    def branches(self):
        """(from, to, mispredicted, cycles), newest first."""
        return [(Address(branch['from']), Address(branch['to']), branch['mispredicted'], branch['cycles'])
                for branch in self.raw.get('branches', ())]

    def __repr__(self):
        return '<%s %s %s>' % (self.event, self.comm, self.symbol or self.text or '')


def _program():
    """Beside PREFIX/libexec/perf-core/python (installed) and BUILD/perf-core/python there is the perf that this module came with."""
    core, last = os.path.split(os.path.dirname(os.path.abspath(__file__)))
    beside = os.path.dirname(core)
    places = [os.path.join(beside, 'perf'), os.path.join(os.path.dirname(beside), 'bin', 'perf')]
    found = [place for place in places if (os.path.basename(core), last) == ('perf-core', 'python') and os.access(place, os.X_OK)]
    return os.environ.get('PERF') or (found or [shutil.which('perf-ng') or shutil.which('perf')])[0] or 'perf'


class Recording:
    """Iterates over samples; each iteration reads the recording anew."""

    def __init__(self, path, words):
        self.path = path
        self._command = [_program(), 'script', '--json', '-i', os.fspath(path)] + words

    def __iter__(self):
        with tempfile.TemporaryFile() as said, \
                subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=said, stdin=subprocess.DEVNULL) as process:
            try:
                for line in process.stdout:
                    yield Sample(json.loads(line))
            except GeneratorExit:
                process.kill()
                raise
            if process.wait():
                said.seek(0)
                raise Error(said.read().decode(errors='backslashreplace').strip())

    def __repr__(self):
        return 'perf.open(%r)' % (self.path,)


def open(path='perf.data', lines=False, options=()):
    """The samples of a recording. `lines`: frames have source files and lines. `options`: more words for perf script, such as ['--time', '10%-20%']."""
    return Recording(path, (['-F', 'ip,srcline'] if lines else []) + list(options))
