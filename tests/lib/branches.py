"""Recordings with branch records on machines that have none: a program is stepped through instruction by instruction, and every jump that it
makes becomes a branch record, as the processor would have kept it. `make(directory)` gives the program's path and a text for recording.py."""
import functools
import re
import subprocess

import recording

PROGRAM = r"""
volatile long sink;
__attribute__((noinline)) long square(long n)
{
	return n * n + sink;
}
__attribute__((noinline)) long sum(int n)
{
	long total = 0;
	for (int i = 0; i < n; i++) {
		if (i & 1)
			total += square(i);
		else
			total ^= i;
	}
	return total;
}
__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		sink += sum(20);
		if (i % 3 == 0)
			sink += fib(7);
	}
	return 0;
}
"""

# Prints the address and frame chain of each instruction from main() to its end, as "ip caller caller…".
STEPPER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	unsigned long begin = strtoul(argv[1], NULL, 16), low = strtoul(argv[2], NULL, 16), high = strtoul(argv[3], NULL, 16), end = 0;
	pid_t child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[4], argv + 4);
		_exit(127);
	}
	int status;
	waitpid(child, &status, 0);
	for (int inside = 0; !WIFEXITED(status); waitpid(child, &status, 0)) {
		struct user_regs_struct regs;
		if (ptrace(PTRACE_GETREGS, child, 0, &regs))
			break;
		if (regs.rip == begin && !inside) {
			inside = 1;
			end = ptrace(PTRACE_PEEKDATA, child, regs.rsp, 0);
		}
		if (inside && regs.rip == end)
			break;
		if (inside && regs.rip >= low && regs.rip < high)
			printf("%llx\n", regs.rip);
		ptrace(PTRACE_SINGLESTEP, child, 0, 0);
	}
	ptrace(PTRACE_KILL, child, 0, 0);
	return 0;
}
"""


def run(*words, directory=None):
    return subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True).stdout


def instructions(program):
    """Address → size."""
    sizes, last = {}, None
    for line in run("objdump", "-d", "-w", program).splitlines():
        found = re.match(r" +([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", line)
        if found:
            last = int(found.group(1), 16)
            sizes[last] = len(found.group(2).split())
    return sizes


def taken(steps, sizes):
    """The jumps among the steps: (index of the step behind it, from, to)."""
    return [(i + 1, a, b) for i, (a, b) in enumerate(zip(steps, steps[1:])) if b != a + sizes[a]]


@functools.lru_cache(maxsize=None)
def make(directory, depth=16, every=7, chains=False, rounds=200):
    """A sample at every so many branches, with the last `depth` of them. The cycles of a branch are made up from its addresses."""
    (directory / "loops.c").write_text(PROGRAM.replace("ROUNDS", str(rounds)))
    (directory / "stepper.c").write_text(STEPPER)
    run("gcc", "-g", "-O1", "-no-pie", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "loops", "loops.c", directory=directory)
    run("gcc", "-O1", "-o", "stepper", "stepper.c", directory=directory)
    program = directory / "loops"
    symbols = {name: int(address, 16) for address, _, name in (line.split() for line in run("nm", "--defined-only", program).splitlines())}
    low, high = symbols["_init"], symbols["_fini"]
    steps = [int(word, 16) for word in run(directory / "stepper", f"{symbols['main']:x}", f"{low:x}", f"{high:x}", program).split()]
    branches = taken(steps, instructions(program))
    kind = "IP|TID|TIME|PERIOD|BRANCH_STACK" + ("|CALLCHAIN" if chains else "")
    text = ["feature hostname box", "feature arch x86_64", "feature branch_stack", f"feature cmdline perf record -b {program}",
            f"event cycles type=0 config=0 period=1000 sample={kind} branch=0x8 flags=sample_id_all,mmap,comm,mmap2",
            "comm pid=77 tid=77 name=loops exec=1 time=1",
            f"mmap2 pid=77 tid=77 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}"]
    stack, chain_at = [], {}
    for index, source, target in branches:
        if stack and target == stack[-1]:
            stack.pop()
        elif target in (symbols["square"], symbols["sum"], symbols["fib"]):
            stack.append(source + 5)
        chain_at[index] = list(stack)
    for number in range(depth, len(branches), every):
        index = branches[number][0]
        last = branches[number - depth + 1:number + 1][::-1]
        entries = ",".join(f"{a:#x}>{b:#x}/{'M' if (a ^ b) % 11 == 0 else 'P'}{(a * 7 + b) % 23 + 1}" for _, a, b in last)
        words = f"sample ip={steps[index]:#x} pid=77 tid=77 time={10 + number} period=1000 branch={entries}"
        if chains:
            words += " chain=" + ",".join(["user", *(f"{ip:#x}" for ip in [steps[index], *chain_at[index][::-1]])])
        text.append(words)
    return program, recording.of_absent("\n".join(text) + "\n")


def padded(script, samples=60):
    """Some of the samples, behind what the kernel's perf 6.1 needs to add up cycles: it gives back a map and an address space for each branch
    that it never took, so that there must be as many holders as branches: threads, and rows of branches without cycles."""
    lines = script.splitlines()
    head = [line for line in lines if not line.startswith("sample")]
    chosen = [line for line in lines if line.startswith("sample")]
    chosen = chosen[::max(1, len(chosen) // samples)][:samples]
    count = sum(line.count(">") for line in chosen)
    nowhere = "0x401020>0x401020"  # in the program, but in no function with cycles
    more = [f"fork pid=77 ppid=77 tid={1000 + i} ptid=77 time=3" for i in range(2 * count + 10)]
    for first in range(1, count + 20, 30):
        entries = ",".join([f"{nowhere}/P0"] + [f"{nowhere}/P{first + i}" for i in range(30)])
        more.append(f"sample ip=0x401020 pid=77 tid=77 time=4 period=1000 branch={entries}")
    return "\n".join(head) + "\n" + recording.of_absent("\n".join(more) + "\n") + "\n".join(chosen) + "\n"


def with_counters(script, width=2):
    """The same with branch counters: of two events of a group, cycles (A) and branch-misses (B), so many bits each; another event, and one that counts by
    itself (C), have no samples. Counts are made up from addresses: those of each branch record are told with the text, in its order."""
    head = "event {} type=0 config={} period=1000 sample={}|ID branch=0x80008 ids={} members={} flags=sample_id_all,mmap,comm,mmap2"
    kind = re.search(r"^event .* sample=(\S+)", script, re.M)[1]
    events = [head.format(*words) for words in (("cycles", 0, kind, 1, 3), ("branch-misses", 5, kind, 2, 0), ("cache-misses", 3, kind, 3, 0), ("instructions", 1, kind, 4, 1))]
    events[2] = events[2].replace("0x80008", "0x8")
    lines, counts = [], []
    for line in re.sub("^event .*$", "\n".join(["feature event_desc", "feature group_desc", *events]), script, flags=re.M).splitlines():
        if line.startswith("sample"):
            pairs = [(int(a, 16) % (1 << width), int(b, 16) // 3 % (1 << width)) for a, b in re.findall(r"(0x[0-9a-f]+)>(0x[0-9a-f]+)", line)]
            counts += pairs
            line += " id=1 counts=" + ",".join(hex(a | b << width) for a, b in pairs)
        elif re.match("mmap|comm|fork", line):
            line += " id=1"
        lines.append(line)
    return "\n".join(lines) + "\n", counts
