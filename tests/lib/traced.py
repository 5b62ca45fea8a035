"""A program under perf trace: compiled from its text, and the lines that were written about it."""
import subprocess


def build(folder, text, *flags):
    source = folder / "program.c"
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", folder / "program", source, *flags], check=True)
    return folder / "program"


def traced(perf, folder, *words, **arguments):
    path = folder / "trace.txt"
    path.unlink(missing_ok=True)
    done = perf("trace", "-o", path, *words, **arguments)
    return done, path.read_text(errors="surrogateescape").splitlines() if path.exists() else []
