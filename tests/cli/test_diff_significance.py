"""perf diff --significance and --fail-above on recordings made by hand, whose truth is known: the same seeds, the same samples."""
import json
import os
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

KERNEL = 0xffffffff81000000
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|PERIOD flags=sample_id_all,comm,task\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\n")
FUNCTIONS = 40
PAIRS = 40


def write_symbols(folder):
    names = ["_text", *(f"function_{i}" for i in range(FUNCTIONS)), "_etext"]
    (folder / "kallsyms").write_text("".join(f"{KERNEL + 0x1000 * i:016x} T {name}\n" for i, name in enumerate(names)))


def write_run(path, seed, samples, planted=0.0, bursts=True, phases=False):
    """A noisy program: functions of very different shares, 1/n, in bursts of one function for some samples. function_0 takes `planted` more."""
    chance = random.Random(seed)
    weights = [1 / (i + 1) for i in range(FUNCTIONS)]
    weights[0] *= 1 + planted
    order = list(range(FUNCTIONS))
    lines, function, left = [], 0, 0
    for i in range(samples):
        if phases:  # what comes first and last is the same in each run
            half = order[::2] if i < samples // 2 else order[1::2] + [0]
            weights_now = [weights[f] for f in half]
        else:
            half, weights_now = order, weights
        if left <= 0:
            function, left = chance.choices(half, weights_now)[0], chance.choice((1, 2, 3, 6)) if bursts else 1
        left -= 1
        lines.append(f"sample event=0 id=1 ip={KERNEL + 0x1000 * (function + 1) + 0x10:#x} pid=1 tid=1 time={1000000 * (i + 1)} "
                     f"period={chance.randint(900000, 1100000)} misc=1\n")
    path.write_bytes(recording.make(HEAD + "".join(lines)))


def rows(perf, folder, *words):
    done = perf("diff", "--significance", "--format", "json", "--kallsyms", "kallsyms", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def found(perf, folder, *words):
    return [row["symbol"].split()[-1] for row in rows(perf, folder, *words) if row["significant"] == "yes"]


@pytest.mark.parametrize("kind", ["noisy", "phases"])
def test_equal_runs_raise_no_alarms(perf, tmp_path, kind):
    """Each with 40 functions that could be reported."""
    write_symbols(tmp_path)
    alarms = 0
    for pair in range(PAIRS):
        for run in ("old", "new"):
            write_run(tmp_path / run, f"{pair} {run}", 1500, phases=kind == "phases")
        alarms += bool(found(perf, tmp_path, "old", "new"))
    assert alarms <= PAIRS // 100


# Small changes take many samples to be told from chance, and those a while to be written.
PLANTED = [(0.2, 12000), (0.05, 150000)] if os.environ.get("PERF_SOAK") else [(0.2, 12000)]


@pytest.mark.soak
@pytest.mark.parametrize("planted,samples", PLANTED)
def test_what_is_planted_is_found(perf, tmp_path, planted, samples):
    """A function with a quarter of the time takes 20 % or 5 % more: its share grows by 3.7 or 1 points."""
    write_symbols(tmp_path)
    write_run(tmp_path / "old", 1, samples, bursts=False)
    write_run(tmp_path / "new", 2, samples, planted, bursts=False)
    assert "function_0" in found(perf, tmp_path, "old", "new")
    row = next(row for row in rows(perf, tmp_path, "old", "new") if row["symbol"].endswith(" function_0"))
    share = 1 / sum(1 / (i + 1) for i in range(FUNCTIONS))
    truth = 100 * (share * (1 + planted) / (1 + share * planted) - share)
    assert abs(row["delta"] - truth) <= row["margin"]
    # What it says is the same each time, and rows, methods and threads have no part in it.
    assert len({perf("diff", "--significance", "--format", "csv", "--kallsyms", "kallsyms", "--jobs", jobs, "old", "new", cwd=tmp_path).stdout for jobs in (1, 3)}) == 1


def test_periods_are_as_without(perf, tmp_path):
    write_symbols(tmp_path)
    for run in range(2):
        write_run(tmp_path / f"run{run}", run, 1000)
    for keys in ("sym", "comm,sym", "cpu,sym", "pid"):
        words = ["--format", "json", "--kallsyms", "kallsyms", "-s", keys, "run0", "run1"]
        without = [json.loads(line) for line in perf("diff", *words, cwd=tmp_path).stdout.splitlines()]
        added = rows(perf, tmp_path, *words)
        assert without == [{key: value for key, value in row.items() if key not in ("margin", "significant")} for row in added] != []


def test_text(perf, tmp_path):
    write_symbols(tmp_path)
    for run in range(2):
        write_run(tmp_path / f"run{run}", run, 1000)
    head = perf("diff", "--significance", "--kallsyms", "kallsyms", "run0", "run1", cwd=tmp_path).stdout.splitlines()
    assert head[2].split() == "# Baseline Delta Abs Margin Significant Shared Object Symbol".split()
    assert all(line.split()[3 if "%" in line.split()[2] else 2] in ("yes", "no") for line in head[5:])
    three = perf("diff", "--significance", "--kallsyms", "kallsyms", "run0", "run1", "run0", cwd=tmp_path).stdout
    assert "Margin/2  Significant/2" in three


def test_fail_above(perf, tmp_path):
    write_symbols(tmp_path)
    write_run(tmp_path / "old", 1, 12000, bursts=False)
    write_run(tmp_path / "new", 2, 12000, 0.2, bursts=False)

    def status(*words):
        done = perf("diff", "--kallsyms", "kallsyms", *words, cwd=tmp_path)
        return done.returncode, done.stderr
    grown, told = status("--fail-above", "2", "old", "new")
    assert grown == 1 and "function_0: share grown by 3." in told and "limit: 2" in told
    assert status("--fail-above", "10", "old", "new") == (0, "")
    assert status("--fail-above", "0", "old", "old") == (0, "")
    # Less is no failure.
    back, told = status("--fail-above", "2", "new", "old")
    assert back == 0 and not told
    assert status("--fail-above", "x", "old", "new")[0] == 129
    assert "cannot be estimated" in status("--fail-above", "1", "-s", "time", "old", "new")[1]


def test_without_times(perf, tmp_path):
    """As many independent samples are what counts then."""
    write_symbols(tmp_path)
    for run, planted in (("old", 0), ("new", 0.5)):
        write_run(tmp_path / run, run, 4000, planted, bursts=False)
        text = HEAD.replace("|TIME|", "|")
        chance = random.Random(run)
        weights = [1 / (i + 1) * (1 + planted * (not i)) for i in range(FUNCTIONS)]
        for function in chance.choices(range(FUNCTIONS), weights, k=4000):
            text += f"sample event=0 id=1 ip={KERNEL + 0x1000 * (function + 1) + 0x10:#x} pid=1 tid=1 period=1000000 misc=1\n"
        (tmp_path / run).write_bytes(recording.make(text))
    assert found(perf, tmp_path, "old", "new") == ["function_0"]
