"""perf script against the kernel's perf 6.1: recordings of every kind, made here by both recorders, printed with many options, line by line."""
import itertools
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike
import branches
import recording

# A thread, children that fork and exec, files, page faults: something of everything.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long sink;
static char buffer[4096];
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void middle(int n) { leaf(n); leaf(n / 2); }
__attribute__((noinline)) void deep(int depth) { if (depth) deep(depth - 1); else middle(300000); sink++; }
static void *work(void *argument) { for (int i = 0; i < 10; i++) { deep(5); usleep(200); } return argument; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (!pid) {
			memset(malloc(1 << 20), 1, 1 << 20);
			deep(3);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		FILE *file = fopen("/etc/passwd", "r");
		while (file && fgets(buffer, sizeof(buffer), file))
			;
		if (file)
			fclose(file);
		deep(8);
	}
	pthread_join(thread, NULL);
	return 0;
}
"""

# name → words for `perf record`
RECORDINGS = {
    "plain": [],
    "stacks": ["-g"],
    "system": ["-a", "-g"],
    "tracepoints": ["-a", "-e", "sched:*"],
    "tracepoint-stacks": ["-a", "-g", "-e", "sched:sched_switch,sched:sched_wakeup"],
    "syscalls": ["-e", "syscalls:*"],
    "raw-syscalls": ["-a", "-g", "-e", "raw_syscalls:*"],
    "functions": ["-a", "-e", "irq:*,timer:*,workqueue:*"],
    "group": ["-e", "{cpu-clock,page-faults,context-switches}"],
    "group-read": ["-g", "-e", "{cpu-clock,page-faults,task-clock}:S"],
    "memory": ["-d", "-s", "-T", "-W"],
    "compressed": ["-z", "-g"],
    "several": ["-e", "cpu-clock,page-faults,context-switches,minor-faults,sched:sched_switch,task-clock:u"],
    "several-stacks": ["-a", "-g", "-e", "cpu-clock,page-faults,context-switches,sched:sched_switch"],
    "switches": ["--switch-events", "-a"],
    "cgroups": ["--all-cgroups", "-a"],
    "namespaces": ["--namespaces"],
    "software": ["-e", "cpu-clock,task-clock,page-faults,cpu-migrations,dummy,bpf-output"],
    "registers": ["-g", "--intr-regs", "--user-regs=ip,sp,ax"],
    "pages": ["--phys-data", "-d", "--code-page-size", "--data-page-size"],
    "faults": ["-d", "-g", "-e", "page-faults", "-c", "1"],
    "everything": ["-P", "-T", "--sample-cpu", "--sample-identifier", "-R", "--transaction"],
    "clock": ["-k", "CLOCK_MONOTONIC", "-g"],
    "build-ids": ["--buildid-mmap", "-g"],
    "per-thread": ["--per-thread"],
    "dummy": ["-e", "dummy"],
}
OURS = ["plain", "system", "tracepoint-stacks", "group-read", "memory", "compressed", "several-stacks", "switches", "registers", "namespaces"]

# Options that are tried on every recording, and more on some.
EVERYWHERE = [[], ["-G"], ["-F", "comm,pid,tid,time,event,ip,sym,symoff,dso"]]
STACKS = [["--max-stack", "3"], ["-F", "ip,sym"], ["-F", "+misc"], ["-F", "-dso"], ["--stop-bt", "deep"], ["--no-demangle"], ["-F", "comm,ip,dso"]]
TIMES = [["--ns"], ["--reltime"], ["--deltatime", "--ns"], ["--time", "20%-60%"], ["--time", "10%/2"]]
RECORDS = [["--show-task-events", "--show-mmap-events"], ["--show-switch-events", "-C", "0"],
           ["--show-namespace-events", "--show-cgroup-events", "--show-lost-events", "--show-bpf-events", "--show-text-poke-events"]]
FILTERS = [["-c", "true,swapper"], ["--tid", "0"], ["-S", "leaf,0xffffffff81000000"], ["--dsos", "[kernel.kallsyms]"], ["-C", "1"]]
OPTIONS = {
    "plain": TIMES + FILTERS[:1] + FILTERS[2:4] + [["-F", "-ip"], ["-F", "sw:-comm,+pid"], ["-F", "event,period"], ["-F", "sym,dso"], ["--header"], ["-L"], ["-d"], ["--symfs", "/"]],
    "stacks": STACKS + TIMES[:1] + RECORDS[:1] + [["-D"]],
    "system": STACKS[:3] + FILTERS + RECORDS + [["-L", "--ns"]],
    "tracepoints": [["-F", "+period"], ["-L"], ["-d"], ["-F", "trace:comm,trace"], ["--switch-on", "sched:sched_wakeup"], ["--time", "0%-30%"]],
    "tracepoint-stacks": [["-F", "trace:+period"], ["-F", "trace:comm,trace,ip"], ["-F", "hw:+misc"], *STACKS[:1]],
    "group-read": [["-D"], ["-F", "+misc"]],
    "memory": [["-F", "+data_src,+weight"], ["-F", "+addr"], ["-F", "ip,sym,weight,ins_lat,data_src"]],
    "compressed": [["--show-task-events"], ["--show-mmap-events", "--ns"]],
    "several": [["-F", "trace:"], ["-F", "trace:comm", "-F", "sw:pid,ip"], ["--deltatime"], ["-F", "+brstack"]],
    "several-stacks": [["-F", "+misc"], ["--show-task-events"]],
    "switches": RECORDS,
    "cgroups": RECORDS,
    "namespaces": RECORDS,
    "registers": [["-F", "+iregs,+uregs"], ["-F", "ip,iregs"]],
    "pages": [["-F", "+phys_addr,+data_page_size,+code_page_size"], ["-F", "addr,ip,sym,dso"]],
    "faults": [["-F", "+addr"], ["-F", "addr,sym"], ["-F", "addr,ip,sym,dso,symoff", "-G"]],
    "clock": [["-F", "+tod"], ["-F", "tod,ip", "--ns"]],
    "build-ids": RECORDS[:1],
    "dummy": RECORDS[:1],
}


@pytest.fixture(name="perf", scope="module")
def perf_fixture(kernel_form):
    """Stacks in the kernel tool's form."""
    return kernel_form


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("script")
    (path / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", "work", "work.c"], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def record(folder, oracle):
    """Makes each recording once. Skips what this machine can't record."""
    made = {}

    def make(recorder, name, words):
        path = folder / f"{name}.{'theirs' if recorder is oracle else 'ours'}.data"
        if path not in made:
            result = recorder.record(path, *words, "--", "./work", cwd=folder)
            made[path] = None if path.exists() and result.returncode == 0 else result.stderr.strip()[-300:]
        if made[path] is not None:
            pytest.skip(f"perf record {' '.join(words)} is not possible here: {made[path]}")
        return path

    return make


TIMER_FLAGS = re.compile(rb"(timer:timer_start: .* flags=)[A-Z|]*$")


def explained(theirs, ours):
    """Theirs takes "flags & (A | B)" of a print format for "flags & A | B"."""
    return alike.line(theirs, ours) or (b" flags=" in ours and TIMER_FLAGS.sub(rb"\1", ours) == TIMER_FLAGS.sub(rb"\1", theirs))


def assert_same(theirs, ours, what):
    alike.lines(theirs, ours, what, same=explained)


def both(perf, oracle, path, options, **arguments):
    theirs = oracle("script", "-i", path, *options, text=False, **arguments)
    ours = perf("script", "-i", path, *options, text=False, **arguments)
    assert (ours.returncode == 0) == (theirs.returncode == 0), ours.stderr + theirs.stderr
    return theirs.stdout, ours.stdout


def cases(names):
    for name in names:
        for options in EVERYWHERE + OPTIONS.get(name, []):
            yield pytest.param(name, options, id=f"{name}:{' '.join(options) or 'default'}")


@pytest.mark.parametrize("name,options", cases(RECORDINGS))
def test_theirs(perf, oracle, record, name, options):
    path = record(oracle, name, RECORDINGS[name])
    theirs, ours = both(perf, oracle, path, options, cwd=path.parent)
    assert_same(theirs, ours, f"{name} {options}")
    assert theirs or name == "dummy" or options, "the recording is empty"


def test_time_without_times_in_the_header(perf, oracle, record):
    """Compressed recordings don't tell their first and last sample; theirs can't take parts of them."""
    path = record(oracle, "compressed", RECORDINGS["compressed"])
    parts = [perf("script", "-i", path, "-G", "--time", part).stdout for part in ("0%-50%", "50%-100%")]
    assert all(parts)
    assert "".join(parts) == perf("script", "-i", path, "-G").stdout


@pytest.mark.parametrize("name,options", [(name, options) for name in OURS for options in [[], *OPTIONS.get(name, [])[-2:]]])
def test_ours(perf, oracle, record, name, options):
    path = record(perf, name, RECORDINGS[name])
    theirs, ours = both(perf, oracle, path, options, cwd=path.parent)
    assert_same(theirs, ours, f"our {name} {options}")


@pytest.mark.parametrize("words", [["-g"], ["-a", "-e", "sched:sched_switch,cpu-clock"], ["-z", "-g"]])
@pytest.mark.parametrize("options", [[], ["-F", "+misc"], ["--show-task-events"]])
def test_pipe(perf, oracle, folder, words, options):
    data = oracle.record("-", *words, "--", "./work", cwd=folder).stdout
    if not data:
        pytest.skip("perf record -o - is not possible here")
    theirs = oracle("script", "-i", "-", *options, text=False, stdin=None, input=data, cwd=folder).stdout
    ours = perf("script", "-i", "-", *options, text=False, stdin=None, input=data, cwd=folder).stdout
    assert_same(theirs, ours, f"pipe {words} {options}")


def change_event(path, out, kind, config, period=None):
    """The recording with its first event turned into another one; without the feature that holds its name."""
    data = bytearray(path.read_bytes())
    attrs, records, size = struct.unpack_from("<Q", data, 24)[0], *struct.unpack_from("<QQ", data, 40)
    features = [bit for bit in range(256) if data[72 + bit // 8] >> bit % 8 & 1]
    sections = [data[records + size + 16 * i : records + size + 16 * i + 16] for i in range(len(features))]
    kept = [section for bit, section in zip(features, sections) if bit != 12]
    data[records + size : records + size + 16 * len(kept)] = b"".join(kept)
    data[72 + 1] &= ~(1 << 4)
    struct.pack_into("<I", data, attrs, kind)
    struct.pack_into("<Q", data, attrs + 8, config)
    if period:
        struct.pack_into("<Q", data, attrs + 16, period)
        struct.pack_into("<Q", data, attrs + 40, struct.unpack_from("<Q", data, attrs + 40)[0] & ~(1 << 10))
    out.write_bytes(data)
    return out


# Types of events that this machine hasn't got: hardware, cache, raw, breakpoint, two of PMUs, and traced branches.
@pytest.mark.parametrize("kind,config,period", [(0, 0, None), (3, 0, None), (4, 0x1C2, None), (5, 0, None), (7, 0, None), (20, 0, None), (0, 4, 1)])
@pytest.mark.parametrize("name", ["plain", "system", "memory", "faults"])
@pytest.mark.parametrize("options", [[], ["-F", "hw:comm,ip,sym", "-F", "raw:comm,ip,addr"], ["-F", "+misc"]])
def test_types(perf, oracle, record, folder, kind, config, period, name, options):
    path = change_event(record(oracle, name, RECORDINGS[name]), folder / "changed.data", kind, config, period)
    theirs, ours = both(perf, oracle, path, options)
    assert_same(theirs, ours, f"{name} as type {kind} {options}")


def test_bpf_output(perf, oracle, record, folder):
    """Raw bytes as a BPF program's output. Theirs prints bytes above 0xa0 as they are."""
    path = change_event(record(oracle, "tracepoint-stacks", RECORDINGS["tracepoint-stacks"]), folder / "changed.data", 1, 10)
    theirs, ours = both(perf, oracle, path, [])
    plain = re.compile(rb"[\x80-\xff]")
    assert_same(plain.sub(b".", theirs), ours, "bpf-output")
    assert b"BPF output: 0000:" in ours


# Theirs names the compiled file where the line is of one that it includes, and has ":0" where no line is known.
SOURCE = re.compile(rb"^  (\S*?)(?::(\d+)|\[[0-9a-f]+\])( \(inlined\))?$")


# A sample in the C library's first instructions: theirs has no line below it, or ":0", where ours says the place in the file.
START = re.compile(rb"^.*\b_start\b.*\n(?:  (?:\S*\[[0-9a-f]+\]|:0)\n)?", re.MULTILINE)


@pytest.mark.parametrize("name,options", [("stacks", ["-F", "+srcline"]), ("plain", ["-F", "ip,sym,srcline"])])
def test_source_lines(perf, oracle, record, name, options):
    theirs, ours = (START.sub(b"", text) for text in both(perf, oracle, record(oracle, name, RECORDINGS[name]), options))
    lines = list(itertools.zip_longest(theirs.splitlines(), ours.splitlines(), fillvalue=b""))
    own = [(a, b) for a, b in lines if b"work.c:" in a]
    assert own
    for a, b in lines:
        c, d = SOURCE.match(a), SOURCE.match(b)
        assert explained(a, b) or (a, b) not in own and c and d and (c[2] == d[2] or a == b"  :0"), (a, b)


@pytest.mark.parametrize("name, options", [("plain", []), ("stacks", []), ("several", ["-F", "sw:+srccode"])])
def test_source_code(perf, oracle, record, name, options):
    """The lines below samples; the other lines have tests of their own."""
    path = record(oracle, name, RECORDINGS[name])
    words = ["script", "-i", path, *(options or ["-F", "+srccode"])]
    theirs, ours = [[line for line in program(*words).stdout.splitlines() if line.startswith("|")] for program in (oracle, perf)]
    assert any("sink += i * 3" in line for line in theirs)
    # Of the C library's sources none is here; the kernel's perf finds work.c where it was compiled, as we do.
    assert ours == theirs


def test_data_sources(perf, oracle, record, folder):
    """Every name of every part of a memory sample's data source, and usual combinations."""
    data = bytearray(record(oracle, "memory", RECORDINGS["memory"]).read_bytes())
    at, size = struct.unpack_from("<QQ", data, 40)
    end, number = at + size, 0
    fields = struct.unpack_from("<Q", data, struct.unpack_from("<Q", data, 24)[0] + 24)[0]
    source = 8 + 8 * sum(fields >> bit & 1 for bit in (16, 0, 1, 2, 3, 6, 9, 7, 8, 14, 24))
    values = [1 << bit for bit in range(43)]
    values += [0x5080021 | level << 33 for level in range(16)] + [0x11868100242, 0x10268100142, 0x2A << 33 | 0x29, 0x08 << 40 | 0x142, 5 | 3 << 43]
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == 9 and fields >> 15 & 1:
            struct.pack_into("<Q", data, at + source, values[number % len(values)])
            number += 1
        at += length
    assert number > 10
    path = folder / "sources.data"
    path.write_bytes(data)
    theirs, ours = both(perf, oracle, path, ["-F", "data_src"])
    assert_same(theirs, ours, "data sources")


def test_per_event_dump(perf, oracle, record, tmp_path):
    source = record(oracle, "several", RECORDINGS["several"])
    texts = []
    for tool in (oracle, perf):
        folder = tmp_path / str(len(texts))
        folder.mkdir()
        shutil.copy(source, folder / "perf.data")
        told = re.sub(r"[\d.]+ MB", "MB", tool("script", "--per-event-dump", "-i", "perf.data", cwd=folder).stdout)  # theirs counts before it has written
        texts.append({"": told, **{path.name: path.read_text() for path in folder.glob("*.dump")}})
    assert texts[0] == texts[1]
    assert len(texts[1]) > 5


@pytest.mark.threads
def test_one_job_as_many(perf, record, oracle):
    for name in ("system", "tracepoints", "several-stacks"):
        path = record(oracle, name, RECORDINGS[name])
        one, many = (perf("script", "-i", path, "--jobs", jobs).stdout for jobs in ("1", "3"))
        assert one == many and one.count("work ") > 10


# What stackcollapse-perf.pl and its kin read: a line for the sample, a line for each frame, an empty line.
# The kernel names a thread that has just ended -1.
SAMPLE = re.compile(r"^(\S.*?)\s+(-?\d+)/?(\d+)*\s+(\[\d+\]\s+)?[\d.]+:\s+(\d+\s+)?[^:]\S*:\s*")
FRAME = re.compile(r"^\s*([0-9a-f]+)\s(.+) \((\S.*)\)$")


@pytest.mark.parametrize("name", ["stacks", "system", "raw-syscalls"])
def test_grammar_of_stacks(perf, oracle, record, name):
    text = perf("script", "-i", record(oracle, name, RECORDINGS[name])).stdout
    samples = text.split("\n\n")
    assert samples.pop() == ""
    assert len(samples) > 10
    for sample in samples:
        head, *frames = sample.split("\n")
        assert SAMPLE.match(head), head
        for frame in frames:
            assert FRAME.match(frame), frame


def test_switch_off_ends(perf, oracle, record):
    """After --switch-off nothing is shown (the kernel's perf leaves out just that one sample)."""
    path = record(oracle, "several", RECORDINGS["several"])
    lines = perf("script", "-i", path).stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if "sched:sched_switch:" in line)
    assert perf("script", "-i", path, "--switch-off", "sched:sched_switch").stdout.splitlines() == lines[:first]
    shown = perf("script", "-i", path, "--switch-off", "sched:sched_switch", "--show-on-off-events").stdout.splitlines()
    assert shown == lines[: first + 1]


def test_list_of_fields(perf):
    """Each field has its words of help, and can be asked for."""
    lines = perf("script", "-F", "help").stdout.splitlines()
    assert len(lines) > 25 and all(len(line.split()) > 1 for line in lines)
    for line in lines:
        kind = {"trace": "trace", "bpf-output": "sw"}.get(line.split()[0], "hw")
        result = perf("script", "-F", f"{kind}:{line.split()[0]}", "-i", "/nonexistent")
        assert "/nonexistent" in result.stderr, result.stderr


@pytest.mark.parametrize("words,text", [
    (["-F", "nonsense"], "nonsense"),
    (["-F", "comm,+tid"], "+"),
    (["-F", ""], "cannot be empty"),
    (["-F", "sw:trace"], "trace"),
    (["-F", "nonsense:comm"], "nonsense"),
    (["--reltime", "--deltatime"], "--reltime"),
    (["--pid", "1x"], "1x"),
])
def test_wrong_usage(perf, words, text):
    result = perf("script", *words)
    assert result.returncode == 129
    assert text in result.stderr


@pytest.mark.parametrize("words", [["-F", "+weight"], ["-F", "iregs"], ["-F", "+tod"], ["--switch-on", "nonsense"], ["-F", "comm,srcline"],
                                   ["-k", "/nonexistent"], ["--kallsyms", "/nonexistent"]])
def test_asked_for_but_not_recorded(perf, oracle, record, words):
    result = perf("script", "-i", record(oracle, "plain", RECORDINGS["plain"]), *words)
    assert result.returncode != 0
    assert result.stderr and not result.stdout


@pytest.mark.parametrize("words", [["-F", "+insn"], ["-F", "+insnlen"], ["-F", "ip,sym,insn,insnlen"]], ids=" ".join)
def test_instructions(perf, oracle, record, words):
    """Of programs. (The kernel's own code the kernel's perf finds only with a vmlinux or kcore.)"""
    path = record(oracle, "plain", RECORDINGS["plain"])
    theirs, ours = both(perf, oracle, path, [*words, "--dsos", "work"])
    assert_same(theirs, ours, words)
    assert b"insn: " in ours or b"ilen: " in ours


def test_instructions_as_text(perf, oracle, record):
    """binutils takes the same bytes for the same instructions."""
    path = record(oracle, "plain", RECORDINGS["plain"])
    lines = perf("script", "-i", path, "-F", "ip,sym,symoff,disasm", "--dsos", "work").stdout.splitlines()
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path.parent / "work"], capture_output=True, text=True, check=True).stdout
    start = int(re.search(r"^([0-9a-f]+) <leaf>:", code, re.M).group(1), 16)
    looked_at = 0
    for line in lines:
        found = re.match(r" *[0-9a-f]+ leaf\+0x([0-9a-f]+)\t\t(\S+)", line)
        if not found:
            continue
        name = re.search(rf"^ +{start + int(found.group(1), 16):x}:\t(\S+)", code, re.M)
        assert name and found.group(2).startswith(name.group(1).rstrip("lqwb")), line
        looked_at += 1
    assert looked_at


