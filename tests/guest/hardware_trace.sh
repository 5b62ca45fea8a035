# guests: x86-612
# kernel: fake_trace
# packages: linux-perf
# Hardware traces are recorded from the kernel's own AUX areas, of a PMU that is made up (modules/fake_trace.c): each point of its trace has a number
# of its own. What we write is read by us and by the kernel's tool on the host (hardware_trace.host.sh), where that takes a tenth of the time.
theirs=/usr/bin/perf
burst=/sys/module/fake_trace/parameters/burst

record() {
	perf record "$@" 2>err || fail "record $*: $(cat err)"
}

insmod /test/fake_trace.ko
# The kernel's perf reads all of the kernel's symbols for each recording, which takes most of its time here. But for one filter nothing needs more than where the kernel is.
grep -E ' _(text|stext|etext|end)$' /proc/kallsyms >few_symbols
mount --bind few_symbols /proc/kallsyms
trap 'umount /proc/kallsyms' EXIT

# All of it; of the system, of a thread, of what runs already; uncompressed beside what is compressed; by another thread; into a directory; as a stream.
record -o full.data -e intel_pt//u loop 20000000
record -o all.data -a -e intel_pt//u -- loop 10000000
for options in "--per-thread" "-z" "--aio" "--kcore" "--mmap-flush=64K" "-C 0,1"; do
	record -o "other$options.data" $options -e intel_pt//u -- loop 10000000
done
loop 2000000000 &
pid=$!
record -o other-p.data -p $pid -e intel_pt//u -- loop 10000000
kill $pid
perf record -o - -e intel_pt//u -- loop 10000000 2>err >stream.data || fail "record -o -: $(cat err)"

# A buffer that is too small: what is missing is told, and tracing goes on.
echo 200 >$burst
record -o small.data -m ,1 -e intel_pt//u -- loop 30000000
contains err 'intel_pt//u: [0-9]+ times the buffer was full: what was traced then is missing. Use larger buffers'

# Snapshots: the newest trace, as much as there is room for, at the end; and no more than is wanted. On one processor: of who has moved there is what is
# newest on each of them, and what lies between is missing.
echo 8 >$burst
for words in "end.data -Se -m ,4" "part.data -Se4096"; do
	taskset 1 perf record -o $words -e intel_pt//u -- loop 60000000 2>err || fail "record -o $words: $(cat err)"
done
record -o none.data -S -e intel_pt//u -- loop 1000000
contains err 'no snapshot was taken'

# When somebody asks, and by a signal.
mkfifo control answer
perf record -o asked.data -S -m ,4 --control fifo:control,answer -e intel_pt//u -- loop 20000000000 2>err &
pid=$!
exec 8<>control 9<>answer
snapshots() {
	perf script -D -i asked.data 2>/dev/null | grep -cF 'PERF_RECORD_AUXTRACE size' || true
}
# Until there is one more; the command may not have run yet.
until_more() {
	before=$(snapshots)
	for try in $(seq 200); do
		"$@"
		echo ping >&8
		read -r answer <&9
		[ "$(snapshots)" = "$before" ] || return 0
	done
	fail "$*: no snapshot"
}
ask() {
	echo snapshot >&8
	read -r answer <&9
}
echo ping >&8
read -r answer <&9
until_more ask
until_more kill -USR2 $pid
echo stop >&8
read -r answer <&9
wait $pid || true
exec 8<&- 9<&-

record -o samples.data -e '{intel_pt//u,cpu-clock:u}' --aux-sample=512 -- loop 60000000

# Filters of addresses: the kernel gets what the kernel's tool gives it, and traces there and nowhere else.
program=$(which loop)
same_filter() {
	perf record -v -o ours.data -e intel_pt//u --filter "$1" -- loop 2000000 2>&1 | sed -n 's/^Address filter: //p' >ours
	$theirs record -v -o theirs.data -e intel_pt//u --filter "$1" -- loop 2000000 2>&1 | sed -n 's/^Address filter: //p' >theirs
	[ -s ours ] && cmp ours theirs >&2 || fail "--filter '$1': $(cat ours), not $(cat theirs)"
}
for filter in "filter spin @$program" "tracestop spin / 0x2 @$program, filter * @ $program" "filter spin / main @$program"; do
	same_filter "$filter"
done
umount /proc/kallsyms
same_filter "filter schedule"
mount --bind few_symbols /proc/kallsyms
record -o inside.data -e intel_pt//u --filter "filter spin @$program" -- loop 20000000
record -o outside.data -e intel_pt//u --filter "tracestop spin @$program" -- loop 20000000
perf record -o none.data -e intel_pt//u --filter "start spin @$program" true 2>err && fail "start was taken"
contains err "filter 'start 0x[0-9a-f]*@$program': refused by the driver"

# A recorder that is killed leaves what it has written.
perf record -q -o killed.data -m ,1 -e intel_pt//u -- loop 2000000000 2>err &
pid=$!
for try in $(seq 200); do
	[ "$(perf script -D -i killed.data 2>/dev/null | grep -cF MNT || true)" -gt 100 ] && break
done
kill -9 $pid
wait $pid || true
killall loop 2>/dev/null || true

# What the processor doesn't have is told before anything is opened.
perf record -e intel_pt/mtc_period=1/ true 2>err && fail "mtc_period=1 was taken"
contains err 'this processor has no mtc_period=1, but 0, 3, 6, 9'
rmmod fake_trace || true
