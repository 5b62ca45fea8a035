"""perf flamegraph: the same stacks with the same weights as the public scripts make of the kernel perf's text; pictures that work in a browser."""
import collections
import json
import re
import shutil
import subprocess

import pytest

WORKLOAD = "for i in 1 2 3; do ls -lR /usr/share/doc | sort | md5sum; done"
HEAD = re.compile(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+.*:\s*(\d+)\s+(\S+):\s*$")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((.*)\)")


@pytest.fixture(name="perf", scope="module")
def perf_fixture(kernel_form):
    """Stacks in the kernel tool's form."""
    return kernel_form


def tidy(function, module):
    """The label of a frame by the rules of stackcollapse-perf.pl."""
    function = re.sub(r"\+0x[\da-f]+$", "", function)
    if function == "[unknown]":
        function = "[unknown]" if module == "[unknown]" else f"[{module.rsplit('/', 1)[-1]}]".replace("[[", "[").replace("]]", "]")
    function = function.replace(";", ":")
    if not re.search(r"\.\(.*\)\.", function):
        function = re.sub(r"\((?!anonymous namespace\)).*", "", function)
    return function.replace('"', "").replace("'", "")


def collapse(text):
    """Folded stacks of `perf script` text: {stack: weight}, and {comm: weight} of the samples without frames, whose address the text doesn't tell."""
    stacks, frameless = collections.Counter(), collections.Counter()
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        head = HEAD.match(lines[0]) if lines else None
        if not head:
            continue
        frames = [FRAME.match(line).groups() for line in lines[1:]]
        if frames:
            labels = [tidy(function, module) for _, function, module in reversed(frames)]
            stacks[";".join([head[1].replace(" ", "_"), *labels])] += int(head[4])
        else:
            frameless[head[1].replace(" ", "_")] += int(head[4])
    return stacks, frameless


def read_folded(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks[stack] += int(weight)
    return stacks


@pytest.fixture(scope="module")
def recording(oracle, live, tmp_path_factory):
    path = tmp_path_factory.mktemp("flame") / "perf.data"
    done = oracle("record", "-F", "5000", "-g", "-o", path, "--", "sh", "-c", WORKLOAD)
    assert done.returncode == 0, done.stderr
    return path


def forget_plt_names(stacks, expected):
    """Stacks with calls through .plt.got and .plt.sec, which the kernel's perf 6.1 leaves unnamed: put where it counts them."""
    result = collections.Counter({stack: weight for stack, weight in stacks.items() if stack in expected or "@plt" not in stack})
    for stack in stacks.keys() - result.keys():
        pattern = re.compile(re.sub(r"[^;]*@plt", "@@", re.escape(stack).replace("\\;", ";")).replace("@@", r"\[(?!unknown\])[^;]*\]"))
        same = (other for other in expected if pattern.fullmatch(other) and expected[other] - result[other] >= stacks[stack])
        result[next(same, stack)] += stacks[stack]
    return result


def test_folded_like_public_scripts(perf, oracle, recording):
    ours = perf("flamegraph", "-i", recording, "--folded")
    assert ours.returncode == 0, ours.stderr
    expected, frameless = collapse(oracle("script", "-i", recording).stdout)
    got = forget_plt_names(read_folded(ours.stdout), expected)
    assert sum(expected.values()) > 0
    assert not expected - got
    # Ours also has the samples whose call chain is empty, as one frame: their address.
    more = collections.Counter()
    for stack, weight in (got - expected).items():
        assert stack.count(";") == 1, stack
        more[stack.split(";")[0]] += weight
    assert more == frameless


def test_own_recording_in_one_go(perf, live, tmp_path):
    done = perf("flamegraph", "-F", "5000", "-o", "out.svg", "--title", "a <title> & more", "--", "sh", "-c", WORKLOAD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[\d,]+ samples of \S+ drawn in out\.svg", done.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.svg"], "nothing else is left behind"
    picture = (tmp_path / "out.svg").read_text()
    assert "a &lt;title&gt; &amp; more" in picture
    subprocess.run(["python3", "-c", "import sys, xml.dom.minidom as x; x.parse(sys.argv[1])", tmp_path / "out.svg"], check=True)


def test_workload_status(perf, live, tmp_path):
    assert perf("flamegraph", "--", "sh", "-c", "exit 3", cwd=tmp_path).returncode == 3
    assert perf("flamegraph", "-i", "/nonexistent", cwd=tmp_path).returncode == 255


def browse(page, script, folder):
    """The page after `script` ran in it, as text."""
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("no browser (package chromium)")
    copy = folder / "browse.html"
    copy.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                           "--disable-component-update", "--disable-sync", f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=5000",
                           "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


def test_page_searches_and_zooms(perf, recording, tmp_path):
    done = perf("flamegraph", "-i", recording, "-o", tmp_path / "flame.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "flame.html").read_text()
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", ""), "the page loads nothing"
    folded = read_folded(perf("flamegraph", "-i", recording, "--folded").stdout)
    whole, matching = sum(folded.values()), sum(weight for stack, weight in folded.items() if "do_syscall_64" in stack.split(";"))
    dom = browse(page, "flame.search('^do_syscall_64$')", tmp_path)
    shown = re.search(r"Matched: ([\d.]+)%", dom)
    assert shown and abs(float(shown[1]) - 100 * matching / whole) < 0.011
    data = json.loads(re.search(r"nodes:(\[.*?\])\}", page, re.S)[1])
    before = dom.count("data-i=")
    zoomed = browse(page, "flame.zoom(flame.count - 1)", tmp_path).count("data-i=")
    assert 0 < zoomed <= 1 + max(data[0::3]) and before > zoomed


def test_hostile_names_stay_text(perf, live, tmp_path):
    """A program's name is foreign text: in no form may it become markup or script."""
    evil = tmp_path / "<b>]]>&x"
    shutil.copy("/usr/bin/md5sum", evil)
    for form in ("out.svg", "out.html"):
        done = perf("flamegraph", "-F", "10000", "-o", form, "--", evil, "/usr/bin/python3", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / form).read_text()
        assert "<b>" not in text
        assert text.count("]]>") == (1 if form.endswith("svg") else 0)
