#!/usr/bin/python3
"""Does perf agent stay as small as it was, and what does it cost, where processes come and go for hours? Once a minute: its memory and its CPU time.

    bench/agent_soak.py [--hours 2] [--rate 20] [--new 50] [--work 2000] [--nice 10] [--every 60] [--log FILE] [-- OPTIONS OF THE AGENT]

--rate: processes a second; --new: how many of a hundred are programs of ever new names, which are gone when they have run;
--work: microseconds of CPU time of each; --nice: their priority, as a group. A storm of new programs:

    bench/agent_soak.py --hours 0.06 --rate 400 --new 100 --work 100 --nice 0 --every 5

At the end it says "flat" when the mean of the last quarter of the time is at most 3 MB above that of the second one; the exit status is 1 when it isn't, or when
not each sample that was taken was stored, lost or dropped."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PERF = os.environ.get("PERF", str(pathlib.Path(__file__).resolve().parent.parent / "build/perf"))
SOURCE = pathlib.Path(__file__).resolve().parent / "churn.c"
ALLOWED_MB = 3


def memory(pid):
    """MB: resident; of that, of no file; the most so far."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf8").splitlines())
    return [int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon", "VmHWM")]


def seconds(pid):
    """CPU time of its own."""
    return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def give_way(nice):
    os.setsid()
    try:
        pathlib.Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")
    except OSError:
        os.nice(nice)


def watch(agent, options, sink, tell):
    """Rows of (resident MB, percent of one CPU), after the time in which it gets to know the machine."""
    begin, rows = time.monotonic(), []
    cpu, last, window = seconds(agent.pid), begin, []
    end = begin + options.hours * 3600
    while time.monotonic() < end:
        time.sleep(min(5, options.every))
        assert agent.poll() is None, "the agent has ended"
        window.append(memory(agent.pid)[0])
        now = time.monotonic()
        if now - last < options.every - 1 and now < end:
            continue
        spent = seconds(agent.pid)
        resident, own, most = memory(agent.pid)
        rows.append((sum(window) / len(window), 100 * (spent - cpu) / (now - last)))
        tell(f"{(now - begin) / 60:6.1f} min  {rows[-1][0]:6.1f} MB on average, {resident:6.1f} now, {own:6.1f} of no file, {most:6.1f} at most   {rows[-1][1]:.3f} % of a CPU")
        for path in sink.iterdir():
            path.unlink(missing_ok=True)  # the agent is about to give one its name
        cpu, last, window = spent, now, []
    return rows


def judge(rows, status, programs, tell):
    mean = lambda column, part: sum(row[column] for row in part) / len(part)  # noqa: E731
    quarter = max(1, len(rows) // 4)
    before, after = mean(0, rows[quarter:2 * quarter] or rows), mean(0, rows[-quarter:])
    samples = {name: status["samples_" + name] for name in ("taken", "stored", "lost", "dropped")}
    flat, counted = after <= before + ALLOWED_MB, samples["taken"] == samples["stored"] + samples["lost"] + samples["dropped"]
    tell(f"{programs} processes; {mean(0, rows):.1f} MB on average, {max(row[0] for row in rows):.1f} in the largest interval; {mean(1, rows):.3f} % of a CPU")
    tell(f"second quarter {before:.1f} MB, last quarter {after:.1f} MB: {'flat' if flat else 'NOT flat'}")
    tell(f"samples: {samples}: {'each is accounted for' if counted else 'NOT all are accounted for'}")
    return flat and counted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--new", type=int, default=50)
    parser.add_argument("--work", type=int, default=2000)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--every", type=float, default=60)
    parser.add_argument("--log")
    parser.add_argument("words", nargs="*", help="options of perf agent run")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-soak-"))
    log = open(options.log, "w", encoding="utf8") if options.log else None  # pylint: disable=consider-using-with

    def tell(line):
        for out in [sys.stdout] + ([log] if log else []):
            print(line, file=out, flush=True)

    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", folder / "churn", SOURCE], check=True)
    (folder / "sink").mkdir()
    (folder / "jobs").mkdir()
    words = [PERF, "agent", "run", "--socket", folder / "socket", "--spool", folder / "spool", "--sink", f"file://{folder}/sink?format=pprof", *options.words]
    with open(folder / "messages", "wb") as messages, subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=messages) as agent, \
            subprocess.Popen([folder / "churn", folder / "jobs", str(options.rate), str(options.new), str(options.work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             preexec_fn=lambda: give_way(options.nice)) as churn:
        try:
            while not (folder / "socket").exists():
                assert agent.poll() is None, (folder / "messages").read_text(errors="replace")
                time.sleep(0.1)
            rows = watch(agent, options, folder / "sink", tell)
            status = json.loads(subprocess.run([PERF, "agent", "status", "--json", "--socket", folder / "socket"], check=True, stdout=subprocess.PIPE).stdout)
            programs = int(churn.communicate()[0])
        finally:
            churn.stdin.close()
            agent.send_signal(signal.SIGTERM)
    good = judge(rows, status, programs, tell)
    sys.stdout.write((folder / "messages").read_text(errors="replace"))
    shutil.rmtree(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
