# guests: all
# The first three commands on what the hardware offers: real overflow interrupts in arm64, the software clock where there is no PMU.
perf record -o perf.data loop 60000000 2>err || fail "record: $(cat err)"
perf report -i perf.data --stdio >report 2>err || fail "report: $(cat err)"
perf script -i perf.data >script 2>err || fail "script: $(cat err)"
contains report '^ +[0-9.]+% +loop +loop +\[\.\] spin'
contains script '^ *loop +[0-9]+ +[0-9]+\.[0-9]+: +[0-9]+ [a-z-]+(:[a-zA-Z]+)?: +[0-9a-f]+ spin(\+0x[0-9a-f]+)? '
at_least "$(share report '\] spin')" 60 "percent of the samples in spin"
