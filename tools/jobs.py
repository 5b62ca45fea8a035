"""Jobs of a test run: what is run, in what order, and what it costs.

A job is one program after another in one thread; as many run at a time as there are slots. A job may wait for others (a build before what is run from
it). Of those that may start, the one does first with which the longest chain of jobs begins that wait for one another: what each took in the last run says so
(build/run-tests.json), or the caller's guess.
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = ROOT / "build/run-tests.json"


class Results:
    """What passed, failed and was skipped; what is to be read about failures goes to `output`."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.output = ""

    def add(self, name, fine, output=""):
        if fine:
            self.passed += 1
        else:
            self.failed.append(name)
            if output:
                self.output += f"FAILED {name}\n{output.rstrip()}\n"

    def skip(self, name, reason):
        self.skipped.append((name, reason))

    def merge(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


@dataclasses.dataclass(eq=False)
class Job:
    """`call(job)` runs the job's programs by job.run() and adds to job.results. `needs`: jobs that must have ended well; where one of them is
    `broken`, this one isn't run, and is broken too. `after`: jobs that must have ended in whatever way. `guess`: seconds that it may take, as long as no run has told."""
    stage: str
    name: str
    call: object
    needs: tuple = ()
    after: tuple = ()
    guess: float = 1
    results: Results = dataclasses.field(default_factory=Results)
    broken: bool = False
    seconds: float = 0
    cpu: float = 0

    def run(self, command, env=None, timeout=1800):
        """Runs a program in the project's folder to its end, and counts the CPU time of it and of all that it waited for. Returns its exit status
        and its output. Beyond the timeout (seconds) it is killed."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT)
            timer = threading.Timer(timeout, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            late = not timer.is_alive()
            timer.cancel()
            self.cpu += usage.ru_utime + usage.ru_stime
            output.seek(0)
            return process.returncode, output.read() + (f"\n(stopped after {timeout} s)\n" if late else "")

    def perform(self):
        started = time.monotonic()
        try:
            self.broken = any(job.broken for job in self.needs)
            if not self.broken:
                self.call(self)
        except Exception: # the other jobs go on
            self.results.add(f"{self.stage}/{self.name} (the runner failed)", False, traceback.format_exc())
        self.seconds = time.monotonic() - started


def last_times():
    try:
        return json.loads(TIMES.read_text())
    except (OSError, ValueError):
        return {}


def tell(job):
    marks = f"{job.results.passed} passed" + (f", {len(job.results.failed)} FAILED" if job.results.failed else "") \
        + (f", {len(job.results.skipped)} skipped" if job.results.skipped else "")
    if job.broken and not job.results.failed:
        marks = "not run: what it needs failed"
    print(f"{job.stage:9} {job.name:36} {marks} ({job.seconds:.0f} s, {job.cpu:.0f} s CPU)", flush=True)
    if job.results.output:
        print(job.results.output, flush=True)


def chains(jobs, times):
    """{job: the seconds of the longest chain that begins with it}."""
    waiting_for = {}
    for job in jobs:
        for other in job.needs + job.after:
            waiting_for.setdefault(other, []).append(job)
    known = {}

    def length(job):
        if job not in known:
            known[job] = times.get(f"{job.stage}/{job.name}", job.guess) + max(map(length, waiting_for.get(job, ())), default=0)
        return known[job]
    return {job: length(job) for job in jobs}


def run_all(jobs, slots):
    """Runs all jobs, `slots` at a time, telling of each when it ends."""
    times = last_times()
    lengths = chains(jobs, times)
    waiting = sorted(jobs, key=lengths.get, reverse=True)
    running, ended, changed = set(), set(), threading.Condition()

    def thread(job):
        job.perform()
        with changed:
            running.discard(job)
            ended.add(job)
            tell(job)
            changed.notify()

    with changed:
        while waiting or running:
            for job in list(waiting):
                if len(running) < slots and ended.issuperset(job.needs + job.after):
                    waiting.remove(job)
                    running.add(job)
                    threading.Thread(target=thread, args=(job,)).start()
            changed.wait()
    keep_times(jobs, times)


def keep_times(jobs, times):
    times.update({f"{job.stage}/{job.name}": round(job.seconds, 1) for job in jobs})
    try:
        TIMES.write_text(json.dumps(times, indent=1, sort_keys=True))
    except OSError:
        pass # the next run guesses
