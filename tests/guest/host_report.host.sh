# The host's perf with the guest's build-id cache says what the guest's perf said, line by line. The C library apart: the host may have the
# debug files of the one that x86 guests share with it, whose longer names make the last column wider.
but_for_libc() {
	grep -vE 'libc\.so|ld-linux' "$1" | sed -E 's/[ .]+$//'
}

same() {
	diff <(but_for_libc "$1") <(but_for_libc "$2") || fail "$1 and $2 differ"
}

"$PERF" --buildid-dir buildids report -i perf.data --stdio --sort comm,dso,sym >host-report 2>host-err || fail "report: $(cat host-err)"
same report host-report
"$PERF" --buildid-dir buildids script -i perf.data -F comm,tid,time,event,ip,sym,symoff,dso >host-script 2>host-err || fail "script: $(cat host-err)"
same script host-script

# With the guest's root folder instead of the cache.
"$PERF" --buildid-dir none report -i perf.data --stdio --sort comm,dso,sym --symfs "$GUEST_ROOT" --kallsyms buildids/'[kernel.kallsyms]'/*/kallsyms \
	>symfs-report 2>host-err || fail "report: $(cat host-err)"
same report symfs-report
