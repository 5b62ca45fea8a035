"""Call graphs of branch registers (record --call-graph lbr), also stitched over several samples, against the kernel's perf and against what is true.

No machine at hand has such registers. A walk through a program's functions is made up, with what the processor would have kept of it: of the calls that have
not returned the last eight, each in the register that it was put into."""
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording

REGISTERS = 8
FUNCTIONS = 30
CALL_STACK = 1 << 0 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 17  # user, call_stack, no_flags, no_cycles, hw_index


@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    return kernel_form


class Walk:
    """A thread that calls and returns."""

    def __init__(self, places, seed):
        self.places, self.random = places, random.Random(seed)
        self.stack = [(None, 0)]  # (address of the call, function called)
        self.registers, self.newest = [None] * REGISTERS, 0

    def call(self):
        caller, callee = self.stack[-1][1], self.random.randrange(FUNCTIONS)
        branch = (self.places[caller] + self.random.randrange(1, 12), self.places[callee])
        self.stack.append((branch[0], callee))
        self.newest = (self.newest + 1) % REGISTERS
        self.registers[self.newest] = branch

    def returns(self):
        if len(self.stack) > 1:
            self.stack.pop()
            self.registers[self.newest] = None
            self.newest = (self.newest - 1) % REGISTERS

    def step(self):
        deeper = self.random.random() < (0.75 if len(self.stack) < 12 else 0.5 if len(self.stack) < 30 else 0.2)
        self.call() if deeper else self.returns()

    def sample(self, tid, time, kernel):
        kept = []
        for i in range(REGISTERS):
            branch = self.registers[(self.newest - i) % REGISTERS]
            if not branch:
                break
            kept.append(branch)
        ip = self.places[self.stack[-1][1]] + 3
        chain = ["kernel,0xffffffff81000010,0xffffffff81000020"] if kernel else []
        chain += ["user", hex(ip)]
        words = ",".join(f"{a:#x}>{b:#x}/" for a, b in kept)
        return f"sample ip={ip:#x} pid=77 tid={tid} time={time} period=1000 chain={','.join(chain)} branch={words} hw_index={self.newest}"


def make(folder, registers=REGISTERS, kind="IP|TID|TIME|PERIOD|CALLCHAIN|BRANCH_STACK", branch=CALL_STACK):
    """The recording, and of each sample's time the callers in truth, innermost first."""
    program = folder / "walked"
    if not program.exists():
        (folder / "walked.c").write_text("int sink;\n" + "".join(f"__attribute__((noinline)) int f{i}(int n) {{ return sink += n * {i + 3} ^ {i}; }}\n" for i in range(FUNCTIONS)) +
                                         "int main(void) { return " + "+".join(f"f{i}(1)" for i in range(FUNCTIONS)) + "; }\n")
        subprocess.run(["gcc", "-O1", "-no-pie", "-falign-functions=32", "-o", program, folder / "walked.c"], check=True)
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    places = [int(re.search(rf"^([0-9a-f]+) T f{i}$", names, re.M).group(1), 16) for i in range(FUNCTIONS)]
    text = ["feature hostname box", "feature arch x86_64"]
    text += [f"feature cpu_pmu_caps branches {registers} max_precise 3"] if registers else []
    text += [f"event cycles type=0 config=0 period=1000 sample={kind} branch={branch:#x} flags=sample_id_all,mmap,comm,mmap2",
             "comm pid=77 tid=77 name=walked exec=1 time=1", "fork pid=77 ppid=77 tid=78 ptid=77 time=3",
             f"mmap2 pid=77 tid=77 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}"]
    walks, true = {tid: Walk(places, tid) for tid in (77, 78)}, {}
    for time in range(1000, 4000):
        tid = 77 + walks[77].random.randrange(2)
        for _ in range(walks[tid].random.choice([0, 1, 1, 2, 3, 5, 20])):
            walks[tid].step()
        if not walks[tid].registers[walks[tid].newest]:
            walks[tid].call()  # without any branch the kernel's perf takes the bytes behind the sample for one
        text.append(walks[tid].sample(tid, time, time % 5 == 0))
        true[time] = [call for call, _ in walks[tid].stack[:0:-1]]
    return recording.of_absent("\n".join(text) + "\n"), true


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    return tmp_path_factory.mktemp("lbr")


@pytest.fixture(scope="module", name="walked")
def make_walked(folder):
    text, true = make(folder)
    (folder / "perf.data").write_bytes(recording.Maker(text).make())
    return folder / "perf.data", true


def same(ours, theirs):
    """pytest takes minutes to show how long texts differ."""
    ours, theirs = ours.splitlines(), theirs.splitlines()
    different = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]
    assert not different and len(ours) == len(theirs), (different, len(ours), len(theirs))


