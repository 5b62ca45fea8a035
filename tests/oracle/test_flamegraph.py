"""perf flamegraph: the same stacks with the same weights as the public scripts make of the kernel perf's text; pictures that work in a browser."""
import base64
import collections
import html
import itertools
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from browser import Page  # noqa: E402

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
    done = oracle.record(path, "-F", "5000", "-g", "--", "sh", "-c", WORKLOAD)
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


class Tree:
    """The tree in a flame graph's file: nodes as (depth, label, kind, module, own weight, own weight before), in preorder."""

    def __init__(self, text):
        self.bytes = zlib.decompress(base64.b64decode(re.search(r'data:\n"([^"]*)"', text)[1]))
        self.at = 0
        frames = [(self.name(), self.name(), self.number(), self.number()) for _ in range(self.number())]
        count = self.number()
        ups, numbers, own = ([self.number() for _ in range(count)] for _ in range(3))
        before = [self.number() for _ in range(count)] if "changes:true" in text else own
        assert self.at == len(self.bytes)
        self.nodes, depth = [], -1
        for up, number, weight, weight_before in zip(ups, numbers, own, before):
            depth += 1 - up
            label, module, kind, color = frames[number]
            self.nodes.append((depth, label, KINDS[kind], module, weight, weight_before, color))

    def number(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def name(self):
        end = self.bytes.index(0, self.at)
        text, self.at = self.bytes[self.at:end].decode(), end + 1
        return text

    def stacks(self, column=4):
        """Folded stacks: {stack: own weight}."""
        path, result = [], collections.Counter()
        for node in self.nodes:
            path = [*path[:node[0]], node[1]]
            if node[column]:
                result[";".join(path[1:])] += node[column]
        return result


KINDS = ["user", "kernel", "JIT", "inlined", "other"]


def picture(perf, *words, **arguments):
    """The text of the file that is drawn to standard output."""
    done = perf("flamegraph", *words, "-o", "-", **arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_same_stacks_in_all_forms(perf, recording, tmp_path):
    """The folded stacks are compared with the public scripts' above; the pictures hold the same, and the same as each other."""
    folded = read_folded(perf("flamegraph", "-i", recording, "--folded", "--samples").stdout)
    svg = picture(perf, "-i", recording, "--samples")
    html = perf("flamegraph", "-i", recording, "--samples", "-o", tmp_path / "flame.html")
    assert html.returncode == 0, html.stderr
    page = (tmp_path / "flame.html").read_text()
    assert Tree(svg).stacks() == folded
    drawn = [re.search(r"<svg id=.*</g>\n(?=</svg>|<script>)", text, re.S)[0] for text in (svg, page)]
    assert drawn[0] == drawn[1]
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", ""), "the page loads nothing"
    kinds = {node[2] for node in Tree(svg).nodes}
    assert {"user", "kernel", "other"} <= kinds
    assert {node[3] for node in Tree(svg).nodes if node[2] == "kernel"} <= {"[kernel.kallsyms]", ""}


DEEP = """
volatile long sum;
static inline __attribute__((always_inline)) long inlined(long depth, long seed);
__attribute__((noinline)) long spin(long seed) { for (int i = 0; i < 2000; i++) sum += seed ^ i; return sum; }
__attribute__((noinline)) long odd(long depth, long seed) { return (depth ? inlined(depth - 1, seed) : spin(seed)) + 1; }
__attribute__((noinline)) long even(long depth, long seed) { return (depth ? (seed >> depth % 5 & 1 ? odd : even)(depth - 1, seed) : spin(seed)) + 2; }
static inline __attribute__((always_inline)) long inlined(long depth, long seed) { return (seed >> depth % 7 & 1 ? odd : even)(depth, seed) + 3; }
int main(void) { for (long i = 0; i < 200000; i++) even(30 + i % 40, i * 2654435761 >> 3); return sum == 1; }
"""


def test_deep_stacks_with_inlined_functions(perf, live, tmp_path):
    """Stacks that have their outer part in common with those before: an address there may be several frames."""
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", tmp_path / "deep"],
                   input=DEEP, text=True, check=True)
    perf("record", "-q", "-F", "2000", "--call-graph", "fp", "-o", tmp_path / "deep.data", "--", tmp_path / "deep")
    folded = read_folded(perf("flamegraph", "--inline", "-i", tmp_path / "deep.data", "--folded", "--samples").stdout)
    assert any(stack.count(";inlined") > 3 and stack.count(";") > 30 for stack in folded)
    assert Tree(picture(perf, "--inline", "-i", tmp_path / "deep.data", "--samples")).stacks() == folded


def test_title_tells_what_was_recorded(perf, recording):
    svg = picture(perf, "-i", recording)
    title, subtitle = (re.search(rf'<text id="{name}"[^>]*>(.*?)</text>', svg)[1] for name in ("title", "subtitle"))
    assert html.unescape(title).endswith(WORKLOAD) and re.search(r" record .*-F 5000 -g ", title)
    count = len(perf("script", "-i", recording, "-F", "comm").stdout.split())
    assert re.fullmatch(rf"cpu-clock\S*, {count:,} samples in [\d.]+ s on {re.escape(platform.node())}", subtitle)
    assert '<text id="title" class="head" x="10" y="18" font-size="15" font-weight="bold">mine</text>' in picture(perf, "-i", recording, "--title", "mine")


FOLDED = """# a comment, and an empty line

main;parse;read_[k] 30
main;parse;parse;parse;read_[k] 10
main;work;inner_[i] 55.6
main;parse;parse;hash 3
java;Foo::run_[j] 1
"""
PARSED = {"main;parse;read": 30, "main;parse;parse;parse;read": 10, "main;work;inner": 56, "main;parse;parse;hash": 3, "java;Foo::run": 1}


def test_folded_stacks_as_input(perf, tmp_path):
    (tmp_path / "x.folded").write_text(FOLDED)
    whole = Tree(picture(perf, "-i", tmp_path / "x.folded"))
    assert whole.stacks() == PARSED
    assert {node[1]: node[2] for node in whole.nodes} == {"all": "other", "main": "user", "parse": "user", "read": "kernel", "work": "user",
                                                         "inner": "inlined", "hash": "user", "java": "user", "Foo::run": "JIT"}
    with open(tmp_path / "x.folded", encoding="utf8") as file:
        assert Tree(picture(perf, "-i", "-", stdin=file)).stacks() == PARSED
    piped = subprocess.run(["sh", "-c", f"cat x.folded | {perf} flamegraph -i - --folded"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert read_folded(piped.stdout) == PARSED
    substituted = subprocess.run(["bash", "-c", f"{perf} flamegraph -i <(cat x.folded) --folded"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert read_folded(substituted.stdout) == PARSED
    (tmp_path / "deep").write_text(";".join(["f"] * 1_000_000) + " 1\n")
    assert len(Tree(picture(perf, "-i", tmp_path / "deep")).nodes) == 1001, "the root, and what is drawn of it"
    reverse = Tree(picture(perf, "-i", tmp_path / "x.folded", "--reverse"))
    assert reverse.stacks() == {";".join(reversed(stack.split(";"))): weight for stack, weight in PARSED.items()}
    bad = perf("flamegraph", "-i", "-", "--folded", input=FOLDED + "what is this\nand; this\n", stdin=None)
    assert "ignored 2 lines of standard input that are not folded stacks" in bad.stderr and read_folded(bad.stdout) == PARSED
    none = perf("flamegraph", "-i", "-", input="just some text\n", stdin=None, cwd=tmp_path)
    assert none.returncode and "neither a recording nor folded stacks" in none.stderr and not (tmp_path / "flamegraph.html").exists()
    assert "--comms" in perf("flamegraph", "-i", tmp_path / "x.folded", "--comms", "main").stderr


def test_lightest_frames_are_left_out(perf, tmp_path):
    """A browser gets no million frames: what is left out is said, and counts as the own weight of the frame around it."""
    (tmp_path / "many").write_text("".join(f"main;heavy{i % 1000};light{i} {1 + 999 * (i < 1000)}\n" for i in range(400_000)))
    svg = picture(perf, "-i", tmp_path / "many")
    tree = Tree(svg)
    assert len(tree.nodes) == 2002, "the root, main, and the two heavy ones of each thousand"
    assert sum(node[4] for node in tree.nodes) == 1000 * 1000 + 399_000
    assert re.search(r'id="subtitle"[^>]*>[^<]*; frames below [\d.e-]+% are omitted<', svg)
    assert "omitted" not in picture(perf, "-i", "-", input=FOLDED, stdin=None)


def test_recording_from_a_pipe_is_no_text(perf, live, tmp_path):
    done = subprocess.run(["sh", "-c", f"{perf} record -q -e dummy -o - -- true | {perf} flamegraph -i -"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "has no samples" in done.stderr


def test_differences_are_red_and_blue(perf, tmp_path):
    (tmp_path / "diff").write_text("main;more 10 40\nmain;less 40 10\nmain;same 50 50\n")
    svg = picture(perf, "-i", tmp_path / "diff")
    tree = Tree(svg)
    assert tree.stacks() == {"main;more": 40, "main;less": 10, "main;same": 50}
    assert tree.stacks(5) == {"main;more": 10, "main;less": 40, "main;same": 50}
    fills = {name: colors(svg, name) for name in ("more", "less", "same")}
    assert fills["more"][0] > max(fills["more"][1:]) and fills["less"][2] > max(fills["less"][:2])
    assert max(fills["same"]) - min(fills["same"]) < 24, "what did not change is pale"
    assert "<title>less (10 samples, 10.00%, -30.00%)</title>" in svg
    assert "more than before" in svg and "less than before" in svg


def colors(svg, label):
    """Red, green and blue of a frame on a light background."""
    css = re.search(rf'<title>{label} [^/]*</title><rect [^>]*class="(c\d+)"', svg)[1]
    return [int(digits, 16) for digits in re.findall("..", re.search(rf"\.{css}{{fill:#(\w+)}}", svg)[1])]


def test_palettes(perf, recording, tmp_path):
    (tmp_path / "x").write_text(FOLDED)
    assert colors(picture(perf, "-i", tmp_path / "x", "--palette", "io"), "work")[2] > 150
    assert colors(picture(perf, "-i", tmp_path / "x", "--palette", "mem"), "work")[1] > 150
    java = picture(perf, "-i", tmp_path / "x", "--palette", "java")
    assert all(name in java for name in (">Java<", ">kernel<", ">inlined<", ">native<"))
    kind = picture(perf, "-i", tmp_path / "x")
    assert all(name in kind for name in (">user<", ">kernel<", ">inlined<", ">JIT<"))
    names = [f"f{i}" for i in range(200)]
    (tmp_path / "many").write_text("".join(f"{name} 1\n" for name in names))
    neighbours = [colors(picture(perf, "-i", tmp_path / "many"), name) for name in names]
    assert sum(a == b for a, b in itertools.pairwise(neighbours)) < 20, "neighbours are told apart"
    module = Tree(picture(perf, "-i", recording, "--palette", "module"))
    families = collections.defaultdict(set)
    for node in module.nodes[1:]:
        families[node[3]].add(node[6] // 35)
    assert all(len(family) == 1 for family in families.values()), "one hue for each module"
    assert len(set.union(*families.values())) > 2
    done = perf("flamegraph", "-i", tmp_path / "x", "--palette", "nosuch")
    assert done.returncode and "unknown palette 'nosuch'; choose one of kind, module, hot" in done.stderr


def test_icicle(perf, tmp_path):
    (tmp_path / "x").write_text(FOLDED)
    rows = [[float(re.search(rf'<title>{name} [^/]*</title><rect x="[\d.]+" y="(\d+)"', picture(perf, "-i", tmp_path / "x", *words))[1])
             for name in ("all", "main", "work")] for words in ((), ("--inverted",))]
    assert rows[0][0] > rows[0][1] > rows[0][2] and rows[1][0] < rows[1][1] < rows[1][2]


def test_pictures_of_dots_are_refused(perf, recording, live, tmp_path):
    for words in (["-i", recording], ["--", "touch", "ran"]):
        done = perf("flamegraph", "-o", "out.png", *words, cwd=tmp_path)
        assert done.returncode and re.search(r"out\.png: only \.html, \.svg and \.folded can be written", done.stderr)
    assert not list(tmp_path.iterdir())


def test_recording_without_call_chains(perf, live, tmp_path):
    assert perf("record", "-q", "-e", "page-faults", "-c", "1", "-o", "flat", "--", "true", cwd=tmp_path).returncode == 0
    done = perf("flamegraph", "-i", "flat", cwd=tmp_path)
    assert done.returncode == 0 and "has no call chains" in done.stderr and "perf record -g" in done.stderr


@pytest.fixture(name="page", scope="module")
def page_fixture(perf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "x").write_text(FOLDED)
    assert perf("flamegraph", "-i", "x", "-o", "x.html", cwd=folder).returncode == 0
    page = Page(folder / "x.html", folder)
    yield page
    page.close()


STATE = """.then(() => ({found: document.querySelector('.found').textContent, hash: location.hash, size: flame.size(),
    drawn: Array.from(document.querySelectorAll('#frames g[data-i]')).map(g => flame.words(+g.getAttribute('data-i'))),
    marked: document.querySelectorAll('#frames .m').length}))"""


def test_page_searches_and_zooms(page):
    state = page.evaluate("flame.search('^PARSE$')" + STATE)
    assert state["found"] == "Matched: 43.00% (43 samples)", "nested matches count once"
    assert state["marked"] == 3 and state["hash"] == "#search=%5EPARSE%24"
    half_typed = page.evaluate("flame.search('Foo::run(')" + STATE)
    assert half_typed["found"].startswith("Matched: 0.00%")
    page.evaluate("flame.search('')")
    zoomed = page.evaluate("flame.zoom(4)" + STATE)
    assert zoomed["hash"] == "#zoom=4"
    assert "parse (43 samples, 43.00%, 100.00% of the zoomed frame, user)" in zoomed["drawn"]
    outside = [words for words in zoomed["drawn"] if words.startswith(("all", "main"))]
    assert len(outside) == 2 and not any("zoomed frame" in words for words in outside), "frames around the zoomed one have no share of it"
    assert not any(words.startswith(("work", "java")) for words in zoomed["drawn"])
    assert page.evaluate("flame.zoom(0)" + STATE)["hash"] == ""


def test_page_folds_recursion(page):
    assert page.evaluate("flame.recursion()" + STATE)["size"] == 9
    drawn = page.evaluate("flame.search('')" + STATE)["drawn"]
    assert [words for words in drawn if words.startswith("parse")] == ["parse (43 samples, 43.00%, user)"]
    assert sorted(words for words in drawn if words.startswith(("read", "hash"))) == ["hash (3 samples, 3.00%, user)", "read (40 samples, 40.00%, kernel)"]
    assert page.evaluate("flame.recursion()" + STATE)["size"] == 12


def test_page_takes_its_state_from_the_address(page):
    page.evaluate("flame.search('')")
    state = page.evaluate("new Promise(done => { addEventListener('hashchange', done, {once: true}); location.hash = 'flipped&recursion=folded&search=hash'; })" + STATE)
    assert state["size"] == 9 and state["found"] == "Matched: 3.00% (3 samples)" and state["marked"] == 1
    assert page.evaluate("document.querySelector('input').value") == "hash"
    top, below = (page.evaluate(f"+document.querySelector('#frames g[data-i=\"{i}\"] rect').getAttribute('y')") for i in (0, 1))
    assert top < below


def test_page_keeps_the_root_in_sight(perf, tmp_path):
    """A stack that is higher than the window, whose size changes; who has scrolled away stays where that is."""
    (tmp_path / "deep.folded").write_text(";".join(f"f{i}" for i in range(100)) + " 1\n")
    assert perf("flamegraph", "-i", tmp_path / "deep.folded", "-o", tmp_path / "x.html").returncode == 0
    page = Page(tmp_path / "x.html", tmp_path)

    def hidden(width, height):
        """Pixels of the picture below the window."""
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        return page.evaluate("""new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
            done(document.getElementById('flame').getBoundingClientRect().bottom - innerHeight))))""")
    page.evaluate("flame.ready.then(() => 0)")
    assert hidden(900, 700) < 10 and hidden(700, 300) < 10 and hidden(900, 500) < 10
    page.evaluate("window.scrollTo(0, 0); new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
    assert hidden(900, 300) > 500
    page.close()


def test_page_leaves_keys_to_the_browser(page):
    prevented = page.evaluate("""['f', '/'].map((key, i) => { var event = new KeyboardEvent('keydown', {key: key, ctrlKey: i === 0, cancelable: true, bubbles: true});
        document.body.dispatchEvent(event); return event.defaultPrevented; })""")
    assert prevented == [False, True]


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
