# A recording of a program that only this machine has, and what is shown of it here. Read in the guest by self_contained.sh.
gcc -O1 -g -fno-omit-frame-pointer -pthread -o chain "$TEST_PROGRAMS/chain.c" -lm
"$PERF" record -q -N -e cpu-clock:u -F 2000 --call-graph fp --self-contained -o perf.data ./chain 500000000 >output 2>err || skip "record: $(cat err)"
mv chain hidden
cat >commands <<'END'
report --stdio
report --stdio --no-children -g none -s dso,sym,srcline
script
script -F +srcline,+symoff
annotate --stdio
export folded -o -
flamegraph -o -
END
number=0
while read -r words; do
	number=$((number + 1))
	"$PERF" $words >"shown.$number" 2>err </dev/null || fail "$words: $(cat err)"
done <commands
rm hidden
