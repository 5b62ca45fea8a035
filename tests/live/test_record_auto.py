"""Complete stacks as ordinary call chains, unwound while recording: --call-graph auto."""
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import mounts  # noqa: E402
import own as neighbours  # noqa: E402
import started  # noqa: E402

# Burns CPU time below a chain of calls of a known depth, without frame pointers. "fault": touches pages there instead, as often as the third word says, and before that until the file of the fourth
# word is there; "-", "-fault": tells when it has begun and goes on for ever.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sink;
static double seconds;
static int faults;
__attribute__((noinline)) static void burn(void)
{
	if (faults) {
		volatile char *pages = mmap(NULL, 4096 * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 16; i++)
			pages[i * 4096] = 1;
		munmap((void *)pages, 4096 * 16);
		return;
	}
	unsigned x = 1;
	do
		for (unsigned i = 0; i < 100000; i++)
			x = x * 1664525 + 1013904223;
	while (seconds < 0 || (double)clock() / CLOCKS_PER_SEC < seconds);
	sink = x;
}
__attribute__((noinline)) static unsigned down(int n)
{
	volatile char room[100];
	room[0] = (char)n;
	if (n)
		return down(n - 1) + room[0];
	burn();
	return room[0];
}
int main(int argc, char **argv)
{
	int depth = atoi(argv[1]);
	faults = strstr(argv[2], "fault") != NULL;
	seconds = *argv[2] != '-' ? atof(argv[2]) : -1;
	if (seconds < 0) {
		if (faults)
			sink += down(depth); /* from here on there are no faults but those of its pages */
		puts("begun");
		fflush(stdout);
	}
	while (argc > 4 && access(argv[4], F_OK)) {
		sink += down(depth);
		usleep(20000);
	}
	for (int rounds = argc > 3 ? atoi(argv[3]) : 1; rounds > 0 || seconds < 0; rounds--) {
		sink += down(depth);
		if (rounds > 1)
			usleep(1000);
	}
	return 0;
}
"""
DEPTH = 20
CLOCK = ["-e", "cpu-clock:u", "-c", "1000000"]


@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    return kernel_form


@pytest.fixture(name="mode", params=["auto,bpf", "auto,copy"])
def make_mode(request):
    """Who unwinds: a BPF program in the kernel, or the recorder."""
    if request.param == "auto,bpf":
        request.getfixturevalue("bpf")
        if not is_walked():
            pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    return request.param


def is_walked():
    return tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 1)


@pytest.fixture(scope="module", name="build")
def make_build(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("auto")
    (folder / "program.c").write_text(PROGRAM)

    def build(name, *flags):
        path = folder / name
        # Bound before main(): the dynamic linker would need much stack for it.
        subprocess.run(["gcc", "-O2", "-g", "-Wl,-z,now", "-fno-plt", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", *flags, "-o", path, folder / "program.c"], check=True)
        return path
    return build


@pytest.fixture(scope="module", name="program")
def make_program(build):
    return build("steps")


def stacks(tool, path, *words):
    """Of each sample: its functions, innermost first."""
    done = tool("script", "-F", "comm,tid,time,event,ip,sym", "--no-inline", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    blocks = [block.strip().splitlines() for block in done.stdout.split("\n\n")]
    return [(re.sub(r"\s+", " ", block[0]), [line.split()[1] for line in block[1:]]) for block in blocks if len(block) > 1]


def own(found):
    """Those of the program's own code: before and behind it are the dynamic linker and the C library."""
    return [stack for head, stack in found if head.startswith("steps") and ("down" in stack or "burn" in stack)]


def is_whole(stack, depth=DEPTH):
    at = stack.index("main")
    return stack[-1] == "_start" and all("libc_start" in name for name in stack[at + 1:-1]) and stack[:at].count("down") == (depth + 1 if "burn" in stack else stack.count("down"))


def assert_whole(found, depth=DEPTH):
    assert found and all("main" in stack and is_whole(stack, depth) for stack in found), [stack for stack in found if "main" not in stack or not is_whole(stack, depth)][:2]


def record_with_rules(perf, folder, files, *words):
    """Records into the folder's `data`. Its file `go` is there once the recorder has read the unwind rules of files of these names, which -vv tells. Returns what it said, and its number."""
    said = folder / "said"
    with open(said, "w", encoding="utf-8") as err, subprocess.Popen([perf.path, "record", "-vv", "-o", folder / "data", *map(str, words)], stderr=err) as recorder:
        def are_known():
            return recorder.poll() is not None or all(re.search(rf"unwind rules of \S*/{name}", said.read_text(errors="replace")) for name in files)
        started.until(are_known, "rules were read")
        (folder / "go").touch()
        assert recorder.wait(300) == 0, said.read_text(errors="replace")
    return said.read_text(errors="replace"), recorder.pid


