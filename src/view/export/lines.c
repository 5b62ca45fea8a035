/* Columns of samples, and names of functions. */
#include "view/export/lines.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

static struct line_value number(uint64_t value)
{
	return (struct line_value){LINE_NUMBER, .number = value};
}

static struct line_value text(const char *value)
{
	return (struct line_value){value ? LINE_TEXT : LINE_NOTHING, .text = value};
}

static struct line_value value_time(const struct samples *samples, const struct samples_row *row)
{
	(void)samples;
	return number(row->time);
}

static struct line_value value_event(const struct samples *samples, const struct samples_row *row)
{
	return text(samples->events.data[row->event].name);
}

static struct line_value value_comm(const struct samples *samples, const struct samples_row *row)
{
	return text(samples->actors.data[row->actor].comm);
}

static struct line_value value_pid(const struct samples *samples, const struct samples_row *row)
{
	return number(samples_row_thread(samples, row)->pid);
}

static struct line_value value_tid(const struct samples *samples, const struct samples_row *row)
{
	return number(samples_row_thread(samples, row)->tid);
}

static struct line_value value_cpu(const struct samples *samples, const struct samples_row *row)
{
	(void)samples;
	return row->cpu == SAMPLES_NONE ? text(NULL) : number(row->cpu);
}

static struct line_value value_period(const struct samples *samples, const struct samples_row *row)
{
	(void)samples;
	return number(row->period);
}

static const struct samples_frame *frame_of(const struct samples *samples, const struct samples_row *row)
{
	return &samples->frames.data[row->frame];
}

static const struct samples_function *function_of(const struct samples *samples, const struct samples_row *row)
{
	return &samples->functions.data[frame_of(samples, row)->function];
}

static struct line_value value_address(const struct samples *samples, const struct samples_row *row)
{
	return (struct line_value){LINE_ADDRESS, .number = frame_of(samples, row)->address};
}

static struct line_value value_symbol(const struct samples *samples, const struct samples_row *row)
{
	return text(function_of(samples, row)->name);
}

static struct line_value value_dso(const struct samples *samples, const struct samples_row *row)
{
	uint32_t file = function_of(samples, row)->file;
	return text(file == SAMPLES_NONE ? NULL : samples->files.data[file].name);
}

static struct line_value value_source(const struct samples *samples, const struct samples_row *row)
{
	return text(frame_of(samples, row)->source_file);
}

static struct line_value value_line(const struct samples *samples, const struct samples_row *row)
{
	uint32_t line = frame_of(samples, row)->line;
	return line ? number(line) : text(NULL);
}

const struct line_column line_columns[] = {
	{"time", LINE_COLUMN_U64, value_time},
	{"event", LINE_COLUMN_TEXT, value_event},
	{"comm", LINE_COLUMN_TEXT, value_comm},
	{"pid", LINE_COLUMN_U32, value_pid},
	{"tid", LINE_COLUMN_U32, value_tid},
	{"cpu", LINE_COLUMN_U32, value_cpu},
	{"period", LINE_COLUMN_U64, value_period},
	{"address", LINE_COLUMN_U64, value_address},
	{"symbol", LINE_COLUMN_TEXT, value_symbol},
	{"dso", LINE_COLUMN_TEXT, value_dso},
	{"source", LINE_COLUMN_TEXT, value_source},
	{"line", LINE_COLUMN_U32, value_line},
	{NULL},
};

/* ---- names ---- */

void line_add_frame(struct strbuf *out, const char *name)
{
	size_t from = out->len;
	text_add_safe(out, name, strlen(name));
	for (char *at = out->data + from; at && (at = strchr(at, ';')); at++)
		*at = ':';
}

void line_names_init(struct line_names *names, const struct samples *samples, void (*add)(struct strbuf *out, const char *name))
{
	*names = (struct line_names){.ends = mem_alloc_array(samples->functions.len + 1, sizeof(*names->ends))};
	for (size_t i = 0; i < samples->functions.len; i++) {
		add(&names->texts, samples->functions.data[i].name);
		names->ends[i] = names->texts.len;
	}
}

void line_names_deinit(struct line_names *names)
{
	strbuf_deinit(&names->texts);
	free(names->ends);
}

void line_names_add_stack(const struct line_names *names, const struct samples *samples, uint32_t stack, char between, samples_path *path,
			  struct strbuf *out)
{
	samples_stack_path(samples, stack, path);
	for (size_t i = 0; i < path->len; i++) {
		uint32_t function = samples->frames.data[path->data[i]].function;
		size_t begin = function ? names->ends[function - 1] : 0;
		if (i)
			strbuf_add_char(out, between);
		strbuf_add(out, strbuf_str(&names->texts) + begin, names->ends[function] - begin);
	}
}
