# guests: all
# Tracepoints: each is counted, their fields are printed, filters reach the kernel.
perf record -o calls.data -e syscalls:sys_enter_getppid calls 2000 2>err || fail "record: $(cat err)"
perf script -i calls.data >script 2>err || fail "script: $(cat err)"
[ "$(grep -c 'syscalls:sys_enter_getppid:' script)" = 2000 ] || fail "$(grep -c getppid script) calls of getppid, expected 2000"

perf record -o some.data -e syscalls:sys_enter_lseek --filter 'offset >= 1500' calls 2000 2>err || fail "record: $(cat err)"
perf script -i some.data -F event,trace >script 2>err || fail "script: $(cat err)"
[ "$(grep -c 'sys_enter_lseek' script)" = 500 ] || fail "$(grep -c lseek script) calls of lseek past the filter, expected 500"
contains script 'syscalls:sys_enter_lseek: *fd: 0xf+, offset: 0x000005dc, whence: 0x00000000' 'offset: 0x000007cf'

perf record -o sched.data -a -e sched:sched_process_exec,sched:sched_process_exit true 2>err || fail "record: $(cat err)"
perf script -i sched.data >script 2>err || fail "script: $(cat err)"
contains script 'sched:sched_process_exec: filename=/usr/bin/true pid=[0-9]+ old_pid=[0-9]+' 'sched:sched_process_exit: comm=true pid=[0-9]+ prio=120'
