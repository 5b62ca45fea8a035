# guests: x86-61 x86-612
# kernel: fake_trace
# packages: linux-perf
# Hardware traces are recorded from the kernel's own AUX areas, of a PMU that is made up (modules/fake_trace.c): each point of its trace has a number
# of its own. What we write is read by us and by the kernel's tool.
theirs=/usr/bin/perf
burst=/sys/module/fake_trace/parameters/burst

# points: the numbers in a dump. Most lines of dumps have none, and a regular expression takes most of the time here to find that out.
points() {
	{ grep -F ' MNT 0x' || true; } | sed 's/.* MNT \(0x[0-9a-f]*\).*/\1/'
}

# numbers FILE: those of the trace, in the order of the recording, by us; the kernel's tool finds the same.
numbers() {
	perf script -D -i "$1" 2>/dev/null | points >hex
	$theirs script -D -i "$1" 2>/dev/null | points >their_hex
	cmp hex their_hex >&2 || fail "$1: the kernel's tool finds another trace"
	[ -s hex ] || fail "$1 has no trace"
	xargs printf '%d\n' <hex
}

# whole FILE [KIND]: each number once, none is missing.
whole() {
	numbers "$1" | sort -n >sorted
	awk 'NR > 1 && $1 != last + 1 { print last, $1; bad = 1 } { last = $1 } END { exit bad }' sorted || fail "$1: numbers are missing, or there twice"
	first=$(head -n 1 sorted)
	last=$(tail -n 1 sorted)
}

# sizes FILE: bytes of trace by AUX records, and by AUXTRACE records.
sizes() {
	perf script -D -i "$1" 2>/dev/null | { grep -F PERF_RECORD_AUX || true; } |
		sed -n 's/.*PERF_RECORD_AUX offset: [0-9a-fx]* size: \(0x[0-9a-f]*\).*/aux \1/p; s/.*PERF_RECORD_AUXTRACE size: \(0x[0-9a-f]*\).*/trace \1/p' >lines
	for kind in aux trace; do
		sum=0
		for size in $(sed -n "s/^$kind //p" lines); do
			sum=$((sum + size))
		done
		echo $sum
	done
}

record() {
	perf record "$@" 2>err || fail "record $*: $(cat err)"
}

insmod /test/fake_trace.ko
# The kernel's perf reads all of the kernel's symbols for each recording, which takes most of its time here. But for one filter nothing needs more than where the kernel is.
grep -E ' _(text|stext|etext|end)$' /proc/kallsyms >few_symbols
mount --bind few_symbols /proc/kallsyms
trap 'umount /proc/kallsyms' EXIT

# All of it.
record -o full.data -e intel_pt//u loop 20000000
whole full.data
at_least "$(wc -l <sorted)" 50 "points of the trace"
set -- $(sizes full.data)
near "$2" "$1" 16 "bytes written, of those that AUX records tell of"
next=$((last + 1))
perf report --stdio -i full.data --itrace=b 2>/dev/null >report
contains report '\[\.\] spin'
$theirs report --stdio -i full.data --itrace=b 2>/dev/null >report
contains report '\[\.\] spin'
perf report --header-only -i full.data | contains_stdin 'contains AUX area data'

# Of the system, of a thread, of what runs already; uncompressed beside what is compressed; by another thread; into a directory; as a stream.
record -o all.data -a -e intel_pt//u -- loop 10000000
whole all.data
[ "$first" = $next ] || fail "the trace begins with $first, not with $next"
for options in "--per-thread" "-z" "--aio" "--kcore" "--mmap-flush=64K" "-C 0,1"; do
	rm -rf other.data*
	record -o other.data $options -e intel_pt//u -- loop 10000000
	whole other.data
done
loop 2000000000 &
pid=$!
record -o other.data -p $pid -e intel_pt//u -- loop 10000000
kill $pid
whole other.data
perf record -o - -e intel_pt//u -- loop 10000000 2>err >stream.data || fail "record -o -: $(cat err)"
$theirs script -D -i - <stream.data 2>/dev/null | contains_stdin ' MNT 0x'

