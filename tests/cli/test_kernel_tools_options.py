"""No command and no option of the kernel's tool is unknown here: what doesn't make sense is refused with a reason."""
import re

import pytest

COMMANDS = """annotate archive bench buildid-cache buildid-list c2c config daemon data diff evlist ftrace inject iostat kallsyms kmem kvm kwork list lock mem probe record report sched script stat
test timechart top trace version check""".split()
NEWER = {"check"}  # than the oracle
WORDS = {
    "bench": ["sched messaging", "sched pipe", "syscall basic", "mem memcpy", "mem memset", "mem find_bit", "numa mem", "futex hash", "futex wake", "futex wake-parallel", "futex requeue",
              "futex lock-pi", "epoll wait", "epoll ctl", "internals synthesize", "internals kallsyms-parse", "internals inject-build-id", "internals evlist-open-close", "breakpoint thread",
              "breakpoint enable"],
    "c2c": ["record", "report"], "daemon": ["start", "stop", "signal", "ping"], "data": ["convert"], "ftrace": ["trace", "latency"], "kmem": ["record", "stat"],
    "kvm": ["stat record", "stat report", "stat live"], "kwork": ["record", "report", "latency", "timehist"], "lock": ["record", "report", "script", "info", "contention"],
    "mem": ["record", "report"], "sched": ["record", "latency", "map", "replay", "script", "timehist"], "stat": ["record", "report"], "timechart": ["record"],
}
ELSEWHERE = {("iostat",): "--iostat"}  # the oracle shows the help of stat, which it calls

HELPLESS = {("archive",), ("c2c", "record"), ("daemon", "stop"), ("kmem", "stat")}  # the oracle's -h shows no options, on some machines or on all


def test_commands(perf):
    """ACCEPTANCE row 70: alone and with `help` each is listed; each has a page of help."""
    alone, listed = perf(), perf("help")
    text = alone.stdout + alone.stderr
    for command in COMMANDS:
        assert re.search(rf"^ +{command} ", text, re.M) and re.search(rf"^ +{command} ", listed.stdout + listed.stderr, re.M), command
        done = perf(command, "-h")
        assert "Usage: perf " + command in done.stdout + done.stderr, command


@pytest.mark.parametrize("words", [(command, *more.split()) for command in COMMANDS if command not in NEWER for more in ["", *WORDS.get(command, [])]], ids=" ".join)
def test_options(perf, oracle, tmp_path, words):
    """An option with its value, or without one, and then one that nobody has: so nothing runs."""
    help_text = oracle(*words, "-h", cwd=tmp_path)
    theirs = {name for names in re.findall(r"^\s{2,8}(-[\w-]+)(?:, (--[\w-]+))?", help_text.stdout + help_text.stderr, re.M) for name in names if name}
    assert theirs or words in HELPLESS
    ours = perf(*words, "-h", cwd=tmp_path)
    known = set(re.findall(r"(?<![\w-])-{1,2}\w[\w-]*", ours.stdout + ours.stderr))
    for name in sorted(theirs - known - {ELSEWHERE.get(words)}):
        done = perf(*words, name, "--nosuch", "--nosuch", cwd=tmp_path)
        assert done.returncode and not re.search(rf"unknown option {re.escape(name)}(?![\w-])", done.stderr), name