def output(program, *words):
    done = program(*words)
    assert done.returncode == 0 and done.stdout, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [[], ["--stitch-lbr"]], ids=["plain", "stitched"])
@pytest.mark.parametrize("fields", ["comm,tid,time,ip,sym,symoff,dso", "tid,time,ip", "tid,time,ip,sym,brstack"])
def test_script(perf, oracle, walked, words, fields):
    words = ["script", "-F", fields, *words, "-i", walked[0]]
    same(output(perf, *words), output(oracle, *words))


@pytest.mark.parametrize("words", [[], ["--stitch-lbr"]], ids=["plain", "stitched"])
@pytest.mark.parametrize("style", [["--no-children", "-g", "callee"], ["--no-children", "-g", "caller"], ["--children"], ["--no-children", "-g", "folded,0.1"]], ids=" ".join)
def test_report(perf, oracle, walked, words, style):
    words = ["report", "--stdio", *style, *words, "-i", walked[0]]

    def rows(text):
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    same(rows(output(perf, *words)), rows(output(oracle, *words)))


def stacks(text):
    found = {}
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if lines:
            time = round(float(re.search(r"([\d.]+):", lines[0]).group(1)) * 1e9)
            found[time] = [int(line.split()[0], 16) for line in lines[1:] if "ffffffff" not in line]
    return found


def test_stitched_callers_are_true(perf, walked):
    path, true = walked
    plain, stitched = (stacks(output(perf, "script", "--ns", "-F", "time,ip", *words, "-i", path)) for words in ([], ["--stitch-lbr"]))
    assert set(true) == set(plain) == set(stitched)
    for time, calls in true.items():
        for found in (plain[time], stitched[time]):
            assert [ip & 0xfff for ip in found[1:]] == [ip & 0xfff for ip in calls[:max(0, len(found) - 1)]], time
        assert len(stitched[time]) >= len(plain[time])
    whole = [sum(len(found[time]) == len(calls) + 1 for time, calls in true.items() if calls) for found in (plain, stitched)]
    assert whole[1] > 3 * whole[0] > 0, whole


def test_a_stream_and_other_ways(perf, walked, folder, tmp_path):
    """The head of a stream comes as records; scripts get the same stacks; several threads make the same report."""
    text = make(folder)[0]
    (tmp_path / "pipe").write_bytes(recording.Maker(text, pipe=True).make())
    words = ["script", "-F", "tid,time,ip,sym", "--stitch-lbr", "-i"]
    with open(tmp_path / "pipe", "rb") as stream:
        done = perf(*words, "-", stdin=stream)
    same(done.stdout, output(perf, *words, walked[0]))
    (tmp_path / "count.py").write_text("def process_event(event):\n    print(len(event['callchain']))\n")
    lengths = output(perf, "script", "--stitch-lbr", "-s", tmp_path / "count.py", "-i", walked[0]).split()
    lines = output(perf, "script", "-F", "ip", "--stitch-lbr", "-i", walked[0]).split("\n\n")
    same("\n".join(lengths), "\n".join(str(len(block.split())) for block in lines if block.strip()))
    same(*(output(perf, "report", "--stitch-lbr", "--jobs", jobs, "-i", walked[0]) for jobs in "14"))


def test_without_branches_the_chain_stays(perf, folder, tmp_path):
    text = make(folder)[0].split("sample ", 1)[0] + f"sample ip=0x401140 pid={recording.ABSENT + 77} tid={recording.ABSENT + 77} time=9 period=1 chain=user,0x401140,0x401180 hw_index=0\n"
    (tmp_path / "data").write_bytes(recording.Maker(text).make())
    assert output(perf, "script", "-F", "ip", "-i", tmp_path / "data").split() == ["1140", "1180"]


@pytest.mark.parametrize("how,reason", [({"registers": 0}, "number of branch registers"), ({"branch": CALL_STACK & ~(1 << 17)}, "record with --call-graph lbr"),
                                        ({"kind": "IP|TID|TIME|PERIOD|CALLCHAIN"}, "record with --call-graph lbr")], ids=["registers", "numbers", "frame pointers"])
def test_nothing_to_stitch(perf, folder, tmp_path, how, reason):
    (tmp_path / "data").write_bytes(recording.Maker(make(folder, **how)[0]).make())
    words = ["-F", "tid,time,ip", "-i", tmp_path / "data"]
    done = perf("script", "--stitch-lbr", *words)
    same(done.stdout, output(perf, "script", *words))
    assert reason in done.stderr
    done = perf("report", "--stitch-lbr", "-i", tmp_path / "data")
    assert done.returncode == 0 and reason in done.stderr
