"""Names of threads and programs are chosen by whoever runs them: none may bring control characters to a terminal, whichever command shows it."""
import os
import pathlib
import shutil
import subprocess

import pytest

# Recordings of the whole system, which others compare with the kernel's perf, must not have these names in them.
pytestmark = pytest.mark.alone

NAME = "ev\x1b[31m\r]x\x07"
SHOWN = r"ev\x1b[31m\x0d]x\x07"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A shell of that name, which forks and executes another of that name."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(os.path.realpath("/bin/sh"), folder / NAME)
    return folder


@pytest.fixture(scope="module")
def recording(perf, tracefs, hostile):
    if os.geteuid():
        pytest.skip("needs root")
    path = hostile / "perf.data"
    events = "sched:sched_process_exec,sched:sched_process_fork,sched:sched_switch,sched:sched_process_exit"
    done = perf("record", "-q", "-o", path, "-e", events, *command(hostile))
    assert done.returncode == 0, done.stderr
    return path


def command(folder):
    return folder / NAME, "-c", f"'{folder / NAME}' -c 'sleep 0.01; true'; true"


def check(raw):
    """Nothing but text and newlines and tabs."""
    bad = {byte for byte in raw if (byte < 32 and byte not in b"\n\t") or byte == 127}
    assert not bad, raw


def run(perf, *words, **arguments):
    done = subprocess.run([perf.path, *map(str, words)], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **arguments)
    check(done.stdout)
    return done.stdout.decode()


def test_live_trace(perf, tracefs, root, hostile):
    for words in (("-e", "sched:sched_process_exec,sched:sched_process_fork"), ("--no-bpf",), (), ("--json",), ("-s",)):
        text = run(perf, "trace", *words, *command(hostile))
        assert "ev\\" in text, words
    fields = run(perf, "trace", "-e", "sched:sched_process_exec", *command(hostile))
    assert f"({SHOWN[:14]}" in fields # pid: 42 (the name)


@pytest.mark.parametrize("words", [("trace", "-i"), ("script", "-i"), ("script", "--show-task-events", "-i"), ("script", "-D", "-i"),
                                   ("report", "--stdio", "-s", "pid,comm,trace", "-i"), ("report", "--stdio", "-s", "next_comm,prev_comm", "-i"), ("report", "--tasks", "-i")], ids=" ".join)
def test_recording(perf, recording, words):
    text = run(perf, *words, recording)
    assert "ev\\" in text


def test_stat(perf, root, hostile):
    """Rows of threads."""
    with subprocess.Popen([hostile / NAME, "-c", "echo here; read x; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # it has its name
        text = run(perf, "stat", "--per-thread", "-e", "task-clock", "-p", process.pid, "true")
        process.stdin.close()
    assert "ev\\" in text


@pytest.mark.parametrize("statement, compiles", [('strbuf_printf(out, "%s", name)', False), ("strbuf_add_str(out, name)", False), ('printf("%s", name)', False),
                                                 ("text_add_untrusted(out, name)", True), ("strbuf_add_str(out, untrusted_raw(name))", True)])
def test_type(statement, compiles):
    """A name from outside can't be printed but by those who escape it, or by saying so."""
    source = pathlib.Path(__file__).parents[2] / "src"
    text = f'#include "base/text.h"\n#include <stdio.h>\nvoid f(struct strbuf *out, const struct untrusted *name);\nvoid f(struct strbuf *out, const struct untrusted *name) {{ {statement}; }}\n'
    flags = ["-std=gnu17", "-Werror=incompatible-pointer-types", "-Werror=format", "-fsyntax-only"]
    done = subprocess.run(["gcc", *flags, f"-I{source}", "-x", "c", "-"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode == 0) == compiles, done.stderr
