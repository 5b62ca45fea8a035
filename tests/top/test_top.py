"""perf top: what it shows of a program that is known, its header beside that of the kernel's tool, its keys, and how it ends."""
import itertools
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import sparing  # noqa: E402
import started  # noqa: E402

pytestmark = pytest.mark.usefixtures("live")

SPIN = """
#include <unistd.h>
volatile unsigned long turns;
__attribute__((noinline)) void hot_loop(void) { for (;;) { turns++; if (!(turns & 0xffff)) getppid(); } }
__attribute__((noinline)) void outer(void) { hot_loop(); __asm__(""); }
int main(void) { outer(); }
"""
HEADER = re.compile(r"   PerfTop: *\d+ irqs/sec  kernel: *[\d.]+%  exact: *[\d.]+% lost: \d+/\d+ drop: \d+/\d+ \[(.*)\],  \((.*)\)")


@pytest.fixture(scope="module")
def spin(tmp_path_factory):
    """A process that is always in hot_loop(), called by outer(), or in getppid()."""
    folder = tmp_path_factory.mktemp("top")
    (folder / "spin.c").write_text(SPIN)
    subprocess.run(["gcc", "-O0", "-fno-omit-frame-pointer", "-o", folder / "spin", folder / "spin.c"], check=True)
    with sparing.now_and_then(subprocess.Popen([folder / "spin"])) as process:
        yield process


class Screens:
    """What perf top prints, screen by screen."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen([program, "top", "--stdio", "-d", "1", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()

    def next(self):
        """The lines up to the next screen's header."""
        lines = [self.line]
        for self.line in self.process.stdout:
            if "PerfTop:" in self.line:
                break
            lines.append(self.line)
        return [line.rstrip("\n") for line in lines]

    def until(self, condition):
        """The first screen that fulfils it: sooner or later what is measured has run."""
        while True:
            screen = self.next()
            assert screen[0], self.process.stderr.read()
            if condition(screen):
                return screen

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def screens(perf):
    opened = []

    def start(*words, program=None):
        opened.append(Screens(program or perf.path, *words))
        return opened[-1]
    yield start
    for each in opened:
        each.process.kill()
        each.process.communicate()


def rows(screen):
    return [line for line in screen if re.match(r" +[\d.]+% ", line)]


def share(screen, name):
    return max((float(line.split("%")[0]) for line in rows(screen) if name in line), default=0)


def test_the_hot_function_comes_first(screens, spin):
    top = screens("-e", "cpu-clock", "-F", "999", "-p", spin.pid)
    screen = top.until(rows)
    header = HEADER.fullmatch(screen[0])
    assert header and header.group(1) == "999Hz cpu-clock" and header.group(2) == f"target_pid: {spin.pid}"
    assert re.fullmatch("-+", screen[1])
    top.until(lambda screen: rows(screen) and "hot_loop" in rows(screen)[0] and "[.]" in rows(screen)[0] and "spin" in rows(screen)[0])
    assert top.end() == 0


@pytest.mark.usefixtures("root")
def test_header_is_the_kernel_tools(screens, oracle, spin):
    """But for the numbers."""
    for words in (("-e", "cpu-clock", "-p", spin.pid), ("-e", "cpu-clock", "-a"), ("-e", "cpu-clock", "-F", "49", "-C", "0"), ("-e", "page-faults", "-c", "7", "-t", spin.pid)):
        headers = []
        for program in (None, oracle.path):
            top = screens(*words, program=program)
            lines = [top.line]
            while "PerfTop:" not in lines[-1]:
                lines.append(top.process.stdout.readline())
                assert lines[-1], top.process.stderr.read()
            headers.append(re.sub(r" *[\d.]+( irqs|%|/| )", r" N\1", lines[-1].split("[")[0]) + lines[-1][lines[-1].index("["):].strip())
            top.process.kill()
        assert headers[0] == headers[1]


def test_g_shows_complete_stacks(screens, spin, bpf):
    """By a BPF program, whose stacks have no frame pointers to go by: those of the C library, below main()."""
    top = screens("-e", "cpu-clock", "-p", spin.pid, "-g")
    top.until(lambda screen: share(screen, "outer") > 50 and share(screen, "_start") > 50)  # what came before the rules were known may be less


