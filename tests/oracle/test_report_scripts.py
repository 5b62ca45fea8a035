"""perf report as scripts written for the kernel's perf call it: the same words, the same answers."""
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording

PROGRAM = r"""
__attribute__((noinline)) long hot(long n) { return n * n + 1; }
__attribute__((noinline)) long warm(long n) { return hot(n) + 2; }
__attribute__((noinline)) long sys_work(long n) { return warm(n) + 3; }
int main(int argc, char **argv) { return (int)(sys_work(argc) + warm(argc)); }
"""
HEAD = """\
feature event_desc
event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD|CALLCHAIN flags=sample_id_all,mmap,mmap2,comm,task ids=1 period=1
comm pid=7 tid=7 time=1 name=prog
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    directory = tmp_path_factory.mktemp("scripts")
    (directory / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-no-pie", "-o", "prog", "prog.c"], cwd=directory, check=True)
    return directory / "prog"


@pytest.fixture(scope="module")
def chains(program):
    """Samples of two ways to hot(), and of one without it."""
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    at = {name: int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 4 for name in ("main", "sys_work", "warm", "hot")}
    text = HEAD + f"mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}\n"
    for i in range(1000):
        stack = ["hot", "warm", "sys_work", "main"] if i % 50 == 0 else ["hot", "warm", "main"] if i % 3 else ["main"]
        text += f"sample ip={at[stack[0]]:#x} pid=7 tid=7 time={10 + i} period=1 chain=user,{','.join(f'{at[name]:#x}' for name in stack)}\n"
    path = program.parent / "chains.data"
    path.write_bytes(recording.make(recording.of_absent(text)))
    return path


def text_of(tool, path, *words, **arguments):
    done = tool("report", "--stdio", "-i", path, *words, **arguments)
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines() if line.strip(" #") and "(Tip:" not in line]


@pytest.mark.parametrize("words", ["--percent-limit 5 -g caller,0.1", "--percent-limit 5 -g caller", "-g caller,0.1 --percent-limit 5", "--percent-limit 5",
                                   "--no-children --percent-limit 5 -g callee,0.1"])
def test_limits_of_rows_and_of_graphs(perf, oracle, chains, words):
    """The last word about graphs counts."""
    ours = text_of(perf, chains, *words.split())
    assert ours == text_of(oracle, chains, *words.split())
    assert any("--sys_work" in line for line in ours) == ("0.1" in words.split()[-1])


@pytest.mark.parametrize("words", ["-x", "-x --no-children", "-x --no-children -s sym", "-x -s parent,sym", "-x -p ^warm"])
def test_only_what_has_a_parent(perf, oracle, chains, words):
    """The kernel's perf shows nothing unless parents are asked for otherwise too: -p with its own default is asked for here."""
    ours = text_of(perf, chains, "-g", "none", *words.split())
    asked = words.split() + (["-p", "(^sys_|^do_page_fault)"] if "-p" not in words else [])
    assert ours == text_of(oracle, chains, "-g", "none", *asked)
    assert any("hot" in line for line in ours) and not any("other" in line for line in ours)


def test_both_names_of_the_columns_for_modes(perf, oracle, chains):
    ours = text_of(perf, chains, "--showcpuutilization", "-g", "none")
    assert ours == text_of(oracle, chains, "--show-cpu-utilization", "-g", "none") == text_of(perf, chains, "--show-cpu-utilization", "-g", "none")
    assert any(" sys " in line and " usr " in line for line in ours)


TASKS = HEAD + """\
fork pid=2 ppid=0 tid=2 ptid=0 time=0
comm pid=2 tid=2 time=0 name=kthreadd
fork pid=30 ppid=2 tid=30 ptid=2 time=0
comm pid=30 tid=30 time=0 name=kworker/0
fork pid=31 ppid=2 tid=31 ptid=2 time=0
comm pid=31 tid=31 time=0 name=kworker/1
fork pid=2 ppid=0 tid=2 ptid=0 time=5
comm pid=2 tid=2 time=6 name=kthreadd
fork pid=30 ppid=2 tid=30 ptid=2 time=7
comm pid=30 tid=30 time=8 name=kworker/0
mmap2 pid=30 tid=30 addr=0x401000 len=0x1000 pgoff=0x1000 time=8 prot=5 flags=2 name=/bin/one
fork pid=40 ppid=7 tid=40 ptid=7 time=9
fork pid=40 ppid=40 tid=41 ptid=40 time=10
comm pid=40 tid=41 time=11 name=second
sample ip=0x401000 pid=40 tid=41 time=12 period=1
"""


