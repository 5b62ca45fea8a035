# guests: x86-61 x86-612
# packages: linux-perf
# --off-cpu with other kernels: the same program, whose samples the kernel's perf of that time reads.
# A sleep takes longer than asked for as the host is busy; a wait begins when the thread leaves the CPU, which may be long after its timer has begun to
# run: a busy host has stopped guests for 0.3 s there.
sleeps() { awk -v name="$1" '$1 == name && / offcpu-time:/ { print $2 }' "$2" | sort -n | tail -n "$3" | tr '\n' ' '; }
long_enough() { # long_enough "NS…" NS…: each at least so long
	measured=$1
	shift
	for least; do
		[ "${measured%% *}" -ge "$least" ] 2>/dev/null || fail "off the CPU for $measured ns, expected at least $* ns"
		measured=${measured#* }
	done
}
perf record --off-cpu -e cpu-clock -o perf.data sh -c 'sleep 4 | cat; sleep 8' 2>err || fail "record: $(cat err)"
contains err 'Captured and wrote'
perf script -i perf.data -F comm,period,event,ip,sym >ours
/usr/bin/perf script -i perf.data -F comm,period,event,ip,sym >theirs 2>&1 || fail "$(cat theirs)"
contains ours '(hrtimer|do)_nanosleep' 'pipe_read'
for text in ours theirs; do
	long_enough "$(sleeps sleep $text 2)" 2000000000 6000000000
done
long_enough "$(sleeps cat ours 1)" 1
perf record --off-cpu --off-cpu-thresh 0 -a -e dummy -o all sleep 4 2>err || fail "record -a: $(cat err)"
perf script -i all -F comm,period,event >text
long_enough "$(sleeps sleep text 1)" 2000000000
perf sched runqlat --per process -j sh -c 'for i in 1 2 3 4 5; do sleep 0.1; done' >rows 2>err || fail "runqlat: $(cat err)"
contains rows '"name":"sleep","id":[0-9]+,"from":[0-9]+,"count":[1-9]'
