"""perf diff --flamegraph on recordings made by hand: which frames are how wide, and how their shares have changed."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

KERNEL = 0xffffffff81000000
NAMES = ["_text", "start", "parse", "read", "<write>", "_etext"]
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\ncomm pid=2 tid=2 name=other\n")


def write(folder, name, stacks, comm=1):
    """`stacks`: words from the outside in → samples."""
    text, time = HEAD, 0
    for stack, count in stacks.items():
        places = [KERNEL + 0x1000 * NAMES.index(word) + 0x10 for word in reversed(stack.split())]
        for _ in range(count):
            time += 1
            text += (f"sample event=0 id=1 ip={places[0]:#x} pid={comm} tid={comm} time={time} period=1000 misc=1 "
                     f"chain=kernel,{','.join(map(hex, places))}\n")
    (folder / "kallsyms").write_text("".join(f"{KERNEL + 0x1000 * i:016x} T {symbol}\n" for i, symbol in enumerate(NAMES)))
    (folder / name).write_bytes(recording.make(text))


def draw(perf, folder, *words, name="out.svg"):
    done = perf("diff", "--kallsyms", "kallsyms", "--flamegraph", name, *words, cwd=folder)
    assert done.returncode == 0 and not done.stdout and f"drawn in {name}" in done.stderr, done.stderr
    return re.findall(r"<title>([^<]*) \((\S+) cpu-clock:HG, (\S+)%, (\S+)%\)</title>", (folder / name).read_text())


@pytest.mark.parametrize("name", ["out.svg", "out.html"])
def test_shares_and_changes(perf, tmp_path, name):
    write(tmp_path, "old", {"start parse read": 10, "start parse": 10, "start read": 20})
    write(tmp_path, "new", {"start parse read": 60, "start parse": 10, "start <write>": 10})
    assert draw(perf, tmp_path, "old", "new", name=name) == [
        ("all", "80,000", "100.00", "+0.00"), ("prog", "80,000", "100.00", "+0.00"), ("start", "80,000", "100.00", "+0.00"),
        ("&lt;write&gt;", "10,000", "12.50", "+12.50"), ("parse", "70,000", "87.50", "+37.50"), ("read", "60,000", "75.00", "+50.00")]


def test_colors(perf, tmp_path):
    """What is as before is grey, what has grown has more red, what has shrunk more blue."""
    write(tmp_path, "old", {"start parse": 20, "start read": 20})
    write(tmp_path, "new", {"start parse": 30, "start read": 10})
    draw(perf, tmp_path, "old", "new")
    text = (tmp_path / "out.svg").read_text()
    rules = {name: [int(color[i:i + 2], 16) for i in (0, 2, 4)] for name, color in re.findall(r"\.(c\d+)\{fill:#(\w{6})\}", text.split("@media")[0])}
    drawn = dict(re.findall(r"<title>(\S+) \([^<]*</title><rect[^>]* class=\"(c\d+)\"", text))
    red, _, blue = zip(*(rules[drawn[name]] for name in ("all", "start", "parse", "read")))
    assert red[0] == blue[0] and red[1] == blue[1] and red[2] > blue[2] and red[3] < blue[3], (drawn, rules)


def test_filters(perf, tmp_path):
    write(tmp_path, "old", {"start read": 3})
    write(tmp_path, "new", {"start read": 4, "start parse": 4})
    assert [row[:3] for row in draw(perf, tmp_path, "-S", "read", "old", "new")][-1] == ("read", "4,000", "100.00")
    done = perf("diff", "--kallsyms", "kallsyms", "--flamegraph", "out.svg", "-C", "other", "old", "new", cwd=tmp_path)
    assert done.returncode == 255 and "nothing to draw" in done.stderr


@pytest.mark.parametrize("words,sentence", [
    (["--flamegraph", "out.png"], ".html or .svg"), (["--html", "out.html", "-s", "comm"], "do not go with it"), (["--flamegraph", "out.svg", "old"], "two recordings"),
    (["--flamegraph", "out.svg", "--fail-above", "3"], "do not go with it")])
def test_mistakes(perf, tmp_path, words, sentence):
    write(tmp_path, "old", {"start read": 3})
    done = perf("diff", *words, "old", "old", cwd=tmp_path)
    assert done.returncode == 129 and sentence in done.stderr and not (tmp_path / words[1]).exists()
