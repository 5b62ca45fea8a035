"""perf report --stdio against the kernel's perf 6.1: the same recordings, many sets of options, line by line."""
import collections
import json
import re
import shutil
import subprocess

import pytest

PROGRAM = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) void middle(int n) { leaf(n); leaf(n / 2); }
__attribute__((noinline)) void recurse(int depth, int n) { if (!depth) { middle(n); return; } recurse(depth - 1, n); sink++; }
int main(void)
{
	struct stat st;
	for (int i = 0; i < 30; i++) {
		sink += fib(22);
		recurse(i % 7, 1000000);
		char *memory = malloc(1 << 22);
		for (int j = 0; j < 1 << 22; j += 4096)
			memory[j] = 1;
		free(memory);
		for (int j = 0; j < 2000; j++)
			stat("/usr/bin/perf", &st);
	}
	if (!fork())
		execl("/bin/ls", "ls", "-lR", "/usr/lib/python3", NULL);
	return 0;
}
"""

# name → words for `perf record`
RECORDINGS = {
    "chains": ["-g", "-F", "2000", "-e", "cpu-clock"],
    "wide": ["-a", "-g", "-F", "997", "-e", "cpu-clock"],
    "flat": ["-F", "2000", "-e", "cpu-clock"],
    "several": ["-e", "cpu-clock,page-faults", "-F", "2000"],
    "several-chains": ["-e", "cpu-clock,page-faults", "-F", "2000", "-g"],
    "timeless": ["-e", "cpu-clock/time=0/"],
    "half-timeless": ["-e", "cpu-clock/time=0/,task-clock"],
    "group": ["-e", "{cpu-clock,page-faults,context-switches}", "-F", "2000"],
    # Without neighbours such as "tmux: server": the kernel's tool cuts names at a space.
    "switches": ["-a", "-e", "sched:sched_switch", "--filter", '!(prev_comm ~ "* *") && !(next_comm ~ "* *")', "-e", "sched:sched_wakeup", "--filter", '!(comm ~ "* *")'],
    "switch-chains": ["-a", "-g", "-e", "sched:sched_switch"],
    "syscalls": ["-e", "syscalls:sys_enter_newstat", "-e", "syscalls:sys_enter_openat"],
    "extras": ["-s", "-d", "-T", "-W", "--sample-cpu", "-F", "2000", "-e", "cpu-clock"],
    "cgroups": ["-a", "--all-cgroups", "-F", "997", "-e", "cpu-clock"],
}
CHAINS = ["chains", "wide", "several-chains", "switch-chains"]
PLAIN = ["flat", "several", "group", "switches", "extras"]
EVERY = CHAINS + PLAIN
# Whole machines have stacks with garbage in them. By symbol alone the kernel's perf shows some such addresses twice.
TIDY = ["chains", "several-chains"] + PLAIN

# options → recordings
CASES = [
    ("", EVERY + ["syscalls"]),
    ("--no-children", EVERY),
    ("-g none", EVERY),
    ("--no-children -g none", CHAINS),
    ("-s sym", TIDY),
    ("-s comm", EVERY),
    ("-s dso,sym -g none", EVERY),
    ("-s pid,comm", TIDY),
    ("-s cpu --no-children -g none", ["wide", "switches", "extras", "cgroups"]),
    ("-s socket,cpu --no-children -g none", ["wide", "switches"]),
    ("-s cgroup,comm --no-children", ["cgroups"]),
    ("-s symbol_size,sym -g none", ["flat", "chains"]),
    ("-s local_weight,weight,comm", ["extras"]),
    ("-s time --no-children -g none", ["flat", "wide", "switches"]),
    ("-s time,comm --time-quantum 10ms --no-children -g none", ["extras"]),
    ("-s parent,comm -g none", ["chains", "wide"]),
    ("-p sys_newstat -s parent,sym -g none", ["chains"]),
    ("-p sys_newstat -x -g none", ["chains"]),
    ("-s prev_comm,next_comm", ["switches"]),
    ("-s sched:sched_switch.prev_pid,next_prio", ["switches"]),
    ("-s trace_fields", ["switches"]),
    ("-s trace --raw-trace", ["syscalls"]),
    ("-s +cpu -g none", ["extras"]),
    ("-n", EVERY),
    ("-n --show-total-period -g none", EVERY),
    ("--show-cpu-utilization -g none", EVERY),
    ("-F overhead,sample,comm,sym -g none", TIDY),
    ("-F period,comm", PLAIN),
    ("-F +period,sample -g none", CHAINS),
    ("-F sym,overhead -g none", TIDY),
    ("-s comm,overhead -g none", EVERY),
    ("-g flat", ["chains"]),
    ("-g folded", ["chains"]),
    ("-g callee", CHAINS),
    ("-g caller --no-children", CHAINS),
    ("-g graph,2,3", CHAINS),
    ("-g count", CHAINS),
    ("-g period --no-children", CHAINS),
    ("-G", CHAINS),
    ("--max-stack 3", ["chains", "several-chains"]),
    ("--max-stack 3 --no-children", CHAINS),
    ("--percent-limit 1", EVERY),
    ("-t , -g none", EVERY),
    ("-w 8,10,20 -g none", CHAINS + ["flat", "several"]),
    ("-q -g none", EVERY),
    ("-c ls -g none", EVERY),
    ("-c ls --percentage relative --no-children -g none", EVERY),
    ("-d [kernel.kallsyms] -g none", ["chains", "flat"]),
    ("-S leaf --no-children", ["chains"]),
    ("-U -g none", ["chains", "flat"]),
    ("-C 0 -g none", ["wide", "cgroups"]),
    ("--time 10%-50% -g none", ["chains", "extras"]),
    ("--group -n", ["group"]),
    ("--group --group-sort-idx 1", ["group"]),
    ("-T -g none", ["extras"]),
    ("--stats", EVERY),
    ("--hierarchy", TIDY),
    ("--hierarchy -s dso,sym -g none", TIDY),
]


@pytest.fixture(name="perf", scope="module")
def perf_fixture(kernel_form):
    """Stacks in the kernel tool's form."""
    return kernel_form


