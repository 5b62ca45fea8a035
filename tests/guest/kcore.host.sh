# The instructions of the guest's kernel and module, though neither their files nor that kernel are here.
"$PERF" --buildid-dir none annotate -i code.data --stdio -s rmd160_transform >there 2>host-err || fail "annotate: $(cat host-err)"
# There the module's file was read; here addresses are those of memory, and what the kernel patches differs.
arithmetic() {
	grep -oE ':[ \t]+(xor|add|rol|and|or|not|push|pop) .*' "$1" | sed -E 's/^:[ \t]+//; s/ +$//'
}
arithmetic here >here-code
arithmetic there >there-code
[ "$(wc -l <here-code)" -gt 100 ] || fail "no instructions: $(head -40 here)"
diff here-code there-code >differences || fail "host and guest differ: $(head -20 differences)"
"$PERF" --buildid-dir none report -i code.data --stdio --sort dso,sym >host-report 2>host-err || fail "report: $(cat host-err)"
grep -E '\[k\] [a-z_]+$' report | sed -E 's/ +$//' >report-kernel
grep -E '\[k\] [a-z_]+$' host-report | sed -E 's/ +$//' >host-kernel
diff report-kernel host-kernel >differences || fail "reports differ: $(head -20 differences)"
"$PERF" --buildid-dir cache annotate -i plain.data --stdio -s rmd160_transform >cached 2>host-err || fail "annotate: $(cat host-err)"
arithmetic cached >cached-code
diff here-code cached-code >differences || fail "the cache's code differs: $(head -20 differences)"
