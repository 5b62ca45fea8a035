# guests: arm64
# packages: linux-perf
# The kernel's perf beside ours: the same attributes for the same words, the same text for the same recording.
same_attributes() {
	/usr/bin/perf record -o theirs.data "$@" 2>err || fail "the kernel's record $*: $(cat err)"
	perf record -o ours.data "$@" 2>err || fail "record $*: $(cat err)"
	# theirs has the length of SVE vectors (bit 46) among the registers for DWARF: ours can't unwind functions that have such on the stack
	/usr/bin/perf evlist -v -i theirs.data | sed 's/0x4001ffffffff/0x1ffffffff/' >theirs
	/usr/bin/perf evlist -v -i ours.data >ours
	diff theirs ours || fail "record $*: other attributes"
}

# The kernel's perf reads all of the kernel's symbols for each recording, which takes most of the time here, and asks for the same events without.
mount --bind /dev/null /proc/kallsyms
same_attributes true
same_attributes --call-graph fp true
same_attributes -F 500 --call-graph fp -e cycles:pp true
same_attributes -c 10000 -e cycles:u,task-clock true
same_attributes --call-graph dwarf,4096 true
same_attributes -a -e sched:sched_switch,page-faults true
same_attributes -d -e '{cycles,instructions}:S' true
umount /proc/kallsyms

# The kernel's perf has some callers of functions without frame twice: less one, as the link register has them, and as the frame pointers do.
once() {
	awk 'function value(text, i, sum) {
		for (i = 1; i <= length(text); i++)
			sum = sum * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
		return sum
	}
	{
		address = /^\t/ && length($1) < 13 ? $1 : "" # of user space
		if (NR > 1 && !(address && before && value(address) == value(before) + 1))
			print held
		held = $0
		before = address
	}
	END { print held }'
}

# script and report of a recording with call chains. Apart from comments, in which the kernel's perf complains of missing tips, and calls through
# the procedure linkage table, for which ours has names.
# Not of the dynamic linker at the start (-D, in milliseconds): in it the kernel's perf takes an old link register for a caller.
perf record --call-graph fp -D 20 -o fp.data chain 20000000 2>err || fail "record: $(cat err)"
[ "$(perf script -i fp.data -F ip | grep -c .)" -gt 100 ] || fail "too few samples"
for words in 'script' 'script -F comm,tid,time,event,ip,sym,symoff,dso,period' 'report --stdio --no-children -g none' \
	'report --stdio --no-children -g folded,0.5,caller --sort sym'; do
	/usr/bin/perf $words -i fp.data >all 2>err || fail "the kernel's $words: $(cat err)"
	once <all | grep -vE '^#|@plt| _init' >theirs
	perf $words -i fp.data >all 2>err || fail "$words: $(cat err)"
	once <all | grep -vE '^#|@plt| _init' >ours
	diff theirs ours >difference || {
		head -n 40 difference
		fail "$words: other text"
	}
done
