# guests: x86-61 x86-612
# No PMU: said so for each event; software events and tracepoints are exact.
perf stat -x, -e cycles,instructions,task-clock,syscalls:sys_enter_getppid,syscalls:sys_exit_lseek -o counts calls 2000 || fail "exit status $?"
contains counts '^<not supported>,,cycles,0,' '^<not supported>,,instructions,0,' '^[0-9.]+,msec,task-clock,[0-9]+,100.00,' \
	'^2000,,syscalls:sys_enter_getppid,' '^2000,,syscalls:sys_exit_lseek,'
perf stat calls 10 2>table
contains table '<not supported> +cycles' ' task-clock +# +[0-9.]+ CPUs utilized'

# Two CPUs, each with its line.
perf stat -x, -a -A -e task-clock,context-switches -o cpus sleep 1
contains cpus '^CPU0,[0-9.]+,msec,task-clock,' '^CPU1,[0-9.]+,msec,task-clock,' '^CPU1,[0-9]+,,context-switches,'
