# guests: arm64
# What perf list says of each generic event of the processor is what perf stat finds; PMUs bring their own events, which can be counted by their names.

perf list --raw-dump hw >supported 2>err || fail "list: $(cat err)"
grep -q cpu-cycles supported || fail "cpu-cycles isn't supported: $(cat supported)"
for event in cpu-cycles instructions bus-cycles ref-cycles branch-instructions branch-misses cache-misses stalled-cycles-frontend; do
	perf stat -x, -e "$event:u" -o count loop 1000 || fail "stat -e $event"
	counted=yes
	grep -q 'not supported' count && counted=no
	listed=no
	tr ' ' '\n' <supported | grep -qx "$event" && listed=yes
	[ $counted = $listed ] || fail "$event: listed as supported: $listed, counted: $counted"
done
perf list hw >list
contains list '^  cpu-cycles OR cycles +\[Hardware event\]$' '^  instructions +\[Hardware event\]$'

# The PMU's name differs between kernels.
perf list pmu >list
contains list '^  cpu_cycles OR armv8_[a-z0-9_]+/cpu_cycles/ +\[Kernel PMU event\]$'
perf stat -x, -e cpu_cycles:u,cycles:u -o count loop 1000000 || fail "stat -e cpu_cycles"
near "$(grep cpu_cycles count | cut -d, -f1)" "$(grep ,cycles count | cut -d, -f1)" 2000 "cpu_cycles, as many as cycles"
contains list 'armv8_'
perf list rawhw >list
contains list '^  rNNN ' '^  armv8_[a-z0-9_]+/.*event=0\.\.0xffff'