@pytest.mark.parametrize("option", ["--tasks", "--mmaps"])
def test_each_task_once(perf, oracle, tmp_path, option):
    """That run already when the recording begins, and of which the kernel tells as well. The kernel's perf has brothers in another order."""
    (tmp_path / "perf.data").write_bytes(recording.Maker(TASKS).make())

    def tasks(tool):
        return sorted(" ".join(line.split()) for line in text_of(tool, tmp_path / "perf.data", option) if "swapper" not in line)
    ours = tasks(perf)
    assert ours == tasks(oracle)
    assert sum("kworker" in line for line in ours) == 2 and sum("kthreadd" in line for line in ours) == 1
    assert [line.split("|")[1] for line in text_of(perf, tmp_path / "perf.data", "--tasks") if "k" in line[20:]][:3] == [" kthreadd", "  kworker/0", "  kworker/1"]


def test_circle_of_parents(perf, tmp_path):
    """A broken recording."""
    (tmp_path / "perf.data").write_bytes(recording.Maker(HEAD + """\
fork pid=8 ppid=9 tid=8 ptid=9 time=1
fork pid=9 ppid=8 tid=9 ptid=8 time=1
sample ip=0x401000 pid=8 tid=8 time=12 period=1
""").make())
    tids = [line.split()[1] for line in text_of(perf, tmp_path / "perf.data", "--tasks") if "|" in line]
    assert sorted(tids) == sorted(set(tids)) and {"8", "9"} <= set(tids)


def test_facts_of_a_stream(perf, oracle, live, tmp_path):
    stream = tmp_path / "stream"
    stream.write_bytes(oracle("record", "-q", "-o", "-", "-e", "page-faults", "--", "true", text=False).stdout)

    def facts(tool, *words):
        return text_of(tool, "-", "-I", "-g", "none", *words, stdin=stream.open("rb"))
    ours = facts(perf)
    assert ours == facts(oracle)
    assert any(line.startswith("# pmu mappings") for line in ours) and any(line.startswith("# node0 meminfo") for line in ours)
    assert facts(perf, "--header")[1:] == facts(oracle, "--header")[1:]


def test_name_of_the_event_as_a_key(perf, chains):
    assert any(line.split()[-1] == "cpu-clock" for line in text_of(perf, chains, "-s", "comm,event", "-g", "none") if "%" in line)
    refused = perf("report", "-i", chains, "-s", "simd")
    assert refused.returncode == 129 and "Arm SPE" in refused.stderr


@pytest.fixture(scope="module")
def tracepoints(oracle, live_system, tmp_path_factory):
    path = tmp_path_factory.mktemp("tracepoints") / "perf.data"
    done = oracle("record", "-q", "-o", path, "-e", "kmem:kmalloc,raw_syscalls:sys_enter,syscalls:sys_enter_mmap,sched:sched_process_exec", "--", "sh", "-c",
                  "ls / >/dev/null; ls / >/dev/null")
    if done.returncode:
        pytest.skip(done.stderr)
    return path


def test_kernel_functions_in_tracepoints(perf, oracle, tracepoints):
    def sites(text):
        return set(re.findall(r"call_site=(\S+)", text))
    ours = sites("\n".join(text_of(perf, tracepoints, "-s", "trace")))
    assert ours == sites(oracle("script", "-F", "event,trace", "-i", tracepoints).stdout)
    assert any("+0x" in site for site in ours)