WAYS = [CLOCK, [*CLOCK, "--aio"], ["-e", "cpu-clock", "-c", "1000000"], ["-e", "{cpu-clock:u,task-clock:u}", "-c", "1000000"], [*CLOCK, "-e", "task-clock:u", "--no-inherit"],
        [*CLOCK, "--tail-synthesize"], [*CLOCK, "--mmap-flush", "64K"], ["-e", "cpu-clock/call-graph=auto/u", "-c", "1000000"]]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_every_stack_is_whole(perf, oracle, live, mode, tmp_path, program, words):
    path = tmp_path / "data"
    done = perf.record(path, *words, *([] if "call-graph" in words[1] else ["--call-graph", mode]), "--", program, str(DEPTH), "0.1")
    assert done.returncode == 0, done.stderr
    found = stacks(perf, path)
    assert_whole(own(found))
    assert stacks(oracle, path) == found
    assert re.search(r"Unwound \d+ stacks?, (all complete|[\d.]+ % complete; )", done.stderr)
    for line in perf("evlist", "-v", "-i", path).stdout.splitlines():
        assert "CALLCHAIN" in line and "REGS_USER" not in line and "STACK_USER" not in line


def test_the_whole_system(perf, oracle, live_system, mode, tmp_path, program):
    """Processes that come and go, on all CPUs: what they have mapped is told while they are sampled. They come when the rules of their files are known, by another process that has the same:
    copies of the neighbours' stacks may leave no room for theirs."""
    path = tmp_path / "data"
    name = f"steps{os.getpid()}"
    program = shutil.copy(program, tmp_path / name)
    os.link(program, tmp_path / "first")
    script = (f"{tmp_path}/first {DEPTH} - >/dev/null & until [ -e {tmp_path}/go ]; do sleep 0.02; done; kill $!; "
              f"for i in 1 2 3 4 5 6 7 8; do {program} {DEPTH} 0.02 & done; wait")
    _, recorder = record_with_rules(perf, tmp_path, ["first", r"libc\."] if mode == "auto,bpf" else [],
                                    "-a", "-m", "16M", "-e", "cpu-clock", "-c", "1000000", "--call-graph", mode, "--", "sh", "-c", script)  # room for the neighbours' stacks
    path.write_bytes(neighbours.of(path.read_bytes(), recorder))
    found = stacks(perf, path, "--comms", name)
    assert len({head.split()[1] for head, stack in found if "down" in stack}) == 8
    assert_whole(own(found))
    assert stacks(oracle, path, "--comms", name) == found


def test_a_build(perf, live_system, walked, tmp_path):
    """Many compilers that live for some milliseconds each: every one has its name and complete stacks. A machine that is too busy to read the rules of their files says so."""
    if not shutil.which("gcc") or not shutil.which("make"):
        pytest.skip("needs gcc and make")
    for i in range(40):
        (tmp_path / f"f{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int x) {{ return printf(\"%d\", x); }}\n")
    (tmp_path / "Makefile").write_text("all: $(patsubst %.c,%.s,$(wildcard *.c))\n%.s: %.c\n\t@gcc -O2 -S -o $@ $<\n")
    path = tmp_path / "data"
    done = perf.record(path, "-v", "-a", "-m", "64M", "-e", "cpu-clock", "-c", "500000", "-g", "--", "make", "-s", "-j4", "-C", tmp_path, env={**os.environ, "CCACHE_DISABLE": "1"})
    assert done.returncode == 0, done.stderr
    found = stacks(perf, path, "--comms", "cc1")
    assert len({head.split()[1] for head, stack in found}) >= 40
    program = [stack for head, stack in found if not stack[-1].startswith(("entry_", "asm_", "ret_from_", "el0t_"))]
    whole = [stack for stack in program if stack[-1] == "_start"]
    assert len(whole) >= 0.97 * len(program) > 40 or "and too many stacks to copy" in done.stderr, [stack[-3:] for stack in program if stack not in whole][:5]


