"""Takes the neighbours out of a recording: a recording of the whole machine has other tests' processes in it, whose names, files and generated code are nobody's
business here, and may be gone when the second of two programs looks for them.

What stays, byte for byte and in its place: records of the recorder and of all that it started, of the idle task, of the kernel's threads and of threads that the
kernel could not name any more (-1), and those that belong to no process. Samples of them go if they have an address in code that the kernel has generated, as for
a neighbour's BPF programs: the kernel's symbols are those of the moment at which they are read; and samples of tracepoints that tell of a neighbour with an escape
sequence in its name, which the kernel's perf prints as it is; and samples with the id of a neighbour's event: when two record page faults or context switches at
once, the kernel writes the first one's id into the samples of both, and its perf reads such a recording no further. So do records of generated code that came or
went meanwhile, at which the kernel's perf may stop. Compressed records stay as they are."""
import contextlib
import functools
import os
import pathlib
import re
import struct
import subprocess

HEADER = struct.Struct("<IHH")
MMAP, COMM, EXIT, FORK, READ, SAMPLE, MMAP2, SWITCH, SWITCH_CPU, NAMESPACES = 1, 3, 4, 7, 8, 9, 10, 14, 15, 16
OF_A_PROCESS = {MMAP, COMM, EXIT, FORK, READ, MMAP2, NAMESPACES}  # these begin with the process's id
KSYMBOL, BPF_EVENT = 17, 18
KERNEL_CODE = {KSYMBOL, BPF_EVENT}
IN_THE_TRAILER = {SWITCH, SWITCH_CPU}
WITH_MORE_BEHIND = {66, 71}  # tracing data, AUX data: in a pipe so many bytes follow, of which the record's first word tells
ATTR = 64  # of a pipe
IP, TID, TIME, ADDR, READS, CHAIN, ID, CPU, PERIOD, STREAM, RAW = (1 << bit for bit in range(11))
REGISTERS_AND_STACK = 1 << 12 | 1 << 13 | 1 << 18
IDENTIFIER, ID_ALL = 1 << 16, 1 << 18
KERNEL_THREADS = 2  # the process that starts them
NAMELESS = 0xFFFFFFFF
KERNEL = 1 << 63
CONTEXTS = (1 << 64) - 4096  # addresses from here on are marks in call chains
ESCAPE = re.compile(rb"\x1b[][]")


@functools.lru_cache(maxsize=None)
def kernel_text():
    """Where the kernel's own code is: the addresses from the first to the last symbol of it, and nothing without the right to see them."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        found = dict(re.findall(r"^([0-9a-f]+) \w (_stext|_etext)$", file.read(), re.M))
    places = {name: int(address, 16) for address, name in found.items()}
    return places.get("_stext", 0), places.get("_etext", 0)


def modules():
    """The ranges of modules' code."""
    with contextlib.suppress(OSError):
        lines = [line.split() for line in pathlib.Path("/proc/modules").read_text(encoding="ascii").splitlines()]
        return [(int(words[5], 16), int(words[5], 16) + int(words[1])) for words in lines]
    return []


def generated(addresses):
    """Whether one of them is in code that is neither the kernel's nor a module's."""
    first, end = kernel_text()
    there = [address for address in addresses if KERNEL <= address < CONTEXTS and not first <= address < end]
    return bool(end and there) and not all(any(low <= address < high for low, high in modules()) for address in there)


class Layout:
    """Where samples and trailers of an event have what is looked for, 0 where they haven't got it. Of several events all have their ids in front."""

    def __init__(self, attr):
        fields, flags = struct.unpack_from("<Q8xQ", attr, 24)
        self.identified = bool(fields & IDENTIFIER)
        before = sum(bool(fields & bit) for bit in (IDENTIFIER, IP))
        self.ip = 8 + 8 * bool(fields & IDENTIFIER) if fields & IP else 0
        self.tid = 8 + 8 * before if fields & TID else 0
        self.chain = 8 + 8 * (before + sum(bool(fields & bit) for bit in (TID, TIME, ADDR, ID, STREAM, CPU, PERIOD))) if fields & CHAIN and not fields & READS else 0
        self.named = bool(fields & RAW) and not fields & REGISTERS_AND_STACK
        self.trailer = 8 * sum(bool(fields & bit) for bit in (TID, TIME, ID, STREAM, CPU, IDENTIFIER)) if flags & ID_ALL and fields & TID else 0


class Layouts:
    """Those of a recording's events."""

    def __init__(self):
        self.first, self.of_id, self.events = None, {}, 0

    def add(self, attr, ids):
        layout = Layout(attr)
        self.first = self.first or layout
        self.events += 1
        self.of_id.update((number, layout) for number, in struct.iter_unpack("<Q", ids))

    def mistaken(self, data, at):
        """Whether the sample has another recorder's id."""
        return self.events > 1 and self.first.identified and struct.unpack_from("<Q", data, at + 8)[0] not in self.of_id

    def of_sample(self, data, at):
        return self.of_id.get(struct.unpack_from("<Q", data, at + 8)[0], self.first) if self.first and self.first.identified else self.first


def records_of(data, start, end):
    """(type, offset, whole size) of each."""
    while start + 8 <= end:
        kind, _, size = HEADER.unpack_from(data, start)
        whole = size
        if kind in WITH_MORE_BEHIND:
            whole += struct.unpack_from("<Q" if kind == 71 else "<I", data, start + 8)[0] + 7 & ~7
        yield kind, start, whole
        start += max(whole, 8)


def family(data, start, end, recorder):
    """The processes that stay."""
    children = {}
    for kind, at, _ in records_of(data, start, end):
        if kind == FORK:
            pid, parent = struct.unpack_from("<II", data, at + 8)
            children.setdefault(parent, set()).add(pid)
    return descendants(children, [recorder, KERNEL_THREADS])


