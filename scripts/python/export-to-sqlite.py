"""Writes the samples into a SQLite database: perf script report export-to-sqlite DATABASE [callchains]

Tables and columns are those of the kernel tool's exports, so that queries and viewers for these work:

    sqlite3 DATABASE "SELECT name, count(*) FROM samples JOIN symbols ON symbol_id = symbols.id GROUP BY 1 ORDER BY 2 DESC LIMIT 10"
"""
import os
import sqlite3
import sys

from ready import arguments

words = arguments('export-to-sqlite <database> [callchains]', 1, 2)
if words[1:] not in ([], ['callchains']):
    sys.exit('what is %s? Only "callchains" can follow the database' % words[1])

perf_db_export_mode = True
perf_db_export_calls = False
perf_db_export_callchains = len(words) == 2

COLUMNS = {
    'selected_events': 'name',
    'machines': 'pid, root_dir',
    'threads': 'machine_id, process_id, pid, tid',
    'comms': 'comm, c_thread_id, c_time, exec_flag',
    'comm_threads': 'comm_id, thread_id',
    'dsos': 'machine_id, short_name, long_name, build_id',
    'symbols': 'dso_id, sym_start, sym_end, binding, name',
    'branch_types': 'name',
    'call_paths': 'parent_id, symbol_id, ip',
    'samples': 'evsel_id, machine_id, thread_id, comm_id, dso_id, symbol_id, sym_offset, ip, time, cpu, to_dso_id, to_symbol_id, to_sym_offset, to_ip, '
               'period, weight, transaction_, data_src, branch_type, in_tx, call_path_id, insn_count, cyc_count, flags',
    'context_switches': 'machine_id, time, cpu, thread_out_id, comm_out_id, thread_in_id, comm_in_id, flags',
}

if os.path.exists(words[0]):
    sys.exit('%s exists already; remove it first' % words[0])
database = sqlite3.connect(words[0], isolation_level=None)
database.execute('PRAGMA synchronous = OFF')
database.execute('BEGIN')
for table, columns in COLUMNS.items():
    database.execute('CREATE TABLE %s (id integer NOT NULL PRIMARY KEY, %s)' % (table, columns))


def writer(table):
    """What perf calls for each row of a table."""
    places = ', '.join('?' * (COLUMNS[table].count(',') + 2))
    statement = 'INSERT INTO %s VALUES (%s)' % (table, places)
    return lambda *row: database.execute(statement, row)


evsel_table = writer('selected_events')
machine_table = writer('machines')
thread_table = writer('threads')
comm_table = writer('comms')
comm_thread_table = writer('comm_threads')
dso_table = writer('dsos')
symbol_table = writer('symbols')
branch_type_table = writer('branch_types')
call_path_table = writer('call_paths')
sample_table = writer('samples')
context_switch_table = writer('context_switches')


def trace_begin():
    # What ids of 0 refer to.
    evsel_table(0, 'unknown')
    machine_table(0, 0, 'unknown')
    thread_table(0, 0, 0, -1, -1)
    comm_table(0, 'unknown', 0, 0, 0)
    dso_table(0, 0, 'unknown', 'unknown', '')
    symbol_table(0, 0, 0, 0, 0, 'unknown')
    call_path_table(0, 0, 0, 0)


def trace_end():
    database.execute('COMMIT')
    print('wrote', words[0])
