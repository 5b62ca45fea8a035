"""Mounts that only this process and what it starts see."""
import contextlib
import ctypes
import functools
import os

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_SLAVE = 1 << 12, 1 << 14, 1 << 19
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, flags, kind=None, options=None):
    return libc.mount(os.fsencode(source), os.fsencode(target), kind, ctypes.c_ulong(flags), options) == 0


@functools.lru_cache(maxsize=None)
def private():
    """From here on this process has mounts of its own, where it may: root may. What others mount later it sees, too."""
    return os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0 and mount("none", "/", MS_REC | MS_SLAVE)


@contextlib.contextmanager
def shown_as(path, target):
    """The file is seen as `target` while this lasts."""
    done = mount(path, target, MS_BIND)
    try:
        yield
    finally:
        if done:
            libc.umount2(os.fsencode(target), MNT_DETACH)


@contextlib.contextmanager
def overlay(folder):
    """A file system above others, as containers have: a folder in it while this lasts; None where there can't be one."""
    lower, upper, work, merged = (folder / name for name in ("lower", "upper", "work", "merged"))
    for one in (lower, upper, work, merged):
        one.mkdir()
    options = os.fsencode(f"lowerdir={lower},upperdir={upper},workdir={work}")
    done = private() and mount("none", merged, 0, b"overlay", options)
    try:
        yield merged if done else None
    finally:
        if done:
            libc.umount2(os.fsencode(merged), MNT_DETACH)
