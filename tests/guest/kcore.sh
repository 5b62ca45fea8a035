# guests: x86-61 x86-612
# modules: algif_hash rmd160
# The kernel's code is kept with the recording, or in the cache: kcore.host.sh shows it on another machine.
[ -r /proc/kcore ] || skip "this kernel has no /proc/kcore"
modprobe -a algif_hash rmd160
perf record --kcore -o code.data -e cpu-clock kernelhash rmd160 32 2>err >digest || fail "record: $(cat err)"
[ -f code.data/data ] && [ -f code.data/kcore_dir/kcore ] && [ -f code.data/kcore_dir/modules ] || fail "no code: $(ls -R code.data)"
perf annotate -i code.data --stdio -s rmd160_transform >here 2>err || fail "annotate: $(cat err)"
perf report -i code.data --stdio --sort dso,sym >report 2>err || fail "report: $(cat err)"

# Without code it tells here only by its samples what it holds: a slow machine may take too few.
for megabytes in 32 128 512; do
	perf record -o plain.data -e cpu-clock kernelhash rmd160 $megabytes 2>err >digest || fail "record: $(cat err)"
	perf report -i plain.data --stdio --sort sym >plain 2>err || fail "report: $(cat err)" # to a file: grep -q wouldn't read a pipe to its end
	! grep -q rmd160_transform plain || break
done
perf --buildid-dir cache buildid-cache -v -k /proc/kcore 2>err || fail "buildid-cache: $(cat err)"
contains err '/proc/kcore: Ok, cache/\[kernel.kcore\]/[0-9a-f]{40}/[0-9]{16}'
perf --buildid-dir cache buildid-cache -k /proc/kcore 2>err || fail "buildid-cache: $(cat err)"
contains err 'already has the code of this boot'
modprobe -r rmd160 algif_hash
