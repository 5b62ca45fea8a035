# What was recorded, read on the host: with the symbols of the guest's files.
theirs=/usr/bin/perf
[ -x $theirs ] || skip "the kernel's perf isn't installed (package linux-perf)"

# points: the numbers in a dump.
points() {
	sed -n 's/.* MNT \(0x[0-9a-f]*\).*/\1/p'
}

# numbers FILE: those of the trace, in the order of the recording, by us; the kernel's tool finds the same.
numbers() {
	$PERF script -D -i "$1" 2>/dev/null | points >hex
	$theirs script -D -i "$1" 2>/dev/null | points >their_hex
	cmp hex their_hex >&2 || fail "$1: the kernel's tool finds another trace"
	[ -s hex ] || fail "$1 has no trace"
	xargs printf '%d\n' <hex
}

# whole FILE: each number once, none is missing.
whole() {
	numbers "$1" | sort -n >sorted
	awk 'NR > 1 && $1 != last + 1 { print last, $1; bad = 1 } { last = $1 } END { exit bad }' sorted || fail "$1: numbers are missing, or there twice"
	first=$(head -n 1 sorted)
	last=$(tail -n 1 sorted)
}

# sizes FILE: bytes of trace by AUX records, and by AUXTRACE records.
sizes() {
	$PERF script -D -i "$1" 2>/dev/null | { grep -F PERF_RECORD_AUX || true; } |
		sed -n 's/.*PERF_RECORD_AUX offset: [0-9a-fx]* size: \(0x[0-9a-f]*\).*/aux \1/p; s/.*PERF_RECORD_AUXTRACE size: \(0x[0-9a-f]*\).*/trace \1/p' >lines
	for kind in aux trace; do
		sum=0
		for size in $(sed -n "s/^$kind //p" lines); do
			sum=$((sum + size))
		done
		echo $sum
	done
}

# branches FILE PATTERN: how many lines of the branches of its trace match.
branches() {
	$PERF script --symfs "$GUEST_ROOT" -i "$1" --itrace=b -F ip,sym 2>/dev/null | grep -c "$2" || true
}

whole full.data
at_least "$(wc -l <sorted)" 50 "points of the trace"
set -- $(sizes full.data)
near "$2" "$1" 16 "bytes written, of those that AUX records tell of"
next=$((last + 1))
for tool in $PERF $theirs; do
	$tool report --stdio --symfs "$GUEST_ROOT" -i full.data --itrace=b 2>/dev/null >report
	contains report '\[\.\] spin'
done
$PERF report --header-only -i full.data | contains_stdin 'contains AUX area data'
whole all.data
[ "$first" = $next ] || fail "the trace begins with $first, not with $next"
for file in other*.data; do
	whole "$file"
done
[ "$(ls -d other*.data | wc -l)" = 7 ] || fail "not all ways of recording are there"
# Through a pipe: of a file as standard input the kernel's tool reads the second trace in the wrong place, and may fail there.
cat stream.data | $theirs script -D -i - 2>/dev/null | contains_stdin ' MNT 0x'

# A buffer that was too small.
numbers small.data >small
[ "$(sort -nu small | wc -l)" = "$(wc -l <small)" ] || fail "numbers are there twice"
set -- $(sizes small.data)
near "$2" "$1" $((8 * $(wc -l <lines))) "bytes of trace, of those that AUX records tell of"
at_least "$($PERF script -D -i small.data 2>/dev/null | grep -F 'PERF_RECORD_AUX ' | grep -c 'flags: 0x1 \[T\]')" 2 "times that the buffer was full"
$PERF script --symfs "$GUEST_ROOT" -i small.data --itrace=b 2>&1 >/dev/null | contains_stdin 'the buffer of the hardware trace was full [0-9]* times'

# Snapshots.
whole end.data
at_least "$(wc -l <sorted)" 200 "points in 16 KB"
set -- $(sizes end.data)
[ "$2" -le $((2 * 16384)) ] || fail "a snapshot of 16 KB of two CPUs has $2 bytes"
whole part.data
set -- $(sizes part.data)
[ "$2" -le $((2 * 4096)) ] || fail "a snapshot of 4 KB of two CPUs has $2 bytes"
numbers asked.data >asked

# In samples, of which the kernel's tool shows the traces: 8 points fit into 512 bytes.
$theirs script -D -i samples.data 2>/dev/null >dump
at_least "$(grep -cF ' MNT 0x' dump)" 80 "points in samples"
at_least "$($PERF script --symfs "$GUEST_ROOT" -i samples.data --itrace=b 2>/dev/null | grep -c 'loop.*branches:u: .* spin')" 40 "branches in samples"
[ "$($PERF script -D -i samples.data 2>/dev/null | grep -cF 'PERF_RECORD_AUXTRACE size')" = 0 ] || fail "there is a trace beside the samples"

# Filters of addresses.
at_least "$(branches inside.data spin)" 50 "points in the range"
$PERF script --symfs "$GUEST_ROOT" -i inside.data --itrace=b -F ip,sym 2>/dev/null | grep -vE 'spin| 0 \[unknown\]' && fail "there is a trace outside of the range"
$PERF script -D -i inside.data 2>/dev/null | sed -n 's/^ *Filter string  *//p' >string
$theirs script -D -i inside.data 2>/dev/null | sed -n 's/^ *Filter string  *//p' >their_string
[ -s string ] && cmp string their_string >&2 || fail "the file has not the filter: $(cat string)"
[ "$(branches outside.data spin)" = 0 ] || fail "there is a trace of what is not to be traced"

# Of a recorder that was killed.
$PERF script -D -i killed.data 2>/dev/null | contains_stdin ' MNT 0x'
