#!/usr/bin/env python3
"""How good are the stacks of record -g? Compares them with copies of 64 KB of the same stacks, unwound by readers (--call-graph dwarf,65528).

Each page fault of a command is a sample of two events at once: one whose stack is unwound while it is recorded, one whose stack is copied. The table says of each
command how many of the pairs are equal (or go further than a copy that was cut), how many stacks reach the start of their program or thread, and below it how the others differ: where they part.
Go's runtime does some work on the thread's own stack, of which the kernel copies what lies above: that is old, and the goroutine's stack isn't there. Such copies, which lead to no start, are
counted apart, as "blind"; bench/go_stacks.py compares those stacks with what Go's runtime says.

    bench/stacks.py [--perf build/perf] [--way bpf|copy] [--only NAME]   the usual programs, as far as they are installed
    bench/stacks.py -- gcc -O2 -c x.c                                             this command
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import tempfile

STARTS = {"_start", "_dl_start_user", "clone", "clone3", "__clone", "__clone3", "__GI___clone3", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.rt0_go.abi0"}
CHANGES = {f"runtime.{name}{abi}" for name in ("systemstack", "morestack", "mcall", "asmcgocall") for abi in ("", ".abi0")}
CUT = "f" * 16  # the copy ended here
PYTHON = "[python]"  # frames of the interpreter: nobody finds them in a copy
HELLO = "#include <iostream>\n#include <map>\nint main() { std::map<int, int> m; for (int i = 0; i < 999; i++) m[i] = i; try { throw m.size(); } catch (size_t n) { std::cout << n; } }\n"

PARALLEL = """#include <stdlib.h>
#include <string.h>
static double work(int i) { char *p = malloc(1 << 18); memset(p, i, 1 << 18); double d = p[i % 100]; free(p); return d; }
int main(void) { double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
for (int i = 0; i < 2000; i++) sum += work(i); return sum < 0; }
"""
GO = """package main
import ("fmt"; "sort"; "strings"; "sync")
func words(n int) []string { var w []string; for i := 0; i < n; i++ { w = append(w, strings.Repeat(fmt.Sprint(i), 9)) }; sort.Strings(w); return w }
func main() { var group sync.WaitGroup; for i := 0; i < 8; i++ { group.Add(1); go func(n int) { defer group.Done(); m := map[string]int{}; for _, w := range words(n * 2000) { m[w]++ } }(i) }; group.Wait() }
"""
RUST = """use std::collections::BTreeMap;
fn words(n: u32) -> Vec<String> { (0..n).map(|i| format!("{:x}", i.wrapping_mul(2654435761))).collect() }
fn count(words: &[String]) -> BTreeMap<char, Vec<String>> { words.iter().fold(BTreeMap::new(), |mut m, w| { m.entry(w.chars().next().unwrap()).or_insert_with(Vec::new).push(w.clone()); m }) }
fn main() { let threads: Vec<_> = (1..5).map(|i| std::thread::spawn(move || count(&words(i * 5000)).values().map(|v| v.len()).max())).collect();
    for thread in threads { println!("{:?}", thread.join().unwrap()); }
    println!("{:?}", std::panic::catch_unwind(|| count(&words(9)).get(&'!').unwrap().len()).is_err()); }
"""
SERVER = """daemon off; error_log stderr; pid {folder}/pid; worker_processes 2; events {{ }}
http {{ access_log {folder}/log; gzip on; gzip_types text/plain; server {{ listen unix:{folder}/socket; root {folder}; autoindex on; }} }}
"""
LOAD = """nginx -p {folder} -c {folder}/nginx.conf & while [ ! -S {folder}/socket ]; do sleep 0.1; done
for i in $(seq 200); do curl -s --compressed --unix-socket {folder}/socket http://x/ http://x/text.txt http://x/none -o /dev/null -o /dev/null -o /dev/null; done; kill -QUIT $(cat {folder}/pid); wait"""


def build(folder, name, text, *compiler):
    (folder / name).write_text(text)
    if shutil.which(compiler[0]):
        subprocess.run([*compiler, "-o", folder / name.split(".")[0], folder / name], check=True)


def compiler():
    """Itself, where rustup's stands for it."""
    found = subprocess.run(["rustup", "which", "rustc"], capture_output=True, text=True, check=False).stdout.strip() if shutil.which("rustup") else ""
    return found or "rustc"


def commands(folder):
    build(folder, "hello.cc", HELLO, "g++", "-O2")
    build(folder, "parallel.c", PARALLEL, "gcc", "-O2", "-fopenmp")
    build(folder, "routines.go", GO, "go", "build")
    build(folder, "counts.rs", RUST, "rustc", "-O")
    (folder / "nginx.conf").write_text(SERVER.format(folder=folder))
    (folder / "text.txt").write_text("".join(f"{i} {i * i}\n" for i in range(30000)))
    known = {
        "gcc": ["gcc", "-O2", "-S", "-x", "c", "-o", "/dev/null", "/dev/null"],
        "c++": [folder / "hello"],
        "python3": ["/usr/bin/python3", "-c", "import json, re, decimal; json.dumps([str(decimal.Decimal(i).sqrt()) for i in range(300)])"],
        "perl": ["perl", "-e", "my %h; $h{$_ % 777} .= $_ for 1..20000; print scalar %h"],
        "git": ["git", "-C", pathlib.Path(__file__).parent, "log", "-p", "-n", "5"],
        "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) insert into t select i, hex(i) from n; "
                                           "select count(*) from t x join t y on x.a = y.a;"],
        "ls": ["ls", "-lR", "/usr/include"],
        "xz": ["sh", "-c", "xz -1 -c /bin/ls | wc -c"],
        "openmp": [folder / "parallel"],
        "nginx": [next((tool for tool in ("nginx", "curl") if not shutil.which(tool)), "sh"), "-c", LOAD.format(folder=folder)],
        "go": [folder / "routines"],
        "rust": [folder / "counts"],
        "rustc": [compiler(), "-O", "-o", folder / "again", folder / "counts.rs"],
    }
    return {name: command if shutil.which(command[0]) else None for name, command in known.items()}