@pytest.mark.parametrize("words", [["-F", "ip,sym,brstackinsn"], ["-F", "comm,ip,brstackinsn,brstackinsnlen"], ["-F", "brstackinsn", "--max-blocks", "2"]], ids=" ".join)
def test_code_between_branches(perf, oracle, folder, words):
    path = folder / "branches.data"
    if not path.exists():
        path.write_bytes(recording.Maker(branches.make(folder, every=41)[1]).make())
    theirs, ours = both(perf, oracle, path, words)
    assert theirs == ours and b" IPC\n" in ours and b"sum+" in ours


@pytest.mark.parametrize("caps,width", [("", 2), ("feature cpu_pmu_caps branch_counter_nr 4 branch_counter_width 4\n", 4)], ids=["usual", "told"])
def test_counters_of_branches(perf, folder, caps, width):
    """A letter for each time that an event of the group happened before the branch; the rest is as without counters."""
    text, written = branches.with_counters(caps + branches.make(folder, every=41)[1], width)
    path = folder / f"counters{width}.data"
    path.write_bytes(recording.make(text))
    plain, counted, named = (perf("script", "-i", path, "-F", f"ip,sym,{fields}", *more) for fields, more in
                             (("brstackinsn", ()), ("brstackinsn,brcntr", ()), ("brstackinsn,brcntr", ("-v",))))
    legend = "# Branch counter abbr list:\n# cycles = A\n# branch-misses = B\n# instructions = C\n# '-' No event occurs\n# '+' Event occurrences may be lost due to branch counter saturated\n"
    assert counted.stdout.startswith(legend) and re.sub("\tbr_cntr: A*B*(?=\t#)", "", counted.stdout[len(legend):]) == plain.stdout
    letters = re.findall("\tbr_cntr: (A*)(B*)\t# ", counted.stdout)
    numbers = [(int(a), int(b)) for a, b in re.findall("\tbr_cntr: cycles ([0-9]+) branch-misses ([0-9]+) \t# ", named.stdout)]
    assert [(len(a), len(b)) for a, b in letters] == numbers and len(numbers) > 20 and set(numbers) <= set(written) and "abbr list" not in named.stdout
    rows = [json.loads(line) for line in perf("script", "--json", "-i", path).stdout.splitlines()]
    shown = [tuple(counter["count"] for counter in branch["counters"]) for row in rows for branch in row["branches"]]
    assert shown == written and rows[0]["branches"][0]["counters"][1]["event"] == "branch-misses"


