# The host's perf finds the same callers with the guest's files: their rules for unwinding are arm64's, too.
for mode in fp dwarf; do
	"$PERF" report -i $mode.data --stdio --no-children -g folded,0.5,caller --percent-limit 5 --symfs "$GUEST_ROOT" >host-$mode 2>host-err ||
		fail "report: $(cat host-err)"
	grep 'main;outer;' $mode | sed 's/0x[0-9a-f]*;//' >theirs
	sed 's/\(0x[0-9a-f]*\|__libc_start_call_main\);//' host-$mode | grep 'main;outer;' >ours # debug files of the host's C library have more names
	diff theirs ours || fail "$mode: other callers"
done
