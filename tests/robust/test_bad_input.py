"""Whatever a recording holds: no crash, no hang, no unbounded memory, no control characters in the output, and the sanitizers find nothing."""
import concurrent.futures
import os
import resource
import struct
import subprocess

import pytest

COMMANDS = {
    "report": ["report", "--stdio"],
    "report-jobs": ["report", "--stdio", "--jobs", "4", "--sort", "comm,pid,dso,sym,cpu"],
    "memory": ["report", "--stdio", "--mem-mode", "--sort", "mem,snoop,tlb,symbol_daddr,dso_daddr,dcacheline,symbol_iaddr,phys_daddr"],
    "cycles": ["report", "--stdio", "--total-cycles"],
    "script": ["script"],
    "script-all": ["script", "--show-mmap-events", "--show-task-events", "--header"],
    "dump": ["script", "-D"],
    "evlist": ["evlist", "-v"],
    "buildid-list": ["buildid-list"],
    "inject": ["inject", "-b", "-o", "/dev/null"],
    "folded": ["flamegraph", "--folded"],
    "lock": ["lock", "contention", "-t"],
}
ONE_THREAD = {"dump", "evlist", "inject"} # they start no second one with any of these recordings: ThreadSanitizer has nothing to find
MEMORY = 4 << 30
SANITIZED = "ASAN_OPTIONS" in os.environ  # set by tools/run-tests: address space limits don't go with sanitizers
RACES = "TSAN_OPTIONS" in os.environ  # it is set for ThreadSanitizer alone
# Damage at some bytes of a recording, most for the command that reads most. The steps are odd, so that over some records each byte of their fields is hit.
# Each byte's turn comes in tests/fuzz, in tests/unit/perfdata, and in `make soak` for the commands themselves.
STEPS = {"report": 23, "script": 47, "dump": 41, "evlist": 37, "inject": 53}
STEPS_SOAK = {"report": 1, "script": 3, "dump": 1, "evlist": 1, "inject": 5}


SOAK = "PERF_SOAK" in os.environ


def places(name, size):
    """The bytes of a recording whose turn it is. With sanitizers, which take five times as long to start, other ones for each command: what they have in common
    sees one in 25."""
    if SANITIZED and not SOAK:
        return range(25 * list(STEPS).index(name), size, 25 * len(STEPS) + 2)
    return range(0, size, 5 if SANITIZED else STEPS_SOAK[name] if SOAK else STEPS[name])


def some(things, turn):
    """With sanitizers, which take long to start, every third of the things, or sixth where races are looked for, others for the next turn. All of them in `make soak`."""
    step = 1 if SOAK or not SANITIZED else 6 if RACES else 3
    return things[turn % step::step]


@pytest.fixture(scope="module", autouse=True)
def limit():
    """Of the address space: what is started inherits it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def examine(perf, words, path, data=None):
    """Runs a command on a file; returns what is wrong, or None."""
    try:
        done = subprocess.run([perf.path, *words, "--force", "-i", str(path)], input=data, stdin=None if data else subprocess.DEVNULL,
                              capture_output=True, timeout=900, check=False)
    except subprocess.TimeoutExpired:
        return f"{path}: hangs"
    if done.returncode < 0 or b"Sanitizer" in done.stderr or b"runtime error:" in done.stderr or done.returncode in (134, 139):
        return f"{path}: status {done.returncode}\n{done.stderr[-3000:].decode(errors='replace')}"
    if done.returncode not in (0, 255):
        return f"{path}: status {done.returncode}\n{done.stderr[-500:].decode(errors='replace')}"
    if done.returncode and not done.stderr:
        return f"{path}: fails without a word"
    if b"\x1b" in done.stdout or b"\x1b" in done.stderr:
        return f"{path}: an escape character in the output"
    return None


def examine_all(perf, words, cases):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(lambda case: examine(perf, words, *case), cases) if problem]
    assert not problems, "\n".join(problems[:10])


@pytest.mark.sanitize
@pytest.mark.soak
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in ONE_THREAD else pytest.mark.threads) for name in COMMANDS])
def test_every_recording_of_others(perf, corpus, name):
    files = [path for path in sorted(corpus.rglob("*")) if path.is_file() and path.suffix not in (".tsv", ".txt", ".md")]
    assert len(files) > 100
    examine_all(perf, COMMANDS[name], [(path,) for path in some(files, list(COMMANDS).index(name))])


@pytest.fixture(scope="session")
def small_file(perf, tmp_path_factory):
    """A recording of a few KB, without descriptions of BPF programs, one's own for stacks or the neighbours': those have tens of KB."""
    path = tmp_path_factory.mktemp("small") / "perf.data"
    done = perf("record", "-q", "-B", "--synth", "no", "--no-bpf-event", "-e", "page-faults", "-c", 10, "--call-graph", "fp", "-o", path, "true")
    if done.returncode:
        pytest.skip(f"no recording can be made here: {done.stderr.strip()}")
    data = path.read_bytes()
    assert len(data) < 12000, len(data)
    return data


def damaged(name):
    """A command for a damaged recording; without the kernel's symbols and debug information, which take longer to load than the rest."""
    return COMMANDS[name] + (["--kallsyms", "/dev/null"] if name not in ("evlist", "inject") else []) + (["--no-inline"] if name in ("report", "script", "dump") else [])


