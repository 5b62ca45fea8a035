# guests: all
# modules: algif_hash rmd160
# Symbols of the kernel and of a module.
perf record -o kernel.data cat /proc/kallsyms 2>err >kallsyms || fail "record: $(cat err)"
perf report -i kernel.data --stdio --sort dso,sym >kernel 2>err || fail "report: $(cat err)"
contains kernel '\[kernel.kallsyms\] +\[k\] (vsnprintf|format_decode|number)$' '\[kernel.kallsyms\] +\[k\] kallsyms_expand_symbol'
at_least "$(share kernel 'kernel.kallsyms.* [a-zA-Z_]')" 80 "percent of the samples in named kernel functions"

modprobe -a algif_hash rmd160
perf record -o module.data kernelhash rmd160 32 2>err >digest || fail "record: $(cat err)"
perf report -i module.data --stdio --sort dso,sym >module 2>err || fail "report: $(cat err)"
contains module '\[rmd160\] +\[k\] rmd160_transform'
at_least "$(share module '\[rmd160\] +\[k\] rmd160_')" 40 "percent of the samples in the module rmd160"
perf script -i module.data >script 2>err || fail "script: $(cat err)"
contains script ' rmd160_transform\+0x[0-9a-f]+ \(/lib/modules/.*/rmd160\.ko\)$'
modprobe -r rmd160 algif_hash