@pytest.mark.parametrize("event", ["kmem:kmalloc", "syscalls:sys_enter_mmap", "sched:sched_process_exec"])
def test_fields_as_recorded(perf, oracle, tracepoints, event):
    """Longs and pointers in hexadecimal. The kernel's perf cuts texts at random, whole rows by fields it doesn't."""
    words = ["-s", f"{event}.*", "--raw-trace"]

    def table(tool):
        lines = text_of(tool, tracepoints, *words)
        begin = next(i for i, line in enumerate(lines) if event in line)
        end = next((i for i, line in enumerate(lines) if i > begin and "Samples:" in line), len(lines))
        return sorted(" ".join(line.split()) for line in lines[begin:end] if "%" in line)
    ours = table(perf)
    assert ours == table(oracle)
    assert len(ours) > 1 and any("0x" in line for line in ours) != (event == "sched:sched_process_exec")


def test_arrays_as_recorded(perf, oracle, tracepoints):
    rows = [line for line in text_of(perf, tracepoints, "-s", "trace", "--raw-trace") if "ARRAY[" in line]
    assert len(rows) > 10 and all(re.search(r"% +id=\d+ args=ARRAY\[([0-9a-f]{2}, ){47}[0-9a-f]{2}\]$", line) for line in rows)
    theirs = oracle("report", "--stdio", "-i", tracepoints, "-s", "trace", "--raw-trace", text=False).stdout.decode("latin-1")
    assert {re.search("id=.*", line)[0] for line in rows} == set(re.findall(r"id=\d+ args=ARRAY\[[0-9a-f, ]*\]", theirs))


STATS = {
    "compressed": ["-z", "-g", "-e", "page-faults", "-c", "1"],
    "group": ["-e", "{page-faults,cpu-clock,context-switches}:S", "-c", "1"],
    "several": ["-e", "page-faults,cpu-clock,context-switches"],
}


@pytest.fixture(scope="module", params=STATS)
def counted(oracle, live, tmp_path_factory, request):
    path = tmp_path_factory.mktemp("counted") / "perf.data"
    done = oracle("record", "-q", "-o", path, *STATS[request.param], "--", "ls", "/")
    assert done.returncode == 0, done.stderr
    return path


def test_counts_of_records(perf, oracle, counted):
    """Those that others were packed in are counted as well, and each member of a group that is read with its leader."""
    assert text_of(perf, counted, "--stats") == text_of(oracle, counted, "--stats")
    assert len(re.findall("SAMPLE events", "\n".join(text_of(perf, counted, "--stats")))) >= 2
    with counted.open("rb") as stream:
        assert text_of(perf, "-", "--stats", stdin=stream) == text_of(perf, counted, "--stats")


def test_counts_of_chosen_samples(perf, chains):
    stats = "\n".join(text_of(perf, chains, "--stats", "--time", "0,0.000000019"))
    assert re.search(r"cpu-clock stats:\n +SAMPLE events: +10$", stats)
    assert re.search(r"cpu-clock stats:\n +SAMPLE events: +1000$", "\n".join(text_of(perf, chains, "--stats")))


def test_where_stacks_end_in_a_few_lines(perf, program, tmp_path):
    """Thirty files in which stacks end."""
    text = HEAD + "".join(f"mmap2 pid=7 tid=7 addr={0x100000 * (i + 1):#x} len=0x1000 pgoff=0 time=2 prot=5 flags=2 name=/nowhere/lib{i}.so\n" for i in range(30))
    for i in range(30):
        for n in range(i + 1):
            text += f"sample ip={0x100000 * (i + 1) + 16:#x} pid=7 tid=7 time={10 + i} period=1 chain=user,{0x100000 * (i + 1) + 16:#x}\n"
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    lines = text_of(perf, tmp_path / "perf.data", "--stats=stacks")
    assert len(lines) <= 15 and "465 of 465" in lines[0]
    assert sum(int(line.split()[0]) for line in lines[1:]) == 465 and "lib29.so" in lines[1] and "19 other places" in lines[-1]
    assert "early" not in "\n".join(text_of(perf, tmp_path / "perf.data", "--stats"))


def on_terminal(perf, *words, **environment):
    """What a terminal gets on which the pager marks its lines."""
    return on_pty(*pty.openpty(), [perf, *words], environment)


def on_pty(master, slave, words, environment):
    names = {key: value for key, value in os.environ.items() if key != "LESS"}
    with subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**names, "TERM": "xterm", **environment}) as process:
        os.close(slave)
        got = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
        process.wait(timeout=300)
    os.close(master)
    return got.decode(errors="replace").replace("\r", "")