@pytest.mark.sanitize
@pytest.mark.soak
@pytest.mark.parametrize("name", ["report", "script", "dump", "evlist", "inject"])
def test_every_truncation(perf, small_file, tmp_path, name):
    data = small_file
    cases = []
    for size in places(name, len(data)):
        path = tmp_path / str(size)
        path.write_bytes(data[:size])
        cases.append((path,))
    examine_all(perf, damaged(name), cases)


@pytest.mark.sanitize
@pytest.mark.soak
@pytest.mark.parametrize("name", ["report", "script", "dump", "evlist", "inject"])
def test_every_changed_byte(perf, small_file, tmp_path, name):
    data = small_file
    cases = []
    for position in places(name, len(data)):
        changed = bytearray(data)
        changed[position] ^= (0xFF, 0x80, 0x01, 0x7F)[position % 4]
        path = tmp_path / str(position)
        path.write_bytes(changed)
        cases.append((path,))
    examine_all(perf, damaged(name), cases)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_recording_at_all(perf, tmp_path, name):
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("this is no recording\n" * 20)
    for file in ("empty", "folder", "text", "missing", "/dev/null"):
        done = perf(*COMMANDS[name], "-i", tmp_path / file)
        assert done.returncode == 255 and done.stderr.startswith("perf "), f"{file}: {done.returncode} {done.stderr}"
        assert file in done.stderr


@pytest.mark.sanitize
@pytest.mark.threads
@pytest.mark.soak
def test_one_thread_or_many_say_the_same(perf, corpus):
    files = sorted(path for path in corpus.rglob("*.data") if path.stat().st_size > 50000)[:20]
    for path in some(files, 0):
        text = [COMMANDS["script"]] if path.stat().st_size < 1 << 20 else []
        for words in (COMMANDS["report"], COMMANDS["folded"], COMMANDS["memory"], COMMANDS["cycles"], ["report", "--stdio", "--no-children", "--sort", "dso,sym", "-g", "none"], *text):
            many = perf(*words, "-f", "--jobs", "5", "-i", path, text=False)
            if RACES: # one thread has none; what both say is compared where nothing watches
                assert many.returncode in (0, 255) and b"ThreadSanitizer" not in many.stderr, f"{path}: {words}: {many.stderr}"
                continue
            one = perf(*words, "-f", "--jobs", "1", "-i", path, text=False)
            assert one.stdout == many.stdout and one.returncode == many.returncode, f"{path}: {words}"


@pytest.mark.sanitize
def test_events_that_come_late(perf, tmp_path):
    """A pipe's recording may describe events behind its first sample: the tables were made without them."""
    def record(kind, payload):
        return struct.pack("<IHH", kind, 2, 8 + len(payload)) + payload

    def attribute(number):
        sample_type = 1 << 16 | 7  # IDENTIFIER, IP, TID, TIME
        return record(64, struct.pack("<IIQQQQQ", 1, 128, 0, 1000, sample_type, 0, 1 << 18).ljust(128, b"\0") + struct.pack("<Q", number))

    def sample(number):
        return record(9, struct.pack("<QQIIQ", number, 0x400000, 1, 1, 10 + number))

    late = range(2, 2000)
    data = b"PERFILE2" + struct.pack("<Q", 16) + attribute(1) + sample(1)
    data += b"".join(map(attribute, late)) + b"".join(map(sample, late))
    path = tmp_path / "late.data"
    path.write_bytes(data)
    for words in COMMANDS.values():
        assert not (examine(perf, words, path) or examine(perf, words, "-", data))


