# guests: x86-61
# packages: linux-perf
# Where tasks sleep and for how long: sched_switch and sched_stat events become one, as the kernel's perf makes it.
statistics=/proc/sys/kernel/sched_schedstats
[ -e "$statistics" ] || skip "this kernel has no scheduler statistics"
before=$(cat "$statistics")
echo 1 >"$statistics"
perf record -q -a -e sched:sched_stat_sleep,sched:sched_stat_iowait,sched:sched_stat_blocked,sched:sched_switch,sched:sched_process_exit -g -o perf.data \
	sh -c 'sleep 2; sleep 0.25; cat /proc/[0-9]*/stat >/dev/null; true' 2>err || { echo "$before" >"$statistics"; fail "record: $(cat err)"; }
echo "$before" >"$statistics"

perf inject -v -s -i perf.data -o ours.data 2>err || fail "inject: $(cat err)"
perf script -i ours.data -F comm,event,period -G >script 2>err || fail "script: $(cat err)"
[ -s script ] || fail "nothing has slept"
[ "$(grep -vc 'sched:sched_switch:' script)" = 0 ] || fail "other events are left: $(grep -v sched_switch script | head -3)"
# The two sleeps last as long as the kernel has told: most of two seconds or longer, as busy as the host is, which may stop the guest between the timer's beginning and that of the sleep.
perf script -i perf.data -F event,trace -G | sed -n 's/.*sched_stat_sleep:.* comm=sleep .* delay=\([0-9]*\) .*/\1/p' | sort -n | tail -n 1 >told
awk '$1 == "sleep" { print $2 }' script | sort -n | tail -n 1 >longest
[ "$(cat told)" = "$(cat longest)" ] && [ "$(cat told)" -ge 1000000000 ] || fail "the longest sleep: $(cat longest) ns, the kernel's: $(cat told) ns"
perf report -i ours.data --stdio --no-children -s comm -g caller >report 2>err || fail "report: $(cat err)"
contains report 'nanosleep'

/usr/bin/perf inject -s -i perf.data -o theirs.data 2>err || fail "the kernel's inject: $(cat err)"
for tool in perf /usr/bin/perf; do
	for file in ours theirs; do
		$tool report -i $file.data --stdio --no-children -s comm,sym -n -g none 2>/dev/null | grep -v '^#' >$file.report
	done
	[ -s ours.report ] || fail "$tool reports nothing"
	cmp ours.report theirs.report || fail "$tool: reports differ: $(diff ours.report theirs.report | head -5)"
done
