"""Judges unwound stacks of tests/oracle/unwind/shadow.c by what the program wrote about itself: every copied stack that is complete contains
the program's own list of the functions it was in, with their return addresses.

Run as a program: shadow.py PERF RECORDING EXECUTABLE"""
import bisect
import collections
import mmap
import struct
import subprocess
import sys

MAGIC = struct.pack("<2Q", 0x776F64616873212A, 0x2A216B6361747321)
DEPTH = 80
NOTED = {"main", "go", "leaf", "small", "crowded", "variable", "aligned", "branching", "many", "compare", "sorting", "jumping", "raising",
         "on_signal"}


def text_segment(executable):
    """Of the code: file offset minus address, address of main, names by address."""
    headers = subprocess.run(["readelf", "-lW", executable], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in headers.splitlines()]
    segment = next(line for line in lines if line[:1] == ["LOAD"] and "E" in line[6:-1])
    symbols = subprocess.run(["nm", executable], capture_output=True, text=True, check=True).stdout
    functions = {}
    for line in symbols.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tT":
            functions[int(words[0], 16)] = words[2]
    main = next(address for address, name in functions.items() if name == "main")
    return int(segment[1], 16) - int(segment[2], 16), main, functions


def truth_of(sample, size):
    """[(function, return address, is handler)], outermost first; None where the copied stack does not reach it. The sample ends with
    bytes of stack and how many of them are valid: what is behind those is left from samples before. In front stands how many bytes there
    are: `size`, or what was left when the copy was cut to its stack."""
    valid = struct.unpack_from("<Q", sample, len(sample) - 8)[0]
    short = (valid + 7) & ~7
    if struct.unpack_from("<Q", sample, len(sample) - 16 - short)[0] == short:
        size = short
    sample = sample[len(sample) - 8 - size: len(sample) - 8 - size + valid]
    place = sample.find(MAGIC)
    if place < 0 or place + 24 > len(sample):
        return None
    depth = struct.unpack_from("<Q", sample, place + 16)[0]
    if depth > DEPTH or place + 24 + depth * 24 > len(sample):
        return None
    entries = list(struct.iter_unpack("<qqQ", sample[place + 24: place + 24 + depth * 24]))
    # Before a signal handler's entry, one is left out: whoever was interrupted may have been writing it.
    found = []
    while entries:
        found.append(entries.pop())
        if found[-1][2] and entries:
            entries.pop()
    return found[::-1]


def samples(path):
    """The program's truth of each sample, by the time of the sample."""
    found = {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        attrs, _, at, size = struct.unpack_from("<QQQQ", data, 24)
        sample_type = struct.unpack_from("<Q", data, attrs + 24)[0]
        stack = struct.unpack_from("<I", data, attrs + 88)[0]
        behind = 8 if sample_type & 1 << 15 else 0  # the data source
        time_at = 8 + sum(8 for bit in (1 << 16, 1, 2) if sample_type & bit)
        end = at + size
        while at < end:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == 9:
                found[struct.unpack_from("<Q", data, at + time_at)[0]] = truth_of(data[at: at + length - behind], stack)
            at += length
    return found


def stacks(perf, path, executable):
    """Time and frames of each sample in functions that note themselves, outermost first: (address in the file, function)."""
    process = subprocess.Popen([perf, "script", "--no-inline", "--ns", "-F", "time,ip,sym,symoff,dso", "-i", path], stdout=subprocess.PIPE, text=True)
    frames, time = [], None
    for line in process.stdout:
        if line == "\n":
            if time is not None:
                yield time, frames[::-1]
            frames, time = [], None
        elif line[:1] != "\t":
            time = int(line.strip().rstrip(":").replace(".", ""))
        elif executable in line:
            words = line.split()
            name = words[1].split("+")[0]
            if name in NOTED:
                frames.append((int(words[0], 16), name))
    if time is not None:
        yield time, frames[::-1]
    process.wait()


class Judge:
    """Knows the executable's functions."""

    def __init__(self, executable):
        self.executable = str(executable)
        self.to_file, self.main, self.names = text_segment(self.executable)
        self.starts = sorted(self.names)

    def function(self, address):
        at = bisect.bisect_right(self.starts, address)
        return self.names[self.starts[at - 1]] if at else None

    def called_from(self, caller, name, frame):
        """Whether the return address that the callee has noted is the frame's, if it is in this function at all (and not in a library)."""
        address = caller + self.main
        return self.function(address) != name or address + self.to_file == frame + 1

    def agrees(self, truth, frames):
        """Whether the frames are the program's path. Between a call and the first instructions of the function called it isn't noted yet:
        one frame more is right at the end, and where a signal interrupted."""
        at = next((i for i, (_, name) in enumerate(frames) if name == "main"), len(frames))
        for i, (function, _, is_handler) in enumerate(truth):
            name = self.names[function + self.main]
            extra = is_handler and at < len(frames) and frames[at][1] != name
            at += extra
            if at >= len(frames) or frames[at][1] != name:
                return False
            if i + 1 < len(truth) and not truth[i + 1][2] and not self.called_from(truth[i + 1][1], name, frames[at][0]):
                return False
            at += 1
        rest = [name for _, name in frames[at:]]
        return len(rest) <= 1 or (len(rest) == 2 and rest[1] == "on_signal")


def judge(perf, path, executable):
    """Counts: right, wrong, cut (the copy is too short to tell). And the first wrong one."""
    judges, counts, first, truths = Judge(executable), collections.Counter(), None, samples(path)
    for time, frames in stacks(perf, path, str(executable)):
        truth = truths[time]
        if truth is None:
            counts["cut"] += 1
        elif judges.agrees(truth, frames):
            counts["right"] += 1
        else:
            counts["wrong"] += 1
            first = first or ([(judges.names.get(f + judges.main), hex(c + judges.main), h) for f, c, h in truth],
                              [(hex(a - judges.to_file), n) for a, n in frames])
    return counts, first


if __name__ == "__main__":
    result, wrong = judge(*sys.argv[1:4])
    print(dict(result))
    if wrong:
        print("program:", *wrong[0], "unwound:", *wrong[1], sep="\n  ")
    sys.exit(bool(wrong))