def test_processes_that_run_already(perf, live, mode, tmp_path, program):
    with subprocess.Popen([program, str(DEPTH), "-"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            done = perf("record", "-o", tmp_path / "data", *CLOCK, "--call-graph", mode, "-p", str(process.pid), "--", *started.while_it_runs(process.pid, 0.1))
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    assert_whole(own(stacks(perf, tmp_path / "data")))


def test_maps_are_known_though_they_are_not_recorded(perf, live, mode, tmp_path, program):
    """Without side-band of what runs the file has no names, but its addresses are right: those of a recording with it, up to where files are mapped."""
    with subprocess.Popen([program, str(DEPTH), "-fault"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            for name, words in (("with", []), ("without", ["--synth=no"])):
                done = perf("record", "-o", tmp_path / name, "-e", "page-faults:u", "-c", "1009", *words, "--call-graph", mode, "-p", str(process.pid), "--", *started.while_it_runs(process.pid, 0.1))
                assert done.returncode == 0, done.stderr
        finally:
            process.kill()
    pages = {name: {tuple(int(word, 16) % 4096 for word in block.split()[1:]) for block in perf("script", "-F", "ip", "-i", tmp_path / name).stdout.split("\n\n") if block.strip()}
             for name in ("with", "without")}
    assert pages["with"] and pages["with"] == pages["without"] and all(len(stack) > DEPTH for stack in pages["with"])


def test_as_copies_are_unwound(perf, oracle, live, tmp_path, program):
    """Two events that happen at once, in one recording: the copy of the stack that one of them has is unwound by readers. (Two of one software event would get one id from the kernel.)"""
    path = tmp_path / "data"
    done = perf("record", "-o", path, "-c", "1", "-e", "page-faults/call-graph=dwarf,stack-size=16384,name=copies/u", "-e", "minor-faults/call-graph=auto,name=chains/u", "--",
                program, str(DEPTH), "fault")
    assert done.returncode == 0, done.stderr
    for tool in (perf, oracle):
        found = stacks(tool, path)
        by_event = [[stack for head, stack in found if f"{name}:" in head and stack[0] == "burn"] for name in ("copies", "chains")]
        assert len(by_event[0]) >= 16 and by_event[0] == by_event[1]
        assert_whole(by_event[1])


def test_in_the_kernel_as_copies_are_unwound(perf, live, bpf, tmp_path, program):
    """The same with a BPF program that unwinds, once it knows the rules of the files: what came before comes as copies. Which program a shell starts
    nobody can foresee."""
    if not is_walked():
        pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    text, _ = record_with_rules(perf, tmp_path, [program.name, r"libc\."], "-c", "1", "-e", "page-faults/call-graph=dwarf,stack-size=8192,name=copies/u", "-e",
                                "minor-faults/call-graph=auto,name=chains/u", "--", "sh", "-c", f"{program} {DEPTH} fault 40 {tmp_path}/go; true")
    counts = re.search(r"stacks: (\d+) unwound in the kernel, (\d+) copied", text)
    assert int(counts[1]) >= 40 * 16 and int(counts[2]) > 0
    early = int(re.search(r"copied and unwound by the recorder, (\d+) of them before it had read the unwind rules of their files", text)[1])
    assert 0 < early <= int(counts[2])
    found = stacks(perf, tmp_path / "data")
    by_event = [[stack for head, stack in found if f"{name}:" in head and stack[0] == "burn"] for name in ("copies", "chains")]
    assert len(by_event[0]) >= 40 * 16 and by_event[0] == by_event[1]
    assert_whole(by_event[1])


def count_copies(said):
    told = re.search(r"stacks: (\d+) unwound in the kernel, (\d+) copied", said)
    return int(told[1]), int(told[2])


def test_rules_of_a_command_are_read_before_it_begins(perf, live, walked, tracefs, tmp_path, build):
    """From its first instruction on, in its libraries as well: where they are is what the dynamic linker is going to find."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib.c").write_text("#include <unistd.h>\nvoid twice(void) { getppid(); getppid(); __asm__ volatile(\"\"); }\n")
    (tmp_path / "main.c").write_text("void twice(void);\nint main(void) { twice(); __asm__ volatile(\"\"); return 0; }\n")
    flags = ["-O2", "-fomit-frame-pointer"]
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", "-o", tmp_path / "lib/libtwice.so", tmp_path / "lib.c"], check=True)
    subprocess.run(["gcc", *flags, "-o", tmp_path / "calls", tmp_path / "main.c", f"-L{tmp_path}/lib", "-ltwice", "-Wl,-rpath,$ORIGIN/lib"], check=True)
    script = tmp_path / "script"
    script.write_text(f"#!{tmp_path}/calls\n")
    script.chmod(0o755)
    for command in ("./calls", script):
        done = perf("record", "-vv", "-g", "-e", "syscalls:sys_enter_*", "-o", tmp_path / "data", "--", command, cwd=tmp_path)
        walked_stacks, copied = count_copies(done.stderr)
        assert walked_stacks > 10 and copied == 0, done.stderr
        read, files = re.search(r"stacks: the unwind rules of (\d+) of (\d+) files were read before, in [\d.]+ ms", done.stderr).groups()
        assert read == files == "4" and f"unwind rules of {tmp_path}/lib/libtwice.so after 0 copies" in done.stderr, done.stderr
        found = [stack for head, stack in stacks(perf, tmp_path / "data") if "sys_enter_getppid:" in head]
        assert len(found) == 2 and all(stack[1:3] == ["twice", "main"] and stack[-1] == "_start" for stack in found), found


@pytest.mark.parametrize("words", [["-p"], ["-a"]], ids=" ".join)
def test_rules_of_what_runs_are_read_before_events(perf, live_system, walked, tmp_path, program, words):
    with subprocess.Popen([program, str(DEPTH), "-"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            target = ["-p", str(process.pid)] if words == ["-p"] else words
            done = perf("record", "-vv", "-o", tmp_path / "data", *CLOCK, "-g", *target, "--", *started.while_it_runs(process.pid, 0.2))
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    begun = done.stderr.index(" files were read before")
    assert re.search(rf"unwind rules of {program} after 0 copies", done.stderr[:begun]), done.stderr
    assert re.search(r"unwind rules of \S*/libc\S* after 0 copies", done.stderr[:begun]), done.stderr
    assert_whole(own(stacks(perf, tmp_path / "data")))


PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "guest/programs"


def test_frames_of_any_size(perf, live, walked, tracefs, tmp_path):
    """And rules that BOLT has put into a section of another name."""
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-fno-stack-clash-protection", "-o", tmp_path / "wide", PROGRAMS / "wide.c"], check=True)
    subprocess.run(["objcopy", "--rename-section", ".eh_frame=.bolt.org.eh_frame", tmp_path / "wide", tmp_path / "moved"], check=True)
    for name in ("wide", "moved"):
        done = perf("record", "-v", "-g", "-e", "syscalls:sys_enter_getppid", "-o", tmp_path / "data", "--", tmp_path / name)
        assert count_copies(done.stderr) == (5, 0) and "Unwound 5 stacks, all complete" in done.stderr, done.stderr
        found = [stack for _, stack in stacks(perf, tmp_path / "data")]
        assert all(stack[1:4] == ["leaf", "wide", "main"] and stack[-1] == "_start" for stack in found), found


@pytest.mark.parametrize("words", [[], ["-ldflags=-s -w"], ["-buildmode=pie", "-ldflags=-s -w"]], ids=["whole", "stripped", "stripped-pie"])
def test_stacks_of_goroutines(perf, live, walked, tracefs, tmp_path, words):
    """Behind what the runtime does on a thread's own stack comes the goroutine for which it does it; every stack has an end. Without symbols and debug information the same."""
    if os.uname().machine not in ("x86_64", "aarch64") or not shutil.which("go"):
        pytest.skip("needs go, on x86-64 or arm64")
    subprocess.run(["go", "build", *words, "-o", tmp_path / "routines", PROGRAMS / "goroutines.go"], check=True, env=os.environ | {"HOME": str(tmp_path), "GOFLAGS": "-mod=mod"})
    done = perf("record", "-v", "-g", "-e", "syscalls:sys_enter_mmap", "-e", "syscalls:sys_enter_futex", "-o", tmp_path / "data", "--", tmp_path / "routines")
    assert ", all complete" in done.stderr and count_copies(done.stderr)[1] == 0, done.stderr
    told = [(head, [name.removesuffix(".abi0") for name in stack]) for head, stack in stacks(perf, tmp_path / "data")]
    found = [stack for _, stack in told if any(name.startswith("runtime.") for name in stack)]
    assert {stack[-1] for stack in found} <= {"runtime.goexit", "runtime.clone", "runtime.rt0_go", "runtime.mcall", "runtime.morestack", "runtime.systemstack"}, found
    mapping = [stack for head, stack in told if "sys_enter_mmap:" in head]
    working, growing = ([stack for stack in mapping if name in stack] for name in ("main.work", "main.deep"))
    assert len(working) >= 4 and len(growing) >= 4
    for stack in working:
        at = stack.index("main.work")
        assert "runtime.systemstack" in stack[:at] and stack[at + 1:] == ["main.main.func1", "runtime.goexit"], stack
    for stack in growing:
        at = stack.index("main.deep")
        assert stack[at - 1] == "runtime.morestack" and stack[-2:] == ["main.main.func1", "runtime.goexit"] and set(stack[at:-2]) == {"main.deep"}, stack


# Calls touch() by ways that rules of call frames tell differently: from a signal handler, below a frame that was aligned anew, and from generated code with a frame
# pointer. First as often as it takes until the file of the first word is there, then 20 times below second().
FORMS = r"""
#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile char *pages;
static volatile long sink;
static void (*generated)(void (*)(void));
__attribute__((noinline)) static void touch(void)
{
	pages = mmap(NULL, 4096 * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 4; i++)
		pages[i * 4096] = 1;
	munmap((void *)pages, 4096 * 4);
}
__attribute__((noinline)) static void from_signal(int number)
{
	touch();
	sink = number;
}
__attribute__((noinline)) static void aligned(size_t size)
{
	volatile __attribute__((aligned(64))) char room[64];
	volatile char *more = alloca(size);
	more[0] = room[0] = 1;
	touch();
	sink = more[0] + room[0];
}
__attribute__((noinline)) static void from_generated(void)
{
	touch();
	sink++;
}
__attribute__((noinline)) static void all(void)
{
	raise(SIGUSR1);
	aligned(100 + sink % 2);
	if (generated)
		generated(from_generated);
	sink++;
}
__attribute__((noinline)) static void second(void)
{
	for (int i = 0; i < 20; i++)
		all();
	sink++;
}
int main(int argc, char **argv)
{
#ifdef __x86_64__
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3}; /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	generated = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy((void *)generated, code, sizeof(code));
#endif
	signal(SIGUSR1, from_signal);
	do {
		all();
		usleep(10000);
	} while (access(argv[1], F_OK));
	second();
	return 0;
}
"""


def test_rare_rules_are_followed_in_the_kernel(perf, live, bpf, tmp_path):
    """Once the rules of the files are known, no stack is copied for what they say; and all are as copies are unwound."""
    if not is_walked() or os.uname().machine != "x86_64":
        pytest.skip("these rules are followed on x86-64, since Linux 6.1")
    program = tmp_path / "forms"
    (tmp_path / "forms.c").write_text(FORMS)
    subprocess.run(["gcc", "-O2", "-g", "-Wl,-z,now", "-fno-optimize-sibling-calls", "-o", program, tmp_path / "forms.c"], check=True)
    text, _ = record_with_rules(perf, tmp_path, ["forms", r"libc\."], "-c", "1", "-e", "page-faults/call-graph=dwarf,stack-size=8192,name=copies/u", "-e",
                                "minor-faults/call-graph=auto,name=chains/u", "--", program, tmp_path / "go")
    found = stacks(perf, tmp_path / "data")
    by_event = [[stack for head, stack in found if f"{name}:" in head and "second" in stack] for name in ("copies", "chains")]
    assert by_event[0] == by_event[1]
    for name in ("from_signal", "aligned", "from_generated"):
        assert sum(stack[1] == name and stack[-1] == "_start" for stack in by_event[1]) == 80
    assert not re.search(rf"copied, since the rules at ({re.escape(str(program))}|.*/libc|//anon)", text)


@pytest.fixture(name="walked")
def make_walked(bpf):
    """A BPF program walks stacks in the kernel."""
    if not is_walked():
        pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")


BY_BPF = "stacks are unwound in the kernel, by a BPF program"


@pytest.mark.parametrize("words", [[], ["-a"], ["--filter", "len == 65536"], ["-e", "cpu-clock:u"], ["--no-inherit"]], ids=" ".join)
def test_stacks_of_tracepoints(perf, oracle, live_system, walked, tracefs, tmp_path, program, words):
    """One for each call of mmap(), which is below burn(): 100 of the program's, whoever else calls it; whose stacks may leave no room for copies, so that the rules must be known before."""
    path = tmp_path / "data"
    if words == ["-a"]:
        os.link(program, tmp_path / "first")
        script = f"{tmp_path}/first {DEPTH} fault 1 {tmp_path}/go; {program} {DEPTH} fault 100"
        text, recorder = record_with_rules(perf, tmp_path, ["first", r"libc\."], "-e", "syscalls:sys_enter_mmap", *words, "-g", "--", "sh", "-c", script)
        path.write_bytes(neighbours.of(path.read_bytes(), recorder))
    else:
        done = perf("record", "-v", "-o", path, "-e", "syscalls:sys_enter_mmap", *words, "-g", "--", program, str(DEPTH), "fault", "100")
        assert done.returncode == 0, done.stderr
        text = done.stderr
    assert BY_BPF in text, text
    found = stacks(perf, path, "--comms", "steps")
    called = [stack for head, stack in found if "sys_enter_mmap:" in head and "burn" in stack]
    assert len(called) == 100
    assert_whole([stack[stack.index("burn"):] for stack in called])
    assert stacks(oracle, path, "--comms", "steps") == found


def test_stacks_of_probes(perf, oracle, live, walked, tracefs, tmp_path, program):
    group = f"auto{os.getpid()}_{secrets.token_hex(4)}"
    path = tmp_path / "data"
    added = perf("probe", "-x", program, f"{group}:burns=burn")
    assert added.returncode == 0, added.stderr
    try:
        done = perf("record", "-v", "-o", path, "-e", f"{group}:burns", "-g", "--", program, str(DEPTH), "fault", "100")
        assert done.returncode == 0 and BY_BPF in done.stderr, done.stderr
    finally:
        perf("probe", "-d", f"{group}:*")
    found = stacks(perf, path)
    assert len(found) == 100
    assert_whole([stack for head, stack in found])
    assert stacks(oracle, path) == found


def test_deeper_than_readers_show(perf, oracle, live, mode, tmp_path, program):
    """150 calls and 20 KB of stack. Readers say with --max-stack that they want more than 127."""
    path = tmp_path / "data"
    done = perf("record", "-o", path, "-e", "cpu-clock:u" if mode == "auto,bpf" else "cpu-clock/stack-size=65528/u", "-c", "1000000", "--call-graph", mode, "--", program, "150", "0.05")
    assert done.returncode == 0, done.stderr
    found = stacks(perf, path, "--max-stack", "1000")
    assert_whole(own(found), 150)
    assert stacks(oracle, path, "--max-stack", "1000") == found


def test_copies_grow(perf, live, tmp_path, program):
    """170 bytes for each of 300 calls: more than the first copies hold. What came before they grew is told."""
    path = tmp_path / "data"
    done = perf("record", "-o", path, *CLOCK, "--call-graph", "auto,copy", "--", program, "300", "1")
    assert done.returncode == 0, done.stderr
    found = own(stacks(perf, path, "--max-stack", "1000"))
    whole = [stack for stack in found if "main" in stack]
    assert_whole(whole, 300)
    cut = len(found) - len(whole)
    assert 0 < cut < len(found)
    assert re.search(rf"the copied stack was too short before its size was increased in {re.escape(str(program))} \(copy more from the beginning: -e EVENT/stack-size=65528/\)", done.stderr)
    complete = float(re.search(r"Unwound \d+ stacks, ([\d.]+) % complete", done.stderr).group(1))
    assert complete < 100


def test_copies_shrink(perf, live, tmp_path, program):
    """Where little of them has long been needed; the first deep stack makes them large again. Events that ask for it by themselves are no exception."""
    path = tmp_path / "data"
    done = perf("record", "-vv", "-o", path, "-e", "cpu-clock/period=1000000,call-graph=auto/u", "--call-graph", "auto,copy", "--", "sh", "-c", f"{program} 10 1.8; {program} 300 0.3")
    assert done.returncode == 0, done.stderr
    sizes = re.findall(r"copies of (\d+) bytes, which were of (\d+) \(target thread 0\)", done.stderr)
    assert sizes[0] == ("4096", "32768"), done.stderr
    assert sizes[-1][0] == "65528" and len(sizes) <= 3, sizes
    found = own(stacks(perf, path, "--max-stack", "1000"))
    shallow = [stack for stack in found if stack.count("down") < 12]
    deep = [stack for stack in found if stack.count("down") >= 12 and "main" in stack]
    assert_whole(shallow, 10)
    assert_whole(deep, 300)


def test_memory_of_rules(perf, live, walked, tmp_path, program):
    """Rules that don't fit are told, and stacks are complete all the same, by copies. Smaller files have theirs."""
    path = tmp_path / "data"
    with subprocess.Popen([program, str(DEPTH), "-"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            done = perf("record", "-v", "-o", path, *CLOCK, "--unwind-memory", "64K", "-g", "-p", str(process.pid), "--", *started.while_it_runs(process.pid, 0.2))
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    assert re.search(r"no room for more than [\d.]+ MB of unwind rules, such as of \S+/libc\S*: its stacks are copied, .*: --unwind-memory, up to 200 MB", done.stderr), done.stderr
    assert_whole(own(stacks(perf, path)))
    assert perf("record", "-o", path, "--unwind-memory", "1G", "-g", "true").returncode == 129


def test_why_stacks_end_early(perf, live, mode, tmp_path, build):
    bare = build("bare", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g0")
    done = perf("record", "-o", tmp_path / "data", *CLOCK, "--call-graph", mode, "--", bare, str(DEPTH), "0.1")
    assert done.returncode == 0, done.stderr
    share = re.search(rf"; ([\d.]+) %: no unwind information in {re.escape(str(bare))} \(build it with -fasynchronous-unwind-tables\)", done.stderr)
    assert share and float(share.group(1)) > 50
    report = perf("report", "--stats=stacks", "-i", tmp_path / "data").stdout
    assert f"no unwind information ({bare}" in report and "no frame pointer" not in report and "no frame set up" not in report


def test_report_takes_them_for_complete(perf, live, mode, tmp_path, program):
    done = perf("record", "-o", tmp_path / "data", *CLOCK, "--call-graph", mode, "--", program, str(DEPTH), "0.1")
    assert done.returncode == 0, done.stderr
    done = perf("report", "--stdio", "-i", tmp_path / "data")
    assert done.returncode == 0 and "end early" not in done.stderr and "lack a caller" not in done.stderr


def test_into_a_pipe(perf, live, mode, tmp_path, program):
    with open(tmp_path / "data", "wb") as out:
        subprocess.run([perf.path, "record", "-o", "-", *CLOCK, "--call-graph", mode, "--", program, str(DEPTH), "0.1"], stdout=out, check=True)
    done = perf("script", "-F", "comm,tid,time,event,ip,sym", "--no-inline", "-i", "-", stdin=open(tmp_path / "data", "rb"))
    blocks = [block.strip().splitlines() for block in done.stdout.split("\n\n")]
    assert_whole([[line.split()[1] for line in block[1:]] for block in blocks if "down" in "".join(block[1:])])


def test_size_of_the_file(perf, live, mode, tmp_path, program):
    """Of the samples: what a recording has besides is the same for all."""
    def size(way):
        path = tmp_path / way
        done = perf("record", "-o", path, *CLOCK, "--call-graph", way, "--", program, str(DEPTH), "0.3")
        assert done.returncode == 0, done.stderr
        sizes = [int(text, 16) for text in re.findall(r"\[0x([0-9a-f]+)\]: PERF_RECORD_SAMPLE", perf("report", "-D", "-i", path).stdout)]
        assert sizes
        return sum(sizes) / len(sizes)
    assert size(mode) * 10 < size("dwarf")


@pytest.mark.parametrize("words,reason", [(["-e", "cpu-clock", "-e", "sched:sched_switch/period=2/"], "sched:sched_switch: BPF programs cannot unwind the stacks of tracepoints and probes with"),
                                          (["-e", "sched:sched_switch", "-e", "sched:sched_switch"], "sched:sched_switch: BPF programs cannot unwind the stacks of a tracepoint that is recorded twice"),
                                          (["--per-thread", "-T"], "cannot unwind the stacks of --per-thread"),
                                          (["-e", "cpu-clock/stack-size=8192/"], "or stack-size=")])
def test_what_bpf_programs_cannot_unwind(perf, live, walked, tracefs, tmp_path, words, reason):
    done = perf("record", "-o", tmp_path / "data", "--call-graph", "auto,bpf", *words, "true")
    assert done.returncode == 255 and reason in done.stderr
    done = perf("record", "-v", "-o", tmp_path / "data", "--call-graph", "auto", *words, "true")
    assert done.returncode == 0 and ("stacks are copied, and unwound by the recorder: " in done.stderr) == ("cpu-clock" not in words)


@pytest.mark.parametrize("words,reason", [(["--overwrite"], "--overwrite"), (["--threads"], "with --threads"), (["--no-timestamp"], "omit --no-timestamp"),
                                          (["--user-regs=ip"], "with --user-regs"), (["--call-graph", "auto,8192"], "does not take that: use auto, auto,bpf or auto,copy"),
                                          (["-e", "cpu-clock/overwrite/u", "-e", "task-clock:u"], "--overwrite")])
def test_where_it_cannot_be_had(perf, live, mode, tmp_path, words, reason):
    done = perf("record", "-o", tmp_path / "data", "--call-graph", mode, *words, "true")
    assert done.returncode == 129 and reason in done.stderr
    assert not os.path.exists(tmp_path / "data")


def test_g_means_complete_stacks(perf, oracle, live, tmp_path, program):
    """By whichever way is possible here."""
    path = tmp_path / "data"
    done = perf.record(path, *CLOCK, "-g", "--", program, str(DEPTH), "0.1")
    assert done.returncode == 0, done.stderr
    found = stacks(perf, path)
    assert_whole(own(found))
    assert stacks(oracle, path) == found


@pytest.mark.parametrize("words", [["--overwrite"], ["--threads"], ["--no-timestamp"], ["--per-thread"], ["--user-regs=ip"], ["--kernel-callchains"], ["-e", "page-faults/overwrite/", "-e", "cpu-clock"]],
                         ids=" ".join)
def test_g_goes_back_to_frame_pointers(perf, live, tmp_path, words):
    """Events are those of --call-graph fp, and -v says why."""
    shown = []
    for mode in (["-g"], ["--call-graph", "fp"]):
        path = tmp_path / mode[-1]
        done = perf("record", "-v", "-o", path, *([] if "-e" in words else ["-e", "cpu-clock"]), "-c", "1000000", *mode, *words, "true")
        assert done.returncode == 0, done.stderr
        said = re.search(r"stacks are followed by frame pointers, .*: (\S+).* excludes unwinding them", done.stderr)
        assert (said is not None) == (mode == ["-g"] and words != ["--kernel-callchains"])
        assert not said or said[1] in (words[0].split("=")[0], "--overwrite")
        shown.append(perf("evlist", "-v", "-i", path).stdout)
    assert shown[0] == shown[1]


@pytest.mark.parametrize("words", [["-e", "page-faults", "-c", "1"], ["-e", "cpu-clock", "-c", "50000"]], ids=" ".join)
def test_g_copies_no_stacks_of_frequent_events(perf, live, tmp_path, words):
    """Where no BPF program walks them, as with copies that are asked for."""
    config = tmp_path / "config"
    config.write_text("[call-graph]\n\trecord-mode = auto,copy\n")
    for mode in (["-g"], ["--call-graph", "fp"]):
        done = perf("record", "-v", "-o", tmp_path / mode[-1], *words, *mode, "true", env={**os.environ, "PERF_CONFIG": str(config)})
        assert done.returncode == 0, done.stderr
    assert perf("evlist", "-v", "-i", tmp_path / "-g").stdout == perf("evlist", "-v", "-i", tmp_path / "fp").stdout


def test_g_as_the_configuration_has_it(perf, live, tmp_path):
    config = tmp_path / "config"
    config.write_text("[call-graph]\n\trecord-mode = fp\n")
    for mode in (["-g"], ["--call-graph", "fp"]):
        assert perf("record", "-o", tmp_path / mode[-1], *CLOCK, *mode, "true", env={**os.environ, "PERF_CONFIG": str(config)}).returncode == 0
    assert perf("evlist", "-v", "-i", tmp_path / "-g").stdout == perf("evlist", "-v", "-i", tmp_path / "fp").stdout


THREADS_END = """import os, threading
for i in range(20):
    thread = threading.Thread(target=os.getppid)
    thread.start()
    thread.join()
    if not os.fork():
        os.getppid()
        os._exit(0)
    os.wait()
    os.getppid()
"""


def test_tracepoints_after_threads_have_ended(perf, bpf, tracefs, tmp_path):
    """Since Linux 6.10 the first thread that ends takes the program of an inherited counter away from its tracepoint: no stack came after that."""
    if not is_walked():
        pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    path = tmp_path / "perf.data"
    done = perf("record", "-g", "-e", "syscalls:sys_enter_getppid", "-o", path, "--", "/usr/bin/python3", "-c", THREADS_END)
    stacks = [block for block in perf("script", "-i", path, "-F", "comm,ip,sym").stdout.split("\n\n") if block.strip()]
    assert len(stacks) == 60 and all("getppid" in block for block in stacks), done.stderr


def test_first_instruction_of_a_process(perf, live, mode, tracefs, tmp_path):
    """The dynamic linker has no rules for where the kernel begins to run it: nobody has called that, so the stack is complete."""
    path = tmp_path / "perf.data"
    done = perf("record", "--call-graph", mode, "-e", "sched:sched_process_exec", "-o", path, "--", "sh", "-c", "/bin/true; /bin/true")
    assert done.returncode == 0 and "Unwound 3 stacks, all complete" in done.stderr, done.stderr


def test_files_are_looked_at_once(perf, live, walked, tracefs, tmp_path):
    """Each process that begins maps the C library, from which it ends: whether its rules are wanted is asked of the file once, not for each."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    loop = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done"
    subprocess.run(["strace", "-s", "500", "-e", "trace=stat,newfstatat", "-o", log, perf.path, "record", "--call-graph", "auto,bpf", "-e", "syscalls:sys_enter_exit_group", "-o", tmp_path / "data",
                    "--", "sh", "-c", loop], check=True, capture_output=True)
    asked = re.findall(r'"[^"]*/libc\.so\.6"', log.read_text())
    assert len(asked) < 30, asked
    stacks = [block for block in perf("script", "-i", tmp_path / "data", "-F", "ip,sym,dso").stdout.split("\n\n") if block.strip()]
    assert len(stacks) == 201 and all("/libc.so.6)" in block for block in stacks), stacks[:2]


# shared LIBRARY GO: a process that calls the library, and when the file GO is there 50 more.
SHARED = r"""
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void (*twice)(void (*)(void)) = dlsym(dlopen(argv[1], RTLD_NOW), "twice");
	for (int i = 0; i < 51; i++) {
		while (i && access(argv[2], F_OK))
			usleep(10000);
		if (!fork()) {
			twice((void (*)(void))getppid);
			_exit(0);
		}
		wait(NULL);
	}
}
"""


def check_sharing(perf, tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (tmp_path / "shared.c").write_text(SHARED)
    (tmp_path / "lib.c").write_text("void twice(void (*f)(void)) { f(); f(); __asm__ volatile(\"\"); }\n")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-o", tmp_path / "libtwice.so", tmp_path / "lib.c"], check=True)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "shared", tmp_path / "shared.c", "-ldl"], check=True)
    path, go, messages = tmp_path / "perf.data", tmp_path / "go", []
    command = [perf.path, "record", "-vv", "-g", "-e", "syscalls:sys_enter_getppid", "-o", path, "--", tmp_path / "shared", tmp_path / "libtwice.so", go]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as recorder:
        for line in recorder.stderr:
            messages.append(line)
            if re.search("unwind rules of .*/libtwice.so after", line):
                go.touch()
    assert recorder.returncode == 0, messages
    stacks = perf("script", "-i", path, "-F", "ip,sym").stdout.split("\n\n")
    assert sum(bool(re.search(r" twice\n.* main\n(.*\n)*.* _start$", stack.rstrip("\n"))) for stack in stacks) == 2 * 51, stacks
    given = re.findall(r"stacks: \d+ unwind rules of (\S+) after", "".join(messages))
    assert str(tmp_path / "libtwice.so") in given and len(given) == len(set(given)), given
    assert re.search(r"MB of unwind rules, with which the recorder took at most \d+\.\d MB", "".join(messages))


def test_processes_share_rules(perf, bpf, tracefs, tmp_path):
    """Memory doesn't grow with the processes that map a file: of each file the kernel has the rules once."""
    check_sharing(perf, tmp_path)


def test_files_of_containers_have_rules_once(perf, bpf, tracefs, tmp_path):
    """On overlayfs the kernel's records tell of another inode than that which it maps."""
    with mounts.overlay(tmp_path) as folder:
        if not folder:
            pytest.skip("an overlayfs can't be mounted here")
        check_sharing(perf, folder)


def test_compression_by_configuration(perf, oracle, bpf, tmp_path, monkeypatch):
    """Both readers show the same; the command line says otherwise."""
    config, data = tmp_path / "config", tmp_path / "perf.data"
    monkeypatch.setenv("PERF_CONFIG", str(config))
    config.write_text("[record]\n\tcompression-level = 1\n")
    perf("record", "-g", "-e", "page-faults:u", "-c", "1", "-o", data, "--", "true")
    assert re.search(r"^# compressed\s*: Zstd, level = 1, ratio = \d", oracle("report", "--header-only", "-I", "-i", data).stdout, re.MULTILINE)
    shown = [program("script", "--no-inline", "-F", "tid,time,event,ip", "-i", data).stdout for program in (perf, oracle)]
    assert shown[0] == shown[1] and shown[0].count("page-faults") > 20
    perf("record", "-g", "-z0", "-o", data, "--", "true")
    assert "# compressed" not in oracle("report", "--header-only", "-I", "-i", data).stdout
    config.write_text("[record]\n\tcompression-level = many\n")
    assert "record.compression-level: invalid compression level 'many'" in perf("record", "-o", data, "--", "true").stderr


def test_programs_of_the_recording_are_not_described(perf, oracle, bpf, tmp_path, monkeypatch):
    """They are gone when it ends; of a short one they would be the most."""
    monkeypatch.setenv("HOME", str(tmp_path))
    data, own = tmp_path / "perf.data", tmp_path / "own"
    perf("record", "-g", "-o", data, "--", "sh", "-c", f"grep -hs prog_id: /proc/$PPID/fdinfo/* >{own}")
    numbers = set(re.findall(r"prog_id:\s*(\d+)", own.read_text()))
    described = set(re.findall(r"^# bpf_prog_info (\d+):", oracle("report", "--header-only", "-I", "-i", data).stdout, re.MULTILINE))
    assert numbers and not numbers & described