@pytest.fixture(scope="module")
def cut(program):
    """Stacks that don't reach the start of their thread."""
    text = HEAD + "mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name=/nowhere/lib.so\n"
    text += "".join(f"sample ip=0x401010 pid=7 tid=7 time={10 + i} period=1 chain=user,0x401010\n" for i in range(100))
    path = program.parent / "cut.data"
    path.write_bytes(recording.Maker(text).make())
    return path


def test_hints_come_before_the_pager(perf, cut):
    """So that they stay when the pager is left; and a program that reads standard error gets none."""
    shown = [line for line in on_terminal(perf, "report", "-i", cut, PERF_PAGER="sed s/^/P:/").splitlines() if line]
    hints = [i for i, line in enumerate(shown) if "end early" in line or "no function name" in line]
    first = next(i for i, line in enumerate(shown) if line.startswith("P:"))
    assert len(hints) == 2 and max(hints) < first and not any(line.startswith("P:") for line in shown[:first]), shown
    assert all(line.startswith("P:") for line in shown[first:]), shown
    assert perf("report", "-i", cut).stderr == ""
    assert "end early" in perf("report", "-i", cut, "-v").stderr


@pytest.mark.parametrize("columns", [30, 50, 200])
@pytest.mark.parametrize("pager", ["cat", "sed s/^//"])
def test_the_header_never_wraps(perf, chains, columns, pager):
    """Neither with a pager nor without; what is redirected has it in full."""
    words = [perf, "report", "--stdio", "-i", chains, "-g", "none", "-s", "comm,dso,sym"]
    full = [line for line in perf(*words[1:]).stdout.splitlines() if line.startswith("# ...") or line.startswith("# Child")]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 40, columns, 0, 0))
    shown = on_pty(master, slave, words, {"PERF_PAGER": pager}).splitlines()
    assert [line[:columns] for line in full] == [line for line in shown if line.startswith("# ...") or line.startswith("# Child")]
    assert any(len(line) > 30 for line in full)


def test_the_pager_cuts_long_lines(perf, cut):
    pager = "cat >/dev/null; echo LESS=$LESS."
    assert re.search(r"LESS=\w*S\w*\.", on_terminal(perf, "report", "-i", cut, PERF_PAGER=pager))
    assert "LESS=R." in on_terminal(perf, "report", "-i", cut, PERF_PAGER=pager, LESS="R")


def test_stacks_that_reach_main_are_whole(perf, program, tmp_path):
    """Whatever lies beyond it."""
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    at = {name: int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 4 for name in ("main", "hot")}
    text = HEAD + f"mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}\n"
    for i in range(90):
        text += f"sample ip={at['hot']:#x} pid=7 tid=7 time={10 + i} period=1 chain=user,{at['hot']:#x},{at['main']:#x},0x7f0000001234,0x12\n"
    for i in range(10):
        text += f"sample ip={at['hot']:#x} pid=7 tid=7 time={200 + i} period=1 chain=user,{at['hot']:#x},0x7f0000001234\n"
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    assert "Stacks that end early: 10 of 100" in perf("report", "--stats=stacks", "-i", tmp_path / "perf.data").stdout
    assert "10% of the stacks end early, before main() or the start of their thread" in perf("report", "-v", "-i", tmp_path / "perf.data").stderr