def record(perf, way, command, path):
    event, copies = "minor-faults/call-graph=auto,name=chains/u", "page-faults/call-graph=dwarf,stack-size=65528,name=copies/u"
    insist = ["--call-graph", "auto,copy"] if way == "copy" else []
    done = subprocess.run([perf, "record", "-c", "1", "-m", "64M", "-o", path, *insist, "-e", copies, "-e", event, "--", *command], capture_output=True, text=True, check=False)
    if "Captured and wrote" not in done.stderr:
        raise SystemExit(f"{perf} record: {done.stderr}")


def samples(perf, path):
    """By thread, in the order of time: event, time, frames (address, function, file)."""
    text = subprocess.run([perf, "script", "--no-inline", "--max-stack", "1024", "-F", "tid,time,event,ip,sym,dso", "--ns", "-i", path],
                          capture_output=True, text=True, errors="replace", check=True).stdout
    threads = collections.defaultdict(list)
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        head = re.match(r"\s*(\d+) +([\d.]+): +(chains|copies):", lines[0]) if lines else None
        if head:
            frames = [re.match(r"\s*([0-9a-f]+) (.*) \((.*)\)$", line).groups() for line in lines[1:] if line.split()[0] != CUT]
            threads[head[1]].append((head[3], float(head[2]), [frame for frame in frames if frame[2] != PYTHON]))
    return threads


def pairs(threads):
    """Of what happened at once, which the kernel tells as a page fault first: one directly behind the other, at the same place. Some are lost where copies come fast."""
    for found in threads.values():
        for first, second in zip(found, found[1:]):
            if (first[0], second[0]) == ("copies", "chains") and second[1] - first[1] < 0.0001 and first[2] and second[2] and first[2][0] == second[2][0]:
                yield second[2], first[2]


def is_complete(frames):
    """Programs without names have no _start, but what calls main() has a name."""
    return frames[-1][1] in STARTS or any(name.startswith("__libc_start_main") for _, name, _ in frames[-2:])


def difference(chain, copy):
    """Which goes on, and where."""
    at = next((i for i, (x, y) in enumerate(zip(chain, copy)) if x != y), min(len(chain), len(copy)))
    frame = (chain if at else copy)[max(at - 1, 0)]
    kind = "chain ends" if at == len(chain) else "copy ends" if at == len(copy) else "they part"
    return f"{kind} behind {frame[1]} ({frame[2]})"


def is_blind(chain, copy):
    """The copy goes on, or ends, on a stack that isn't the one that called."""
    at = next((i for i, (x, y) in enumerate(zip(chain, copy)) if x != y), min(len(chain), len(copy)))
    return at > 0 and chain[at - 1][1] in CHANGES and not is_complete(copy)


def compare(perf, way, name, command, folder):
    path = folder / "perf.data"
    record(perf, way, command, path)
    counts, differences = collections.Counter(), collections.Counter()
    for chain, copy in pairs(samples(perf, path)):
        counts["pairs"] += 1
        equal = chain[:len(copy)] == copy and (len(chain) == len(copy) or not is_complete(copy))
        counts["equal"] += equal
        counts["blind"] += not equal and is_blind(chain, copy)
        counts["complete"] += is_complete(chain)
        counts["copies complete"] += is_complete(copy)
        if chain != copy:
            differences[difference(chain, copy)] += 1
    total = counts["pairs"] or 1
    print(f"{name:10} {counts['pairs']:8} {100 * counts['equal'] / ((counts['pairs'] - counts['blind']) or 1):8.2f} {counts['blind']:6} {100 * counts['complete'] / total:10.2f} {100 * counts['copies complete'] / total:8.2f}")
    for text, count in differences.most_common(4):
        print(f"{'':10} {count:8} {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf", default="build/perf")
    parser.add_argument("--way", default="bpf", choices=["bpf", "copy"])
    parser.add_argument("--only", action="append")
    parser.add_argument("command", nargs="*")
    words = parser.parse_args()
    print(f"{'program':10} {'pairs':>8} {'equal %':>8} {'blind':>6} {'complete %':>10} {'copies %':>8}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        programs = {words.command[0].split("/")[-1]: words.command} if words.command else commands(folder)
        if missing := sorted(set(words.only or programs) - programs.keys()):
            parser.error(f"--only {missing[0]}: there are {', '.join(programs)}")
        for name, command in programs.items():
            if words.only and name not in words.only:
                continue
            if not command:
                print(f"{name:10} not measured: not all that it needs is installed")
                continue
            compare(words.perf, words.way, name, command, folder)


if __name__ == "__main__":
    main()