# A buffer that is too small: what is missing is told, and tracing goes on.
echo 200 >$burst
record -o small.data -m ,1 -e intel_pt//u -- loop 30000000
contains err 'intel_pt//u: [0-9]+ times the buffer was full: what was traced then is missing. Use larger buffers'
numbers small.data >small
[ "$(sort -nu small | wc -l)" = "$(wc -l <small)" ] || fail "numbers are there twice"
set -- $(sizes small.data)
near "$2" "$1" $((8 * $(wc -l <lines))) "bytes of trace, of those that AUX records tell of"
at_least "$(perf script -D -i small.data 2>/dev/null | grep -F 'PERF_RECORD_AUX ' | grep -c 'flags: 0x1 \[T\]')" 2 "times that the buffer was full"
perf script -i small.data --itrace=b 2>&1 >/dev/null | contains_stdin 'the buffer of the hardware trace was full [0-9]* times'

# Snapshots: the newest trace, as much as there is room for, at the end; and no more than is wanted.
echo 8 >$burst
record -o end.data -Se -m ,4 -e intel_pt//u -- loop 60000000
whole end.data
next=$((last + 1))
at_least "$(wc -l <sorted)" 200 "points in 16 KB"
set -- $(sizes end.data)
[ "$2" -le $((2 * 16384)) ] || fail "a snapshot of 16 KB of two CPUs has $2 bytes"
record -o part.data -Se4096 -e intel_pt//u -- loop 60000000
whole part.data
set -- $(sizes part.data)
[ "$2" -le $((2 * 4096)) ] || fail "a snapshot of 4 KB of two CPUs has $2 bytes"
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
numbers asked.data >asked

# In samples, of which the kernel's tool shows the traces: 8 points fit into 512 bytes.
record -o samples.data -e '{intel_pt//u,cpu-clock:u}' --aux-sample=512 -- loop 60000000
$theirs script -D -i samples.data 2>/dev/null >dump
at_least "$(grep -cF ' MNT 0x' dump)" 80 "points in samples"
at_least "$(perf script -i samples.data --itrace=b 2>/dev/null | grep -c 'loop.*branches:u: .* spin')" 40 "branches in samples"
[ "$(perf script -D -i samples.data 2>/dev/null | grep -cF 'PERF_RECORD_AUXTRACE size')" = 0 ] || fail "there is a trace beside the samples"

# Filters of addresses: the kernel gets what the kernel's tool gives it, and traces there and nowhere else.
program=$(which loop)
# branches FILE PATTERN: how many lines of the branches of its trace match.
branches() {
	perf script -i "$1" --itrace=b -F ip,sym 2>/dev/null | grep -c "$2" || true
}
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
at_least "$(branches inside.data spin)" 50 "points in the range"
perf script -i inside.data --itrace=b -F ip,sym 2>/dev/null | grep -vE 'spin| 0 \[unknown\]' && fail "there is a trace outside of the range"
perf script -D -i inside.data 2>/dev/null | sed -n 's/^ *Filter string  *//p' >string
$theirs script -D -i inside.data 2>/dev/null | sed -n 's/^ *Filter string  *//p' >their_string
[ -s string ] && cmp string their_string >&2 || fail "the file has not the filter: $(cat string)"
record -o outside.data -e intel_pt//u --filter "tracestop spin @$program" -- loop 20000000
[ "$(branches outside.data spin)" = 0 ] || fail "there is a trace of what is not to be traced"
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
perf script -D -i killed.data 2>/dev/null | contains_stdin ' MNT 0x'
killall loop 2>/dev/null || true

# What the processor doesn't have is told before anything is opened.
perf record -e intel_pt/mtc_period=1/ true 2>err && fail "mtc_period=1 was taken"
contains err 'this processor has no mtc_period=1, but 0, 3, 6, 9'
rmmod fake_trace || true