def test_callers_of_functions_without_a_frame(perf, tmp_path):
    """Frame pointers lead past who called hot(), and past who called warm() before that has set its frame up: of the former the hint tells, of both the statistics."""
    (tmp_path / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-momit-leaf-frame-pointer", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-no-pie", "-o", "prog", "prog.c"],
                   cwd=tmp_path, check=True)
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "prog"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    places = {name: [(int(at, 16), text) for at, text in re.findall(r"^ +(\w+):\t(.*)", body, re.MULTILINE)]
              for name, body in re.findall(r"^\w+ <(hot|warm|main)>:\n((?:.+\n)+)", code, re.MULTILINE)}
    assert not any("%rbp" in text for _, text in places["hot"])
    hot, entry, main = (places[name][0][0] for name in ("hot", "warm", "main"))
    body = next(at for at, text in places["warm"] if text.startswith("call"))
    text = HEAD + f"mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={tmp_path}/prog\n"
    for i, (at, count) in enumerate([(hot, 50), (body, 30), (entry, 10)]):
        text += "".join(f"sample ip={at:#x} pid=7 tid=7 time={1000 * i + n + 10} period=1 chain=user,{at:#x},{main + 9:#x}\n" for n in range(count))
    text += "".join(f"sample misc=1 ip=0xffffffff81234560 pid=7 tid=7 time={9000 + n} period=1 chain=kernel,0xffffffff81234560,user,{hot:#x},{main + 9:#x}\n" for n in range(10))
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    hint = [line for line in perf("report", "-v", "-i", tmp_path / "perf.data").stderr.splitlines() if "lack a caller" in line]
    assert len(hint) == 1 and "60% of the stacks lack a caller" in hint[0] and "(hot in prog, 60.0%)" in hint[0] and hint[0].endswith("record with -g alone, which records complete stacks")
    assert "lack" not in perf("report", "-i", tmp_path / "perf.data").stderr, "no terminal"
    stats = perf("report", "--stats=stacks", "-i", tmp_path / "perf.data").stdout
    assert "lack the caller of their innermost function: 70 of 100 " in stats and "(hot in prog, 60.0%; warm in prog, 10.0%)" in stats


@pytest.mark.parametrize("words,said", [("-c prgo", "'prog'"), ("-d progg", "'prog'"), ("-S sys_wrok", "'sys_work'"), ("-S work", "'sys_work'"), ("--symbol-filter wram", "'warm'"),
                                        ("-c main,prog", "main")])
def test_names_that_nothing_has(perf, chains, words, said):
    done = perf("report", "-i", chains, *words.split())
    assert done.returncode == 0 and "nothing in the recording matches" in done.stderr and said in done.stderr
    assert "nothing" not in perf("report", "-i", chains, *words.split(), "-q").stderr


BUSY = HEAD + "comm pid=4711 tid=4711 time=1 name=busy\ncomm pid=4711 tid=4715 time=1 name=helper\ncomm pid=52 tid=52 time=1 name=lazy\n" + "".join(
    f"sample ip=0x401010 pid={pid} tid={tid} time={10 + i * 10 + j} period=1\n"
    for i, (pid, tid, count) in enumerate([(4711, 4711, 6), (4711, 4715, 2), (52, 52, 1), (9001, 9001, 1)]) for j in range(count))


@pytest.mark.parametrize("command", ["report", "script", "script --per-event-dump", "pipe"])
@pytest.mark.parametrize("words,said", [
    ("--pid 53", "--pid 53: no sample belongs to this process; the samples are of 4711 (busy, 80%), 52 (lazy, 10%), 9001 (10%)"),
    ("--pid 4715", "--pid 4715: no sample belongs to this process; it is a thread: --tid 4715; the samples are of 4711"),
    ("--pid 52,77", "--pid 77: no sample belongs to this process"),
    ("--tid 9101", "--tid 9101: no sample belongs to this thread; most of the samples are of 4711 (busy, 60%), 4715 (helper, 20%), 52 (lazy, 10%). Did you mean 9001?"),
    ("--tid 4715", None), ("--pid 52,4711", None)])
def test_processes_and_threads_that_have_no_sample(perf, tmp_path, command, words, said):
    data = recording.Maker(BUSY.replace("TIME|PERIOD|CALLCHAIN", "TIME|PERIOD")).make()
    (tmp_path / "perf.data").write_bytes(data)
    if command == "pipe":
        done = subprocess.run([perf, "script", "-i", "-", *words.split()], input=(tmp_path / "perf.data").read_bytes(), capture_output=True, check=False)
        error = done.stderr.decode()
    else:
        done = perf(*command.split(), *words.split(), cwd=tmp_path)
        error = done.stderr
    assert done.returncode == 0 and (said in error if said else "no sample" not in error), error
    assert error.count("no sample") == bool(said)


@pytest.mark.parametrize("words", ["-c prog", "-d prog", "-S sys_work,warm", "--symbol-filter war"])
def test_names_that_are_there(perf, chains, words):
    assert perf("report", "-i", chains, *words.split()).stderr == ""


