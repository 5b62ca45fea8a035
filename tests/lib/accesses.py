"""Memory accesses made by hand: a program whose variables have names, and data sources."""

PROGRAM = r"""
long table[512];
struct node { long key; struct node *next; } nodes[64];
int counter = 7;
__attribute__((noinline)) long walk(int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		s += table[i & 511] + nodes[i & 63].key + counter++;
	return s;
}
__attribute__((noinline)) long fill(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 511] = i;
	return n;
}
int main(void) { return (int)(fill(100) + walk(100)); }
"""


def source(op=2, level=0, snoop=0, lock=0, tlb=0, number=0, remote=0, snoopx=0, block=0, hops=0):
    """union perf_mem_data_src of linux/perf_event.h."""
    return (op | level << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37 | snoopx << 38 | block << 40 | hops << 43)