def descendants(children, new):
    """These, and what they have started; the idle task, and threads without a name."""
    found = {0, -1, NAMELESS}
    while new:
        pid = new.pop()
        if pid not in found:
            found.add(pid)
            new.extend(children.get(pid, ()))
    return found


def processes(text):
    """The processes that stay of what `perf script --show-task-events` tells of a recording, when its bytes aren't to be changed, as of compressed ones: this one and
    all that it has started; everybody, where this one isn't in the recording."""
    children = {}
    for pid, parent in re.findall(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):", text):
        children.setdefault(int(parent), set()).add(int(pid))
    here = os.getpid()
    return descendants(children, [here, KERNEL_THREADS]) if any(here in each for each in children.values()) else Everybody()


class Everybody:
    """The processes of a recording that was made of the own ones only."""

    def __contains__(self, pid):
        return True


def addresses(data, at, layout):
    found = [struct.unpack_from("<Q", data, at + layout.ip)[0]] if layout.ip else []
    if layout.chain:
        count = struct.unpack_from("<Q", data, at + layout.chain)[0]
        found += struct.unpack_from(f"<{count}Q", data, at + layout.chain + 8)
    return found


def end_of_name(data, kind, at, size):
    """Where what a record of generated code tells itself ends. What follows is zero in what the recorder tells of programs that were there already; the kernel's has its
    thread and time there, not always where the record's size lets one look for them: it makes some longer than it says."""
    return 24 if kind != KSYMBOL else data.find(b"\0", at + 24, at + size) - at


def stays(data, kind, at, size, layouts, processes):
    if kind in OF_A_PROCESS:
        return struct.unpack_from("<I", data, at + 8)[0] in processes
    layout = layouts.of_sample(data, at) if kind == SAMPLE else layouts.first
    if kind in IN_THE_TRAILER and layout and layout.trailer:
        return struct.unpack_from("<I", data, at + size - layout.trailer)[0] in processes
    if kind in KERNEL_CODE:
        return not any(data[at + end_of_name(data, kind, at, size) : at + size])
    if kind == SAMPLE and layouts.mistaken(data, at):
        return False
    if kind == SAMPLE and layout and layout.tid:
        return (struct.unpack_from("<I", data, at + layout.tid)[0] in processes and not generated(addresses(data, at, layout))
                and not (layout.named and ESCAPE.search(data, at, at + size)))
    return True


def kept(data, start, end, layouts, recorder, dropped=None):
    """What stays; with `dropped`, all but these types."""
    processes = Everybody() if recorder is None else family(data, start, end, recorder)
    parts = []
    for kind, at, size in records_of(data, start, end):
        if kind == ATTR:
            length = struct.unpack_from("<I", data, at + 12)[0]
            layouts.add(data[at + 8 : at + 8 + length], data[at + 8 + length : at + size])
        if stays(data, kind, at, size, layouts, processes) if dropped is None else kind not in dropped:
            parts.append(data[at : at + size])
    return b"".join(parts)


def of_file(data, recorder, dropped=None):
    each, attrs, all_of_them, start, size = struct.unpack_from("<QQQQQ", data, 16)
    layouts = Layouts()
    for at in range(attrs, attrs + all_of_them, each):
        ids, length = struct.unpack_from("<QQ", data, at + each - 16)
        layouts.add(data[at : at + each - 16], data[ids : ids + length])
    records = kept(data, start, start + size, layouts, recorder, dropped)
    shift, end = size - len(records), start + size
    count = sum(bin(byte).count("1") for byte in data[72:104])
    sections = [struct.unpack_from("<QQ", data, end + 16 * i) for i in range(count)]
    table = b"".join(struct.pack("<QQ", offset - shift if offset >= end else offset, length) for offset, length in sections)
    return data[:48] + struct.pack("<Q", len(records)) + data[56:start] + records + table + data[end + len(table) :]


def of(data, recorder=None):
    """A recording, a file or a pipe's bytes, without the neighbours of the process `recorder`; None: nobody else was recorded."""
    if len(data) < 16 or data[:8] != b"PERFILE2":
        return data
    if struct.unpack_from("<Q", data, 8)[0] == 16:
        return data[:16] + kept(data, 16, len(data), Layouts(), recorder)
    return of_file(data, recorder)


def drop_kernel_code(path):
    """Takes out of the recording, a file or a folder, what it tells of code that the kernel has made or taken away (neighbours' BPF programs): the kernel's perf
    may stop at it."""
    file = path / "data" if path.is_dir() else path
    file.write_bytes(of_file(file.read_bytes(), None, KERNEL_CODE))
    for part in path.glob("data.*") if path.is_dir() else ():
        data = part.read_bytes()
        part.write_bytes(kept(data, 0, len(data), Layouts(), None, KERNEL_CODE))


def record(program, path, *words, cwd=".", timeout=900, **arguments):
    """program record -o path words…, of which the neighbours are taken out; of path "-" they are taken out of what is written. Returns a CompletedProcess: its
    output is bytes, what is said is text."""
    command = [str(word) for word in (program, "record", "-o", path, *words)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, **arguments) as process:
        out, errors = process.communicate(timeout=timeout)
    recorder = process.pid if {"-a", "--all-cpus"}.intersection(command) else None
    file = pathlib.Path(cwd, path)
    if str(path) == "-":
        out = of(out, recorder)
    elif process.returncode == 0 and file.is_file():
        file.write_bytes(of(file.read_bytes(), recorder))
    return subprocess.CompletedProcess(command, process.returncode, out, errors.decode(errors="surrogateescape"))