def test_the_recording_without_its_option(perf, chains, tmp_path):
    assert perf("report", chains).stdout == perf("report", "-i", chains).stdout
    assert perf("report", chains, "warm").stdout == perf("report", "-i", chains, "--symbol-filter", "warm").stdout
    assert perf("report", "-i", chains, "warm").stdout == perf("report", "-i", chains, "--symbol-filter", "warm").stdout
    (tmp_path / "warm").write_text("a file that is no recording")
    assert perf("report", "-i", chains, "warm", cwd=tmp_path).stdout == perf("report", "-i", chains, "--symbol-filter", "warm").stdout


@pytest.mark.parametrize("words,said", [("report -g dwarf", "perf record --call-graph dwarf"), ("report -s smbol", "did you mean 'symbol'"), ("report -F sampel", "did you mean 'sample'"),
                                        ("annotate --max-stack 3", "perf report"), ("annotate mian", "'main'"), ("annotate -s ain", "'main'"),
                                        ("report -s simd", "hardware traces")])
def test_mistakes_are_named(perf, chains, words, said):
    done = perf(words.split()[0], "-i", chains, *words.split()[1:])
    assert done.returncode and said in done.stderr, done.stderr


def test_keys_stand_in_columns(perf, chains):
    lines = [line for line in perf("report", "-i", chains, "-s", "nosuchkey").stderr.splitlines() if line.startswith("  ")]
    starts = [{m.start() for m in re.finditer(r"(?<= )\S", line)} for line in lines]
    assert len(lines) > 5 and all(len(line) <= 100 for line in lines) and all(start <= starts[0] for start in starts)


def test_values_of_the_configuration(perf, chains, tmp_path):
    config = tmp_path / "config"
    refused = perf("config", "report.percent-limit=5x", env={**os.environ, "PERF_CONFIG": str(config)})
    assert refused.returncode and "report.percent-limit" in refused.stderr and "5x" in refused.stderr and not config.exists()
    assert perf("config", "report.percent-limit=5", env={**os.environ, "HOME": str(tmp_path)}).returncode == 0
    config.write_text("[report]\n\tchildren = true\n\tpercent-limit = 5x\n")
    done = perf("report", "-i", chains, env={**os.environ, "PERF_CONFIG": str(config)})
    assert done.returncode and f"{config}:3: report.percent-limit: " in done.stderr


def test_a_symbol_that_is_not_there_is_a_failure(perf):
    done = perf("kallsyms", "nosuchsymbol_at_all")
    assert done.returncode, done.stdout


WEIGHTS = HEAD.replace("PERIOD|CALLCHAIN", "PERIOD|WEIGHT_STRUCT") + "".join(
    f"sample ip=0x401010 pid=7 tid=7 time={10 + i} period=1 weight=30 ins_lat=7 p_stage={i % 2 + 4}\n" for i in range(10))


def test_keys_of_weights(perf, tmp_path):
    (tmp_path / "perf.data").write_bytes(recording.Maker(WEIGHTS).make())

    def rows(keys):
        return sorted(line.split()[1:] for line in text_of(perf, tmp_path / "perf.data", "-s", keys) if "%" in line)
    assert rows("weight1,weight2,weight3") == [["30", "7", "4"], ["30", "7", "5"]]
    assert rows("local_retire_lat,retire_lat") == [["4", "20"], ["5", "25"]]


def test_key_of_a_symbol_and_the_distance_from_its_start(perf, chains):
    rows = [line.split()[-1] for line in text_of(perf, chains, "-s", "symoff", "--no-children", "-g", "none") if "%" in line]
    assert sorted(rows) == ["hot+0x4", "main+0x4"]


