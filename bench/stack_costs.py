#!/usr/bin/env python3
"""What stacks of record -g cost, and how many of them are whole: stack_costs.py [PART …], by default all parts.

  walk      ns that the BPF program takes for a stack of 40 frames, and of each further frame, as the kernel counts them (BPF_ENABLE_STATS)
  cost      CPU time that recording at 10,000 Hz on two CPUs adds, all in: of the program, the kernel and the recorder; and the size of the file. Against
            --call-graph fp, and the kernel tool's dwarf. Fixed work, in turn, the least of so many --rounds. To start takes so much of it;
            what is of stacks, in us for each sample, is what is left without that and what a recording without stacks takes, which is mostly what interrupts do
  memory    200 processes at once that map libLLVM and other large libraries: what the recorder takes
  build     make -j4 of 300 short compilers under record -a -g: how many stacks are complete, and have the program's name at their outer end
  starts    ls -lR, git log -p, gcc, python3, xz: how many stacks reach _start, clone or the start of their thread

Frames of Python are compared with what the interpreter says of them by tests/live/test_record_python.py. Needs root, and gcc; of the other programs what is installed."""
import argparse
import collections
import ctypes
import glob
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import stacks

BENCH = pathlib.Path(__file__).resolve().parent
PERF = os.environ.get("PERF", str(BENCH.parent / "build/perf"))
ORACLE = os.environ.get("ORACLE", "/usr/bin/perf")
EVENT = "cpu-clock"

# down MS ROUNDS DEPTH: computes MS at the end of a stack of so many frames, then ROUNDS times a little. main() is called by two functions of the C library, and those by _start.
DOWN = """#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sink;
static long ms;
__attribute__((noinline)) static void burn(void)
{
	clock_t end = ms ? clock() + ms * (CLOCKS_PER_SEC / 1000) : 0;
	do
		for (unsigned i = 0; i < 100000; i++)
			sink = i;
	while (end && clock() < end);
}
__attribute__((noinline)) static unsigned down(int n)
{
	volatile char room[100];
	room[0] = (char)n;
	if (n > 1)
		return down(n - 1) + (unsigned)room[0];
	burn();
	return (unsigned)room[0];
}
int main(int argc, char **argv)
{
	int frames = atoi(argv[3]) - 5;
	unsigned sum = 0;
	ms = atoi(argv[1]);
	if (ms)
		sum = down(frames), sleep(1);
	ms = 0;
	for (int i = atoi(argv[2]); i; i--)
		sum += down(frames - (i & 3));
	return sum == 7;
}
"""
# Waits in each process until all have mapped everything, and then calls something there.
MAPS = """#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int all[2], go[2], n = 200;
	char byte = 0;
	pipe(all), pipe(go);
	for (int i = 0; i < n; i++)
		if (!fork()) {
			void *(*create)(void) = NULL;
			for (int j = 1; j < argc; j++) {
				void *library = dlopen(argv[j], RTLD_LAZY);
				void *found = library ? dlsym(library, "LLVMContextCreate") : NULL;
				create = found ? found : create;
			}
			write(all[1], &byte, 1);
			close(go[1]);
			read(go[0], &byte, 1);
			for (int j = 0; create && j < 300; j++)
				create();
			_exit(0);
		}
	for (int i = 0; i < n; i++)
		read(all[0], &byte, 1);
	close(go[1]);
	while (wait(NULL) > 0)
		;
}
"""


