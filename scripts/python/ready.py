"""What the ready-made scripts share: arguments, and tables of counts."""
import os
import sys

sys.path.append(os.environ['PERF_EXEC_PATH'] + '/scripts/python/Perf-Trace-Util/lib/Perf/Trace')


def arguments(usage, least, most):
    """The script's words; ends it with its usage when there are too few or too many."""
    words = sys.argv[1:]
    if not least <= len(words) <= most:
        sys.exit('usage: perf script report %s' % usage)
    return words


def comm_and_interval(usage):
    """[comm] [seconds], in any order: a number is the interval. Without one it is 3."""
    comm, interval = None, 3
    for word in arguments(usage, 0, 2):
        if word.isdigit() and int(word):
            interval = int(word)
        else:
            comm = word
    return comm, interval


def table(title, columns, rows):
    """Rows of cells under headings; numbers stand to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max([len(heading)] + [len(row[i]) for row in texts]) for i, heading in enumerate(columns)]
    right = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(columns))]

    def line(cells):
        return '  '.join(cell.rjust(width) if numeric else cell.ljust(width) for cell, width, numeric in zip(cells, widths, right)).rstrip()

    print('\n%s\n' % title)
    print(line(columns))
    print(line(['-' * width for width in widths]))
    for row in texts:
        print(line(row))


def most_first(counts):
    """Items of a dictionary of numbers, the largest first; of equal ones by key."""
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
