#!/usr/bin/python3
"""A page of `perf report --html` in headless Chromium: what CPU time of the page's thread it takes to open it, to search, to choose a part of the time and to show all again;
how many requests it made, and how often it broke its Content-Security-Policy.

    bench/page.py FILE.html [PICTURE.png]"""
import base64
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/lib"))
from browser import Page  # noqa: E402

ACTIONS = ["profile.search('alloc')", "profile.search('re')", "document.querySelector('#reset').click()", "profile.range(20, 60)", "document.querySelector('#reset').click()"]


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 129
    with tempfile.TemporaryDirectory(prefix="perf-bench-page-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        (folder / "empty.html").write_text("<p>", encoding="utf8")
        page = Page(folder / "empty.html", folder)
        page.call("Performance.enable", timeDomain="threadTicks")

        def seconds():
            return next(one["value"] for one in page.call("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")
        page.events.clear()
        page.call("Page.addScriptToEvaluateOnNewDocument", source="window.violations = []; document.addEventListener('securitypolicyviolation', one => violations.push(one.blockedURI))")
        page.call("Page.navigate", url=pathlib.Path(sys.argv[1]).resolve().as_uri())
        while "Page.loadEventFired" not in page.events:
            page.answer()
        page.evaluate("profile.ready")
        event = page.evaluate("({samples: profile.event().samples, nodes: profile.event().count, cells: profile.event().cell_node.length})")
        print(f"{event['samples']} samples, {event['nodes']} nodes, {event['cells']} cells; opened in {seconds():.3f} s")
        for action in ACTIONS:
            before = seconds()
            page.evaluate(action + "; new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
            print(f"{action}: {1000 * (seconds() - before):.0f} ms")
        print(f"{page.evaluate('performance.getEntriesByType(`resource`).length')} requests, {page.evaluate('violations.length')} violations")
        if len(sys.argv) == 3:
            page.call("Emulation.setDeviceMetricsOverride", width=1300, height=1500, deviceScaleFactor=1, mobile=False)
            pathlib.Path(sys.argv[2]).write_bytes(base64.b64decode(page.call("Page.captureScreenshot")["data"]))
        page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
