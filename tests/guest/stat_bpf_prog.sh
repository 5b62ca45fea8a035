# guests: x86-61 x86-612
# -b: what happens while a BPF program runs, and nothing else. Each run of bpftarget's is one event.
event=bpf_trace:bpf_trace_printk
bpftarget perf stat -x, -b @ -e $event,cpu-clock,context-switches -o counts sh -c 'bpftarget 700; bpftarget plain 300; bpftarget 300' || fail "status $?: $(cat counts)"
contains counts "^1000,,$event,[1-9][0-9]*,100.00," '^[0-9.]+,msec,cpu-clock,[1-9]' '^0,,context-switches,'
perf stat -x, -a -e $event -o all bpftarget plain 300
contains all "^300,,$event,"

# By CPU, and in the title.
bpftarget perf stat -A -x, -b @ -e $event -o cpus taskset 2 bpftarget 40
contains cpus "^CPU1,40,,$event," "^CPU0,<not counted>,,$event,"
bpftarget perf stat -b @ -e $event bpftarget 5 2>table
contains table "stats for 'BPF program\(s\) [0-9]+'" " 5 +$event"

# Intervals, and what can't be.
bpftarget perf stat -b @ -I 200 -x, -e $event -o rounds sh -c 'bpftarget 10; sleep 1; bpftarget 20'
sum=$(awk -F, '/printk/ {sum += $2} END {print sum}' rounds)
[ "$sum" = 30 ] || fail "rounds: $(cat rounds)"
perf stat -b 99999999 -e cpu-clock true 2>err && fail 'a program that is not there'
contains err 'no BPF program 99999999'
