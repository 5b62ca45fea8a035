# guests: x86-61 x86-612
# What the scheduler counts: a command that sleeps often leads to switches; the sysctl is afterwards what it was before.
before=$(cat /proc/sys/kernel/sched_schedstats)
perf sched stats record -o stats.data sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done' 2>err || fail "record: $(cat err)"
contains err 'Wrote two snapshots to stats.data'
[ "$before" = "$(cat /proc/sys/kernel/sched_schedstats)" ] || fail "kernel.sched_schedstats has changed"
perf sched stats report -i stats.data >report 2>err || fail "report: $(cat err)"
contains report 'Time between the snapshots: [1-9][0-9]* jiffies' 'All CPUs, added up' '^CPU 0$' '^CPU 1$' '^pcount +: +[1-9][0-9]' '^ttwu_count +: +[1-9][0-9]' \
	'_lb_count +: ' 'CPU 1, domain 0'
perf sched stats diff stats.data stats.data >diff || fail "diff"
contains diff '^pcount +: +([1-9][0-9]*) +[1-9][0-9]* +\+0.00 %'