def test_a_recording_without_the_kernels_addresses(perf, cut, tmp_path):
    """Says so first, whatever other names are missing."""
    text = cut_text = HEAD + "mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name=/nowhere/lib.so\n"
    text += "".join(f"sample misc=1 ip=0xffffffff81234560 pid=7 tid=7 time={10 + i} period=1 chain=kernel,0xffffffff81234560\n" for i in range(94))
    text += "".join(f"sample ip=0x401010 pid=7 tid=7 time={110 + i} period=1 chain=user,0x401010\n" for i in range(6))
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    said = [line for line in perf("report", "-i", tmp_path / "perf.data", "-v").stderr.splitlines() if not line.startswith("Sandbox: ")]
    assert "94% of the samples are in the kernel" in said[0], said
    # Whatever the settings are here and now: it was recorded elsewhere.
    assert said[0].endswith("sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1")
    done = perf("flamegraph", "-i", tmp_path / "perf.data", "-o", tmp_path / "flame.svg")
    assert said[0] in done.stderr, done.stderr
    assert any("/nowhere/lib.so" in line for line in said[1:])
    (tmp_path / "user.data").write_bytes(recording.Maker(cut_text + "sample ip=0x401010 pid=7 tid=7 time=110 period=1 chain=user,0x401010\n").make())
    assert "kptr_restrict" not in perf("report", "-i", tmp_path / "user.data", "-v").stderr


def test_names_of_this_kernel_are_no_names_of_another(perf, tmp_path):
    """Where the recording tells its release alone."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        found = next((line.split() for line in file if line.split()[1] in "tT" and line.split()[2] == "vfs_read"), None)
    if not found or int(found[0], 16) == 0:
        pytest.skip("the kernel hides its addresses")
    address = int(found[0], 16)

    def names(release):
        text = f"feature osrelease {release}\n" + HEAD
        text += f"mmap pid=-1 tid=0 misc=1 addr={address & ~0xfffff:#x} len=0x2000000 pgoff={address & ~0xfffff:#x} time=0 name=[kernel.kallsyms]_text\n"
        text += f"sample misc=1 ip={address + 8:#x} pid=7 tid=7 time=10 period=1 chain=kernel,{address + 8:#x}\n"
        (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
        return "\n".join(text_of(perf, tmp_path / "perf.data", "-s", "sym", "-g", "none"))
    assert "vfs_read" not in names("5.4.0-other") and f"{address + 8:#x}" in names("5.4.0-other")


@pytest.mark.parametrize("words", ["--no-children -g caller --max-stack 20", "--no-children -g callee --max-stack 20", "--max-stack 20", "-G --no-children --max-stack 5"])
def test_chains_deeper_than_the_limit(perf, oracle, tmp_path, words):
    """Callers first keeps the outermost frames, callees first the innermost."""
    text = HEAD + "mmap2 pid=7 tid=7 addr=0x401000 len=0x10000 pgoff=0x1000 time=2 prot=5 flags=2 name=/nowhere/lib.so\n"
    for i in range(10):
        user = "user," + ",".join(hex(0x401010 + 16 * frame) for frame in range(30 + i))
        text += f"sample ip=0x401010 pid=7 tid=7 time={10 + i} period=1 chain={user}\n"
        text += f"sample misc=1 ip=0xffffffff81000010 pid=7 tid=7 time={50 + i} period=1 chain=kernel,0xffffffff81000010,0xffffffff81000050,{user}\n"
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    ours = text_of(perf, tmp_path / "perf.data", *words.split())
    assert ours == text_of(oracle, tmp_path / "perf.data", *words.split()) and len(ours) > 10


def test_a_sample_of_the_time_of_a_name_behind_it(perf, oracle, tmp_path):
    """Among equal times the file's order decides: the first sample has the old name and the old map, the second the new ones."""
    other = "mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time={} prot=5 flags=2 name=/nowhere/{}\n"
    text = HEAD + other.format(2, "old") + "sample ip=0x401010 pid=7 tid=7 time=17 period=3\ncomm pid=7 tid=7 time=17 name=renamed exec=1\n"
    text += other.format(17, "new") + "sample ip=0x401010 pid=7 tid=7 time=17 period=5\nsample ip=0x401010 pid=7 tid=7 time=30 period=7\n"
    text += "".join(f"comm pid={i} tid={i} time={i} name=other\n" for i in range(100, 200))
    (tmp_path / "perf.data").write_bytes(recording.make(recording.of_absent(text)))
    ours = text_of(perf, tmp_path / "perf.data", "-n", "-s", "comm,dso")
    assert ours == text_of(oracle, tmp_path / "perf.data", "-n", "-s", "comm,dso")
    assert [line.split()[-2:] for line in ours[-2:]] == [["renamed", "new"], ["prog", "old"]], ours
    for tool in (perf, oracle):
        changes = tool("diff", "-s", "comm,dso", tmp_path / "perf.data", tmp_path / "perf.data").stdout
        assert re.findall(r"20\.00%.*prog +old", changes) and re.findall(r"80\.00%.*renamed +new", changes), changes


