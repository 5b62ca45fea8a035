# guests: x86-61 x86-612
# modules: algif_hash rmd160
# packages: linux-perf
# perf probe in the kernel: by name, offset, return, in modules; parameters by name without debug files; and tracefs afterwards as it was before.
tracing=/sys/kernel/tracing
cat $tracing/kprobe_events >before
trap 'echo >$tracing/kprobe_events' EXIT
ip link set lo up || ifconfig lo up || fail "no loopback device"

# As the kernel's tool defines them.
set -- -D tcp_sendmsg -D 'vfs_read+4' -D 'vfs_read%return $retval' -D 'mine:name=vfs_read' -D 'vfs_rea*'
perf probe "$@" 2>err | sort >ours || fail "-D: $(cat err)"
/usr/bin/perf probe "$@" 2>err | sort >theirs || fail "the kernel's tool: $(cat err)"
cmp -s ours theirs || fail "$(cat ours), the kernel's tool: $(cat theirs)"

# What was sent over TCP.
perf probe tcp_sendmsg 2>out || fail "tcp_sendmsg: $(cat out)"
contains out 'probe:tcp_sendmsg +\(on tcp_sendmsg\)'
perf probe -f 'tcp_sendmsg size' 2>out || fail "tcp_sendmsg size: $(cat out)"
perf list 'probe:*' >list
contains list 'probe:tcp_sendmsg ' 'probe:tcp_sendmsg_1'
perf record -q -a -o tcp.data -e probe:tcp_sendmsg -e probe:tcp_sendmsg_1 --filter 'size == 26' -- talk 2>err || fail "record: $(cat err)"
perf script -i tcp.data >script
contains script 'talk .* probe:tcp_sendmsg: \([0-9a-f]+\)$' 'talk .* probe:tcp_sendmsg_1: \([0-9a-f]+\) size=(0x1a|26)$'
! grep 'tcp_sendmsg_1' script | grep -qvE 'size=(0x1a|26)$' || fail "--filter let others through: $(cat script)"
[ "$(grep -c 'tcp_sendmsg:' script) $(grep -c tcp_sendmsg_1 script)" = "3 2" ] || fail "3 and 2 calls expected: $(cat script)"
/usr/bin/perf script -i tcp.data | contains_stdin 'size=(0x1a|26)'
perf probe -l >list
contains list 'probe:tcp_sendmsg +\(on tcp_sendmsg\)' 'probe:tcp_sendmsg_1 +\(on tcp_sendmsg with size\)'
perf probe -q -d 'probe:tcp_*' || fail "-d"

# Strings, members and results.
perf probe -q -a 'do_sys_open filename:string' -a 'open=do_sys_openat2 dfd filename:string how->flags' -a 'do_sys_openat2%return $retval:s32' \
	-a 'vfs_read file->f_path.dentry->d_name.name:string count' 2>err || fail "-a: $(cat err)"
echo text >/tmp/probe-me
perf record -q -o open.data -e 'probe:*' sh -c 'wc /tmp/probe-me; cat /tmp/probe-me /tmp/not-there' >/dev/null 2>err || contains err not-there
perf script -i open.data >script
contains script 'probe:open: \([0-9a-f]+\) dfd=-100 filename_string="/tmp/probe-me" flags=0x[0-9a-f]+$' 'probe:do_sys_openat2__return: \([0-9a-f]+ <- [0-9a-f]+\) arg1=-2$' \
	'probe:vfs_read: \([0-9a-f]+\) name="probe-me" count=0x[0-9a-f]+$'
perf stat -e probe:open cat /tmp/probe-me 2>counted >/dev/null
contains counted '[1-9] +probe:open'
perf probe -V vfs_read >variables || fail "-V"
contains variables '	struct file\*	file$' '	size_t	count$' '@<vfs_read\+0>'

# A module.
modprobe -a algif_hash rmd160
perf probe -q -m algif_hash hash_sendmsg 2>err || fail "-m algif_hash: $(cat err)"
perf probe -l | contains_stdin "on hash_sendmsg in algif_hash"
perf probe -F -m algif-hash | contains_stdin "^hash_sendmsg$"

# Reasons.
! perf probe -n nothing_of_this_name 2>err || fail "took a function that isn't there"
contains err 'no such function'
! perf probe -n 'vfs_read nothing' 2>err || fail "took a parameter that isn't there"
contains err "has no parameter 'nothing'; its parameters are file, buf, count, pos"
! perf probe -L vfs_read 2>err || fail "shows lines without debug information"
contains err 'no debug information for the kernel'

# However a recorder ends, the probes can be deleted and nothing is left.
for signal in INT KILL; do
	rm -f started
	perf record -q -a -o end.data -e probe:open sh -c 'echo >started; exec sleep 500' 2>/dev/null &
	recorder=$!
	until [ -e started ] || ! kill -0 $recorder; do sleep 0.1; done
	kill -$signal $recorder
	wait $recorder || true
done
perf probe -q -d 'probe:*' || fail "-d after recorders were killed"
modprobe -r rmd160 algif_hash || true
cmp before $tracing/kprobe_events || fail "left behind: $(cat $tracing/kprobe_events)"
