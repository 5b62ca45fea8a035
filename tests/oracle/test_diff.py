"""perf diff against the kernel's perf 6.1: the same recordings, many sets of options, line by line.

On purpose different: srcline (ours names places without debug information by file and address, the kernel's tool all of them ??:0), keys that the kernel's tool shows
nothing for, and -v, where letters beside addresses are those of our `perf report`."""
import json
import shutil
import subprocess

import alike
import pytest

PROGRAM = r"""
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void slow(int n) { for (int i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) void quick(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void old(int n) { for (int i = 0; i < n; i++) sink -= i; }
__attribute__((noinline)) void new(int n) { for (int i = 0; i < n; i++) sink ^= i; }
int main(int argc, char **argv)
{
	struct stat st;
	int factor = atoi(argv[1]);
	for (int i = 0; i < 20; i++) {
		slow(factor * 500000);
		quick(1000000);
		(factor > 1 ? new : old)(300000);
		char *memory = malloc(1 << 22);
		for (int j = 0; j < 1 << 22; j += 4096)
			memory[j] = 1;
		free(memory);
		for (int j = 0; j < 1000; j++)
			stat("/usr/bin/perf", &st);
	}
	if (argc > 2)
		execl(argv[2], "stripped", argv[1], NULL);
	return 0;
}
"""

# name → words for `perf record`, factor
RECORDINGS = {
    "a": (["-F", "2000", "-e", "cpu-clock"], 1),
    "b": (["-F", "2000", "-e", "cpu-clock"], 2),
    "c": (["-F", "1000", "-e", "cpu-clock"], 3),
    "several": (["-F", "2000", "-e", "cpu-clock,page-faults"], 1),
    "group": (["-F", "2000", "-e", "{cpu-clock,page-faults}"], 2),
    "chains": (["-g", "-F", "997", "-e", "cpu-clock", "--sample-cpu"], 1),
    "more-chains": (["-g", "-F", "997", "-e", "cpu-clock", "--sample-cpu"], 2),
    "switches": (["-e", "sched:sched_switch,sched:sched_wakeup"], 1),
    "more-switches": (["-e", "sched:sched_switch"], 1),
}
ALL = ["a b", "b a", "a b c"]
# options → recordings
CASES = [
    ("", ALL + ["several group", "group several", "several a", "a several", "chains more-chains", "switches more-switches", "more-switches switches", "a switches"]),
    ("-c delta", ALL + ["several group"]),
    ("-c delta-abs", ["a b"]),
    ("-c ratio", ALL),
    ("-c wdiff:1,2", ALL),
    ("-c wdiff:3,-1 -p -s comm,dso,sym", ALL),
    ("-c ratio -F -p", ALL),
    ("-c ratio -b", ALL),
    ("-c ratio -o 0", ALL),
    ("-c ratio -o 2", ["a b c"]),
    ("-F", ALL),
    ("-p", ALL + ["several group"]),
    ("-b", ALL),
    ("-b -c delta -F -p", ALL),
    ("-o 0", ALL),
    ("-o 2", ["a b c"]),
    ("-q", ALL + ["several group"]),
    ("-t ;", ALL + ["several group"]),
    ("-t , -q -p", ALL),
    ("-t , -c wdiff:1,2", ALL),
    ("-s comm", ALL + ["chains more-chains"]),
    ("-s comm,dso", ["chains more-chains"]),
    ("-s pid", ALL),
    ("-s sym", ["a b", "b a"]),
    ("-s sym,dso", ["chains more-chains"]),
    ("-s cpu", ["chains more-chains", "a b"]),
    ("-s parent", ["chains more-chains"]),
    ("-C prog", ALL),
    ("-C prog,stripped --percentage relative", ALL),
    ("-C prog --percentage absolute", ["a b"]),
    ("-C nosuch", ["a b"]),
    ("-d prog", ALL),
    ("-d prog,stripped --percentage relative", ALL),
    ("-S slow", ALL),
    ("-S slow,quick -s comm", ["a b"]),
    ("--time 10%-50%", ALL),
    ("--time 10%-50%:30%-60%", ["a b"]),
    ("--time 0%-10%,20%-50%", ["a b"]),
    ("--cpu 0", ["chains more-chains"]),
    ("--pid 1", ["a b"]),
]


