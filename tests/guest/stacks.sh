# guests: all
# Stacks that a BPF program walks in the kernel (--call-graph auto,bpf): complete, as copies unwound by the recorder are.
perf record -v --call-graph auto,bpf -o bpf.data chain 60000000 2>err || fail "record: $(cat err)"
contains err 'stacks are unwound in the kernel, by a BPF program' '^stacks: [1-9][0-9]* unwound in the kernel' 'Unwound [0-9]+ stacks, (all|9[0-9][.0-9]* %) complete'
perf record --call-graph auto,copy -o copy.data chain 20000000 2>err || fail "record: $(cat err)"
for way in bpf copy; do
	perf report -i $way.data --stdio --no-children -g folded,0.5,caller --percent-limit 5 >$way 2>err || fail "report: $(cat err)"
	contains $way '^[0-9.]+% _start;__libc_start_main;0x[0-9a-f]+;main;outer;middle;leaf$'
done
perf record -v --call-graph auto,bpf -e raw_syscalls:sys_enter -o calls.data chain 1000 2>err || fail "record: $(cat err)"
contains err 'stacks are unwound in the kernel, by a BPF program' 'Unwound [1-9][0-9]* stacks, (all|9[0-9][.0-9]* %) complete'
# A frame of 200 KB, of which no copy shows the end: copies come until the rules have been read, for which the recorder has time between the calls, however
# busy the host is.
perf record -v --call-graph auto,bpf -e syscalls:sys_enter_getppid -o wide.data sh -c 'for i in 1 2 3 4 5 6 7 8; do wide 500; sleep 1; done' 2>err || fail "record: $(cat err)"
contains err '^stacks: [1-9][0-9]* unwound in the kernel'
perf script -i wide.data -F ip,sym | awk 'NF { line = line ";" $2 } !NF { print line; line = "" } END { print line }' >stacks
contains stacks '^;(__)?getppid;leaf;wide;main;.*;_start$'
