# guests: arm64
# Sampling with overflow interrupts: as many as the counter's value makes, where the program is, and as often as asked for.
# loop 10000000 runs 100 million instructions; qemu counts two cycles for each.

perf record -e cycles:u -c 200000 -o period.data loop 10000000 2>err || fail "record: $(cat err)"
perf script -i period.data -F event,period,ip,sym >script 2>err || fail "script: $(cat err)"
near "$(grep -cE ' 200000 *cycles:u: *[0-9a-f]+ spin' script)" 1000 5 "samples in spin, one in 200,000 of 200 million cycles"

# qemu notices that `instructions` have overflowed when `cycles` do, or at the next clock tick.
perf record -e '{cycles:u,instructions:u}' -c 200000 -o group.data loop 10000000 2>err || fail "record: $(cat err)"
perf script -i group.data -F event,period >script 2>err || fail "script: $(cat err)"
near "$(grep -c ' cycles:u:' script)" 1000 5 "samples of cycles"
near "$(grep -c ' instructions:u:' script)" 500 5 "samples of instructions"

perf record -e '{cycles:u,instructions:u}:S' -c 200000 -o read.data loop 10000000 2>err || fail "record: $(cat err)"
perf report -i read.data --stdio --group -F overhead,period,sym >report 2>err || fail "report: $(cat err)"
contains report '\] spin'
perf script -i read.data -F event,period >script 2>err || fail "script: $(cat err)"
near "$(awk '$2 ~ /^instructions:u/ { sum += $1 } END { print sum }' script)" 100000000 500000 "instructions read along with the samples"

perf record -F 1000 -o frequency.data loop 20000000 2>err || fail "record: $(cat err)"
perf script -i frequency.data -F event >script 2>err || fail "script: $(cat err)"
near "$(grep -c cycles script)" 400 60 "samples in 0.4 s, 1000 a second"

# More events than the PMU has counters: each gets its turn, and its samples.
perf record -e cycles:u,r11:u,r11:u,r11:u,r11:u,r11:u,r11:u,r11:u,r11:u -c 1000000 -o many.data loop 50000000 2>err || fail "record: $(cat err)"
perf evlist -i many.data >events
[ "$(grep -c r11:u events)" = 8 ] || fail "$(grep -c r11:u events) events, expected 8"
perf script -i many.data -F event,period,ip,sym >script 2>err || fail "script: $(cat err)"
at_least "$(grep -cE 'r11:u: *[0-9a-f]+ spin' script)" 4000 "samples of eight events on seven counters"
