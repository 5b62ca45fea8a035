#!/usr/bin/python3
"""What perf top itself costs: CPU time and memory of ours and of the kernel's tool, in turn, on the whole machine at 4,000 Hz, and what is lost.

    bench/top.py [--seconds 25] [--pairs 3] [--storm N] [--tui]

--storm: N shells that start processes all the time, so that the machine is busy and processes come and go."""
import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

OURS = os.environ.get("PERF", str(pathlib.Path(__file__).resolve().parent.parent / "build/perf"))
THEIRS = os.environ.get("ORACLE", "/usr/bin/perf")


def run(program, seconds, words):
    """CPU seconds, peak memory in MB, lost samples, screens."""
    with open("/tmp/bench-top.txt", "w+", encoding="utf8", errors="replace") as out:
        # A pipe that nobody writes to: at the end of its input the kernel's tool prints without a pause.
        with subprocess.Popen([program, "top", "--stdio", "-a", "-F", "4000", "-e", "cpu-clock", *words], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf8")
            process.send_signal(signal.SIGINT)
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
        out.seek(0)
        lost = re.findall(r"lost: \d+/(\d+)", out.read())
    peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
    return usage.ru_utime + usage.ru_stime, peak, int(lost[-1]) if lost else -1, len(lost)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--storm", type=int, default=0)
    parser.add_argument("words", nargs="*", help="options of perf top")
    options = parser.parse_args()
    storms = [subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"], start_new_session=True) for _ in range(options.storm)]
    results = {OURS: [], THEIRS: []}
    try:
        for _ in range(options.pairs):
            for program, runs in results.items():
                runs.append(run(program, options.seconds, options.words))
                print(f"{program}: {runs[-1][0]:.2f} s of CPU, {runs[-1][1]:.1f} MB, {runs[-1][2]} lost, {runs[-1][3]} screens", flush=True)
    finally:
        for storm in storms:
            storm.kill()
            storm.wait()
    cpu, memory = ([statistics.median(run[i] for run in results[program]) for program in (OURS, THEIRS)] for i in (0, 1))
    print(f"CPU: {cpu[0] / cpu[1]:.3f} of the kernel tool's; memory: {memory[0] / memory[1]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
