"""Where the kernel dropped network packets: perf script report net_dropmonitor."""
import bisect
from collections import Counter

from ready import arguments, most_first, table

arguments('net_dropmonitor', 0, 0)
drops = Counter()


def skb__kfree_skb(event_name, context, cpu, secs, nsecs, pid, comm, callchain, skbaddr, location, protocol, *more):
    drops[location] += 1


def kernel_symbols():
    """Addresses and names, sorted; empty where the kernel hides the addresses."""
    symbols = []
    with open('/proc/kallsyms', encoding='ascii') as lines:
        for line in lines:
            address, _, name = line.split()[:3]
            symbols.append((int(address, 16), name))
    symbols.sort()
    return symbols if symbols and symbols[-1][0] else []


def trace_end():
    symbols = kernel_symbols()
    addresses = [address for address, _ in symbols]
    rows = []
    for location, count in most_first(drops):
        index = bisect.bisect_right(addresses, location) - 1
        address, name = symbols[index] if index >= 0 else (location, 'unknown')
        rows.append((name, '%#x' % (location - address), count))
    table('Dropped packets', ['function', 'offset', 'count'], rows)
