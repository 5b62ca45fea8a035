# guests: x86-61 x86-612
# modules: brd dm-delay raid0
# A RAID 0 of RAM disks, one of which is behind device-mapper's delay target: perf where names that one. On a busy machine a guest's CPUs are
# slow and its delays are not, so that CPU time may come before it; no other wait may.
for module in brd dm-delay raid0; do
	modprobe $module
done
stripes 30 || fail "no RAID"
perf where -o where.data block_hasher -d /dev/md0 -b 1048576 -t 10 -n 10 >text 2>err || fail "where: $(cat err)"
cat text err
contains text '^The run of block_hasher took'
tr '\n' ' ' <text | tr -s ' ' >line
contains line "block_hasher waited for disk I/O on md0 → dm-0 \(device-mapper target delay\), in pread64\(\) from hash_blocks\(\), "
perf where -i where.data --format json >json 2>err || fail "where -i: $(cat err)"
grep -v -E '"kind": ?"(cpu|queue)"' json | head -n 1 >first
contains first '"kind": ?"disk"' '"syscall": ?"pread64"' '"function": ?"hash_blocks"' '"devices": ?"md0 → dm-0 \(device-mapper device slow\)"'
stripes off || fail "the RAID stays"
