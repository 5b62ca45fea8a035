"""One recording in all its forms: the same text; and what the kernel's perf writes in its forms: the text that it prints of them."""
import itertools
import pathlib
import subprocess
import sys

import pytest

LIB = pathlib.Path(__file__).resolve().parent.parent / "lib"
sys.path.insert(0, str(LIB))
import recording  # noqa: E402

FORMS = [dict(zip(("swap", "pipe", "compress"), values)) for values in itertools.product((False, True), repeat=3)]


def form_name(form):
    return "-".join(name for name, on in form.items() if on) or "plain"


@pytest.fixture(scope="module")
def text():
    return (LIB / "small.txt").read_text(encoding="utf-8")


@pytest.mark.sanitize
@pytest.mark.parametrize("form", FORMS, ids=form_name)
def test_every_form_says_the_same(perf, tmp_path, text, form):
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(recording.make(text))
    other.write_bytes(recording.make(text, **form))
    words = ["script", "--show-mmap-events", "--show-task-events", "--show-lost-events", "-F", "+brstack,+addr,+period,+data_src"]
    wanted = perf(*words, "-i", plain)
    assert wanted.returncode == 0 and len(wanted.stdout.splitlines()) > 10, wanted.stderr
    assert perf(*words, "-i", other).stdout == wanted.stdout
    # … and through a pipe, whatever the form
    with open(other, "rb") as file:
        piped = subprocess.run(["sh", "-c", 'cat | "$@"', "sh", perf.path, *words, "-i", "-"], stdin=file, capture_output=True, text=True,
                               check=False)
    assert piped.stdout == wanted.stdout


def record(oracle, path, *words, **arguments):
    done = oracle("record", "-q", "-F", "2000", "-g", "-a", *words, "-o", path, "--", "ls", "/usr/share/doc", **arguments)
    if done.returncode:
        pytest.skip(f"the kernel's perf can't record this here: {done.stderr.strip()[-200:]}")


@pytest.mark.parametrize("words", [["--threads=cpu"], ["--threads=cpu", "-z"], ["-z"], ["-z1", "-e", "sched:sched_switch,cpu-clock"]],
                         ids=lambda words: " ".join(words))
def test_forms_of_the_kernels_perf(perf, oracle, live_system, tmp_path, words):
    path = tmp_path / "out.data"
    record(oracle, path, *words)
    for output in (["script"], ["script", "--header"], ["evlist", "-v"]):
        assert perf(*output, "-i", path).stdout == oracle(*output, "-i", path).stdout


def test_pipe_of_the_kernels_perf(perf, oracle, live_system, tmp_path):
    path = tmp_path / "pipe.data"
    with open(path, "wb") as file:
        subprocess.run([oracle.path, "record", "-q", "-a", "-g", "-e", "cpu-clock,sched:sched_switch", "-o", "-", "--", "ls", "-R",
                        "/usr/share/doc"], stdout=file, stderr=subprocess.DEVNULL, check=False)
    with open(path, "rb") as ours, open(path, "rb") as theirs:
        mine = perf("script", "-i", "-", stdin=ours)
        other = oracle("script", "-i", "-", stdin=theirs)
    assert mine.stdout == other.stdout
