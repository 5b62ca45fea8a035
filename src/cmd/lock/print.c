/* Figures of locks in columns, as the kernel's perf lock prints them. */
#include "cmd/lock/lock.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "view/view.h"

#include <inttypes.h>
#include <string.h>

static const struct figure {
	const char *name, *title;
	int width;
	bool is_time;
} figures[] = {
	[LOCK_ACQUIRED] = {"acquired", "acquired", 10, false}, [LOCK_CONTENDED] = {"contended", "contended", 10, false},
	[LOCK_AVERAGE] = {"avg_wait", "avg wait", 12, true},   [LOCK_TOTAL] = {"wait_total", "total wait", 12, true},
	[LOCK_MAX] = {"wait_max", "max wait", 12, true},       [LOCK_MIN] = {"wait_min", "min wait", 12, true},
};

static struct error *parse_value(const char *text, bool acquired, enum lock_value *ret)
{
	for (size_t i = acquired ? 0 : 1; i < LOCK_COLUMNS; i++) {
		if (strcmp(figures[i].name, text) != 0)
			continue;
		*ret = (enum lock_value)i;
		return NULL;
	}
	return error_new_kind(ERROR_USAGE, "unknown field '%s'; the fields are %scontended, avg_wait, wait_total, wait_max and wait_min",
			      text, acquired ? "acquired, " : "");
}

static void add_value(struct lock_columns *columns, enum lock_value value)
{
	size_t i = 0;
	while (i < columns->count && columns->values[i] != value)
		i++;
	if (i == columns->count)
		columns->values[columns->count++] = value;
}

struct error *lock_columns_parse(const char *text, bool acquired, struct lock_columns *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	struct lock_columns columns = {0};
	for (char *rest = copy, *word; (word = strsep(&rest, ", "));) {
		enum lock_value value = LOCK_CONTENDED;
		struct error *error = *word ? parse_value(word, acquired, &value) : NULL;
		if (error)
			return error;
		if (*word)
			add_value(&columns, value);
	}
	if (!columns.count)
		return error_new_kind(ERROR_USAGE, "no field is named");
	*ret = columns;
	return NULL;
}

struct error *lock_columns_sort(struct lock_columns *columns, const char *key, bool acquired, enum lock_value *ret)
{
	enum lock_value value = LOCK_CONTENDED;
	struct error *error = parse_value(key, acquired, &value);
	if (error)
		return error_wrap(error, "-k");
	add_value(columns, value);
	*ret = value;
	return NULL;
}

/* ---- text ---- */

/* "3.23 s ", "15.92 us": quotients of single precision, so that the last digit is that of the kernel's tool. */
static void add_duration(struct strbuf *out, uint64_t ns, int width)
{
	static const struct {
		float base;
		const char *unit;
	} units[] = {{3600e9F, "h "}, {60e9F, "m "}, {1e9F, "s "}, {1e6F, "ms"}, {1e3F, "us"}};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if ((float)ns < units[i].base)
			continue;
		strbuf_printf(out, "%*.2f %s", width > 3 ? width - 3 : 0, (double)((float)ns / units[i].base), units[i].unit);
		return;
	}
	strbuf_printf(out, "%*" PRIu64 " ns", width > 3 ? width - 3 : 0, ns);
}

void lock_columns_add_titles(struct strbuf *out, const struct lock_columns *columns, const char *separator)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct figure *figure = &figures[columns->values[i]];
		if (separator)
			strbuf_printf(out, "%s%s ", figure->title, separator);
		else
			strbuf_printf(out, "%*s ", figure->width, figure->title);
	}
}

void lock_columns_add_row(struct strbuf *out, const struct lock_columns *columns, const struct lock_row *row, const char *separator)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct figure *figure = &figures[columns->values[i]];
		uint64_t value = lock_row_value(row, columns->values[i]);
		if (separator)
			strbuf_printf(out, "%" PRIu64 "%s", value, separator);
		else if (figure->is_time)
			add_duration(out, value, figure->width);
		else
			strbuf_add_u64(out, value, (unsigned int)figure->width);
		strbuf_add_char(out, ' ');
	}
}

void lock_add_comm(struct strbuf *out, const struct thread *thread)
{
	text_add_untrusted(out, thread_comm(thread, UINT64_MAX));
}

void lock_add_time(struct strbuf *out, uint64_t ns)
{
	add_duration(out, ns, 0);
}

/* ---- tables ---- */

enum { MOST_SUBJECTS = 6, MOST_CELLS = LOCK_COLUMNS + MOST_SUBJECTS };

