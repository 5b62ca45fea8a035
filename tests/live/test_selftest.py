"""perf test: the self checks on this machine, for root, for somebody else and in a sandbox; and the workloads, whose profiles are known."""
import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest
import started

LIB = pathlib.Path(__file__).resolve().parent.parent / "lib"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
LINE = re.compile(r"^ *(\d+): (.+?) *: (Ok|Skip|FAILED!)(?: \((.*)\))?$")


def run(perf, *words, prefix=(), **arguments):
    """[(number, name, status, reason)] and the exit status."""
    done = subprocess.run([*prefix, perf, "test", *map(str, words)], capture_output=True, text=True, check=False, timeout=300, **arguments)
    lines = [LINE.match(line) for line in done.stdout.splitlines()]
    assert all(lines), done.stdout
    assert not done.stderr, done.stderr
    return [(int(line.group(1)), *line.groups()[1:]) for line in lines], done.returncode


def test_as_root(perf, root, live):
    """ACCEPTANCE: a numbered list, each line Ok or Skip with its reason. A check that fails here is a defect, of ours or of this kernel."""
    checks, status = run(perf)
    assert [number for number, *_ in checks] == list(range(1, len(checks) + 1)) and len(checks) >= 25
    assert status == 0 and not [check for check in checks if check[2] == "FAILED!"]
    assert all(bool(reason) == (result == "Skip") for _, _, result, reason in checks)
    results = {name: (result, reason) for _, name, result, reason in checks}
    # What root can do everywhere where events can be opened at all.
    for name in ("Software events count", "Event times", "Read samples using the mmap interface", "Ring overflow is counted", "Test dwarf unwind",
                 "Record and script a workload", "Parse event definition strings"):
        assert results[name][0] == "Ok", name
    # Reasons are true.
    has = pathlib.Path("/sys/bus/event_source/devices")
    assert (results["Kprobe on a system call"][0] == "Skip") == (not (has / "kprobe").exists())
    assert (results["Uprobe on a function of our own"][0] == "Skip") == (not (has / "uprobe").exists())
    assert (results["Formats of all tracepoints"][0] == "Skip") == (not any(
        os.path.isdir(f"{path}/events") for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")))


def test_looks_like_the_kernel_tools(perf, oracle):
    """The same columns; names of checks that both have are the same."""
    theirs = oracle("test", "vmlinux")
    line = re.search(r"^ *1: vmlinux symtab matches kallsyms +: (\w+)", theirs.stdout + theirs.stderr, re.MULTILINE)
    ours = perf("test", "vmlinux").stdout
    assert line and re.match(r"  1: vmlinux symtab matches kallsyms +: (\w+)", ours).group(1) == line.group(1)
    listed = oracle("test", "list")
    theirs_names = set(re.findall(r"^ *[\d:]+: (.*?) *$", listed.stdout + listed.stderr, re.MULTILINE))
    ours_names = set(re.findall(r"^ *\d+: (.*)$", perf("test", "list").stdout, re.MULTILINE))
    assert {"vmlinux symtab matches kallsyms", "Parse event definition strings", "Object code reading", "Breakpoint accounting", "Event times",
            "Read backward ring buffer", "Convert perf time to TSC", "Test dwarf unwind"} <= ours_names & theirs_names


def test_as_nobody(everybodys, root, live):
    if not shutil.which("setpriv") or subprocess.run([*NOBODY, "test", "-r", everybodys], capture_output=True, check=False).returncode:
        pytest.skip("no program can be run by another user here")
    checks, status = run(everybodys, prefix=NOBODY, cwd="/")
    assert status == 0 and not [check for check in checks if check[2] == "FAILED!"]
    reasons = {name: reason for _, name, result, reason in checks if result == "Skip"}
    if pathlib.Path("/sys/bus/event_source/devices/uprobe").exists():
        assert "root" in reasons["Uprobe on a function of our own"]


@pytest.mark.parametrize("answer", ["EPERM", "ENOSYS", "KILL"])
def test_in_a_sandbox(perf, answer):
    """What cannot be tried is skipped with the reason, whatever the filter answers."""
    checks, status = run(perf, prefix=["/usr/bin/python3", LIB / "confine.py", f"perf_event_open={answer}", "--"])
    assert status == 0
    for _, name, result, reason in checks:
        if name in ("Software events count", "Test dwarf unwind", "Record and script a workload", "Sampling period"):
            assert result == "Skip" and "does not get through" in reason
        assert result != "FAILED!", name


def test_choosing(perf):
    listed = dict(re.findall(r"^ *(\d+): (.*)$", perf("test", "list").stdout, re.MULTILINE))
    assert [number for number, *_ in run(perf, 3, "demang")[0]] == [3, int(next(n for n, name in listed.items() if name == "Demangling"))]
    assert [name for _, name, *_ in run(perf, "BREAKPOINT", "-s", "1-3")[0]] == [name for name in listed.values() if "reakpoint" in name]
    assert [number for number, *_ in run(perf, 1, 2, 3, "-s", "2-3")[0]] == [1]
    some = perf("test", "list", "ring").stdout
    assert perf("test", "list", "--skip", "1,2-4").stdout.splitlines() == perf("test", "list").stdout.splitlines()[4:]
    assert 0 < len(some.splitlines()) < len(listed) and all("ring" in line.lower() for line in some.splitlines())
    wrong = perf("test", "nosuchcheck")
    assert wrong.returncode == 255 and "perf test list" in wrong.stderr
    assert perf("test", "-s", "x").returncode == 129


def test_verbose(perf, live):
    text = perf("test", "-v", "Event times").stdout
    assert re.match(r" *\d+: Event times +:\n--- start ---\n(.*\n)+---- end ----\nEvent times: Ok\n$", text)
    assert "enabled before: 0\n" in text


@pytest.mark.parametrize("option", ["-F", "-p", "-S"])
def test_ways_of_running(perf, live, option):
    words = ["Demangling", "Parse event", "Ring wakeups", "Event times"]
    assert run(perf, option, *words) == run(perf, *words)


def test_failure(perf, live, tmp_path):
    """What should work and doesn't: a recording may not grow. The exit status tells."""
    checks, status = run(perf, "Record and script", prefix=["prlimit", "--fsize=1000"])
    assert status == 1 and checks[0][2] == "FAILED!" and re.fullmatch(r"recording ended with status \d+", checks[0][3])


def test_nothing_is_left(perf, live):
    def leavings():
        return set(pathlib.Path("/tmp").glob("perf-test-*"))
    before = leavings()
    run(perf, "Record", "generated")
    new = leavings() - before
    started.until(lambda: not new & leavings(), f"neighbours have taken away their files: {new}")


# ---- workloads ----

def profile(perf, folder, *words, callgraph="fp"):
    """{symbol: share of the samples} of a workload, and {(pid, tid)}."""
    data = folder / "data"
    stacks = collections.Counter()
    tasks = set()
    cpu = min(os.sched_getaffinity(0))  # threads share it alike, whatever runs on the others
    for _ in range(20):  # a busy machine has but few samples in a second
        done = perf("record", "-N", "-e", "task-clock:u", "-F", 1000, "--call-graph", callgraph, "-o", data, "--", "taskset", "--cpu-list", cpu, perf, "test", "-w", *words)
        assert done.returncode == 0, done.stderr
        tasks.clear()
        for sample in perf("script", "-i", data, "-F", "comm,pid,tid,ip,sym", "--comms", "perf").stdout.strip().split("\n\n"):
            head, *frames = sample.splitlines()
            tasks.add(re.search(r"(\d+)/(\d+)", head).groups())
            stacks[" ".join(frame.split()[1] for frame in frames)] += 1
        if stacks.total() > 50:
            break
    total = stacks.total()
    assert total > 50
    return {stack: count / total for stack, count in stacks.items()}, tasks


def share(stacks, pattern):
    return sum(part for stack, part in stacks.items() if re.match(pattern, stack))


def test_noploop(perf, live, tmp_path):
    stacks, tasks = profile(perf, tmp_path, "noploop", 1)
    assert share(stacks, "noploop ") > 0.9 and len(tasks) == 1


def test_thloop(perf, live, tmp_path):
    stacks, tasks = profile(perf, tmp_path, "thloop", 1)
    assert share(stacks, "test_loop ") > 0.9 and share(stacks, "test_loop thfunc ") > 0.2 and share(stacks, "test_loop thloop ") > 0.2
    assert len({pid for pid, _ in tasks}) == 1 and len(tasks) == 2


def test_leafloop(perf, live, tmp_path):
    """The caller of a function without a frame: only unwinding by tables finds it on x86-64."""
    stacks, _ = profile(perf, tmp_path, "leafloop", 1)
    assert share(stacks, "leaf (parent )?leafloop ") > 0.9
    stacks, _ = profile(perf, tmp_path, "leafloop", 1, callgraph="dwarf")
    assert share(stacks, "leaf parent leafloop ") > 0.9


def test_sqrtloop(perf, live, tmp_path):
    """The C library's functions without a frame hide their caller: how much of the time they take is the machine's affair."""
    stacks, _ = profile(perf, tmp_path, "sqrtloop", 1)
    assert share(stacks, "(.*sqrtloop_child|[\\w@.]*rand\\w*) sqrtloop ") > 0.8 and share(stacks, ".*sqrtloop_child sqrtloop ") > 0


def test_brstack(perf, live, tmp_path):
    stacks, _ = profile(perf, tmp_path, "brstack", 100000000)
    assert share(stacks, ".*brstack") > 0.9 and share(stacks, "brstack_bar ") > 0.003 and share(stacks, "brstack_foo ") > 0.003


def test_datasym(perf, live, tmp_path):
    stacks, _ = profile(perf, tmp_path, "datasym", 1)
    assert share(stacks, "datasym ") > 0.9
    if shutil.which("nm"):
        symbols = subprocess.run(["nm", perf], capture_output=True, text=True, check=True).stdout
        assert re.search(r" [dD] buf1$", symbols, re.MULTILINE), "a variable with a name, as in the kernel's tool"


@pytest.mark.parametrize("words, seconds", [(["noploop"], 1), (["noploop", "2"], 2), (["thloop", "1"], 1), (["leafloop", "1"], 1), (["sqrtloop", "1"], 1), (["brstack", "10"], 0),
                                            (["brstack"], 0)], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_arguments_are_the_kernel_tools(perf, oracle, words, seconds):
    """Both end by themselves, after the same time, with the same status. That they end early enough is judged by what they were on a CPU, which neighbours
    don't lengthen."""
    for program in (perf, oracle):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        done = program("test", "-w", *words)
        assert done.returncode == 0, done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert time.monotonic() - begin >= seconds - 0.1
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < seconds + 3


@pytest.mark.parametrize("name", ["leafloop", "noploop", "thloop"])
def test_ended_by_a_signal(perf, oracle, name):
    """Ctrl-C: the statuses are those of the kernel's tool."""
    statuses = []
    for program in (perf, oracle):
        with subprocess.Popen([program, "test", "-w", name, "60"]) as running:
            started.until(lambda: started.ran(running.pid) > 0.1, "it works")
            running.send_signal(signal.SIGINT)
            statuses.append(running.wait(300))
    assert statuses[0] == statuses[1]


def test_landlock(perf, oracle, root, live, tracefs, tmp_path):
    """Its two system calls, seen by the kernel's tool."""
    if not (tracefs / "events/syscalls/sys_enter_landlock_add_rule").exists():
        pytest.skip("this kernel has no such system call")
    done = oracle("record", "-q", "-e", "syscalls:sys_enter_landlock_add_rule", "-o", tmp_path / "data", perf, "test", "-w", "landlock")
    assert done.returncode == 0
    text = oracle("script", "-i", tmp_path / "data").stdout
    assert len(re.findall(r"ruleset_fd: 0x0000000b, rule_type: 0x0000000[12], rule_attr: 0x\w+, flags: 0x0000002d", text)) == 2


def test_code_of_a_file(perf, tmp_path):
    """--dso: as many functions as readelf counts; one that is overwritten by what is no instruction is found."""
    if not shutil.which("gcc") or not shutil.which("readelf"):
        pytest.skip("gcc or readelf is missing")
    if os.uname().machine != "x86_64":
        pytest.skip("what is no instruction is known for x86-64 only")
    (tmp_path / "x.c").write_text("int twice(int x) { return 2 * x; }\nint thrice(int x) { return 3 * x + twice(x) % 7; }\n")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-nostartfiles", "-o", "x.so", "x.c"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["readelf", "-sW", "x.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split("'.symtab'")[1]
    functions = [line.split() for line in symbols.splitlines() if " FUNC " in line and " UND " not in line]
    words = ["test", "-v", "--dso", tmp_path / "x.so", "object code"]
    done = perf(*words)
    assert done.returncode == 0 and f": {len(functions)} functions, 0 do not" in done.stdout and len(functions) == 2
    headers = subprocess.run(["readelf", "-SW", "x.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    address, offset = (int(word, 16) for word in re.search(r" \.text +PROGBITS +(\w+) (\w+)", headers).groups())
    place = next(int(words[1], 16) for words in functions if words[-1] == "thrice") - address + offset
    code = bytearray((tmp_path / "x.so").read_bytes())
    code[place] = 0x06
    (tmp_path / "x.so").write_bytes(code)
    done = perf(*words)
    assert done.returncode == 1 and "thrice+0x0: not an instruction" in done.stdout and "1 of 2 functions" in done.stdout
    (tmp_path / "x.so").write_bytes(code[:100])
    assert "FAILED!" in perf(*words).stdout or "Skip" in perf(*words).stdout
    done = perf("test", "--dso", "/etc/passwd", "object code")
    assert done.returncode == 1 and "/etc/passwd: not an ELF file" in done.stdout
    named = perf("test", "--objdump", "/no/objdump", "list")
    assert named.returncode == 0 and named.stdout == perf("test", "list").stdout and not named.stderr
    assert "/no/objdump isn't run" in perf("test", "-v", "--objdump", "/no/objdump", "list").stderr


def test_unknown_workload(perf, oracle):
    assert perf("test", "-w", "foo").returncode == oracle("test", "-w", "foo").returncode
    assert "did you mean 'noploop'?" in perf("test", "-w", "nooploop").stderr
    names = re.findall(r"^(\w+) ", perf("test", "-w", "list").stdout, re.MULTILINE)
    assert names == ["noploop", "thloop", "leafloop", "sqrtloop", "brstack", "datasym", "landlock"]
