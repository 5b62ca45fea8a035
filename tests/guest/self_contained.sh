# guests: all
# A self-contained recording of a program, taken on an x86-64 machine, shows the same bytes here, where neither the program nor its source is.
here=/test/self_contained
[ ! -f $here/skipped ] || skip "$(cat $here/skipped)"
cp $here/perf.data .
contains $here/shown.1 '\[\.\] [a-z]'
contains $here/shown.2 '\.c:[0-9]'
contains $here/shown.5 'for \(unsigned long i' 'cmp +%rdx,%rdi|jne|add'
number=0
while read -r words; do
	number=$((number + 1))
	perf $words >shown 2>err </dev/null || fail "$words: $(cat err)"
	cmp shown $here/shown.$number || fail "perf $words shows something else"
done <$here/commands
at_least $number 7 "commands"