def test_counters_that_were_not_recorded(perf, folder):
    path = folder / "branches.data"
    if not path.exists():
        path.write_bytes(recording.Maker(branches.make(folder, every=41)[1]).make())
    done = perf("script", "-i", path, "-F", "+brstackinsn,+brcntr")
    assert done.returncode == 255 and "-j any,counter" in done.stderr and not done.stdout


def test_code_between_branches_taken_apart(perf, folder):
    """--xed and brstackdisasm show, at each address, what objdump says of it."""
    path = folder / "branches.data"
    if not path.exists():
        path.write_bytes(recording.Maker(branches.make(folder, every=41)[1]).make())
    bytes_there, apart, xed = (perf("script", "-i", path, *words).stdout for words in
                               (["-F", "ip,sym,brstackinsn"], ["-F", "ip,sym,brstackdisasm"], ["-F", "ip,sym,brstackinsn", "--xed"]))
    assert apart == xed and apart.count("\n") == bytes_there.count("\n") and "insn:" not in apart
    program = re.search(r"mmap.* name=(\S+)", branches.make(folder, every=41)[1])[1]
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True).stdout
    names = dict(re.findall(r"^ +([0-9a-f]+):\t(\S+)", code, re.M))
    shown = re.findall(r"^\t([0-9a-f]{16})\t(\S+)", apart, re.M)
    known = [(name, names[address.lstrip("0")]) for address, name in shown if address.lstrip("0") in names]
    assert len(known) > 20
    assert all(name.rstrip("lqwb") == expected.rstrip("lqwb") for name, expected in known)


