"""perf lock on a recording made by hand: the text is worked out from the times."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import locks  # noqa: E402
import recording  # noqa: E402


def make(folder, text):
    path, symbols = folder / "lock.data", folder / "kallsyms"
    path.write_bytes(recording.make(text))
    symbols.write_text(locks.KALLSYMS)
    return ["-i", path, "--kallsyms", symbols]


@pytest.fixture
def story(perf, tmp_path):
    files = make(tmp_path, locks.STORY)

    def lines(subcommand, *words):
        done = perf("lock", subcommand, *words, *files)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()
    return lines


TITLES = " contended   total wait     max wait     avg wait"
FIGURES = {"A": "         3      4.00 ms      3.00 ms      2.00 ms", "B": "         1      2.50 ms      2.50 ms      2.50 ms",
           "tasks": "         1       250 ns       250 ns       250 ns", "beta": "         2      2.50 ms      2.50 ms      1.25 ms"}
ROWS = {"A": FIGURES["A"] + "      rwsem:W   vm_mmap+0x20", "B": FIGURES["B"] + "        mutex   file_write+0x40",
        "tasks": FIGURES["tasks"] + "     spinlock   do_exit"}


@pytest.mark.sanitize
def test_callers(story):
    """Lock functions are left out, and three frames first unless told otherwise."""
    assert story("contention", "--stack-skip", 0) == [TITLES + "         type   caller", "", ROWS["A"], ROWS["B"], ROWS["tasks"]]
    assert story("con") == [TITLES + "         type   caller", "", FIGURES["A"] + "      rwsem:W   sys_mmap+0x8",
                            FIGURES["B"] + "        mutex   entry+0x8", FIGURES["tasks"] + "     spinlock   entry+0x8"]
    assert story("con", "--max-stack", 2, "-q") == ["         5      6.50 ms      3.00 ms      1.63 ms      rwsem:W   Unknown"], "nothing is left of any stack"


@pytest.mark.sanitize
def test_stacks(perf, tmp_path):
    done = perf("lock", "contention", "-v", "-E", 1, *make(tmp_path, locks.STORY))
    assert done.stdout.splitlines()[2:] == [
        FIGURES["A"] + "      rwsem:W   sys_mmap+0x8", "\t\t\t0xffffffff81100110  rwsem_down+0x10", "\t\t\t0xffffffff81100205  down_write+0x5",
        "\t\t\t0xffffffff81002020  vm_mmap+0x20", "\t\t\t0xffffffff81001008  sys_mmap+0x8", "\t\t\t0xffffffff81006008  entry+0x8", "\t\t\t0x401000  "]


@pytest.mark.sanitize
def test_threads_and_locks(story):
    assert story("contention", "-t") == [TITLES + "          pid   comm", "", FIGURES["A"] + "           10   alpha", FIGURES["beta"] + "           20   beta"]
    assert story("contention", "-l") == [
        TITLES + "            address   symbol", "", FIGURES["A"] + "   ffff888100000a00    (rwsem)", FIGURES["B"] + "   ffff888100000b00    (mutex)",
        FIGURES["tasks"] + "   ffffffff81200000   tasklist_lock (spinlock)"]


def test_fields_and_order(story):
    assert story("contention", "-k", "avg_wait", "-F", "wait_min,contended", "--stack-skip", 0) == [
        "    min wait  contended     avg wait         type   caller", "", "     2.50 ms          1      2.50 ms        mutex   file_write+0x40",
        "     1.00 ms          3      2.00 ms      rwsem:W   vm_mmap+0x20", "      250 ns          1       250 ns     spinlock   do_exit"]
    assert story("contention", "-q", "-E", 1, "-k", "wait_max") == [FIGURES["A"] + "      rwsem:W   sys_mmap+0x8"]


CGROUPS = ["         3      4.00 ms      3.00 ms      2.00 ms   /system.slice/a.service", "         2      2.50 ms      2.50 ms      1.25 ms   /user.slice"]


@pytest.mark.sanitize
@pytest.mark.parametrize("words, wanted", [
    ("", CGROUPS), ("-G user.slice", CGROUPS[1:]), ("-G /system.slice/,other", CGROUPS[:1]), ("-G system.slice/a.service", CGROUPS[:1]), ("-G user", []),
    ("-G /", CGROUPS), ("-G /system.slice/a.service/b", [])])
def test_cgroups(perf, tmp_path, words, wanted):
    files = make(tmp_path, locks.with_cgroups({10: "/system.slice/a.service", 20: "/user.slice"}))
    done = perf("lock", "contention", "--lock-cgroup", *words.split(), *files)
    assert done.stdout.splitlines() == [TITLES + "   cgroup", "", *wanted], done.stderr
    rows = perf("lock", "contention", "--lock-cgroup", "--format", "csv", *words.split(), *files).stdout.splitlines()[1:]
    assert [row.split(",")[-1] for row in rows] == [line.split()[-1] for line in wanted]


def test_cgroups_are_recorded_when_asked_for(perf, tmp_path):
    for words in (["--lock-cgroup"], ["-G", "user.slice"]):
        done = perf("lock", "contention", *words, *make(tmp_path, locks.STORY))
        assert done.returncode == 255 and "the recording contains no cgroups; record with 'perf lock record --all-cgroups'" in done.stderr


def test_output(story, tmp_path):
    for words in (["contention"], ["contention", "--format", "json"], ["report"], ["report", "--format", "csv"], ["info"]):
        assert story(*words, "--output", tmp_path / "out") == [] and (tmp_path / "out").read_text().splitlines() == story(*words)


def test_waits_without_an_end(perf, tmp_path):
    """Those of the idle tasks of two CPUs are two, for one lock at a time, too."""
    waits = (locks.begin(1, 10, locks.MAP, locks.A, locks.SEM_W), locks.begin(2, 0, locks.EXIT, locks.TASKS, locks.SPIN, 0),
             locks.begin(3, 0, locks.EXIT, locks.TASKS, locks.SPIN, 1), locks.end(4, 0, locks.EXIT, locks.TASKS, 1), locks.end(7, 0, locks.EXIT, locks.TASKS, 0))
    done = perf("lock", "contention", "--stack-skip", 0, "-q", "-F", "contended,wait_total,wait_max,wait_min", *make(tmp_path, locks.HEAD + "".join(waits)))
    assert done.stdout.splitlines() == ["         2      6.00 us      5.00 us      1.00 us     spinlock   do_exit",
                                        "         1         0 ns         0 ns         0 ns      rwsem:W   vm_mmap+0x20"]


@pytest.mark.parametrize("words, wanted", [
    ("-Y rwsem", ["A"]), ("-Y rwsem:R", []), ("-Y rwsem:W,spinlock", ["A", "tasks"]), ("-Y mutex", ["B"]),
    ("-L tasklist_lock", ["tasks"]), ("-L other_lock", []), ("-L ffff888100000b00,0xffffffff81200000", ["B", "tasks"]),
    ("-S write", ["A", "B", "tasks"]), ("-S file_,do_exit", ["B", "tasks"]), ("-S nothing", []), ("-C 1", ["B", "tasks"]), ("-C 0", ["A"]), ("-C 2-5", []),
])
def test_filters(story, words, wanted):
    """down_write and sys_write have "write" in them. What counts is where a wait begins."""
    assert story("contention", "-q", "--stack-skip", 0, *words.split()) == [ROWS[name] for name in wanted]


def test_separator(story):
    assert story("contention", "-x", ",", "--stack-skip", 0) == [
        "# output: contended, total wait, max wait, avg wait, type, caller", "3, 4000000, 3000000, 2000000, rwsem:W, vm_mmap+0x20",
        "1, 2500000, 2500000, 2500000, mutex, file_write+0x40", "1, 250, 250, 250, spinlock, do_exit"]
    assert story("contention", "-x", ";", "-l", "-q", "-F", "contended", "-E", 1) == ["3; 4000000; ffff888100000a00; ; rwsem"]
    assert story("contention", "-x", ";", "-t", "-q", "-F", "contended", "-E", 1) == ["3; 4000000; 10; alpha"]
    assert story("contention", "-x", "ph", "-t", "-q", "-F", "contended", "-E", 1) == ['3ph 4000000ph 10ph "alpha"'], "a name that holds the separator"
    assert story("contention", "-x", "_", "-l", "-q", "-F", "contended", "-E", 3)[2].split("_ ", 3)[3] == '"tasklist_lock"_ spinlock'


def test_for_programs(story):
    rows = [json.loads(line) for line in story("contention", "--format", "json", "--stack-skip", 0)]
    for command in ("contention", "report"):
        assert story(command, "--json") == story(command, "--format", "json")
    assert rows[0] == {"acquired": 2, "contended": 3, "avg_wait": 2000000, "wait_total": 4000000, "wait_max": 3000000, "wait_min": 1000000, "type": "rwsem:W",
                       "caller": "vm_mmap+0x20"}
    assert [row["caller"] for row in rows] == ["vm_mmap+0x20", "file_write+0x40", "do_exit"]
    assert story("contention", "-t", "--format", "csv")[1:] == ["2,3,2000000,4000000,3000000,1000000,10,alpha", "2,2,1250125,2500250,2500000,250,20,beta"]


@pytest.mark.sanitize
def test_report(story):
    titles = "                Name   acquired  contended     avg wait   total wait     max wait     min wait "
    first = "        sys_mmap+0x8          2          3      2.00 ms      4.00 ms      3.00 ms      1.00 ms "
    assert story("report") == [titles, "", first, "           entry+0x8          1          1      2.50 ms      2.50 ms      2.50 ms      2.50 ms ",
                               "           entry+0x8          1          1       250 ns       250 ns       250 ns       250 ns "]
    both = "          2          2      1.25 ms      2.50 ms      2.50 ms       250 ns "
    assert story("report", "-c", "-q", "-k", "wait_total") == [first, "           entry+0x8" + both]
    assert story("report", "-t", "-q", "-k", "contended") == [first.replace("sys_mmap+0x8", "       alpha"), "                beta" + both]
    assert story("report", "-q", "-F", "contended", "-k", "contended", "-E", 1) == ["        sys_mmap+0x8          3 "]


@pytest.mark.sanitize
def test_info(story):
    threads = [" Thread ID: comm", "        10: alpha", "        20: beta"]
    addresses = ["Address of instance: name of class", " 0xffff888100000b00: entry+0x8", " 0xffffffff81200000: entry+0x8", " 0xffff888100000a00: sys_mmap+0x8"]
    assert story("info", "-t") == threads and story("info", "-m") == addresses
    assert story("info") == story("info", "-t", "-m") == [*threads, "", *addresses]


def test_info_for_programs(story):
    threads = [{"tid": 10, "comm": "alpha"}, {"tid": 20, "comm": "beta"}]
    addresses = [(0xffff888100000b00, "entry+0x8"), (0xffffffff81200000, "entry+0x8"), (0xffff888100000a00, "sys_mmap+0x8")]
    rows = [json.loads(line) for line in story("info", "--json")]
    assert rows[:2] == threads and [(int(str(row["address"]), 0), row["name"]) for row in rows[2:]] == addresses
    assert [json.loads(line) for line in story("info", "-t", "--format", "json")] == threads
    assert story("info", "-t", "--format", "csv") == ["tid,comm", "10,alpha", "20,beta"]


@pytest.mark.sanitize
def test_lockdep(perf, tmp_path):
    """What kernels with CONFIG_LOCKDEP tell: locks that nobody waited for, too."""
    files = make(tmp_path, locks.LOCKDEP_STORY)

    def rows(*words):
        done = perf("lock", *words, *files)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [line.split() for line in done.stdout.splitlines()]
    inode, other = "inode 3 2 1.50 ms 3.00 ms 2.00 ms 1.00 ms", "inode 1 1 500.00 us 500.00 us 500.00 us 500.00 us"
    never = ["rq_lock 3 0 0 ns 0 ns 0 ns 0 ns", "a_class_with_a_ 1 0 0 ns 0 ns 0 ns 0 ns"]
    assert rows("report", "-q", "-k", "wait_total") == [line.split() for line in (inode, other, *never)]
    assert rows("report", "-q", "-c", "-E", 1) == ["inode 4 3 1.17 ms 3.50 ms 2.00 ms 500.00 us".split()]
    assert rows("report", "-q", "-t") == ["beta 5 1 1.00 ms 1.00 ms 1.00 ms 1.00 ms".split(), "alpha 3 2 1.25 ms 2.50 ms 2.00 ms 500.00 us".split()]
    assert rows("report", "--format", "csv", "-E", 1)[1:] == [["3,2,1500000,3000000,2000000,1000000,inode"]]
    assert rows("info", "-m")[1:3] == [["0xffff888100000d00:", "a_class_with_a_"], ["0xffff888100000a00:", "inode"]]
    assert "the recording has no lock:contention_begin events" in perf("lock", "contention", *files).stderr


def test_nothing(perf, tmp_path):
    files = make(tmp_path, locks.HEAD)
    assert "There were no waits for locks of the kernel.\n" in perf("lock", "contention", *files).stderr
    assert "There were no waits for locks of the kernel that pass the filters.\n" in perf("lock", "contention", "-Y", "mutex", *files).stderr
    assert perf("lock", "contention", "-q", *files).stderr == ""
    for words in (["info"], ["report"], ["contention"]):
        done = perf("lock", *words, "--json", *files)
        assert not done.returncode and done.stdout == "" and done.stderr == "perf: There were no waits for locks of the kernel.\n", words


def test_report_leaves_out_what_nobody_got(perf, tmp_path):
    files = make(tmp_path, locks.HEAD + locks.begin(1, 10, locks.MAP, locks.A, locks.SEM_W))
    assert perf("lock", "report", "-q", *files).stdout == ""
    assert perf("lock", "info", "-m", *files).stdout.splitlines()[1:] == [" 0xffff888100000a00: sys_mmap+0x8"]


def test_long_and_hostile_names(perf, tmp_path):
    """A name is cut in the report only; control characters reach no terminal."""
    symbols = tmp_path / "kallsyms"
    files = make(tmp_path, locks.STORY.replace("name=alpha", "'name=a\x1b[2Jb'"))
    symbols.write_text(locks.KALLSYMS.replace("sys_mmap", "sys_mmap_with_a_long_name"))
    assert perf("lock", "report", "-q", "-E", 1, *files).stdout.split()[0] == "sys_mmap_with_a_..."
    assert perf("lock", "contention", "-q", "-E", 1, *files).stdout.split()[-1] == "sys_mmap_with_a_long_name+0x8"
    named = perf("lock", "contention", "-q", "-t", "-E", 1, *files).stdout
    assert named.split()[-1] == r"a\x1b[2Jb"


@pytest.mark.parametrize("words, text", [
    (["contention", "-t", "-l"], "-t, -l, -o and --lock-cgroup cannot be combined"),
    (["contention", "-o", "-S", "write"], "-o measures the whole system"),
    (["contention", "-o", "-p", "1"], "-o measures the whole system"),
    (["contention", "-o", "--max-stack", "9"], "-o needs no stacks and symbols"),
    (["contention", "-o", "-i", "perf.data"], "recordings do not contain the owners of locks"),
    (["contention", "-k", "acquired"], "-k: unknown field 'acquired'; the fields are contended,"),
    (["contention", "-F", "contended,x"], "unknown field 'x'"),
    (["contention", "-Y", "lock"], "unknown type of locks 'lock'; the types are semaphore, spinlock, rwlock:R"),
    (["contention", "-x", ",", "--format", "csv"], "-x and --format cannot be combined"),
    (["contention", "-x", ""], "the separator is empty"),
    (["contention", "-C", "x"], "expected a list such as 0,4-7"),
    (["contention", "--max-stack", "0"], "--max-stack and --stack-skip"),
    (["contention", "-i", "perf.data", "true"], "-i and -D read a recording"),
    (["contention", "-i", "perf.data", "-b"], "-i and -D read a recording"),
    (["report", "-c", "-t"], "-c and -t cannot be combined"),
    (["report", "word"], "unexpected argument 'word'"),
    (["-v", "record"], "options of 'perf lock record' follow its name"),
    (["nothing"], "unknown subcommand 'nothing'"),
    ([], "which subcommand?"),
])
def test_mistakes(perf, words, text):
    done = perf("lock", *words)
    assert done.returncode == 129 and text in done.stderr and not done.stdout, done.stderr


def test_other_recordings(perf, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("event cycles type=0 config=0 period=1000 sample=IP|TID|TIME ids=1\nsample ip=0x400000 pid=1 tid=1 time=10\n"))
    for subcommand in ("contention", "report", "info"):
        done = perf("lock", subcommand, "-i", path)
        assert done.returncode == 255 and "the recording has no lock:contention_begin events; record them with 'perf lock record'" in done.stderr
    dump = perf("lock", "contention", "-D", "-i", path).stdout
    assert "PERF_RECORD_SAMPLE" in dump and perf("report", "-D", "-i", path).stdout.startswith(dump.rstrip("\n"))


@pytest.mark.sanitize
def test_many_waits_at_once(perf, tmp_path):
    """900 threads wait for a lock of ten at the same time, some twice; they begin a second time in the midst of it, which counts no wait, and end in another
    order. What ends twice counts once."""
    threads, locks_of = range(100, 1000), {tid: [locks.A + 8 * (tid % 10)] + [locks.B] * (tid % 3 == 0) for tid in range(100, 1000)}
    waits = [(tid, lock) for tid in threads for lock in locks_of[tid]]
    ends = sorted(waits, key=lambda wait: wait[0] * 7919 % 1009)
    text = "".join(locks.begin(number, tid, locks.MAP, lock, locks.MUTEX) for number, (tid, lock) in enumerate(waits))
    text += "".join(locks.begin(2000 + number, tid, locks.MAP, lock, locks.MUTEX_SPINS) for number, (tid, lock) in enumerate(waits[::3]))
    text += "".join(locks.end(10000 + number, tid, locks.MAP, lock) for number, (tid, lock) in enumerate(ends))
    text += "".join(locks.end(20000 + number, tid, locks.MAP, lock) for number, (tid, lock) in enumerate(ends[::5]))
    begun, total = {wait: number for number, wait in enumerate(waits)}, {}
    for number, wait in enumerate(ends):
        total.setdefault(wait[1], []).append((10000 + number - begun[wait]) * 1000)
    files = make(tmp_path, locks.HEAD + text)
    for words in (("contention", "-l"), ("report",)):
        rows = map(json.loads, perf("lock", *words, "--format", "json", *files).stdout.splitlines())
        assert sorted((row["contended"], row["wait_total"], row["wait_max"], row["wait_min"]) for row in rows) == sorted(
            (len(times), sum(times), max(times), min(times)) for times in total.values())
