# guests: all
# Stacks that begin on a thread's own stack, where Go's runtime works, and go on on that of a goroutine.
which goroutines >/dev/null || skip "needs go on the host"
perf record -v -g -e syscalls:sys_enter_mmap -o data goroutines 2>err || fail "record: $(cat err)"
contains err 'stacks are unwound in the kernel, by a BPF program' 'Unwound [1-9][0-9]* stacks, all complete'
# One line for each stack, innermost first.
perf script -i data -F ip,sym | awk 'NF { sub(/\.abi0$/, "", $2); line = line ";" $2 } !NF { print line; line = "" } END { print line }' >stacks
contains stacks ';runtime.systemstack;.*;main.work;main.main.func1;runtime.goexit$' ';runtime.morestack;main.deep;.*;main.deep;main.main.func1;runtime.goexit$'
if grep -E ';main\.(work|deep)' stacks | grep -v ';main.main.func1;runtime.goexit$'; then
	fail "stacks that don't reach the goroutine's beginning"
fi
