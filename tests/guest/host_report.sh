# guests: all
# modules: algif_hash rmd160
# A recording with user, kernel and module functions, and what the build-id cache has of them, goes to another machine.
modprobe -a algif_hash rmd160
perf record -o perf.data sh -c 'loop 20000000; kernelhash rmd160 4' >digest 2>err || fail "record: $(cat err)"
perf report -i perf.data --stdio --sort comm,dso,sym >report 2>err || fail "report: $(cat err)"
perf script -i perf.data -F comm,tid,time,event,ip,sym,symoff,dso >script 2>err || fail "script: $(cat err)"
contains report 'loop +loop +\[\.\] spin' '\[rmd160\] +\[k\] rmd160_transform' '\[kernel.kallsyms\] +\[k\] [a-z_]'
ls -la ~/.debug
mv ~/.debug buildids
modprobe -r rmd160 algif_hash
