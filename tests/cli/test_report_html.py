"""perf report --html on recordings made by hand: what the page has, and what it does in a browser."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
from browser import Page  # noqa: E402

KERNEL = 0xffffffff81000000
NAMES = ["_text", "start", "parse", "read", "<script>pwned=1</script>", "_etext"]
HEAD = ("feature hostname box\nfeature osrelease 6.1.0\nfeature nrcpus 2\nfeature cmdline perf record -g '<b>evil</b> \"; //'\n"
        "event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        "event page-faults type=1 config=2 ids=2 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\ncomm pid=2 tid=2 name=</script>\n")
SECOND = 10**9


def sample(time, stack, event=0, thread=1, period=1000):
    places = [KERNEL + 0x1000 * NAMES.index(word) + 0x10 for word in reversed(stack.split())]
    return (f"sample event={event} id={event + 1} ip={places[0]:#x} pid={thread} tid={thread} cpu={thread - 1} time={time} period={period} misc=1 "
            f"chain=kernel,{','.join(map(hex, places))}\n")


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory):
    """Thread 1 reads in the first five seconds, and parses and recurses in the last five; thread 2 has a hostile function all the time."""
    folder = tmp_path_factory.mktemp("html")
    text = HEAD
    for i in range(1001):
        time = SECOND + i * SECOND // 100
        text += sample(time, "start read" if i < 500 else "start parse start parse")
        if i % 10 == 0:
            text += sample(time + 1, f"start {NAMES[4]}", thread=2)
        if i == 10:
            text += sample(time + 2, "parse", event=1, period=7)
    text += "lost id=1 lost=9\n"
    (folder / "kallsyms").write_text("".join(f"{KERNEL + 0x1000 * i:016x} T {symbol}\n" for i, symbol in enumerate(NAMES)))
    (folder / "perf.data").write_bytes(recording.make(text))
    return folder


@pytest.fixture(name="page", scope="module")
def page_fixture(folder, perf):
    done = perf("report", "--html", "out.html", "--kallsyms", "kallsyms", cwd=folder)
    assert done.returncode == 0 and not done.stdout and "written to out.html" in done.stderr, done.stderr
    page = Page(folder / "out.html", folder)
    page.evaluate("window.violations = []; document.addEventListener('securitypolicyviolation', one => violations.push(one.blockedURI)); profile.ready")
    yield page
    page.close()


def functions(page):
    return page.evaluate("Array.from(document.querySelectorAll('#functions tbody tr')).map(row => Array.from(row.cells).map(cell => cell.textContent))")


def test_header(page):
    assert page.evaluate("document.title") == page.evaluate("document.querySelector('h1').textContent") == 'perf record -g <b>evil</b> "; //'
    facts = dict(page.evaluate("Array.from(document.querySelectorAll('dt')).map(dt => [dt.textContent, dt.nextSibling.textContent])"))
    assert facts["Machine"] == "box" and facts["Kernel"].startswith("6.1.0") and facts["CPUs"] == "2" and facts["Duration"] == "10.000 s"
    assert "9" in facts["Loss"] and "lost" in facts["Loss"]
    assert page.evaluate("Array.from(document.querySelector('#event').options).map(one => one.textContent)") == [
        "cpu-clock:HG (1,102 samples)", "page-faults:HG (1 samples)"]


def test_table_has_the_figures_of_the_report(page, folder, perf):
    page.evaluate("document.querySelector('#reset').click()")
    rows = functions(page)
    report = perf("report", "--kallsyms", "kallsyms", "--children", "-g", "none", "-s", "sym", "--show-total-period", cwd=folder).stdout
    expected = {}
    for line in report.split("# Event")[1].split("\n# Samples")[0].splitlines():
        words = line.split()
        if len(words) > 4 and words[0].endswith("%"):
            expected[" ".join(words[4:])] = (words[1], words[0])
    assert {row[2]: (row[0], row[1]) for row in rows} == expected and len(expected) == 4
    assert [row[2] for row in rows][:2] == ["parse", "read"]


def test_range_is_followed_by_all(page):
    page.evaluate("document.querySelector('#reset').click(); profile.range(0, 99)")
    names = {row[2]: row for row in functions(page)}
    assert "parse" not in names and float(names["read"][0].rstrip("%")) > 90
    assert page.evaluate("document.querySelector('#range').textContent") == "0.000 s to 4.950 s"
    # Drawn with the mouse, in a lane: the last tenth.
    box = page.evaluate("(() => { const b = document.querySelector('#cpus').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
    at = [box[0] + 170 + (box[2] - 170) * part for part in (0.901, 0.999)]
    for kind, x in (("mousePressed", at[0]), ("mouseMoved", at[1]), ("mouseReleased", at[1])):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=box[1] + 4, button="left", buttons=1, clickCount=1)
    assert page.evaluate("document.querySelector('#range').textContent") == "9.000 s to 10.000 s"
    assert "read" not in {row[2] for row in functions(page)}
    assert "time=180-200" in page.evaluate("location.hash")


def test_callers_and_callees(page):
    page.evaluate("document.querySelector('#reset').click(); profile.choose('parse')")
    tables = page.evaluate("Array.from(document.querySelectorAll('#function table')).map(table => Array.from(table.rows).map(row => row.cells[1].textContent))")
    assert tables == [["start"], ["start"]]
    heads = page.evaluate("document.querySelector('#function p').textContent")
    assert heads.startswith("own ") and heads.split(", with callees ")[0][4:] == heads.split(", with callees ")[1]


def test_search_sort_and_keys(page):
    page.evaluate("document.querySelector('#reset').click(); profile.search('REA')")
    assert [row[2] for row in functions(page)] == ["read"]
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert len(functions(page)) == 4
    page.evaluate("document.querySelectorAll('#functions th button')[2].click()")
    assert [row[2] for row in functions(page)] == sorted(row[2] for row in functions(page))
    page.evaluate("document.querySelectorAll('#functions th button')[0].click(); document.querySelector('#heat').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert page.evaluate("document.querySelector('#range').textContent") == "0.050 s to 0.550 s"


def test_flame_graph(page):
    page.evaluate("document.querySelector('#reset').click()")
    box = page.evaluate("(() => { const b = document.querySelector('#flames').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
    # all, then prog and </script> by name, then start: under the pointer is what is drawn there.
    said = []
    for row in range(3):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] - 20, y=box[1] + 17 * row + 8)
        said.append(page.evaluate("document.querySelector('#said').textContent"))
    assert [text.split(":")[0] for text in said] == ["all", "prog", "start ([kernel.kallsyms])"], said
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=box[0] + box[2] - 20, y=box[1] + 25, button="left", clickCount=1)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=box[0] + box[2] - 20, y=box[1] + 25, button="left", clickCount=1)
    assert page.evaluate("document.querySelector('#flames').getAttribute('aria-label')").startswith("flame graph of cpu-clock:HG: prog:")


def test_other_event(page):
    page.evaluate("document.querySelector('#reset').click(); document.querySelector('#event').selectedIndex = 1; document.querySelector('#event').dispatchEvent(new Event('change'))")
    assert functions(page) == [["100.00%", "100.00%", "parse", "[kernel.kallsyms]"]]
    page.evaluate("document.querySelector('#event').selectedIndex = 0; document.querySelector('#event').dispatchEvent(new Event('change'))")


def test_nothing_is_loaded_and_names_are_harmless(page, folder):
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert page.evaluate("violations.length") == 0 and page.evaluate("typeof pwned") == "undefined"
    assert NAMES[4] in {row[2] for row in functions(page)}
    assert page.evaluate("profile.event().threads.map(one => one.name)") == ["prog 1/1", "</script> 2/2"]
    text = (folder / "out.html").read_text()
    assert "default-src 'none'" in text and "://" not in text.split("var PROFILE")[0] and "<b>evil" not in text
    # A phone, paper and the dark.
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=2, mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.call("Emulation.clearDeviceMetricsOverride")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.tools')).display") == "none"
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(28, 28, 30)"


def test_paper_is_light(page):
    """What is printed of a dark page has the colours of a light one, pictures, too; the screen is as before then."""
    def colors():
        """Of the page; of a canvas: below, and of its darkest and lightest pixels, which are those of letters."""
        return page.evaluate("""new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
            const canvas = document.querySelector('#cpus'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let least = 255, most = 0;
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] === 255 && data[i] === data[i + 2])
                    least = Math.min(least, data[i]), most = Math.max(most, data[i]);
            return [getComputedStyle(document.documentElement).getPropertyValue('--text'), getComputedStyle(canvas).backgroundColor, least, most];
        })""")
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "light"}])
    light = colors()
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = colors()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    printed = colors()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert dark != light and printed == light and colors() == dark
    page.call("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.parametrize("words,sentence", [(["-s", "comm"], "do not go with it"), (["--format", "csv"], "do not go with it"), (["--stats"], "do not go with it"),
                                            (["--time", "100000,"], "nothing to show")])
def test_mistakes(perf, folder, words, sentence):
    done = perf("report", "--html", "other.html", *words, cwd=folder)
    assert done.returncode in (129, 255) and sentence in done.stderr and not (folder / "other.html").exists(), done.stderr


def test_code_of_the_hottest_functions(oracle, tmp_path, perf):
    """Of a program that is there, with its source."""
    (tmp_path / "prog.c").write_text("volatile long sink;\n__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++)\nsink += i * i; /* here */\n}\n"
                                     "int main(void) { for (int i = 0; i < 100; i++) leaf(2000000); return 0; }\n")
    if subprocess.run(["gcc", "-g", "-O1", "-o", tmp_path / "prog", tmp_path / "prog.c"], check=False).returncode:
        pytest.skip("gcc is not installed")
    if oracle.record(tmp_path / "perf.data", "-e", "cpu-clock", "-F", "2000", "--", tmp_path / "prog", cwd=tmp_path).returncode:
        pytest.skip("the kernel's perf may not record here")
    assert perf("report", "--html", "out.html", cwd=tmp_path).returncode == 0
    page = Page(tmp_path / "out.html", tmp_path)
    page.evaluate("profile.ready.then(() => profile.choose('leaf'))")
    code = page.evaluate("Array.from(document.querySelectorAll('#function table:last-of-type tr')).map(row => row.textContent)")
    page.close()
    assert any("/* here */" in line for line in code) and any("%" in line and "mov" in line for line in code), code
