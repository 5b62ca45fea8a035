"""Stacks, outermost function first, one line each with how often it was seen: perf script report stackcollapse [--kernel] [--pid] …"""
from collections import Counter
import argparse
import sys

parser = argparse.ArgumentParser(prog='perf script report stackcollapse')
parser.add_argument('--include-tid', action='store_true', help='thread ids behind the names')
parser.add_argument('--include-pid', action='store_true', help='process ids behind the names')
parser.add_argument('--no-comm', dest='include_comm', action='store_false', help='no names of threads')
parser.add_argument('--annotate-kernel', '--kernel', action='store_true', help='_[k] behind functions of the kernel')
options = parser.parse_args(sys.argv[1:])
lines = Counter()


def name_of(node):
    name = node['sym']['name'] if 'sym' in node else '[unknown]'
    if options.annotate_kernel and node.get('dso', '').startswith('[') and node.get('dso') != '[vdso]':
        name += '_[k]'
    return name.replace(';', ':')


def process_event(event):
    stack = [name_of(node) for node in reversed(event['callchain'])] or [event.get('symbol', '[unknown]')]
    if options.include_comm:
        comm = event['comm'].replace(' ', '_')
        if options.include_pid:
            comm += '-%d' % event['sample']['pid']
        if options.include_tid:
            comm += '/%d' % event['sample']['tid']
        stack.insert(0, comm)
    lines[';'.join(stack)] += 1


def trace_end():
    for line in sorted(lines):
        print(line, lines[line])