def test_call_graphs(screens, spin):
    top = screens("-e", "cpu-clock", "-p", spin.pid, "-g")
    top.until(lambda screen: share(screen, "outer") > 50 and share(screen, "main") > 50)
    unwound = screens("-e", "cpu-clock", "-p", spin.pid, "--call-graph", "auto")
    unwound.until(lambda screen: share(screen, "outer") > 50 and share(screen, "main") > 50)
    callers = screens("-e", "cpu-clock", "-p", spin.pid, "--call-graph", "fp,graph,0.5,callee", "--no-children")
    text = "\n".join(callers.until(lambda screen: share(screen, "hot_loop") > 50))
    assert re.search(r"---hot_loop\n +outer\n +main\n", text)


@pytest.mark.usefixtures("tracefs", "root")
def test_tracepoint_by_name(screens, spin):
    """The only process that is measured."""
    top = screens("-e", "raw_syscalls:sys_enter", "-ns", "comm", "-p", spin.pid)
    screen = top.until(rows)
    assert [re.sub(r"\d+", "N", line.strip()) for line in rows(screen)] == ["N.N%  N  spin"] or [line.split()[-1] for line in rows(screen)] == ["spin"]
    assert int(rows(screen)[0].split()[1]) > 0


def test_hidden_modes(screens, spin):
    user = screens("-e", "cpu-clock", "-p", spin.pid, "-K").until(rows)
    assert all("[.]" in line for line in rows(user))
    kernel = screens("-e", "cpu-clock,context-switches", "-p", spin.pid, "-U").until(rows)
    assert all("[k]" in line for line in rows(kernel))


def test_rows_are_limited(screens, spin):
    top = screens("-e", "cpu-clock", "-p", spin.pid, "-E", "1")
    assert len(rows(top.until(rows))) == 1
    assert len(rows(screens("-e", "cpu-clock", "-p", spin.pid, "--percent-limit", "50").until(lambda screen: share(screen, "hot_loop") > 50))) == 1


def test_ignored_callees(screens, spin):
    """What the function calls counts for itself, and its callers aren't shown."""
    top = screens("-e", "cpu-clock", "-p", spin.pid, "-g", "--no-children", "--ignore-callees", "^outer$")
    first = top.until(lambda screen: share(screen, "outer") > 50)
    assert not share(first, "hot_loop")
    later = top.until(lambda screen: share(screen, "outer") > 50)
    assert not share(later, "hot_loop") and not share(later, "main")


@pytest.mark.usefixtures("tracefs", "root")
def test_switched_on_and_off(screens, spin):
    """Only between the two events, and without them unless they are asked for."""
    measured = ("-e", "cpu-clock,syscalls:sys_enter_getppid", "-p", spin.pid)
    never = screens("-e", "cpu-clock,syscalls:sys_enter_sync", "-p", spin.pid, "--switch-on", "syscalls:sys_enter_sync")
    for _ in range(2):
        assert any("No samples yet" in line for line in never.next())
    switched = screens(*measured, "--switch-on", "syscalls:sys_enter_getppid")
    assert not any("of event 'syscalls:" in line for line in switched.until(lambda screen: share(screen, "hot_loop") > 50)[:6])
    shown = screens(*measured, "--switch-on", "syscalls:sys_enter_getppid", "--show-on-off-events")
    shown.until(lambda screen: share(screen, "getppid") or any("1  of event 'syscalls:sys_enter_getppid'" in line for line in screen))
    off = screens(*measured, "-z", "--switch-off", "syscalls:sys_enter_getppid")
    off.until(lambda screen: any("No samples yet" in line for line in screen))


def test_no_such_switch(perf):
    done = perf("top", "--stdio", "-e", "cpu-clock", "--switch-on", "nosuch:event")
    assert done.returncode and "--switch-on: -e names no event 'nosuch:event'" in done.stderr


def test_instructions_as_text(screens, spin):
    top = screens("-e", "cpu-clock", "-p", spin.pid, "--sym-annotate", "hot_loop", "-M", "intel", "--asm-raw")
    text = "\n".join(top.until(lambda screen: any("Percent" in line for line in screen)))
    assert re.search(r"[0-9a-f]{2} [0-9a-f]{2}.*\bqword ptr\b", text, re.IGNORECASE) and "hot_loop" in text
    assert not rows(top.next())


def test_options_of_reading_proc(screens, spin, perf):
    top = screens("-e", "cpu-clock", "-p", spin.pid, "--num-thread-synthesize", "1", "--proc-map-timeout", "1000", "--addr2line=/no/such", "--objdump=/no/such")
    top.until(lambda screen: share(screen, "hot_loop") > 50)
    done = perf("top", "--stdio", "--num-thread-synthesize", "-1")
    assert done.returncode == 129 and "invalid number" in done.stderr