def test_range_of_addresses(perf, oracle, record):
    """Around a sample well inside of a function: an address where one begins stands for all of it in ours."""
    path = record(oracle, "plain", RECORDINGS["plain"])
    samples = re.findall(r"^ *([0-9a-f]+) \w+\+0x([0-9a-f]+)$", perf("script", "-i", path, "-F", "ip,sym,symoff", "--dsos", "work").stdout, re.MULTILINE)
    _, address = max((int(offset, 16), int(ip, 16)) for ip, offset in samples)
    for words, inside in ((["-S", f"{address:#x}"], True), (["-S", f"{address - 15:#x}", "--addr-range", "16"], True),
                          (["-S", f"{address - 16:#x}", "--addr-range", "16"], False)):
        theirs, ours = both(perf, oracle, path, words)
        assert_same(theirs, ours, words)
        assert (f" {address:x} ".encode() in ours) == inside


def test_dump_in_the_order_of_the_file(perf, oracle, record):
    """The kernel's perf calls the ends of rounds unhandled."""
    path = record(oracle, "system", RECORDINGS["system"])
    theirs, ours = both(perf, oracle, path, ["--dump-unsorted-raw-trace"])
    assert theirs.replace(b": unhandled!", b"") == ours.replace(b": unhandled!", b"")
    offsets = [int(word, 16) for word in re.findall(rb"^(?:-?\d+ )*(0x[0-9a-f]+) \[0x", ours, re.M)]
    assert len(offsets) > 50 and offsets == sorted(offsets)