/* Who or what rows are about. */
static const struct subject {
	struct column columns[MOST_SUBJECTS];
	size_t count;
} subjects[] = {
	[LOCK_SUBJECT_CALLER] = {{{"type", "Type", COLUMN_TEXT}, {"caller", "Caller", COLUMN_TEXT}}, 2},
	[LOCK_SUBJECT_THREAD] = {{{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT}, {"comm", "Thread", COLUMN_TEXT}}, 2},
	[LOCK_SUBJECT_LOCK] = {{{"address", "Address", COLUMN_ADDRESS}, {"symbol", "Symbol", COLUMN_TEXT}, {"type", "Type", COLUMN_TEXT}},
			       3},
	[LOCK_SUBJECT_CGROUP] = {{{"cgroup", "Cgroup", COLUMN_TEXT}}, 1},
	[LOCK_SUBJECT_NAME] = {{{"name", "Name", COLUMN_TEXT}}, 1},
	[LOCK_SUBJECT_OWNER] = {{{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT}, {"owner", "Owner", COLUMN_TEXT}}, 2},
	[LOCK_SUBJECT_USER_LOCK] = {{{"address", "Address", COLUMN_ADDRESS},
				     {"symbol", "Symbol", COLUMN_TEXT},
				     {"type", "Type", COLUMN_TEXT},
				     {"pid", "PID", COLUMN_COUNT, ALIGN_RIGHT},
				     {"owner_tid", "Owner TID", COLUMN_COUNT, ALIGN_RIGHT},
				     {"owner", "Owner", COLUMN_TEXT}},
				    6},
};

static void add_columns(struct table *table, enum lock_subject about)
{
	for (size_t i = 0; i < LOCK_COLUMNS; i++) {
		enum column_kind kind = figures[i].is_time ? COLUMN_NANOSECONDS : COLUMN_COUNT;
		vec_push(&table->columns, (struct column){figures[i].name, figures[i].title, kind, ALIGN_RIGHT});
	}
	for (size_t i = 0; i < subjects[about].count; i++)
		vec_push(&table->columns, subjects[about].columns[i]);
}

static const struct untrusted *cgroup_path(const struct machine *machine, uint64_t id)
{
	const struct untrusted *path = machine_cgroup(machine, id);
	return path ? path : untrusted("unknown");
}

/* The process, and who released the lock after most of the time: 0 and "" where nobody did. */
static void add_owner_cells(const struct lock_row *row, union cell cells[3])
{
	const struct thread *owner = lock_row_owner(row);
	cells[0].integer = row->thread->pid;
	cells[1].integer = owner ? owner->tid : 0;
	cells[2].text = owner ? untrusted_raw(thread_comm(owner, UINT64_MAX)) : "";
}

static void add_cells(const struct lock_row *row, const struct machine *machine, enum lock_subject about, union cell cells[MOST_CELLS])
{
	for (size_t i = 0; i < LOCK_COLUMNS; i++)
		cells[i].integer = lock_row_value(row, (enum lock_value)i);
	union cell *more = cells + LOCK_COLUMNS;
	switch (about) {
	case LOCK_SUBJECT_CALLER:
		more[0].text = lock_type_name(row->flags);
		more[1].text = row->name;
		break;
	case LOCK_SUBJECT_THREAD:
		more[0].integer = row->thread->tid;
		more[1].text = untrusted_raw(thread_comm(row->thread, UINT64_MAX));
		break;
	case LOCK_SUBJECT_USER_LOCK:
		add_owner_cells(row, more + 3);
		/* fall through */
	case LOCK_SUBJECT_LOCK:
		more[0].integer = row->address;
		more[1].text = row->symbol;
		more[2].text = lock_type_family(row->flags);
		break;
	case LOCK_SUBJECT_CGROUP:
		more[0].text = untrusted_raw(cgroup_path(machine, row->cgroup));
		break;
	case LOCK_SUBJECT_NAME:
		more[0].text = row->name;
		break;
	case LOCK_SUBJECT_OWNER:
		more[0].integer = row->owner;
		more[1].text = row->name;
		break;
	}
}

void lock_add_cgroup(struct strbuf *out, const struct machine *machine, uint64_t id)
{
	text_add_untrusted(out, cgroup_path(machine, id));
}

struct error *lock_print_table(const char *format, const struct machine *machine, struct lock_row *const *rows, size_t count,
			       enum lock_subject about, FILE *file)
{
	struct table *table = table_create();
	table->id = "lock";
	add_columns(table, about);
	for (size_t i = 0; i < count; i++) {
		union cell cells[MOST_CELLS];
		add_cells(rows[i], machine, about, cells);
		table_add_row(table, cells);
	}
	return view_print_table(format, table, file);
}