def build(folder, name, text, *options):
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["gcc", "-O2", "-w", *options, "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder / name


def record(options, command, perf=PERF, **more):
    done = subprocess.run([perf, "record", "-e", EVENT, *map(str, options), "--", *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **more)
    if "Captured and wrote" not in done.stderr:
        sys.exit(f"{perf} record: {done.stderr}")
    return done.stderr


# ---- walk ----

def count_time_of_bpf():
    """As long as the file that it returns is open."""
    enable, number = 32, {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    fd = ctypes.CDLL(None, use_errno=True).syscall(number, enable, ctypes.create_string_buffer(128), 4)
    if fd < 0:
        sys.exit(f"BPF_ENABLE_STATS: {os.strerror(ctypes.get_errno())}")
    return os.fdopen(fd)


def time_of_runs(pid):
    """ns and number of the runs of a process's BPF programs so far."""
    programs = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            known = dict(re.findall(r"(\w+):\s*(\d+)", pathlib.Path(path).read_text()))
        except OSError:
            continue
        if "run_time_ns" in known:
            programs[known["prog_id"]] = int(known["run_time_ns"]), int(known["run_cnt"])
    return [sum(column) for column in zip(*programs.values())] if programs else [0, 0]


def walk(folder, rounds):
    down = build(folder, "down", DOWN)
    least = {}
    with count_time_of_bpf():
        for _ in range(rounds * 3):
            for depth in (10, 40, 80):
                recorder = subprocess.Popen([PERF, "record", "-g", "-F", "10000", "-e", f"{EVENT}:u", "-o", folder / "perf.data", "--", down, "500", "0", str(depth)], stderr=subprocess.DEVNULL)
                spent = [0, 0]
                while recorder.poll() is None:
                    spent = max(spent, time_of_runs(recorder.pid), key=lambda each: each[1])
                    time.sleep(0.05)
                least[depth] = min(least.get(depth, 1e9), spent[0] / max(spent[1], 1))
    print(f"a stack of 40 frames: {least[40]:.0f} ns; of 10: {least[10]:.0f}, of 80: {least[80]:.0f}; each frame {(least[80] - least[10]) / 70:.1f}")


# ---- cost ----

WAYS = {"alone": None, "no stacks": (PERF,), "fp": (PERF, "--call-graph", "fp"), "auto": (PERF, "-g"), "auto -z": (PERF, "-g", "-z"), "auto,copy": (PERF, "--call-graph", "auto,copy"), "kernel tool's fp": (ORACLE, "--call-graph", "fp"),
        "kernel tool's dwarf": (ORACLE, "--call-graph", "dwarf,8192")}


def cpu_time(run):
    def now():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = now()
    run()
    return now() - before


def losses(path):
    """Samples, and what is lost of them."""
    text = subprocess.run([PERF, "report", "--stats", "-i", path], capture_output=True, text=True, check=True).stdout
    count = dict((kind, int(number)) for kind, number in re.findall(r"^\s*(\w+) events:\s+(\d+)", text, re.M))
    return count.get("SAMPLE", 0), count.get("LOST", 0) + count.get("LOST_SAMPLES", 0)


def compare_ways(folder, rounds, command):
    """Of each way the least CPU time that it adds; and of its recording: size, samples, losses."""
    least, sizes, path = {}, {}, folder / "perf.data"
    for _ in range(rounds):
        for way, words in WAYS.items():
            if not words:
                least[way] = min(least.get(way, 1e9), cpu_time(lambda: subprocess.run(command, check=True)))
            elif shutil.which(words[0]):
                least[way] = min(least.get(way, 1e9), cpu_time(lambda: record(["-F", 10000, *words[1:], "-o", path], command, words[0])))
                samples, lost = losses(path)
                sizes[way] = path.stat().st_size, samples, lost + (sizes[way][2] if way in sizes else 0)
    return {way: least[way] - least["alone"] for way in sizes}, sizes, least["alone"]


def cost(folder, rounds):
    source = folder / "large.c"
    source.write_text("".join(f"int f{i}(int a, char *b) {{ int s = 0; for (int i = 0; i < a; i++) s += b[i % {i + 1}] * {i} ^ s << 3; return s; }}\n" for i in range(600)))
    with_fp, without = (build(folder, name, DOWN, option) for name, option in (("with", "-fno-omit-frame-pointer"), ("without", "-fomit-frame-pointer")))
    start = compare_ways(folder, rounds, ["true"])[0]
    for title, program in {"40 frames, with frame pointers": f"{with_fp} 0 40000 40", "40 frames, without": f"{without} 0 40000 40", "gcc": f"gcc -O2 -S -o /dev/null {source}"}.items():
        added, sizes, alone = compare_ways(folder, rounds, ["sh", "-c", f"taskset -c 0 {program} & taskset -c 1 {program} & wait"])
        last = list(added)[-1]
        print(f"\n{title}: {alone:.2f} s of CPU time\n{'':20} {'start s':>8} {'adds s':>8} {'of fp':>6} {'of last':>8} {'of stacks':>9} {'us/sample':>9} {'samples':>8} {'bytes each':>10} {'of fp':>6} {'of last':>8} {'lost':>6}")
        for way, (size, samples, lost) in sizes.items():
            each, of_fp, of_last = (sizes[other][0] / sizes[other][1] for other in (way, "fp", last))
            print(f"{way:20} {start[way]:8.3f} {added[way]:8.3f} {added[way] / added['fp']:6.2f} {added[way] / added[last]:8.3f} {1e6 * (added[way] - start[way] - added['no stacks'] + start['no stacks']) / samples:9.2f} {1e6 * added[way] / samples:9.2f} {samples:8} {each:10.0f} {each / of_fp:6.2f} "
                  f"{'1/' + format(of_last / each, '.0f'):>8} {lost:6}", flush=True)


# ---- memory ----

def memory(folder, _rounds):
    libraries = [found[0] for pattern in ("libLLVM-*.so.1", "libclang-cpp.so.*", "libclang-*.so.1", "libnode.so.*", "libxul.so", "libwebkit*.so.*") if (found := sorted(glob.glob(f"/usr/lib/*/{pattern}")))]
    told = record(["-v", "-g", "-F", 1000, "-o", folder / "perf.data"], [build(folder, "maps", MAPS), *libraries])
    rules = re.search(r"([\d.]+) MB of unwind rules, with which the recorder took at most ([\d.]+) MB", told)
    print(f"200 processes with {', '.join(os.path.basename(each) for each in libraries)}: the recorder took {rules[2]} MB, of which {rules[1]} MB are rules")
    print("   " + "\n   ".join(re.findall(r"Unwound.*\d(?= ])|Unwound.*", told)))


# ---- how many are whole ----

def script(path, *options):
    return subprocess.run([PERF, "script", "--no-inline", "--max-stack", "1024", "-i", path, *options], capture_output=True, text=True, errors="replace", check=True).stdout


def family(path, command):
    """Processes that come from the one that is called so."""
    ours = set()
    for line in script(path, "-F", "comm,pid", "--show-task-events").splitlines():
        if found := re.search(r"PERF_RECORD_COMM exec: (\S+):(\d+)/", line):
            ours |= {found[2]} if found[1] == command else set()
        elif (found := re.search(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):", line)) and found[2] in ours:
            ours.add(found[1])
    return sorted(ours)


def blocks(path, *options):
    """Of each sample its command, and its user frames (address, function, file)."""
    for block in script(path, "-F", "comm,pid,ip,sym,dso", *options).split("\n\n"):
        lines = block.strip("\n").split("\n")
        frames = [found.groups() for line in lines[1:] if (found := re.match(r"\s*([0-9a-f]+) (.*) \((.*)\)$", line)) and not found[3].startswith("[kernel") and found[1] != stacks.CUT]
        if frames and not frames[0][2].endswith(".ko"):
            yield lines[0].rsplit(maxsplit=1)[0].strip(), frames


def tell(title, found):
    counts, ends = collections.Counter(), collections.Counter()
    for command, frames in found:
        counts["all"] += 1
        counts["complete"] += stacks.is_complete(frames)
        counts["named"] += command not in ("perf", "") and not command.startswith(":")
        if not stacks.is_complete(frames):
            ends[f"{frames[-1][1]} ({frames[-1][2]}) of {command}"] += 1
    total = counts["all"] or 1
    print(f"{title:24} {counts['all']:8} {100 * counts['complete'] / total:10.2f} {100 * counts['named'] / total:8.2f}")
    for text, count in ends.most_common(4):
        print(f"{'':24} {count:8} end in {text}")


def starts(folder, _rounds):
    text = folder / "text"
    text.write_text("".join(f"{i} {i * i}\n" for i in range(60000)))
    source = folder / "some.c"
    source.write_text("#include <stdio.h>\n#include <regex.h>\n" + "".join(f"int f{i}(int a) {{ return a * {i}; }}\n" for i in range(500)))
    print(f"{'':24} {'stacks':>8} {'complete %':>10} {'named %':>8}")
    for title, command in {"ls -lR": ["ls", "-lR", "/usr/share"], "git log -p": ["git", "-C", BENCH, "log", "-p", "-n", 400], "gcc": ["gcc", "-O2", "-c", "-o", "/dev/null", source],
                           "python3": ["/usr/bin/python3", "-c", "import json, decimal; json.dumps([str(decimal.Decimal(i).sqrt()) for i in range(200000)])"],
                           "xz": ["xz", "-T2", "-c", text]}.items():
        if shutil.which(command[0]):
            record(["-g", "-F", 5000, "-o", folder / "perf.data"], command)
            tell(title, blocks(folder / "perf.data"))


def build_of_compilers(folder, _rounds):
    makefile = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\t@gcc -O1 -c -o $@ $<\n"
    tree = folder / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text(makefile)
    for i in range(300):
        (tree / f"{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int a) {{ for (int i = 0; i < a; i++) a ^= i * {i}; return printf(\"%d\", a); }}\n")
    (folder / "make-it").symlink_to(shutil.which("make"))
    path = folder / "perf.data"
    told = record(["-a", "-g", "-F", 4000, "-o", path], [folder / "make-it", "-s", "-j4", "-C", tree])
    print(f"{'':24} {'stacks':>8} {'complete %':>10} {'named %':>8}")
    tell("make -j4", blocks(path, "--pid", ",".join(family(path, "make-it"))))
    print("   " + "\n   ".join(re.findall(r"Unwound.*", told)))


PARTS = {"walk": walk, "cost": cost, "memory": memory, "build": build_of_compilers, "starts": starts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    words = parser.parse_args()
    for part in words.part or PARTS:
        if part not in PARTS:
            parser.error(f"{part}: there are {', '.join(PARTS)}")
        with tempfile.TemporaryDirectory() as folder:
            PARTS[part](pathlib.Path(folder), words.rounds)


if __name__ == "__main__":
    main()
