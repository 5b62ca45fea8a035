"""A program of many kinds of functions that tells its own stacks where an event does: python_stacks.py GO OUT. Begins to tell when the file GO is there; writes OUT, a list of [tid, frames], each
frame [file, line, name], outermost first."""
import contextlib
import functools
import json
import os
import re
import sys
import threading
import time
import traceback

told = []


def mark():
    told.append((threading.get_native_id(), [(f.filename, f.lineno, f.name) for f in traceback.extract_stack()])), os.getppid()


def recurse(n):
    return recurse(n - 1) if n else mark()


class Klasse:
    def __getattr__(self, name):
        mark()
        return name

    @property
    def eigenschaft(self):
        return mark()

    def __enter__(self):
        mark()

    def __exit__(self, *why):
        mark()

    @classmethod
    def größe_ж_漢_𝒳(cls):
        (lambda:
            mark())()


class Made:
    def __init__(self):
        mark()


def generator(n):
    for i in range(n):
        mark()
        yield from [i, *inner_generator()]


def inner_generator():
    yield mark()


def decorated(f):
    @functools.wraps(f)
    def wrapper(*a, **k):
        return f(*a,
                 **k)
    return wrapper


@decorated
@decorated
def many(*a, **k):
    mark()


@contextlib.contextmanager
def managed():
    mark()
    try:
        yield
    finally:
        mark()


async def coroutine(n):
    if n:
        await coroutine(n - 1)
    mark()


def fail(n):
    try:
        if n:
            fail(n - 1)
        raise ValueError(n)
    except ValueError:
        mark()
    finally:
        mark()


def everything():
    for _ in range(3):
        mark()
        recurse(30)
        recurse(300)
        x = Klasse()
        for _ in range(10):
            Made()
        x.anything, x.eigenschaft
        with x:
            mark()
        x.größe_ж_漢_𝒳()
        list(generator(3))
        sorted([3, 1, 2], key=lambda v: mark() or v)
        list(map(lambda v: mark(), range(2)))
        functools.reduce(lambda a, b: mark() or a, [1, 2, 3])
        re.sub("a", lambda m: mark() or "b", "aaa")
        many(1, *(2, 3), k=4, **{"l": 5})
        with managed():
            [mark() for _ in range(2)], {mark() for _ in range(2)}, {1: mark() for _ in range(2)}
        with contextlib.suppress(StopIteration):
            coroutine(3).send(None)
        fail(4)
        exec("mark()\n\ndef f():\n    mark()\nf()")
        eval("mark()")

        class Body:
            mark()


def pause():
    for _ in range(3):
        time.sleep(0.01)


while not os.path.exists(sys.argv[1]):
    os.getppid()
    time.sleep(0.01)
pause()
threads = [threading.Thread(target=everything) for _ in range(3)]
for thread in threads:
    thread.start()
everything()
for thread in threads:
    thread.join()
with open(sys.argv[2], "w", encoding="utf-8") as out:
    json.dump(told, out)