@pytest.fixture(scope="module")
def recordings(oracle, tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    directory = tmp_path_factory.mktemp("diff")
    (directory / "prog.c").write_text(PROGRAM)
    # Stubs of a PLT have names in ours only: there are none.
    compile_it = ["gcc", "-O1", "-fno-omit-frame-pointer", "-fno-plt", directory / "prog.c", "-o"]
    subprocess.run([*compile_it, directory / "prog"], check=True)
    subprocess.run([*compile_it, directory / "stripped", "-s"], check=True)
    made = set()
    for name, (words, factor) in RECORDINGS.items():
        if oracle.record(directory / name, *words, "--", directory / "prog", str(factor), directory / "stripped", cwd=directory).returncode == 0:
            made.add(name)
    if "a" not in made:
        pytest.skip("the kernel's perf may not record here")
    return directory, made


def diff(program, directory, *words):
    done = program("diff", *words, cwd=directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("options,sets", CASES, ids=[case[0] or "defaults" for case in CASES])
def test_same_text(perf, oracle, recordings, options, sets):
    directory, made = recordings
    looked_at = [files.split() for files in sets if set(files.split()) <= made]
    if not looked_at:
        pytest.skip(f"none of {sets} could be recorded here")
    for files in looked_at:
        alike.lines(diff(oracle, directory, *options.split(), *files), diff(perf, directory, *options.split(), *files), f"{options} {files}")


def test_default_files(perf, oracle, recordings, tmp_path):
    directory, _ = recordings
    for target, name in (("perf.data.old", "a"), ("perf.data", "b"), ("third", "c")):
        (tmp_path / target).symlink_to(directory / name)
    for words in ([], ["third"]):
        alike.lines(diff(oracle, tmp_path, *words), diff(perf, tmp_path, *words), words)
    assert diff(perf, tmp_path, "-i", "third") == diff(perf, tmp_path, "third")


def test_pid_filter(perf, oracle, recordings):
    directory, _ = recordings
    pids = {line.split()[0] for line in perf("script", "-i", directory / "a", "-F", "pid").stdout.splitlines()}
    for option in ("--pid", "--tid"):
        words = [option, ",".join(sorted(pids)), "a", "b"]
        alike.lines(diff(oracle, directory, *words), diff(perf, directory, *words), words)


def test_configuration(perf, recordings, tmp_path, monkeypatch):
    directory, _ = recordings
    (tmp_path / "config").write_text("[diff]\n\tcompute = ratio\n\torder = 0\n")
    expected = diff(perf, directory, "-c", "ratio", "-o", "0", "a", "b")
    monkeypatch.setenv("PERF_CONFIG", str(tmp_path / "config"))
    assert diff(perf, directory, "a", "b") == expected


def test_formats_hold_the_same_rows(perf, recordings):
    directory, _ = recordings
    text = [line.split() for line in diff(perf, directory, "-q", "-p", "-s", "comm", "a", "b").splitlines()]
    objects = [json.loads(line) for line in diff(perf, directory, "--format", "json", "-s", "comm", "a", "b").splitlines()]
    assert [one["comm"] for one in objects] == [row[-1] for row in text]
    both = [(one, row) for one, row in zip(objects, text) if one["baseline_period"] and one["period"]]
    assert both
    for one, row in both:
        assert one["event"] == "cpu-clock" and str(one["baseline_period"]) == row[1] and str(one["period"]) == row[3]
        assert abs(one["baseline"] - float(row[0].rstrip("%"))) <= 0.0051 and abs(one["delta"] - float(row[2].rstrip("%"))) <= 0.0051
        assert abs(one["overhead"] - one["baseline"] - one["delta"]) <= 0.0051
    csv = diff(perf, directory, "--format", "csv", "-s", "comm", "-c", "ratio", "a", "b", "c").splitlines()
    assert csv[0] == "event,baseline_0,baseline_period_0,baseline_samples_0,overhead_1,delta_1,ratio_1,period_1,samples_1,overhead_2,delta_2,ratio_2,period_2,samples_2,comm"


def test_dump(perf, recordings):
    directory, _ = recordings
    dumps = [perf("script", "-D", "-i", directory / name).stdout.count("PERF_RECORD_SAMPLE(") for name in "ab"]
    assert diff(perf, directory, "-D", "a", "b").count("PERF_RECORD_SAMPLE(") == sum(dumps) > 0


@pytest.mark.parametrize("words,sentence", [
    (["-c", "cycles"], "--total-cycles"), (["-c", "nosuch"], "wdiff:OLD,NEW"), (["-c", "wdiff"], "wdiff:OLD,NEW"), (["-c", "wdiff:1"], "two numbers"),
    (["-c", "wdiff:0,1"], "two numbers"), (["-o", "2"], "only 2 recordings"), (["-o", "x"], "number of a recording"), (["--stream"], "--branch-history"),
    (["--cycles-hist"], "--total-cycles"), (["--time", "1,2:3,4:5,6"], "more ranges"), (["-s", "nosuch"], "unknown key"), (["-i", "c"], "as words"),
    (["--percentage", "x"], "relative or absolute"), (["-s", "symbol_from"], "branch records")])
def test_mistakes(perf, recordings, words, sentence):
    done = perf("diff", *words, "a", "b", cwd=recordings[0])
    assert done.returncode in (129, 255) and sentence in done.stderr and not done.stdout, done.stderr


def test_a_recording_is_missing(perf, tmp_path):
    done = perf("diff", cwd=tmp_path)
    assert done.returncode == 255 and "perf.data.old" in done.stderr
