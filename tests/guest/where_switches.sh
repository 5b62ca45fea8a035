# guests: arm64
# perf where's BPF program, which publishes what it writes by an atomic exchange: the cause and the totals of a program whose waits are known. The guest's
# time goes by its instructions: what others do on the host is not in it.
member() { # member NAME <ROWS: its value in each of the JSON rows
	sed -n -E "s/.*\"$1\": ?\"?([^,\"}]*).*/\1/p"
}
perf where -v -o where.data waits 10 2000 >text 2>err || fail "where: $(cat err)"
cat text err
grep -q 'switches of threads are taken from events' err && fail "the BPF program is not used: $(cat err)"
grep -q ' lost: ' err && fail "switches were lost: $(cat err)"
read -r _ slept _ waits_of_main _ waits_of_other <<END
$(grep '^slept ' text)
END
perf where -i where.data --format json >json 2>err || fail "where -i: $(cat err)"

grep '"table": ?"reasons"' -E json | grep -v -E '"kind": ?"(cpu|queue)"' | head -n 1 >first
contains first '"kind": ?"timer"' '"syscall": ?"clock_nanosleep"' '"function": ?"hold_mutex"' '"waiting_kind": ?"lock"' '"waiting_lock": ?"mutex"' '"count": ?10,'

grep -E '"table": ?"threads"' json >threads
[ "$(wc -l <threads)" = 2 ] || fail "there are not two threads: $(cat threads)"
grep -v -E '"timer": ?0,' threads >other
grep -E '"timer": ?0,' threads >main
# Between the clock's two values there is the system call around the sleep, too.
near "$(member timer <other)" "$slept" $((slept / 100)) "time of sleeps"
at_least "$(member lock <main)" $((slept - slept / 100)) "time of waits for the mutex and at the barriers"
# The end of a thread is no wait, nor what comes before the program begins.
near "$(member waits <main)" "$waits_of_main" 1 "waits of main"
near "$(member waits <other)" "$waits_of_other" 1 "waits of the other thread"
for thread in main other; do
	sum=0
	for kind in user kernel queue disk fault network lock kernel_lock pipe timer child poll signal stopped other unknown; do
		sum=$((sum + $(member $kind <$thread)))
	done
	[ "$sum" = "$(member wall <$thread)" ] || fail "parts of $thread add up to $sum: $(cat $thread)"
done
