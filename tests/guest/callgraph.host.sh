# The host's perf finds the same callers with the guest's files: their rules for unwinding are arm64's, too.
for mode in fp dwarf; do
	"$PERF" report -i $mode.data --stdio --no-children -g folded,0.5,caller --percent-limit 5 --symfs "$GUEST_ROOT" >host-$mode 2>host-err ||
		fail "report: $(cat host-err)"
	# main's callers are the C library's, of which the host may have debug files.
	sed -n 's/ .*main;outer/ main;outer/p' $mode >theirs
	sed -n 's/ .*main;outer/ main;outer/p' host-$mode >ours
	[ -s theirs ] || fail "$mode: no callers"
	diff theirs ours || fail "$mode: other callers"
done
