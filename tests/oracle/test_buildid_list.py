"""perf buildid-list against the kernel's perf: recordings of several kinds, the running kernel, an ELF file."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording as made  # noqa: E402

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
    """Without the jitdumps of other tests, which are files in a recording of everything only as long as they are there."""
    return [line for line in VDSO.sub("[vdso]", text).splitlines() if not re.search(r"/jit-\d+\.dump$", line)]


@pytest.fixture(scope="module", params=KINDS)
def recording(request, oracle, live, tmp_path_factory):
    path = tmp_path_factory.mktemp("ids") / "perf.data"
    done = oracle.record(path, *KINDS[request.param], "--", "sh", "-c", WORKLOAD)
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


def test_programs_of_the_kernel_are_no_files(perf, oracle, tmp_path):
    """A sample in a BPF program, of ours or of anybody's who measures at the same time."""
    path = tmp_path / "perf.data"
    path.write_bytes(made.make("""
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,ksymbol ids=1
mmap2 pid=5 tid=5 addr=0x400000 len=0x1000 pgoff=0 time=5 misc=2 prot=5 name=/no/such/file
ksymbol addr=0xffffffffc0025c64 len=0x100 name=bpf_prog_1_first time=10
sample ip=0xffffffffc0025c74 misc=1 pid=5 tid=5 time=11
sample ip=0x400123 misc=2 pid=5 tid=5 time=12
"""))
    for option in ([], ["-H"]):
        ours, theirs = (tool("buildid-list", *option, "-i", path).stdout for tool in (perf, oracle))
        assert lines(ours) == lines(theirs) and "/no/such/file" in ours


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
