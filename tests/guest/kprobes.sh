# guests: all
# Kernel probes made by hand in tracefs: each hit is recorded, with its fields and the stack.
tracing=/sys/kernel/tracing
case $(uname -m) in # the system call's registers as the kernel saved them
x86_64) function=__x64_sys_lseek fd='+112(%di)' offset='+104(%di)' ;;
aarch64) function=__arm64_sys_lseek fd='+0(%x0)' offset='+8(%x0)' ;;
esac
printf 'p:guest/seek %s fd=%s:s32 offset=%s:s64\nr:guest/sought %s result=$retval:s64\n' $function "$fd" "$offset" $function >$tracing/kprobe_events ||
	fail "the kernel takes no kprobe: $(tail -n 5 $tracing/error_log)"
trap 'echo >$tracing/kprobe_events' EXIT

perf record -g -o seek.data -e guest:seek,guest:sought calls 300 2>err || fail "record: $(cat err)"
perf script -i seek.data >script 2>err || fail "script: $(cat err)"
[ "$(grep -c 'guest:seek:' script)" = 300 ] || fail "$(grep -c guest:seek: script) entries, expected 300"
[ "$(grep -c 'guest:sought:' script)" = 300 ] || fail "$(grep -c guest:sought: script) returns, expected 300"
contains script 'guest:seek: \([0-9a-f]+\) fd=-1 offset=299$' 'guest:sought: \([0-9a-f]+ <- [0-9a-f]+\) result=-9$' " $function\+0x[0-9a-f]+ " \
	' seek\+0x[0-9a-f]+ ' ' main\+0x[0-9a-f]+ '
perf record -o filtered.data -e guest:seek --filter 'offset < 10' calls 300 2>err || fail "record: $(cat err)"
perf script -i filtered.data >script
[ "$(grep -c 'guest:seek:' script)" = 10 ] || fail "$(grep -c guest:seek: script) entries past the filter, expected 10"
