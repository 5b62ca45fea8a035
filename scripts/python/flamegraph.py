"""A flame graph as one HTML page without anything from elsewhere: perf script report flamegraph [-o FILE] [-f json]."""
import argparse
import html
import json
import sys

parser = argparse.ArgumentParser(prog='perf script report flamegraph')
parser.add_argument('-o', '--output', help='the file, - for standard output (flamegraph.html, stacks.json)')
parser.add_argument('-f', '--format', choices=['html', 'json'], default='html', help='a page, or the tree as d3-flame-graph reads it')
options = parser.parse_args(sys.argv[1:])


def node(name):
    return {'n': name, 'l': '', 'v': 0, 'c': {}}


root = node('all')


def process_event(event):
    at = root
    at['v'] += 1
    names = [event['comm']]
    for entry in reversed(event['callchain']):
        names.append(entry['sym']['name'] if 'sym' in entry else '[unknown]')
    if len(names) == 1:
        names.append(event.get('symbol', '[unknown]'))
    for name in names:
        at = at['c'].setdefault(name, node(name))
        at['v'] += 1


def as_lists(at):
    return {'n': at['n'], 'l': at['l'], 'v': at['v'], 'c': [as_lists(child) for child in at['c'].values()]}


def add_boxes(at, left, depth, out):
    """Boxes, in percent of the width."""
    width = 100.0 * at['v'] / max(root['v'], 1)
    if width < 0.05:
        return
    name = html.escape(at['n'])
    out.append('<div style="left:%.3f%%;width:%.3f%%;bottom:%dpx;background:hsl(%d,80%%,65%%)" title="%s: %d samples, %.2f%%">%s</div>' %
               (left, width, depth * 18, sum(map(ord, at['n'])) * 7 % 45 + 10, name, at['v'], width, name))
    for child in sorted(at['c'].values(), key=lambda child: child['n']):
        add_boxes(child, left, depth + 1, out)
        left += 100.0 * child['v'] / max(root['v'], 1)


def depth_of(at):
    return 1 + max([depth_of(child) for child in at['c'].values()], default=0)


def page():
    boxes = []
    add_boxes(root, 0.0, 0, boxes)
    return ('<!DOCTYPE html><meta charset="utf-8"><title>Flame graph</title><style>#graph{position:relative;height:%dpx}'
            '#graph div{position:absolute;height:17px;overflow:hidden;white-space:nowrap;font:12px sans-serif;outline:1px solid white}</style>'
            '<div id="graph">%s</div>\n' % (depth_of(root) * 18, '\n'.join(boxes)))


def trace_end():
    sys.setrecursionlimit(10000)
    text = page() if options.format == 'html' else json.dumps(as_lists(root)) + '\n'
    path = options.output or ('flamegraph.html' if options.format == 'html' else 'stacks.json')
    if path == '-':
        sys.stdout.write(text)
        return
    with open(path, 'w', encoding='utf-8', errors='backslashreplace') as file:
        file.write(text)
    print('wrote', path)
