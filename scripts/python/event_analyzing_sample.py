"""Puts all samples into a database in memory and asks it: perf script report event_analyzing_sample. A beginning for one's own questions."""
import sqlite3

from ready import arguments, table

arguments('event_analyzing_sample', 0, 0)
database = sqlite3.connect(':memory:')
database.execute('CREATE TABLE samples (event TEXT, comm TEXT, dso TEXT, symbol TEXT, pid INTEGER, cpu INTEGER, time INTEGER, period INTEGER)')


def process_event(event):
    sample = event['sample']
    cpu = sample['cpu'] if sample['cpu'] != 0xffffffff else -1
    database.execute('INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
                     (event['ev_name'], event['comm'], event.get('dso', '[unknown]'), event.get('symbol', '[unknown]'), sample['pid'], cpu,
                      sample['time'], sample['period']))


def trace_end():
    for column, title in (('event', 'events'), ('comm', 'programs'), ('dso', 'files'), ('symbol', 'functions')):
        rows = database.execute('SELECT %s, count(*) AS n FROM samples GROUP BY 1 ORDER BY n DESC, 1 LIMIT 30' % column).fetchall()
        table('Samples by ' + title, [column, 'samples'], rows)
