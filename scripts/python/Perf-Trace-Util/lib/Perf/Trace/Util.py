"""Times, averages, and names of errors and system calls."""
import errno
import sys

FUTEX_WAIT = 0
FUTEX_WAKE = 1
FUTEX_PRIVATE_FLAG = 128
FUTEX_CLOCK_REALTIME = 256
FUTEX_CMD_MASK = ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)

NSECS_PER_SEC = 1000000000


def avg(total, n):
    return total / n


def nsecs(secs, nsecs):
    return secs * NSECS_PER_SEC + nsecs


def nsecs_secs(nsecs):
    return nsecs // NSECS_PER_SEC


def nsecs_nsecs(nsecs):
    return nsecs % NSECS_PER_SEC


def nsecs_str(nsecs):
    return '%5u.%09u' % divmod(nsecs, NSECS_PER_SEC)


def add_stats(dict, key, value):
    """dict[key] = (least, most, running average, how many)."""
    if key not in dict:
        dict[key] = (value, value, value, 1)
        return
    least, most, average, count = dict[key]
    dict[key] = (min(least, value), max(most, value), (average + value) / 2, count + 1)


def clear_term():
    """Empties the terminal."""
    sys.stdout.write('\x1b[H\x1b[2J')


def strerror(nr):
    """'ENOENT' for 2 and for -2."""
    return errno.errorcode.get(abs(nr), 'Unknown %d errno' % nr)


def _syscall_names():
    """Names by number for the processor that this runs on, from perf itself."""
    try:
        from perf_trace_context import syscall_names
        return syscall_names()
    except ImportError:
        return {}


_names = None


def syscall_name(id):
    """'openat' for 257 on x86-64; the number as text when it has no name."""
    global _names
    if _names is None:
        _names = _syscall_names()
    return _names.get(id, str(id))
