"""Mounts that only this process and what it starts see."""
import contextlib
import ctypes
import functools
import os

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_SLAVE = 1 << 12, 1 << 14, 1 << 19
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, flags):
    return libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None) == 0


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
