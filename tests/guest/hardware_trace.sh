# guests: x86-61
# kernel: fake_trace
# packages: linux-perf
# timeout: 600
# Hardware traces are recorded with the kernel's own AUX areas, of a PMU that is made up (modules/fake_trace.c): each point of its trace has a number.
theirs=/usr/bin/perf

# numbers FILE: those of the PTWRITE packets, one a line, in the order of the recording.
numbers() {
	perf script -D -i "$1" 2>/dev/null | sed -n 's/.* PTWRITE 0x\([0-9a-f]*\).*/\1/p' | while read -r number; do
		echo $((0x$number))
	done
}

insmod /test/fake_trace.ko
perf record -o full.data -e intel_pt//u loop 20000000 2>err || fail "record: $(cat err)"
cat err
ls -l full.data
perf script -D -i full.data >dump 2>err2; cat err2
grep -c PTWRITE dump
grep -E "AUX|ITRACE" dump | head -20
perf evlist -v -i full.data
$theirs script -D -i full.data >their_dump 2>&1 || true
grep -c PTWRITE their_dump
perf report --stdio -i full.data --itrace=we 2>&1 | head -30
perf script -i full.data --itrace=we 2>&1 | head -10
$theirs script -i full.data --itrace=we 2>&1 | head -10