def test_branches_before_samples(perf):
    """They need registers that machines without a PMU lack, which is said as with -b."""
    done = perf("top", "--stdio", "--branch-history", "-e", "cpu-clock", timeout=300)
    plain = perf("top", "--stdio", "-b", "-e", "cpu-clock", timeout=300)
    assert done.stderr == plain.stderr and done.returncode == plain.returncode != 0


def test_what_a_live_view_cannot(perf):
    done = perf("top", "--stitch-lbr")
    assert done.returncode and "perf record" in done.stderr


def symbols_of(text, file):
    """What is said of a file, and its symbols: start, end, binding and name; those of its PLT, which versions of the kernel's tool know more or less of, are left out."""
    head = next(line for line in text.splitlines() if line.startswith("dso: ") and f"({file}, " in line)
    lines = itertools.takewhile(lambda line: line.startswith(" "), text[text.index(head):].splitlines()[1:])
    return head, {tuple(line.split(maxsplit=2)) for line in lines if not line.endswith("@plt")}


def test_symbols_at_the_end(screens, spin):
    """-D: of the file that ran the symbols that nm finds; of a file in which nothing was sampled that it wasn't read."""
    top = screens("-e", "cpu-clock:u", "-p", spin.pid, "-D")
    top.until(lambda screen: share(screen, "hot_loop") > 50)
    top.process.send_signal(signal.SIGINT)
    text = top.process.communicate()[1]
    assert top.process.returncode == 0
    head, symbols = symbols_of(text, spin.args[0])
    notes = subprocess.run(["readelf", "-n", spin.args[0]], check=True, capture_output=True, text=True).stdout
    assert head == f"dso: spin ({spin.args[0]}, loaded, {re.search('Build ID: ([0-9a-f]+)', notes)[1]})"
    listed = subprocess.run(["nm", "-S", spin.args[0]], check=True, capture_output=True, text=True).stdout
    functions = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) T (hot_loop|outer|main)$", listed, re.MULTILINE)
    assert len(functions) == 3 and symbols >= {(f"{int(start, 16):x}-{int(start, 16) + int(size, 16):x}", "g", name) for start, size, name in functions}
    linker = next(line for line in text.splitlines() if line.startswith("dso: ld-linux"))
    assert re.fullmatch(r"dso: (\S+) \(/\S+/\1, NOT loaded, [0-9a-f]*\)", linker)


@pytest.mark.usefixtures("root")
def test_symbols_as_the_kernels_tool_writes_them(perf, oracle, spin):
    """Which does so when it is left by a key. Of the program that runs, ours are the same."""
    texts = []
    for program in (perf, oracle):
        with Terminal(program, "-e", "cpu-clock:u", "-p", spin.pid, "-D") as top:
            top.until("PerfTop:.*hot_loop")
            top.type("q")
            while select.select([top.leader], [], [], 0 if (ended := top.process.poll() is not None) else 0.1)[0] or not ended:
                if select.select([top.leader], [], [], 0)[0]:
                    top.text += os.read(top.leader, 65536).decode(errors="replace")
            texts.append(top.text.replace("\r", ""))
    ours, theirs = (symbols_of(text, spin.args[0]) for text in texts)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]


TWO_NAMES = """
import os, pathlib, sys
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
for line in sys.stdin:
    for name in line.split():
        pathlib.Path("/proc/self/comm").write_text(name)
        for _ in range(3000):
            os.getppid()
    print("done", flush=True)
"""


