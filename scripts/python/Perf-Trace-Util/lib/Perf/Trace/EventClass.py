"""Samples of precise events (PEBS) as objects: the registers that Intel's hardware stored are in the sample's raw bytes."""
import struct

EVTYPE_GENERIC = 0
EVTYPE_PEBS = 1  # basic: flags and registers
EVTYPE_PEBS_LL = 2  # with status, data address, data source and latency
EVTYPE_IBS = 3

# Sizes of the raw bytes, by which the records are told apart.
_PEBS_SIZE = 144
_PEBS_LL_SIZE = 176
_REGISTERS = ('flags', 'ip', 'ax', 'bx', 'cx', 'dx', 'si', 'di', 'bp', 'sp')


def create_event(name, comm, dso, symbol, raw_buf):
    """An object of the class that fits the raw bytes."""
    kinds = {_PEBS_SIZE: PebsEvent, _PEBS_LL_SIZE: PebsNHM}
    return kinds.get(len(raw_buf), PerfEvent)(name, comm, dso, symbol, raw_buf)


class PerfEvent(object):
    """Any sample. event_num counts the objects."""
    event_num = 0

    def __init__(self, name, comm, dso, symbol, raw_buf, ev_type=EVTYPE_GENERIC):
        self.name = name
        self.comm = comm
        self.dso = dso
        self.symbol = symbol
        self.raw_buf = raw_buf
        self.ev_type = ev_type
        PerfEvent.event_num += 1

    def show(self):
        print('PMU event: name=%12s, symbol=%24s, comm=%8s, dso=%12s' % (self.name, self.symbol, self.comm, self.dso))


class PebsEvent(PerfEvent):
    """Flags and registers at the sampled instruction."""
    pebs_num = 0

    def __init__(self, name, comm, dso, symbol, raw_buf, ev_type=EVTYPE_PEBS):
        for register, value in zip(_REGISTERS, struct.unpack_from('<10Q', raw_buf)):
            setattr(self, register, value)
        PerfEvent.__init__(self, name, comm, dso, symbol, raw_buf, ev_type)
        PebsEvent.pebs_num += 1


class PebsNHM(PebsEvent):
    """With where the data was, and how long it took: Nehalem and later."""
    pebs_nhm_num = 0

    def __init__(self, name, comm, dso, symbol, raw_buf, ev_type=EVTYPE_PEBS_LL):
        self.status, self.dla, self.dse, self.lat = struct.unpack_from('<4Q', raw_buf, _PEBS_SIZE)
        PebsEvent.__init__(self, name, comm, dso, symbol, raw_buf, ev_type)
        PebsNHM.pebs_nhm_num += 1