@pytest.mark.parametrize("words", [["report", "--stdio"], ["diff"]], ids=" ".join)
def test_columns_are_as_wide_as_what_is_printed(perf, tmp_path, words):
    """Of a name with control characters that is what is shown in their place."""
    text = HEAD + "comm pid=8 tid=8 time=1 name='a\x1b[31m\x01b'\n" + "".join(f"sample ip=0x401010 pid={pid} tid={pid} time={20 + pid} period=1\n" for pid in (7, 8))
    (tmp_path / "perf.data").write_bytes(recording.make(recording.of_absent(text)))
    done = perf(*words, "-s", "comm,dso", *(["-i"] if words[0] == "report" else []), tmp_path / "perf.data", *([tmp_path / "perf.data"] if words[0] == "diff" else []))
    rows = [line for line in done.stdout.splitlines() if "[unknown]" in line]
    dots = next(line for line in done.stdout.splitlines() if line.startswith("# ...."))
    assert len(rows) == 2 and {row.index("[unknown]") for row in rows} == {dots.rindex("  ") + 2}, done.stdout
    assert r"a\x1b[31m\x01b  [unknown]" in done.stdout


@pytest.mark.parametrize("words,said", [("--comms prgo", "--comms prgo: nothing in the recording matches; it has no thread of this name. Did you mean 'prog'?"),
                                        ("--comms prog,oher", "--comms oher: nothing in the recording matches"), ("-S hto", "-S: no sample is in such a function"),
                                        ("-S hot", None), ("--comms prog", None), ("-S hot --per-event-dump", None)])
def test_script_tells_of_names_that_nothing_has(perf, chains, tmp_path, words, said):
    (tmp_path / "perf.data").write_bytes(chains.read_bytes())
    done = perf("script", *words.split(), cwd=tmp_path)
    assert done.returncode == 0 and (said in done.stderr if said else "perf: " not in done.stderr), done.stderr


SHARED = HEAD + "comm pid=8 tid=8 time=1 name=rare\n" + "".join(
    f"mmap2 pid={pid} tid={pid} addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name=PROGRAM\n" for pid in (7, 8)) + "".join(
    f"sample ip=HOT pid={pid} tid={pid} time={time} period=1 chain=user,HOT,MAIN\n" for time, pid in [(10, 8)] + [(20 + i, 7) for i in range(99)])


@pytest.mark.parametrize("words, rows", [
    ("--comm rare -s sym --no-children", [("1.00%", "hot")]), ("--comm prog -s sym --no-children", [("99.00%", "hot")]),
    ("--pid 4194312 -s sym --no-children", [("1.00%", "hot")]), ("--tid 4194311 -s dso --no-children", [("99.00%", "prog")]),
    ("--comm rare -s sym --children", [("1.00%", "hot"), ("1.00%", "main")]), ("-S hot -s comm --no-children", [("99.00%", "prog"), ("1.00%", "rare")]),
    ("-S nothing -s comm --no-children", []), ("--comm rare -s comm,sym --no-children", [("1.00%", "hot")])])
def test_filter_by_what_is_no_key(perf, program, tmp_path, words, rows):
    """Samples that a filter leaves out are in no row, whichever came first: the kernel's tool shows all of a row if the first one passes, and none if it doesn't."""
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    at = {name.upper(): f"{int(re.search(rf'(.*) T {name}', symbols)[1], 16) + 4:#x}" for name in ("hot", "main")}
    text = re.sub("HOT|MAIN", lambda found: at[found[0]], SHARED).replace("PROGRAM", str(program))
    path = tmp_path / "shared.data"
    path.write_bytes(recording.make(recording.of_absent(text)))
    shown = text_of(perf, path, "-g", "none", *words.split())
    found = [(line.split()[0], line.split()[-1]) for line in shown if not line.startswith("#")]
    assert sorted(found) == sorted(rows), shown
    assert "# Event count (approx.): 100" in shown