@pytest.mark.parametrize("words, kept", [(["--overwrite"], "last"), (["-e", "syscalls:sys_enter_getppid/overwrite/"], "last"), ([], "first")], ids=["all", "event", "not"])
def test_newest_samples_stay(screens, tracefs, words, kept):
    """More comes than a buffer of a page holds while nobody reads it: the last samples are shown instead of the first ones."""
    with subprocess.Popen([sys.executable, "-c", TWO_NAMES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        events = words if "-e" in words else ["-e", "syscalls:sys_enter_getppid", *words]
        shown = screens(*events, "-m", "1", "-s", "comm", "-p", process.pid)
        shown.until(lambda screen: any("No samples yet" in line for line in screen))
        shown.process.send_signal(signal.SIGSTOP)
        os.waitpid(shown.process.pid, os.WUNTRACED)
        process.stdin.write("first last\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        shown.process.send_signal(signal.SIGCONT)
        screen = shown.until(rows)
        process.stdin.close()
    assert [line.split()[-1] for line in rows(screen)] == [kept]


def test_several_events_have_headings(screens, spin):
    text = "\n".join(screens("-e", "cpu-clock,task-clock", "-p", spin.pid).until(lambda screen: sum("# Samples:" in line for line in screen) == 2))
    assert "of event 'cpu-clock'" in text and "of event 'task-clock'" in text


def test_ends_with_the_process(perf):
    """And says nothing about it."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    top = subprocess.Popen([perf.path, "top", "-e", "cpu-clock", "-p", str(sleeper.pid), "-d", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    while "No samples yet" not in (line := top.stdout.readline()):
        assert line, top.stderr.read()
    sleeper.kill()
    sleeper.wait()
    assert top.communicate()[1] == "" and top.returncode == 0


def test_ends_with_its_reader(perf, spin):
    top = subprocess.Popen([perf.path, "top", "-e", "cpu-clock", "-p", str(spin.pid), "-d", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    top.stdout.readline()
    top.stdout.close()
    assert top.stderr.read() == "" and top.wait() == -signal.SIGPIPE


class Terminal:
    """perf top --stdio on a terminal of its own, which types to it."""

    def __init__(self, perf, *words):
        self.leader, self.follower = pty.openpty()
        self.before = termios.tcgetattr(self.follower)
        self.process = subprocess.Popen([perf.path, "top", "--stdio", "-d", "1", *map(str, words)], stdin=self.follower, stdout=self.follower, stderr=self.follower,
                                        preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0)))
        self.text = ""

    def until(self, pattern):
        """Reads on until there is something that matches, and forgets all up to its end."""
        while not (found := re.search(pattern, self.text, re.S)):
            assert select.select([self.leader], [], [], 300)[0], self.text
            self.text += os.read(self.leader, 65536).decode(errors="replace")
        self.text = self.text[found.end():]

    def type(self, keys):
        os.write(self.leader, keys.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.leader)
        os.close(self.follower)


def test_keys(perf, spin):
    """Of text on a terminal: typed keys act, and it is left as it was."""
    with Terminal(perf, "-e", "cpu-clock", "-p", spin.pid) as top:
        top.until("PerfTop:.*hot_loop")
        top.type("h")
        top.until("hide the kernel's functions +\\(no\\)")
        top.type(" ")
        top.type("K")
        top.until("PerfTop:")
        top.type("e")
        top.until("Rows [^:]*: ")
        top.type("1\n")
        top.until("PerfTop:")
        top.type("F")
        top.until("percentage on: ")
        top.type("2.5\n")
        top.until("PerfTop:")
        top.type("?")
        top.until("rows +\\(1\\).*percentage on +\\(2.5\\).*hide the kernel's functions +\\(yes\\)")
        top.type(" q")
        assert top.process.wait() == 0
        assert termios.tcgetattr(top.follower) == top.before


def test_keys_of_instructions(perf, spin):
    """s, S and E of the kernel's tool."""
    with Terminal(perf, "-e", "cpu-clock,task-clock", "-p", spin.pid) as top:
        top.until("PerfTop:.*hot_loop")
        top.type("s")
        top.until("instructions are shown [^:]*: ")
        top.type("hot_loop\n")
        top.until("PerfTop:.*Percent.* for cpu-clock .* <hot_loop>:")
        top.type("E")
        top.until("0 = cpu-clock, 1 = task-clock\\): ")
        top.type("1\n")
        top.until("PerfTop:.*Percent.* for task-clock .* <hot_loop>:")
        top.type("h")
        top.until("instructions of a function .*\\(hot_loop\\)")
        top.type(" S")
        top.until("PerfTop:.*# Samples: .*%[^%]*hot_loop")
        top.type("q")
        assert top.process.wait() == 0


@pytest.mark.parametrize("words, said", [(("x",), "takes no arguments: 'x'"), (("-d", "0"), "invalid number of seconds '0'"), (("-s", "smbol"), "did you mean 'symbol'"),
                                         (("-F", "0"), "nothing would be sampled"), (("--call-graph", "fp,nothing"), "'nothing'"), (("-e", "nosuch"), "nosuch"),
                                         (("-F", "9", "-c", "9"), "cannot be combined"), (("--tui",), "must be a terminal; use --stdio")])
def test_mistakes(perf, words, said):
    done = perf("top", *words)
    assert done.returncode in (129, 255) and said in done.stderr and not done.stdout


def test_a_process_that_is_not_there(perf):
    child = subprocess.Popen(["true"])
    child.wait()
    done = perf("top", "-p", child.pid)
    assert done.returncode == 255 and done.stderr and not done.stdout
