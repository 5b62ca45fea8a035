# guests: all
# Stacks that begin on a thread's own stack, where Go's runtime works, and go on on that of a goroutine.
which goroutines >/dev/null || skip "needs go on the host"
# What the program does once it does at its beginning: copies of it, as there are before rules are known, don't have the goroutine's stack. A busy
# host may take longer for the rules than a recording waits for them.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	perf record -v -g -e syscalls:sys_enter_mmap -o data goroutines 2>err || fail "record: $(cat err)"
	grep -q 'the unwind rules of 1 of 1 files were read before' err && break
done
contains err 'stacks are unwound in the kernel, by a BPF program' 'Unwound [1-9][0-9]* stacks, all complete'
# One line for each stack, innermost first.
perf script -i data -F ip,sym | awk 'NF { sub(/\.abi0$/, "", $2); line = line ";" $2 } !NF { print line; line = "" } END { print line }' >stacks
contains stacks ';runtime.systemstack;.*;main.work;main.main.func1;runtime.goexit$' ';runtime.morestack;main.deep;.*;main.deep;main.main.func1;runtime.goexit$'
if grep -E ';main\.(work|deep)' stacks | grep -v ';main.main.func1;runtime.goexit$'; then
	fail "stacks that don't reach the goroutine's beginning"
fi
