"""Hardware traces made by hand: packets of Arm SPE and Intel PT, and recordings around them.

Facts: Arm Architecture Reference Manual, chapter "Statistical Profiling Extension Sample Record Specification"; Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 3, chapter "Intel Processor Trace"."""
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


def spe_recording(traces, records, cpuid="0x00000000410fd0c0", head=SPE_HEAD, conversion=(0, 1, 0), described=True, **form):
    """traces: [(cpu, tid, bytes)]. records: more lines. form: as for recording.make()."""
    lines = [head.format(cpuid=cpuid)]
    if conversion:
        shift, multiplier, zero = conversion
        lines.append(f"time_conv shift={shift} multiplier={multiplier} zero={zero}")
    if described:
        lines.append(f"auxtrace_info type={SPE_TYPE} words={SPE_PMU},1")
    lines += [f"auxtrace index={index} cpu={cpu} tid={tid} trace={padded(trace).hex()}" for index, (cpu, tid, trace) in enumerate(traces)]
    return recording.make("\n".join(lines) + "\n" + records, **form)


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


# ── Intel PT ──

PT_TYPE, PT_PMU = 1, 8
TSC_BIT, NO_RETURN_COMPRESSION, MTC_BIT, CYC_BIT = 0x400, 0x800, 0x200, 2
PT_BRANCHES = 0x2001
PSB, PSBEND, OVERFLOW = b"\x02\x82" * 8, b"\x02\x23", b"\x02\xf3"
MODE_64 = b"\x99\x01"


def pt_ip(kind, address=None):
    """kind: tip, pge, pgd or fup; without an address it is one that the processor doesn't tell."""
    header = {"tip": 0x0d, "pge": 0x11, "pgd": 0x01, "fup": 0x1d}[kind]
    return bytes([header]) if address is None else bytes([header | 6 << 5]) + struct.pack("<Q", address)


def pt_tnt(bits):
    """Of up to 6 conditional branches or compressed returns, oldest first: "TNT"."""
    return bytes([int("1" + bits.replace("T", "1").replace("N", "0"), 2) << 1])


def pt_tsc(ticks):
    return b"\x19" + struct.pack("<Q", ticks)[:7]


def pt_cbr(ratio):
    return b"\x02\x03" + bytes([ratio, 0])


def pt_write(value):
    return b"\x02\x32" + struct.pack("<Q", value)


def pt_sync(ticks=None, address=None, ratio=None):
    """Where decoding can begin: what the state is."""
    out = PSB + (pt_tsc(ticks) if ticks is not None else b"") + (pt_cbr(ratio) if ratio else b"") + MODE_64
    return out + (pt_ip("fup", address) if address is not None else b"") + PSBEND


PT_HEAD = f"""feature hostname box
feature arch x86_64
feature nrcpus 2
feature auxtrace
feature event_desc
feature cpuid GenuineIntel,6,85,4
event intel_pt// type={PT_PMU} config={{config}} period=1 sample=IP|TID|TIME|CPU|IDENTIFIER flags=sample_id_all,exclude_kernel ids=1,2
event dummy:u type=1 config=9 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER flags=sample_id_all,mmap,comm,task,mmap2,exclude_kernel,context_switch ids=3,4
"""


def pt_recording(pieces, records, config=PT_BRANCHES | TSC_BIT, conversion=(0, 1, 0), head=PT_HEAD, pipe=False, switches=3, snapshots=0):
    """pieces: [(queue, cpu, tid, bytes)]. records: more lines."""
    words = [PT_PMU, *conversion, 1, TSC_BIT, NO_RETURN_COMPRESSION, switches, snapshots, 1, MTC_BIT, 0x3c000, 2, 1, CYC_BIT, 20, 0]
    lines = [head.format(config=config), f"auxtrace_info type={PT_TYPE} words={','.join(map(str, words))}"]
    offsets = {}
    for queue, cpu, tid, trace in pieces:
        lines.append(f"auxtrace index={queue} cpu={cpu} tid={tid} offset={offsets.get(queue, 0)} reference=1000 trace={padded(trace).hex()}")
        offsets[queue] = offsets.get(queue, 0) + len(padded(trace))
    return recording.make("\n".join(lines) + "\n" + records, pipe=pipe)


# ── CoreSight: an ETM of version 4 (Arm Embedded Trace Macrocell Architecture Specification, ETMv4), in frames (Arm CoreSight Architecture Specification) ──

ETM_TYPE, ETM_PMU, ETM_MAGIC = 3, 7, 0x4040404040404040
ETM_SYNC = bytes(11) + b"\x80\x01\x00"
ETM_ON = b"\x04"
ETM_REGISTERS = {"config": 0x40, "id": 0x10, "id0": 0x28000ea1, "id1": 0x4100f421, "id2": 0x20001088, "id8": 0, "authentication": 0xcc}


def etm_address(address, thread=None):
    """Where 64-bit code runs, of a program; with a thread as well whose it is."""
    place = bytes([address >> 2 & 0x7f, address >> 9 & 0x7f]) + struct.pack("<Q", address)[2:]
    return b"\x9d" + place if thread is None else b"\x85" + place + b"\xb0" + struct.pack("<I", thread)


def etm_atoms(branches):
    """What branches did, one after the other: E taken (all but conditional ones are), N not."""
    return b"".join(b"\xf7" if branch == "E" else b"\xf6" for branch in branches)


def etm_frames(stream, trace_id=0x10):
    """A frame has 16 bytes: whose trace it is, 14 bytes of that, and the lowest bits of all that stand at even places."""
    if len(stream) % 2 == 0:
        stream += b"\x71"  # an event of no meaning; behind it, at an even place, stands that the rest of the frame is nobody's
    out = b""
    for at in range(0, len(stream), 14):
        frame, low, piece = [trace_id << 1 | 1], 0, stream[at:at + 14]
        for place, byte in enumerate(piece, 1):
            frame.append(byte if place % 2 else byte & 0xfe)
            low |= 0 if place % 2 else (byte & 1) << place // 2
        if len(piece) < 14:
            frame += [1, *bytes(13 - len(piece))]
        out += bytes([*frame, low])
    return out


ETM_HEAD = f"""feature hostname box
feature arch aarch64
feature nrcpus 2
feature auxtrace
feature event_desc
event cs_etm// type={ETM_PMU} period=1 sample=IP|TID|CPU|IDENTIFIER flags=sample_id_all,exclude_kernel ids=1,2
event dummy:u type=1 config=9 period=1 sample=IP|TID|CPU|IDENTIFIER flags=sample_id_all,mmap,comm,task,mmap2,exclude_kernel ids=3,4
"""


def etm_recording(pieces, records, version=1, magic=ETM_MAGIC, registers=None):
    """pieces: [(queue, cpu, tid, bytes)]. records: more lines."""
    registers = {**ETM_REGISTERS, **(registers or {})}
    words = [version, ETM_PMU << 32 | 2, 0]
    for cpu in range(2):
        own = {**registers, "id": registers["id"] + 2 * cpu}
        words += [magic, cpu, *([len(own)] if version else []), *own.values()]
    lines = [ETM_HEAD, f"auxtrace_info type={ETM_TYPE} words={','.join(map(str, words))}"]
    lines += [f"auxtrace index={queue} cpu={cpu} tid={tid} offset=0 reference=1000 trace={trace.hex()}" for queue, cpu, tid, trace in pieces]
    return recording.make("\n".join(lines) + "\n" + records)


def shown(program, *words):
    """What a command prints that has to go well."""
    done = program(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout
