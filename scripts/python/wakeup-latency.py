"""How long threads that were woken waited for a CPU: perf script report wakeup-latency."""
from ready import arguments, table
from Util import nsecs

arguments('wakeup-latency', 0, 0)
woken = {}  # tid → time
waits = []


def sched__sched_wakeup(event_name, context, cpu, secs, nsecs_, pid, comm, callchain, woken_comm, woken_pid, *more):
    woken.setdefault(woken_pid, nsecs(secs, nsecs_))


def sched__sched_switch(event_name, context, cpu, secs, nsecs_, pid, comm, callchain, prev_comm, prev_pid, prev_prio, prev_state, next_comm,
                        next_pid, next_prio):
    since = woken.pop(next_pid, None)
    if since is not None:
        waits.append(nsecs(secs, nsecs_) - since)


def trace_end():
    waits.sort()
    rows = []
    if waits:
        rows = [('wakeups', len(waits)), ('shortest', waits[0]), ('median', waits[len(waits) // 2]), ('average', sum(waits) // len(waits)),
                ('99 %', waits[len(waits) * 99 // 100]), ('longest', waits[-1])]
    table('From wakeup to running', ['', 'ns'], rows)
