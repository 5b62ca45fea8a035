"""Hardware traces made by hand: packets of Arm SPE, and recordings around them.

Facts: Arm Architecture Reference Manual, chapter "Statistical Profiling Extension Sample Record Specification"."""
import struct

import recording

SPE_TYPE, SPE_PMU = 4, 9
# Bits of the events packet.
RETIRED, L1D_ACCESS, L1D_REFILL, TLB_ACCESS, TLB_WALK, NOT_TAKEN, MISPREDICTED, LLC_ACCESS, LLC_MISS, REMOTE = (1 << bit for bit in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
LOAD, STORE = b"\x49\x00", b"\x49\x01"
BRANCH_CONDITIONAL = b"\x4a\x01"
OTHER = b"\x48\x00"


def spe_address(index, address, level=0, not_secure=1):
    """index: 0 = the instruction, 1 = where a branch leads, 2 = data, 3 = data's physical address."""
    top = not_secure << 63 | level << 61 if index < 2 else not_secure << 63 if index == 3 else 0
    return bytes([0xb0 | index]) + struct.pack("<Q", address & ((1 << 56) - 1) | top)


def spe_record(what, pc, events, time=None, level=0, data=None, physical=None, target=None, latency=0, source=None, context=None):
    """One sampled operation, as processors write it: a time stamp, or an end."""
    out = spe_address(0, pc, level)
    if context is not None:
        out += b"\x65" + struct.pack("<I", context)
    out += what + b"\x98" + struct.pack("<H", latency)
    if target is not None:
        out += spe_address(1, target, level)
    if data is not None:
        out += spe_address(2, data)
    if physical is not None:
        out += spe_address(3, physical)
    if source is not None:
        out += b"\x43" + bytes([source])
    out += b"\x52" + struct.pack("<H", events)
    out += b"\x71" + struct.pack("<Q", time) if time is not None else b"\x01"
    return out + bytes(-len(out) % 64)


def padded(trace):
    """Recorders write multiples of 8 bytes."""
    return trace + bytes(-len(trace) % 8)


SPE_HEAD = f"""feature hostname box
feature arch aarch64
feature nrcpus 2
feature auxtrace
feature event_desc
feature cpuid {{cpuid}}
event arm_spe_0// type={SPE_PMU} period=1024 sample=IP|TID|TIME|CPU|PERIOD|IDENTIFIER flags=sample_id_all,exclude_kernel ids=1,2
event dummy:u type=1 config=9 period=1 sample=IP|TID|TIME|CPU|PERIOD|IDENTIFIER flags=sample_id_all,mmap,comm,task,mmap2,exclude_kernel ids=3,4
"""


def spe_recording(traces, records, cpuid="0x00000000410fd0c0", head=SPE_HEAD, conversion=(0, 1, 0), pipe=False):
    """traces: [(cpu, tid, bytes)]. records: more lines."""
    lines = [head.format(cpuid=cpuid)]
    if conversion:
        shift, multiplier, zero = conversion
        lines.append(f"time_conv shift={shift} multiplier={multiplier} zero={zero}")
    lines.append(f"auxtrace_info type={SPE_TYPE} words={SPE_PMU},1")
    lines += [f"auxtrace index={index} cpu={cpu} tid={tid} trace={padded(trace).hex()}" for index, (cpu, tid, trace) in enumerate(traces)]
    return recording.make("\n".join(lines) + "\n" + records, pipe=pipe)


def spe_operations(count, choose, cpu=0, cores=True, times=True):
    """The trace of a CPU: operations of two programs, chosen by `choose`, a random.Random()."""
    out, time = b"", 1000 + cpu
    for _ in range(count):
        time += choose.randrange(1, 400)
        what = choose.choice([LOAD, LOAD, STORE, BRANCH_CONDITIONAL, OTHER])
        events = RETIRED | sum(bit for bit in (L1D_ACCESS, L1D_REFILL, TLB_ACCESS, TLB_WALK, LLC_ACCESS, LLC_MISS, REMOTE) if choose.randrange(3) == 0)
        level = choose.choice([0, 0, 1])
        fields = {"level": level, "latency": choose.randrange(300), "context": 7 + choose.randrange(2) if cores else None}
        if what in (LOAD, STORE):
            fields |= {"data": choose.choice([0x7000, 0x7008, 0x7040]) + choose.randrange(8), "physical": 0x9000 + choose.randrange(64),
                       "source": choose.choice([0, 8, 9, 10, 11, 12, 13, 14])}
        if what == BRANCH_CONDITIONAL:
            fields["target"] = 0x400000 + 4 * choose.randrange(64)
            events |= choose.choice([0, MISPREDICTED])
        pc = 0xffff800000000100 + 4 * choose.randrange(9) if level else 0x400000 + 4 * choose.randrange(64)
        out += spe_record(what, pc, events, time if times else None, **fields)
    return out
