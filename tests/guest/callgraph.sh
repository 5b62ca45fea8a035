# guests: all
# Callers by frame pointers and by DWARF; on arm64 from return addresses that are signed. Only the program: on a busy machine half of a few samples may be the kernel's,
# whose symbols the host has not.
perf record --all-user --call-graph fp -o fp.data chain 100000000 2>err || fail "record: $(cat err)"
perf report -i fp.data --stdio --no-children -g folded,0.5,caller --percent-limit 5 >fp 2>err || fail "report: $(cat err)"
case $(uname -m) in
aarch64) contains fp '^[0-9.]+% .*;main;outer;middle;leaf$' ;; # the caller of a function without frame is found in the link register
*) contains fp '^[0-9.]+% .*;main;outer;(middle;)?leaf$' ;;
esac

perf record --all-user --call-graph dwarf -o dwarf.data chain 20000000 2>err || fail "record: $(cat err)"
perf report -i dwarf.data --stdio --no-children -g folded,0.5,caller --percent-limit 5 >dwarf 2>err || fail "report: $(cat err)"
contains dwarf '^[0-9.]+% _start;__libc_start_main;0x[0-9a-f]+;main;outer;middle;leaf$'