@pytest.mark.parametrize("name, fields", [("raw-syscalls", "+flags"), ("raw-syscalls", "+callindent"), ("raw-syscalls", "+ipc"), ("raw-syscalls", "comm,flags,event"),
                                          ("branches", "ip,sym,flags,event"), ("branches", "+flags"), ("raw-syscalls", "+flags,+period"), ("branches", "flags,ipc,callindent")])
def test_fields_of_instruction_traces(perf, oracle, record, tmp_path, name, fields):
    """Without such traces they are blank, and that is said."""
    path = tmp_path / "perf.data"
    if name == "branches":
        path.write_bytes(recording.make("event branches type=0 config=4 freq=1 sample=IP|TID|TIME|ADDR flags=sample_id_all\ncomm pid=1 tid=1 name=ls\n"
                                        "sample event=0 ip=0x400123 addr=0x400200 pid=1 tid=1 time=10\n"))
    else:
        path = record(oracle, name, RECORDINGS[name])
    theirs, ours = both(perf, oracle, path, ["-F", fields])
    assert_same(theirs, ours, fields)
    assert theirs
    assert "decoded instruction traces" in perf("script", "-i", path, "-F", fields).stderr


SYNTHETIC = {
    0: [struct.pack("<IQ", 1, 0x1234), *(struct.pack("<IQ", 0, text) for text in (0, 0x41, 0x4100, 0x414141, 0x7f, 0x41004141, 0x4142434445464748, 0x412041)), b"1234"],
    1: [struct.pack("<IQ", 0, 0x300000015)],
    2: [struct.pack("<IQ", 0, 0xffffffffffffffff), struct.pack("<IQ", 0, 0x801234)],
    3: [struct.pack("<I", 1), struct.pack("<I", 0)],
    4: [struct.pack("<IQ", 0, 0xffffffff), struct.pack("<IQ", 0, 0x1234)],
    5: [struct.pack("<III", ratio | most << 16, khz, 0) for ratio, most, khz in ((10, 20, 1000499), (10, 20, 1000500), (30, 20, 123), (0, 0, 0))],
    6: [struct.pack("<IQ", 0, 0x1234)],
    7: [*(struct.pack("<II", kind | (kind & 1) << 7 | 9 << 8, 0) for kind in range(32)),
        struct.pack("<IQQQQQQQQ", 3 | 4 << 16, 0, 5, 1, 6, 2, 7, 63, 0x1f)],
    8: [struct.pack("<IQ", flags, 0x1234) for flags in range(4)],
    42: [b"12345678"],
}


