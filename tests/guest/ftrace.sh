# guests: x86-61 x86-612
# modules: algif_hash
# packages: linux-perf
# perf ftrace with the kernel's tracers of functions: what they show, and that all settings are afterwards what they were before. perf kallsyms.
tracing=/sys/kernel/tracing
settings() { for name in current_tracer tracing_on set_ftrace_filter set_ftrace_notrace set_graph_function set_graph_notrace set_ftrace_pid tracing_cpumask tracing_thresh \
	max_graph_depth trace_options; do echo "== $name"; cat $tracing/$name; done; }
same() {
	settings >now
	cmp -s before now || fail "$* changed the settings: $(diff before now)"
}
# Something that somebody set, to be put back.
echo 'vfs_write' >$tracing/set_ftrace_filter
settings >before

# Functions of the command alone, by pattern.
perf ftrace -T 'vfs_read*' sh -c 'exec wc /proc/version >/dev/null' >text 2>err || fail "-T: $(cat err)"
contains text '^# tracer: function$' '-[0-9]+ +\[00[01]\] .*: vfs_read <-'
! grep -v '^#' text | grep -v 'vfs_read' || fail "other functions than asked for"
same ftrace -T

# With what they call. To switch on and off all of the kernel's functions takes half a minute here: in the older kernel, where somebody's filter has to go
# for that; in the newer one those of a few patterns.
case $(uname -r) in
6.1.*) set -- ;;
*) set -- -T vfs_read -T 'rw_verify*' -T 'proc_reg_read*' -T 'seq_read*' ;;
esac
perf ftrace trace -G vfs_read "$@" --graph-opts depth=2,tail sh -c 'exec wc /proc/version >/dev/null' >text 2>err || fail "-G: $(cat err)"
contains text '^# tracer: function_graph$' '\|  vfs_read\(\) \{$' '[0-9.]+ us +\|    [a-z_]+\(\);' '[0-9.]+ us +\|  \} /\* vfs_read \*/$'
! grep -qE '\|      [a-z]' text || fail "deeper than asked for"
same ftrace -G

# Callers, CPUs, a delay, the exit status. The command calls until the delay is over, which is when its calls are shown.
status=0
perf ftrace -T ksys_lseek --func-opts call-graph -C 0-1 -a -m 1M -D 1 sh -c 'until grep -q "ksys_lseek <-" text; do calls 5; sleep 0.1; done; exit 7' >text 2>err || status=$?
[ $status = 0 ] || fail "status $status, expected 0, as of the kernel's tool: $(cat err)"
contains text ': ksys_lseek <-' ' => do_syscall_64'
same ftrace --func-opts

# Times of functions.
perf ftrace profile -T vfs_read -T vfs_open sh -c 'exec wc /proc/version >/dev/null' >text 2>err || fail "profile: $(cat err)"
contains text '^# +Total \(us\) +Avg \(us\) +Max \(us\) +Count +Function$' '^ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+   vfs_read$' ' vfs_open$'
same ftrace profile

# Of one function: as many calls as there were (300 by the program), and the layout of the kernel's tool.
perf ftrace latency -T ksys_lseek calls 300 >text 2>err || fail "latency: $(cat err)"
contains text '^# 300 calls, '
same ftrace latency

# The same by a BPF program.
perf ftrace latency -b -T ksys_lseek calls 300 >bpf 2>err || fail "latency -b: $(cat err)"
contains bpf '^# 300 calls, '
/usr/bin/perf ftrace latency -T ksys_lseek calls 300 >theirs 2>err || fail "the kernel's tool: $(cat err)"
echo nop >$tracing/current_tracer # it leaves settings as it likes them
cut -d'|' -f1 theirs | grep . >left
cut -d'|' -f1 text | grep -v calls, | grep . | head -n "$(wc -l <left)" >ours
cmp -s left ours || fail "other buckets than the kernel's tool: $(diff left ours)"
echo 1 >$tracing/tracing_on
echo 'vfs_write' >$tracing/set_ftrace_filter
settings >before

# However it ends.
for signal in INT TERM; do
	rm -f started
	perf ftrace trace -T vfs_read sh -c 'echo >started; exec sleep 500' >/dev/null 2>&1 &
	tracer=$!
	until [ -e started ] || ! kill -0 $tracer; do sleep 0.1; done
	kill -$signal $tracer
	wait $tracer || true
	same "SIG$signal"
done
perf ftrace -T vfs_read sh -c 'kill -SEGV $$' >/dev/null 2>&1 || true
same "a crash of the command"
! perf ftrace -T nothing_of_this_name true >text 2>err || fail "took a function that isn't there"
contains err "cannot trace 'nothing_of_this_name'"
same "a mistake"
! perf ftrace -T vfs_read ./nothing 2>err || fail "ran what isn't there"
same "a command that isn't there"
perf ftrace -T vfs_read cat /proc/version 2>/dev/null | head -n 1 >/dev/null || true
same "a reader that goes away"
# What works in an instance of its own sets nothing for others, and even SIGKILL leaves nothing.
rm -f started
perf ftrace -t function -T vfs_read sh -c 'echo >started; exec sleep 500' >/dev/null 2>&1 &
tracer=$!
until [ -e started ] || ! kill -0 $tracer; do sleep 0.1; done
[ "$(cat $tracing/instances/perf-$tracer/current_tracer)" = function ] || fail "there is no instance"
same "an instance"
kill -KILL $tracer
wait $tracer || true
tries=0
while [ -e $tracing/instances/perf-$tracer ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
[ ! -e $tracing/instances/perf-$tracer ] || fail "SIGKILL left the instance"
same "SIGKILL"

echo function >$tracing/current_tracer
perf ftrace -t function -T vfs_read sh -c 'exec wc /proc/version >/dev/null' >text 2>err || fail "beside somebody else's tracer: $(cat err)"
contains text ': vfs_read <-'
[ "$(cat $tracing/current_tracer)" = function ] || fail "ended somebody else's tracer"
! perf ftrace -G vfs_read true 2>err || fail "took somebody else's tracer"
contains err "the tracer 'function' is already in use"
echo nop >$tracing/current_tracer
echo >$tracing/set_ftrace_filter
perf ftrace -F 'vfs_rea*' | contains_stdin '^vfs_read$' '^vfs_readlink$'

modprobe algif_hash
! perf kallsyms vfs_read nothing_of_this_name hash_sendmsg >ours || fail "a symbol that isn't there is no failure"
/usr/bin/perf kallsyms vfs_read nothing_of_this_name >theirs
head -n 2 ours | cmp -s theirs - || fail "kallsyms: $(cat ours), the kernel's tool: $(cat theirs)"
contains ours '^hash_sendmsg: \[algif_hash\] \[algif_hash\] 0x[0-9a-f]+-0x'
modprobe -r algif_hash || true
