"""perf buildid-list against the kernel's perf: recordings of several kinds, the running kernel, an ELF file."""
import re

import pytest

WORKLOAD = "for i in 1 2 3 4; do ls -l /usr/lib; (cat /etc/passwd | sort | uniq -c); done >/dev/null"
KINDS = {
    "with a table": ["-F", "5000", "-g"],
    "without build-ids": ["-F", "5000", "--no-buildid"],
    "with build-ids in maps": ["-F", "5000", "--buildid-mmap"],
    "system-wide": ["-F", "2000", "-a"],
}
# The oracle copies the vdso into a temporary file and shows that one's name.
VDSO = re.compile(r"/tmp/perf-vdso\.so-\w+")


def lines(text):
    return VDSO.sub("[vdso]", text).splitlines()


@pytest.fixture(scope="module", params=KINDS)
def recording(request, oracle, live, tmp_path_factory):
    path = tmp_path_factory.mktemp("ids") / "perf.data"
    done = oracle("record", "-o", path, *KINDS[request.param], "--", "sh", "-c", WORKLOAD)
    if done.returncode:
        pytest.skip(f"perf record {' '.join(KINDS[request.param])} isn't possible here: {done.stderr[-200:]}")
    return path


@pytest.mark.parametrize("option", [[], ["-H"]])
def test_recordings(perf, oracle, recording, option):
    ours, theirs = (tool("buildid-list", *option, "-i", recording) for tool in (perf, oracle))
    assert lines(ours.stdout) == lines(theirs.stdout)
    assert ours.returncode == theirs.returncode == 0


def test_pipe(perf, oracle, live, tmp_path):
    path = tmp_path / "pipe.data"
    with open(path, "wb") as file:
        oracle("record", "-F", "5000", "-o", "-", "--", "sh", "-c", WORKLOAD, stdout=file, capture_output=False, text=False)
    shown = {}
    for tool in (perf, oracle):
        with open(path, "rb") as file:
            shown[tool] = lines(tool("buildid-list", "-i", "-", stdin=file).stdout)
    assert shown[perf] == shown[oracle] and shown[perf]
    assert lines(perf("buildid-list", "-i", path).stdout) == shown[oracle]


@pytest.mark.parametrize("words", [["-k"], ["-m"], ["-i", "/bin/ls"]])
def test_without_recording(perf, oracle, words):
    ours, theirs = (tool("buildid-list", *words) for tool in (perf, oracle))
    if theirs.returncode:
        pytest.skip("the kernel's perf can't tell it either")
    assert ours.stdout == theirs.stdout


def test_corpus(perf, oracle, corpus):
    files = [path for path in corpus.rglob("*") if path.is_file() and path.stat().st_size < 2_000_000]
    differences = []
    compared = 0
    for path in files:
        theirs = oracle("buildid-list", "-f", "-i", path)
        if theirs.returncode or not theirs.stdout:
            continue
        compared += 1
        if lines(perf("buildid-list", "-f", "-i", path).stdout) != lines(theirs.stdout):
            differences.append(path.name)
    assert compared > 20 and not differences