def cuts_names(oracle, path):
    """Whether the kernel's perf makes the column of commands too narrow: a sample came between the beginning of the process and that of its program."""
    shown = oracle("report", "--stdio", "-i", path, "-s", "comm", "--no-children", "-g", "none").stdout
    return bool(re.search(r"\bperf-(?!exec\b)[a-z]+ *$", shown, re.M))


def has_one_address_twice(oracle, path):
    """Whether the kernel's perf shows an address without a symbol (garbage in a stack) in two rows, or ours in one of two modes: once as the kernel's, once as a program's."""
    shown = oracle("report", "--stdio", "-i", path, "-s", "sym", "-g", "none").stdout
    modes = set(re.findall(r"\[(.)\] (0x[0-9a-f]+|0{16}) *$", shown, re.M))
    return len({address for _, address in modes}) < len(modes)


class Recordings(dict):
    """The recordings by their names, and what the kernel's perf said where it made none."""

    def __init__(self, made, refusals):
        super().__init__(made)
        self.refusals = refusals


@pytest.fixture(scope="module")
def recordings(oracle, tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    directory = tmp_path_factory.mktemp("report")
    (directory / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", directory / "prog", directory / "prog.c"], check=True)
    made, refusals = {}, {}
    for name, words in RECORDINGS.items():
        for _ in range(5):
            done = oracle.record(directory / f"{name}.data", *words, "--", directory / "prog", cwd=directory)
            path = directory / f"{name}.data"
            if done.returncode or not (cuts_names(oracle, path) or name in TIDY and has_one_address_twice(oracle, path)):
                break
        if done.returncode == 0:
            made[name] = directory / f"{name}.data"
        else:
            refusals[name] = done.stderr.strip()
    if "flat" not in made:
        pytest.skip(f"the kernel's perf may not record here: {refusals['flat']}")
    return Recordings(made, refusals)


def lines_of(text):
    """Without the tip of the day, and what is only there for it."""
    lines = re.sub(r"#\n# \((Tip|Cannot)[^\n]*\n#\n", "", text).split("\n")
    while lines and lines[-1] in ("", "#"):
        lines.pop()
    return lines


def moved(ours, theirs, directory):
    (directory / "ours").write_text("\n".join(ours) + "\n", errors="surrogateescape")
    (directory / "theirs").write_text("\n".join(theirs) + "\n", errors="surrogateescape")
    done = subprocess.run(["diff", directory / "ours", directory / "theirs"], capture_output=True, text=True, errors="replace", check=False)
    return sum(line.startswith("<") for line in done.stdout.split("\n"))


def with_cut_names(ours, theirs):
    """Our lines with names of commands as short as theirs: the kernel's perf makes the column too narrow where processes began another program."""
    def column(lines):
        for i in range(len(lines) - 1):
            if "Command" in lines[i] and lines[i + 1].startswith("# ."):
                start = lines[i].index("Command")
                return i, start, start + len(lines[i + 1][start:].split(" ")[0])
        return None
    places = column(ours), column(theirs)
    if None in places or places[0][1] != places[1][1] or places[0][2] <= places[1][2]:
        return ours
    (head, _, wide), (_, _, narrow) = places
    return [line[:narrow] + line[wide:] if i in (head, head + 1) or re.match(r" +[0-9.]+%", line) else line for i, line in enumerate(ours)]


def report(program, path, words):
    done = program("report", "--stdio", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    return lines_of(done.stdout)


@pytest.mark.parametrize("options,names", CASES, ids=[case[0] or "defaults" for case in CASES])
def test_same_text(perf, oracle, recordings, tmp_path, options, names):
    looked_at = [name for name in names if name in recordings]
    if not looked_at:
        pytest.skip(f"{' and '.join(names)} could not be recorded here: {recordings.refusals}")
    for name in looked_at:
        theirs = report(oracle, recordings[name], options.split())
        ours = report(perf, recordings[name], options.split())
        if ours == theirs:
            continue
        if not any(line.strip() and not line.startswith("#") for line in theirs):  # no samples, as on a CPU that was idle: ours says so instead
            assert not any(line.strip() and not line.startswith("#") for line in ours), name
            continue
        ours = with_cut_names(ours, theirs)
        # What the kernel's perf doesn't name: entries of the PLT that it has no section for. Everything else must be there.
        missing = collections.Counter(theirs) - collections.Counter(ours)
        extra = collections.Counter(ours) - collections.Counter(theirs)
        unnamed = [line for line in extra.elements() if "@plt" not in line]
        assert not unnamed and sum(missing.values()) == sum(extra.values()), (name, list(missing)[:10], list(extra)[:10])
        if not extra:
            # The same lines: rows that are equal in all keys may stand in another order, but only a few of them.
            assert moved(ours, theirs, tmp_path) <= len(theirs) // 8, name


def test_times_of_a_recording_without_times(perf, recordings):
    if "timeless" not in recordings:
        pytest.skip("no recording without times could be made here")
    for words in (["--time", "1,2"], ["--time", "10%-20%"]):
        for command in ("report", "script"):
            done = perf(command, *words, "-i", recordings["timeless"])
            assert done.returncode == 255 and "have no times" in done.stderr and not done.stdout


def test_times_of_an_event_without_times(perf, oracle, recordings):
    """Its samples are only in ranges without an end; an event without samples in the range has no table."""
    if "half-timeless" not in recordings:
        pytest.skip("no such recording could be made here")
    for times, tables in (("0,1000000", 1), ("1,", 2)):
        heads = [[line for line in report(program, recordings["half-timeless"], ["--time", times, "-s", "sym"]) if line.startswith("# Samples: ")]
                 for program in (perf, oracle)]
        assert heads[0] == heads[1] and len(heads[0]) == tables


def test_members_of_a_group_apart(perf, oracle, recordings, tmp_path):
    """The kernel's perf says "events" above the table of a single one. Rows that are equal in all keys may stand in another order."""
    if "group" not in recordings:
        pytest.skip("no group could be recorded here")
    words = ["--no-group", "-s", "sym"]
    theirs = [re.sub(r" of events ('[^,]*')", r" of event \1", line) for line in report(oracle, recordings["group"], words)]
    ours = report(perf, recordings["group"], words)
    assert sorted(ours) == sorted(theirs) and moved(ours, theirs, tmp_path) <= len(theirs) // 8


def test_rows_do_not_depend_on_jobs(perf, recordings):
    for turn, (name, path) in enumerate(recordings.items()):
        for words in ([], ["--no-children"], ["-s", "comm", "-n"], ["-g", "fractal"]):
            if words[:1] == ["-g"] and name not in CHAINS:
                continue
            turn += 1
            texts = {perf("report", "--stdio", "-i", path, "--jobs", jobs, *words).stdout for jobs in (1, 2 + turn % 3)}
            assert len(texts) == 1, (name, words)


def test_formats_hold_the_same_rows(perf, recordings):
    """CSV and JSON have the percentages and names of the text."""
    path = recordings["flat"]
    text = report(perf, path, ["-n"])
    rows = [line.split() for line in text if line and not line.startswith("#")]
    csv = perf("report", "--format", "csv", "-n", "-i", path).stdout.splitlines()
    assert csv[0] == "event,overhead,sample,comm,dso,symbol"
    assert all(abs(float(line.split(",")[1]) - float(row[0].rstrip("%"))) <= 0.0051 for line, row in zip(csv[1:], rows, strict=True))
    objects = [json.loads(line) for line in perf("report", "--format", "json", "-n", "-i", path).stdout.splitlines()]
    assert [str(one["sample"]) for one in objects] == [row[1] for row in rows]
    assert all(one["event"] == "cpu-clock" for one in objects)


def test_folded_sums_up_to_the_periods(perf, recordings):
    path = recordings["chains"]
    total = int(next(line for line in report(perf, path, []) if "Event count" in line).split(":")[1])
    folded = perf("report", "--format", "folded", "-i", path).stdout.splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == total
    assert any(line.startswith("prog;") and ";main;" in line for line in folded)


@pytest.mark.parametrize("words", ["--comm prog", "--comm nosuch", "--dso prog", "--symbol-filter main", "-S main"])
def test_folded_shows_what_the_table_shows(perf, recordings, words):
    path = recordings["chains"]
    table = perf("report", "--no-children", "-g", "none", "--show-total-period", *words.split(), "-i", path).stdout
    rows = [line.split() for line in table.splitlines() if line.strip() and not line.startswith("#")]
    folded = perf("report", "--format", "folded", *words.split(), "-i", path).stdout.splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == sum(int(row[1]) for row in rows)


def test_hint_names_files_without_symbols(perf, recordings, tmp_path):
    copy = tmp_path / "prog"
    source = recordings["flat"].parent / "prog"
    shutil.copy(source, copy)
    subprocess.run(["strip", "--remove-section=.note.gnu.build-id", copy], check=True)
    data = tmp_path / "stripped.data"
    assert perf("record", "-o", data, "-e", "cpu-clock", "-F", "2000", "--", copy).returncode == 0
    done = perf("report", "--stdio", "-v", "-i", data)
    assert str(copy) in done.stderr and "no function name" in done.stderr, done.stderr
