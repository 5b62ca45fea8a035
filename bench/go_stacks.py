#!/usr/bin/env python3
"""Are the stacks of Go's threads right where they lead from the thread's own stack to that of its goroutine? A copy of the one doesn't have the other, so copies can't tell: Go's runtime does.

A program is sent SIGQUIT, of which it dies with a traceback of the thread that the signal interrupted, and of all goroutines. The delivery of the signal is an event with a stack,
which must be the same: what ran on the thread's own stack, and then all of one goroutine, if the thread has one. Needs root and go.

    bench/go_stacks.py [--perf build/perf] [--runs 50]"""
import argparse
import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

# Collects garbage, lets stacks grow and yields, all of which is done on threads' own stacks.
PROGRAM = """package main
import "runtime"
type node struct { next *node; room [100]byte }
var keep [][]byte
var head *node
//go:noinline
func grow(n int) int { var room [200]int; room[n%200] = n; if n == 0 { return 0 }; return grow(n-1) + room[n%200] }
func work() {
	var mine [][]byte
	for {
		mine = append(mine, make([]byte, 100000))
		if len(mine) > 200 { mine = nil }
		var list *node
		for i := 0; i < 2000; i++ { list = &node{next: list} }
		head = list
		done := make(chan int)
		go func() { done <- grow(100) }()
		<-done
		runtime.Gosched()
	}
}
func main() { runtime.GOMAXPROCS(2); go work(); go work(); work() }
"""
CHANGES = {"runtime.systemstack", "runtime.morestack", "runtime.mcall", "runtime.asmcgocall"}


def child_of(pid, name):
    for _ in range(500):
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name:
                    return int(child)
            except OSError:
                pass
        time.sleep(0.01)
    sys.exit("the program doesn't start")


def functions(text):
    """Of a part of a traceback; those that were inlined have no frame of their own."""
    return [re.sub(r"\([^()]*\)$", "", line) for line, place in re.findall(r"^(\S.*)\n\t(\S.*)$", text, re.M) if " fp=0x" in place]


def interrupt(perf, program, folder):
    """The stack of the signal, the thread's part of the traceback, and those of goroutines."""
    data = folder / "perf.data"
    with open(folder / "told", "w+", encoding="utf8") as told:
        recorder = subprocess.Popen([perf, "record", "-q", "-g", "-m", "1M", "-e", "signal:signal_deliver", "--filter", f"sig=={int(signal.SIGQUIT)}", "-o", data, "--", program],
                                    stderr=told, env={**os.environ, "GOTRACEBACK": "system"})
        child = child_of(recorder.pid, program.name)
        time.sleep(0.05 + random.random() / 10)
        os.kill(child, signal.SIGQUIT)
        recorder.wait()
        told.seek(0)
        parts = re.split(r"\n\n", told.read())
    text = subprocess.run([perf, "script", "--no-inline", "--max-stack", "1024", "-i", data, "-F", "ip,sym,dso"], capture_output=True, text=True, check=True).stdout
    chain = [name.removesuffix(".abi0") for name, file in re.findall(r"^\s*[0-9a-f]+ (\S+) \((.*)\)$", text, re.M) if file.endswith(program.name)]
    own = next((functions(part) for part in parts if part.startswith(("goroutine 0 ", "runtime stack"))), [])
    return chain, own, [functions(part) for part in parts if re.match(r"goroutine [1-9]", part)]


def judge(chain, own, goroutines):
    """What changed the stack, and whether the traceback says the same."""
    change = next((name for name in own if name in CHANGES), "none")
    own = own[:own.index(change) + 1] if change in own else own
    behind = chain[len(own):]
    if chain[:len(own)] != own:
        return change, "another stack"
    if change == "none":
        return change, "equal" if behind in ([], ["runtime.clone"]) else "another stack"
    if behind in goroutines:
        return change, "equal, with its goroutine"
    return change, "equal, and no goroutine runs" if not behind and change != "runtime.systemstack" else "another goroutine"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf", default="build/perf")
    parser.add_argument("--runs", type=int, default=50)
    words = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "busy.go").write_text(PROGRAM)
        subprocess.run(["go", "build", "-o", folder / "busy", folder / "busy.go"], check=True)
        for _ in range(words.runs):
            chain, own, goroutines = interrupt(words.perf, folder / "busy", folder)
            if not own:  # it ran on a goroutine's stack
                counts["(a goroutine's own stack)", "equal" if chain in goroutines else "another stack"] += 1
                continue
            found = judge(chain, own, goroutines)
            counts[found] += 1
            if "another" in found[1]:
                print(found, f"\n  {chain}\n  {own}")
    for (change, found), count in sorted(counts.items()):
        print(f"{count:6} {change:26} {found}")


if __name__ == "__main__":
    main()