@pytest.mark.parametrize("fields", [None, "synth:synth,event", "+synth", "comm,event,synth,ip"])
def test_synthetic_events(perf, oracle, tmp_path, fields):
    """Samples that inject made of Intel PT, of all kinds."""
    text = "feature event_desc\n"
    for index, kind in enumerate(SYNTHETIC):
        text += f"event e{kind} type={1 << 31} config={kind} freq=1 sample=IP|TID|TIME|RAW|IDENTIFIER flags=sample_id_all ids={index + 1}\n"
    text += "comm pid=1 tid=1 name=x\n"
    samples = [(index, raw) for index, kind in enumerate(SYNTHETIC) for raw in SYNTHETIC[kind]]
    text += "".join(f"sample event={index} id={index + 1} ip=0x400123 pid=1 tid=1 time={time} raw={raw.hex()}\n" for time, (index, raw) in enumerate(samples, 1000))
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    theirs, ours = both(perf, oracle, tmp_path / "perf.data", ["-F", fields] if fields else [])
    assert_same(theirs, ours, fields)
    assert len(ours.splitlines()) == len(samples)


def test_metrics(perf, tmp_path):
    """Of each sample of a group, from the advance of its counters; the kernel's perf 6.1 prints others (0.00% of all branches for 20 of 100)."""
    text = """
feature group_desc
feature event_desc
event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME|READ|ID read=ID|GROUP flags=sample_id_all ids=1 members=3
event instructions type=0 config=1 freq=0 sample=IP|TID|TIME|READ|ID read=ID|GROUP flags=sample_id_all ids=2 members=0
event branch-misses type=0 config=5 freq=0 sample=IP|TID|TIME|READ|ID read=ID|GROUP flags=sample_id_all ids=3 members=0
comm pid=1 tid=1 name=ls
sample event=0 ip=0x400123 pid=1 tid=1 time=1000 id=1 read=1000/1,1500/2,0/3
sample event=0 ip=0x400123 pid=1 tid=1 time=2000 id=1 read=1200/1,1550/2,7/3
"""
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    lines = perf("script", "-i", tmp_path / "perf.data", "-F", "event,period,metric").stdout.splitlines()
    assert [line.split() for line in lines] == [["1000", "cycles:"], ["1500", "instructions:"], ["metric:", "1.50", "insn", "per", "cycle"],
                                               ["200", "cycles:"], ["50", "instructions:"], ["7", "branch-misses:"], ["metric:", "0.25", "insn", "per", "cycle"]]
    assert lines[2] == "\tmetric:    1.50  insn per cycle"


