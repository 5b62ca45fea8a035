# guests: arm64
# Hardware counters: what a loop of known length makes them count, the figures derived, and more events than counters.
value() { # value EVENT <FILE: the count of a line of stat -x,
	awk -F, -v event="$1" '$3 == event { print $1; exit }'
}
# Starting and ending a program costs the same each time: the difference is the loop alone.
perf stat -x, -e cycles:u,instructions:u -o short loop 10000000
perf stat -x, -e cycles:u,instructions:u -o long loop 60000000
near $(($(value instructions:u <long) - $(value instructions:u <short))) 500000000 500 "instructions of 50 million turns"
near "$(value instructions:u <long)" 600000000 600000 "instructions of 60 million turns"
near "$(value cycles:u <long)" 1200000000 1200000 "cycles of 60 million turns"

perf stat -e cycles,instructions,cycles:u,instructions:u,cycles:k,instructions:k loop 20000000 2>table
contains table ' instructions +# +0\.50 +insn per cycle' ' instructions:u +# +0\.50 +insn per cycle' ' cycles:k '
perf stat -x, -e instructions,instructions:u,instructions:k,cycles,cycles:u,cycles:k -o modes loop 20000000
for event in instructions cycles; do
	near $(($(value $event:u <modes) + $(value $event:k <modes))) "$(value $event <modes)" 400000 "$event in user mode and in the kernel together"
	at_least $(($(value $event:u <modes) / ($(value $event:k <modes) + 1))) 20 "$event in user mode for one in the kernel"
done

# Twelve events on six counters (and the one for cycles, which none of them is for).
events=r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u
perf stat -x, -e $events -o scaled loop 50000000
[ "$(grep -c ,r08:u, scaled)" = 12 ] || fail "$(grep -c ,r08:u, scaled) events, expected 12"
awk -F, '/,r08:u,/ { print $1, $5 }' scaled >values
while read -r count percent; do
	near "$count" 500000000 25000000 "instructions of 50 million turns, scaled"
	near "${percent%.*}" 50 7 "percent of the time that one of twelve events on six counters is counted"
done <values
perf stat -e $events loop 20000000 2>table
contains table ' r08:u +\((4[0-9]|5[0-9])\.[0-9]+%\)$'
