"""Names of flags and symbolic values, nested dictionaries, and what states of tasks are called.

perf script calls the define_*() functions before the first event of a tracepoint, with what its print format says.
"""
from collections import defaultdict


def autodict():
    """A dictionary whose missing values are such dictionaries: d[a][b][c] = 1 needs no preparation."""
    return defaultdict(autodict)


class _Field:
    """What the numbers of one field of one event are called."""

    def __init__(self, delimiter=None):
        self.delimiter = delimiter
        self.names = {}


flag_fields = {}
symbolic_fields = {}


def define_flag_field(event_name, field_name, delim):
    flag_fields[event_name, field_name] = _Field(delim)


def define_flag_value(event_name, field_name, value, field_str):
    flag_fields.setdefault((event_name, field_name), _Field('|')).names[value] = field_str


def define_symbolic_field(event_name, field_name):
    symbolic_fields[event_name, field_name] = _Field()


def define_symbolic_value(event_name, field_name, value, field_str):
    symbolic_fields.setdefault((event_name, field_name), _Field()).names[value] = field_str


def flag_str(event_name, field_name, value):
    """The names of the bits of a value, joined as the kernel joins them; '' when the field has no flags."""
    field = flag_fields.get((event_name, field_name))
    if field is None:
        return ''
    if not value:
        return field.names.get(0, '')
    words = []
    for bits, name in sorted(field.names.items()):
        if bits and value & bits == bits:
            words.append(name)
            value &= ~bits
    return (' ' + field.delimiter + ' ' if field.delimiter else ' ').join(words)


def symbol_str(event_name, field_name, value):
    """The name of a value, '' when it has none."""
    field = symbolic_fields.get((event_name, field_name))
    return field.names.get(value, '') if field else ''


# enum trace_flag_type of the kernel
trace_flags = {
    0x00: 'NONE',
    0x01: 'IRQS_OFF',
    0x02: 'IRQS_NOSUPPORT',
    0x04: 'NEED_RESCHED',
    0x08: 'HARDIRQ',
    0x10: 'SOFTIRQ',
}


def trace_flag_str(value):
    """The common_flags of an event in words."""
    if not value:
        return trace_flags[0]
    return ' | '.join(name for bit, name in trace_flags.items() if bit and value & bit)


def taskState(state):
    """What prev_state of a context switch says in one letter."""
    letters = {0: 'R', 1: 'S', 2: 'D', 64: 'DEAD'}
    return letters.get(state, 'Unknown')


class EventHeaders:
    """The arguments that all handlers have, as one object."""

    def __init__(self, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain):
        self.cpu = common_cpu
        self.secs = common_secs
        self.nsecs = common_nsecs
        self.pid = common_pid
        self.comm = common_comm
        self.callchain = common_callchain

    def ts(self):
        """Nanoseconds."""
        return self.secs * 1000000000 + self.nsecs

    def ts_format(self):
        """Seconds with six decimals."""
        return '%d.%d' % (self.secs, self.nsecs // 1000)
