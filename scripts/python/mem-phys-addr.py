"""What kind of memory the sampled physical addresses lie in: perf script report mem-phys-addr. /proc/iomem tells the addresses to root only."""
import bisect
from collections import Counter

from ready import arguments, most_first, table

arguments('mem-phys-addr', 0, 0)
starts, ranges = [], []
kinds = Counter()


def trace_begin():
    with open('/proc/iomem', encoding='ascii') as lines:
        for line in lines:
            if line.startswith(' '):
                continue
            span, _, name = line.strip().partition(' : ')
            begin, end = (int(address, 16) for address in span.split('-'))
            starts.append(begin)
            ranges.append((begin, end, name))


def process_event(event):
    address = event['sample']['phys_addr']
    index = bisect.bisect_right(starts, address) - 1
    known = address and index >= 0 and ranges[index][0] <= address <= ranges[index][1]
    kinds[event['ev_name'], ranges[index][2] if known else 'unknown'] += 1


def trace_end():
    everything = sum(kinds.values())
    table('Physical addresses', ['event', 'memory', 'samples', '%'],
          [(event, kind, n, round(100.0 * n / everything, 1)) for (event, kind), n in most_first(kinds)])