def recording_of_events(count, last):
    """A file of `count` events without fields to speak of; the last one's samples have call chains. The samples are of the events in `last`."""
    def attribute(chain):
        sample_type = 1 << 16 | 7 | (32 if chain else 0)  # IDENTIFIER, IP, TID, TIME, CALLCHAIN
        return struct.pack("<IIQQQQQ", 1, 64, 0, 1000, sample_type, 0, 1 << 18).ljust(64, b"\0")

    attr_size, ids = 64 + 16, 104
    attrs = ids + 8 * count
    data = attrs + attr_size * count
    samples = b""
    for number in last:
        fields = struct.pack("<QQIIQ", number + 1, 0x400000 + number, 1, 1, 10 + number)
        fields += struct.pack("<QQ", 1, 0x400000 + number) if number == count - 1 else b""
        samples += struct.pack("<IHH", 9, 2, 8 + len(fields)) + fields
    head = b"PERFILE2" + struct.pack("<12Q", 104, attr_size, attrs, attr_size * count, data, len(samples), 0, 0, 0, 0, 0, 0)
    numbers = struct.pack(f"<{count}Q", *range(1, count + 1))
    body = b"".join(attribute(i == count - 1) + struct.pack("<QQ", ids + 8 * i, 8) for i in range(count))
    return head + numbers + body + samples


@pytest.mark.sanitize
def test_more_events_than_16_bits(perf, tmp_path):
    """The last event's samples have another layout than those of the event with the same low 16 bits of its number."""
    path = tmp_path / "many.data"
    path.write_bytes(recording_of_events(65536 + 4, [0, 65536 + 3]))
    assert not examine(perf, COMMANDS["report"], path)
    done = perf("report", "--stdio", "-f", "-i", path, "--sort", "sym", "-g", "none", "--no-children")
    rows = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]
    assert sorted(row[-1] for row in rows) == ["0x0000000000400000", "0x0000000000410003"]


@pytest.mark.skipif(SANITIZED, reason="limits of address space don't go with sanitizers")
def test_headers_without_end(perf):
    """A pipe that goes on describing itself is read in bounded memory."""
    block = struct.pack("<IHH", 73, 0, 65528).ljust(65528, b"\0")  # THREAD_MAP, which says nothing here
    command = ["sh", "-c", 'ulimit -v 500000; exec "$0" "$@"', perf.path, "script", "-i", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"PERFILE2" + struct.pack("<Q", 16))
        for _ in range(12000):
            process.stdin.write(block)
        out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error


def test_groups_that_are_none(perf, tmp_path):
    """Sets of events that overlap or are as large as no group: in neither memory nor time more than single events."""
    count = 60000
    data = bytearray(recording_of_events(count, range(10)))
    at = len(data)
    groups = [(0, count)] + [(i, 3) for i in range(0, count - 3)]
    section = struct.pack("<I", len(groups)) + b"".join(struct.pack("<I16sII", 16, b"{anon_group}", *group) for group in groups)
    data += struct.pack("<QQ", at + 16, len(section)) + section
    struct.pack_into("<Q", data, 72, 1 << 17)  # GROUP_DESC
    path = tmp_path / "groups.data"
    path.write_bytes(data)
    assert not examine(perf, COMMANDS["report"], path)


@pytest.mark.skipif(SANITIZED, reason="limits of address space don't go with sanitizers")
def test_events_without_samples_cost_little(perf, tmp_path):
    path = tmp_path / "many.data"
    path.write_bytes(recording_of_events(200000, [0, 199999]))
    command = ["sh", "-c", 'ulimit -v 500000; exec "$0" "$@"', perf.path]
    for words in (COMMANDS["script"], COMMANDS["report"]):
        done = subprocess.run([*command, *words, "--jobs", "2", "-f", "-i", path], capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout.count(b"cpu-clock") == 2, done.stderr
