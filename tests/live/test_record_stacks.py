"""Copies of stacks whose size is found while recording: --call-graph dwarf,auto."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

# Two threads, one with little on its stack and one with 14 KB; then the first thread of the process with as much. A bit of environment lies above its stack.
PROGRAM = r"""
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static unsigned down(int n)
{
	volatile char room[200];
	unsigned x = 1;
	room[0] = (char)n;
	if (n)
		return down(n - 1) + room[0];
	for (unsigned i = 0; i < 1000000; i++)
		x = x * 1664525 + 1013904223;
	return (sink = x) + room[0];
}
static int rounds;
__attribute__((noinline)) static void *shallow(void *unused)
{
	for (int i = 0; i < rounds; i++)
		sink += down(2);
	return NULL;
}
__attribute__((noinline)) static void *deep(void *unused)
{
	for (int i = 0; i < rounds; i++)
		sink += down(60);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];
	rounds = atoi(argv[1]);
	pthread_create(&threads[0], NULL, shallow, NULL);
	pthread_create(&threads[1], NULL, deep, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	deep(NULL);
}
"""


@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    return kernel_form


@pytest.fixture(scope="module", name="program_path")
def make_program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("stacks")
    (folder / "stacks.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", folder / "stacks", folder / "stacks.c"], check=True)
    return folder / "stacks"


def stacks(program, path):
    """Of each thread, in order of time: lists of functions."""
    done = program("script", "-F", "tid,time,ip,sym", "--no-inline", "--comms", "stacks", "-i", path)
    assert done.returncode == 0, done.stderr
    threads = {}
    for block in done.stdout.split("\n\n"):
        lines = block.strip().splitlines()
        if len(lines) > 1:
            threads.setdefault(int(lines[0].split()[0]), []).append([line.split()[1] for line in lines[1:]])
    return threads


def by_role(threads):
    return {role: found for role in ("shallow", "deep", "main") for found in threads.values()
            if any(role in stack[-6:] for stack in found) and (role != "deep" or not any("main" in stack for stack in found))}


@pytest.mark.parametrize("words", [[], ["--aio"], ["-a", "-z"], ["--no-inherit", "-e", "task-clock", "-e", "cpu-clock"]], ids=" ".join)
def test_grows_where_stacks_are_cut(perf, oracle, live_system, tmp_path, program_path, words):
    path = tmp_path / "data"
    events = [] if "-e" in words else ["-e", "cpu-clock"]
    done = perf("record", "-o", path, *events, "-F", "1999", *words, "--call-graph", "dwarf,auto", "--", program_path, "200")
    assert done.returncode == 0, done.stderr
    told = re.search(r"Copied ([\d.]+) KB of stack for each of (\d+) samples, at most (\d+) KB; (\d+) of them may end early", done.stderr)
    assert told and int(told.group(3)) in (16, 32, 64), done.stderr
    roles = by_role(stacks(perf, path))
    wanted = {"main"} if "--no-inherit" in words else {"shallow", "deep", "main"}
    assert set(roles) >= wanted
    for role in wanted:
        found = roles[role]
        # Only those before the first look at them may be cut.
        late = found[len(found) * 2 // 3:]
        assert len(late) > 20
        depth = 3 if role == "shallow" else 61
        whole = [stack for stack in late if stack.count("down") == depth and stack[-1] in ("_start", "__clone3", "clone3", "__GI___clone3", "__clone")]
        inside = [stack for stack in late if "down" in stack]
        assert len(whole) >= 0.98 * len(inside) > 15, (role, [stack for stack in inside if stack not in whole][:2])
    if "-z" not in words:
        theirs = stacks(oracle, path)
        assert theirs.keys() == stacks(perf, path).keys()


def test_what_is_no_stack_stays_out_of_the_file(perf, live, tmp_path, program_path, monkeypatch):
    """The environment lies above the first stack: it would be in every copy."""
    monkeypatch.setenv("LARGE", "x" * 30000)
    path = tmp_path / "data"
    done = perf("record", "-o", path, "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,auto", "--", program_path, "150")
    assert done.returncode == 0, done.stderr
    assert sum(stack.count("down") == 61 for stack in by_role(stacks(perf, path))["main"]) > 10
    assert b"LARGE=xxx" not in path.read_bytes()
    assert float(re.search(r"Copied ([\d.]+) KB", done.stderr).group(1)) < 20


def test_a_process_that_runs_already(perf, live, tmp_path, program_path):
    """Each of its threads has counters of its own. It is recorded until each of the two that work has done so for 0.7 s."""
    with subprocess.Popen([program_path, "1000000"]) as process:
        try:
            tasks = pathlib.Path(f"/proc/{process.pid}/task")
            started.until(lambda: len(list(tasks.iterdir())) == 3, "its threads run")
            enough = [started.while_it_runs(int(task.name), 0.7) for task in tasks.iterdir() if int(task.name) != process.pid]
            script = "; ".join(f"({words[2]})" for words in enough)
            done = perf("record", "-o", tmp_path / "data", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,auto", "-p", str(process.pid), "--", "sh", "-c", script)
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    roles = by_role(stacks(perf, tmp_path / "data"))
    assert {"shallow", "deep"} <= set(roles)
    late = roles["deep"][len(roles["deep"]) * 2 // 3:]
    assert sum(stack.count("down") == 61 for stack in late) >= 0.98 * sum("down" in stack for stack in late) > 10


def test_switched_off_and_on(perf, live, tmp_path, program_path):
    """What is switched off stays off though stacks are found to be cut, and comes back with the size in use."""
    path, control, answers = tmp_path / "data", tmp_path / "control", tmp_path / "answers"
    for fifo in (control, answers):
        os.mkfifo(fifo)
    with subprocess.Popen([program_path, "1000000"]) as process:
        try:
            tasks = pathlib.Path(f"/proc/{process.pid}/task")
            started.until(lambda: len(list(tasks.iterdir())) == 3, "its threads run")
            works = [int(task.name) for task in tasks.iterdir() if int(task.name) != process.pid]
            with subprocess.Popen([perf.path, "record", "-q", "-k", "mono", "-o", path, "-e", "cpu-clock:u", "-F", "999", "-D", "-1", "--call-graph", "dwarf,auto",
                                   "-p", str(process.pid), "--control", f"fifo:{control},{answers}"]) as recorder, open(control, "w") as to, open(answers) as answer:

                def tell(word):
                    to.write(f"{word}\n")
                    to.flush()
                    assert answer.readline().strip("\0\n") == "ack"

                def let_them_work():
                    enough = [started.ran(task) + 0.3 for task in works]
                    started.until(lambda: all(started.ran(task) >= end for task, end in zip(works, enough)), "the threads have worked")
                tell("enable")
                let_them_work()
                tell("disable")
                off = time.clock_gettime(time.CLOCK_MONOTONIC)
                let_them_work()
                on = time.clock_gettime(time.CLOCK_MONOTONIC)
                tell("enable")
                let_them_work()
                tell("stop")
                assert recorder.wait(300) == 0
        finally:
            process.kill()
    times = [float(when) for when in re.findall(r"^\s*([\d.]+):", perf("script", "--ns", "-F", "time", "-i", path).stdout, re.M)]
    assert sum(when < off for when in times) > 50 and sum(when > on for when in times) > 50 and not any(off <= when <= on for when in times)
    late = [stack for stack in by_role(stacks(perf, path))["deep"]][-50:]
    assert sum(stack.count("down") == 61 for stack in late) >= 0.98 * sum("down" in stack for stack in late) > 10


def test_report_tells_of_copies_before_they_grew(perf, live, tmp_path, program_path):
    path = tmp_path / "data"
    done = perf("record", "-o", path, "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,auto", "--", program_path, "60")
    assert done.returncode == 0, done.stderr
    stats = perf("report", "--stats=stacks", "-i", path).stdout
    assert "the maximum size is copied already" not in stats
    found = re.search(r"(\d+)  the copied stack was too short before its size was increased \(.*: record with --call-graph dwarf,65528\)", stats)
    assert found and int(found.group(1)) <= int(re.search(r"; (\d+) of them may end early", done.stderr).group(1))


@pytest.mark.parametrize("words,reason", [(["--overwrite"], "dwarf,8192"), (["-e", "{cpu-clock,task-clock}"], "omit the group")], ids=["overwrite", "group"])
def test_where_it_cannot_be_had(perf, tmp_path, words, reason):
    done = perf("record", "-o", tmp_path / "data", *words, "--call-graph", "dwarf,auto", "true")
    assert done.returncode == 129 and reason in done.stderr
