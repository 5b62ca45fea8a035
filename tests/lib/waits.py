"""Programs that wait, and what `perf where --format json` tells of them."""
import json
import subprocess


def compile_all(folder, sources):
    """{name: C text} become programs of these names in the folder."""
    for name, text in sources.items():
        subprocess.run(["gcc", "-O1", "-g", "-w", "-pthread", "-x", "c", "-o", folder / name, "-"], input=text, text=True, check=True)
    return folder


def rows(done):
    """{table: its rows}."""
    assert done.returncode == 0, done.stderr
    made = {"reasons": [], "threads": [], "limits": []}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        made[row["table"]].append(row)
    return made


def cause(made):
    """The first reason that a program can have by itself: on a busy machine the largest one may be that others had the CPU."""
    return next(row for row in made["reasons"] if row["kind"] not in ("cpu", "queue"))