def test_reader_that_leaves(perf, oracle, record):
    path = record(oracle, "raw-syscalls", RECORDINGS["raw-syscalls"])
    result = subprocess.run(f"'{perf}' script -i '{path}' | head -1", shell=True, capture_output=True, text=True, check=True, timeout=300)
    assert result.stdout.count("\n") == 1
    assert not result.stderr


def test_side_band_of_the_same_time(perf, oracle, tmp_path):
    """Samples that are followed by a new name and a new program at the very same time: each is told what was so when its turn came, whatever the number of threads."""
    lines = ["event cpu-clock type=1 config=0 period=1 sample=IP|TID|TIME ids=1 flags=sample_id_all,comm,mmap,comm_exec",
             "comm pid=1 tid=1 name=before time=1", "mmap pid=1 tid=1 addr=0x400000 len=0x1000 name=/bin/old time=1"]
    for number in range(200):
        time = 10 + number
        lines += [f"sample ip=0x400010 pid=1 tid=1 time={time}", f"comm pid=1 tid=1 name=name{number} time={time} exec=1",
                  f"mmap pid=1 tid=1 addr=0x400000 len=0x1000 name=/bin/new{number} time={time}", f"sample ip=0x400010 pid=1 tid=1 time={time}"]
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("\n".join(lines) + "\n"))
    texts = [perf("script", "-i", path, "-F", "comm,tid,time,ip,dso", "--jobs", jobs).stdout.splitlines() for jobs in (1, 2, 3, 4)]
    assert len(texts[0]) == 400 and all(text == texts[0] for text in texts)
    assert texts[0] == oracle("script", "-i", path, "-F", "comm,tid,time,ip,dso").stdout.splitlines()
