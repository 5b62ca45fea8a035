/* A timechart as SVG: a band for each CPU, then one for each row.
 *
 *	        ┌── 100 ms ──┬────────────┬───
 *	 CPU 0  │▒▒▒ idle ▒▒▒│██ sort ████│
 *	 CPU 1  │            │▒▒▒▒        │
 *	        │            │            │
 *	 sort   │      ░░████████░░░██████│       ▒ waits, ░ blocked, █ runs
 *	                  ↑ woken
 */
#include "view/timechart/timechart.h"

#include "base/digits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X_DIGITS = 8 }; /* behind the point */
enum { SLOT = 30, CPU_HEIGHT = 55, ROW_HEIGHT = 25, LEGEND = 12, FLUSH = 1 << 16 };
enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000, ROUND = 100 * NS_PER_MS };
enum { BAND_TEXT = 32 }; /* room of an attribute that is a height */

struct drawing {
	const struct timechart *chart;
	const struct timechart_drawing *options;
	const struct sink *sink;
	struct strbuf out;
	uint64_t origin;		    /* time of the left edge */
	const struct timechart_row *titled; /* `title` is how the titles of its spans begin: "sort:4711 " */
	struct strbuf title;
	struct band *cpu_bands; /* of CPUs */
};

/* ---- shared with the page ---- */

const char *timechart_kind_name(enum timechart_kind kind)
{
	static const char *const names[] = {
		[TIMECHART_RUNNING] = "running", [TIMECHART_WAITING] = "waiting", [TIMECHART_BLOCKED] = "blocked",
		[TIMECHART_READ] = "read",	 [TIMECHART_WRITE] = "write",	  [TIMECHART_SYNC] = "sync",
		[TIMECHART_SEND] = "send",	 [TIMECHART_RECEIVE] = "receive", [TIMECHART_POLL] = "poll",
	};
	return names[kind];
}

bool timechart_draws(const struct timechart_drawing *drawing, const struct timechart_row *row, size_t span)
{
	return !(drawing->no_eagain && timechart_call_of(row, span).error == -EAGAIN);
}

bool timechart_highlights(const struct timechart_drawing *drawing, const struct timechart_row *row, const struct timechart_span *span)
{
	if (span->kind != TIMECHART_RUNNING)
		return false;
	return (drawing->highlight_ns && span->end - span->begin > drawing->highlight_ns) ||
	       (drawing->highlight && strstr(untrusted_raw(row->comm), drawing->highlight));
}

static void add_bytes(struct strbuf *out, uint64_t bytes)
{
	enum { STEP = 1024 };
	static const char *const units[] = {"", "K", "M", "G", "T"};
	double value = (double)bytes;
	size_t unit = 0;
	for (; value > STEP && unit < sizeof(units) / sizeof(*units) - 1; unit++)
		value /= STEP;
	strbuf_printf(out, "%.1f %sbytes", value, units[unit]);
}

void timechart_add_label(struct strbuf *out, const struct timechart *chart, const struct timechart_row *row)
{
	enum { LONG_NS = 5 };
	uint64_t time = row->times[TIMECHART_RUNNING];
	const char *comm = untrusted_raw(row->comm);
	strbuf_add(out, comm, strlen(comm));
	strbuf_printf(out, ":%" PRIu32 " (", row->tid);
	if (chart->io)
		add_bytes(out, row->bytes);
	else if (time > (uint64_t)LONG_NS * NS_PER_S)
		strbuf_printf(out, "%.2fs", (double)time / NS_PER_S);
	else
		strbuf_printf(out, "%.1fms", (double)time / NS_PER_MS);
	strbuf_add_char(out, ')');
}

/* ---- places ---- */

static double x_of(const struct drawing *drawing, uint64_t time)
{
	uint64_t whole = drawing->chart->end - drawing->origin;
	return time < drawing->origin || !whole ? 0 : drawing->options->width * (double)(time - drawing->origin) / (double)whole;
}

static uint32_t cpu_rows(const struct timechart *chart)
{
	return chart->io ? 0 : chart->cpu_count;
}

static unsigned int cpu_y(const struct drawing *drawing, uint32_t cpu)
{
	const struct timechart *chart = drawing->chart;
	return SLOT + 2 * SLOT * (chart->cpu_places ? chart->cpu_places[cpu] : cpu);
}

static unsigned int row_y(const struct drawing *drawing, const struct timechart_row *row)
{
	return SLOT * (2 * cpu_rows(drawing->chart) + (drawing->chart->io ? 1 : 2)) + SLOT * (unsigned int)row->place;
}

static unsigned int height(const struct drawing *drawing)
{
	return SLOT * (2 * cpu_rows(drawing->chart) + 2) + SLOT * (unsigned int)drawing->chart->shown;
}

/* ---- parts ---- */

static void add_html(struct strbuf *out, const char *text)
{
	text_add_html(out, text, strlen(text));
}

/* An attribute, of millions: text of a known length and a number, where there is room for ATTRIBUTE bytes. Returns the end. */
enum { ATTRIBUTE = 128 };
static inline char *put_number(char *to, const char *before, size_t length, double value, unsigned int digits)
{
	memcpy(to, before, length);
	char *end = digits_put_fixed(to + length, value, digits);
	return end ? end : to + length + snprintf(to + length, ATTRIBUTE - length, "%.*f", (int)digits, value);
}
#define PUT_NUMBER(to, before, value, digits) put_number(to, before, sizeof(before) - 1, value, digits)

static void add_duration(struct strbuf *out, uint64_t ns)
{
	char *start = strbuf_reserve(out, ATTRIBUTE), *end;
	if (ns < NS_PER_MS)
		end = PUT_NUMBER(start, "", (double)ns / NS_PER_US, 1);
	else
		end = PUT_NUMBER(start, "", (double)ns / NS_PER_MS, 1);
	memcpy(end, ns < NS_PER_MS ? " us" : " ms", 3);
	strbuf_advance(out, (size_t)(end + 3 - start));
}

/* How high rectangles lie, as text: the same for many, one after the other. */
struct band {
	struct {
		char text[BAND_TEXT]; /* copied as a whole, of which `length` bytes count */
		size_t length;
	} y, tall;
};

static struct band band_of(double y, double tall)
{
	char text[2 * ATTRIBUTE] = "";
	struct band band = {0};
	band.y.length = (size_t)(PUT_NUMBER(text, "\" y=\"", y, 1) - text);
	memcpy(band.y.text, text, BAND_TEXT);
	band.tall.length = (size_t)(PUT_NUMBER(text, "\" height=\"", tall, 1) - text);
	memcpy(band.tall.text, text, BAND_TEXT);
	return band;
}

/* The beginning of a rectangle, up to its title's text; add_end() is what belongs behind that. */
static void add_box(struct drawing *drawing, const char *class, uint64_t begin, uint64_t end, const struct band *band)
{
	enum { ATTRIBUTES = 4 };
	struct strbuf *out = &drawing->out;
	double x = x_of(drawing, begin);
	strbuf_add_literal(out, "<rect class=\"");
	strbuf_add_str(out, class);
	char *start = strbuf_reserve(out, (size_t)ATTRIBUTES * ATTRIBUTE), *to = start;
	to = PUT_NUMBER(to, "\" x=\"", x, X_DIGITS);
	memcpy(to, band->y.text, BAND_TEXT);
	to += band->y.length;
	to = PUT_NUMBER(to, "\" width=\"", x_of(drawing, end) - x, X_DIGITS);
	memcpy(to, band->tall.text, BAND_TEXT);
	to += band->tall.length;
	strbuf_advance(out, (size_t)(to - start));
	strbuf_add_literal(out, "\"><title>");
}

static void add_end(struct drawing *drawing)
{
	strbuf_add_literal(&drawing->out, "</title></rect>\n");
	if (drawing->out.len > FLUSH)
		sink_move(drawing->sink, &drawing->out);
}

static void add_head(struct drawing *drawing)
{
	strbuf_printf(
		&drawing->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" height=\"%u\" font-family=\"sans-serif\" "
		"font-size=\"10\">\n<style>\n"
		".cpu{fill:#8883}.process{fill:#8884}.idle{fill:#d33}.idle1{opacity:.15}.idle2{opacity:.3}.idle3{opacity:.45}\n"
		".running{fill:#27c}.highlight{fill:#f80}.waiting{fill:#eb0}.blocked{fill:#d33a}.frequency{stroke:#c9c;stroke-width:2}\n"
		".read,.write{fill:#27c9}.sync{fill:#8809}.send,.receive{fill:#2829}.poll{fill:#0882}.error{fill:#d33}\n"
		".grid{stroke:#8884;stroke-width:.5}.wakeup{stroke:#2a2;stroke-width:.5}\n</style>\n",
		drawing->options->width, height(drawing));
}

static void add_legend(struct drawing *drawing)
{
	static const struct {
		const char *class, *text;
		bool io;
	} entries[] = {
		{"running", "running", false},
		{"idle idle1", "idle", false},
		{"idle idle3", "deeper idle", false},
		{"waiting", "waiting for a CPU", false},
		{"blocked", "blocked", false},
		{"read", "disk", true},
		{"send", "network", true},
		{"sync", "sync", true},
		{"poll", "poll", true},
		{"error", "error", true},
	};
	enum { STEP = 120, GAP = 4 };
	unsigned int x = 0;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (entries[i].io != drawing->chart->io)
			continue;
		strbuf_printf(&drawing->out,
			      "<g class=\"legend\"><path class=\"%s\" d=\"M%u 0h%uv%uh-%uz\"/><text x=\"%u\" y=\"%u\">%s</text></g>\n",
			      entries[i].class, x, LEGEND, LEGEND, LEGEND, x + LEGEND + GAP, LEGEND - 2, entries[i].text);
		x += STEP;
	}
}

/* Between ten and a hundred lines at round times, every tenth with its time since the left edge. */
static void add_grid(struct drawing *drawing)
{
	enum { LEAST = 10, TENTH = 10, LABEL_Y = 24 };
	uint64_t whole = drawing->chart->end - drawing->origin, step = 1;
	while (whole / step / LEAST >= LEAST)
		step *= TENTH;
	for (uint64_t line = 0; line <= whole / step; line++) {
		double x = x_of(drawing, drawing->origin + line * step);
		strbuf_printf(&drawing->out, "<path class=\"grid\" d=\"M%.2f %uV%u\"/>\n", x, SLOT / 2, height(drawing));
		if (line % TENTH)
			continue;
		strbuf_printf(&drawing->out, "<text class=\"time\" x=\"%.2f\" y=\"%u\">", x, LABEL_Y);
		strbuf_printf(&drawing->out, step >= NS_PER_MS / TENTH ? "%.0f ms" : "%.3f ms", (double)(line * step) / NS_PER_MS);
		strbuf_add_str(&drawing->out, "</text>\n");
	}
}

static void add_text(struct drawing *drawing, const char *class, double x, double y, const char *text)
{
	strbuf_printf(&drawing->out, "<text class=\"%s\" x=\"%.2f\" y=\"%.1f\">", class, x, y);
	add_html(&drawing->out, text);
	strbuf_add_str(&drawing->out, "</text>\n");
}

/* ---- CPUs ---- */

static void add_cpu(struct drawing *drawing, uint32_t cpu)
{
	enum { TEXT_X = 10, TEXT_Y = 12 };
	const struct timechart *chart = drawing->chart;
	struct strbuf name = {0};
	strbuf_printf(&name, "CPU %" PRIu32, cpu);
	add_box(drawing, "cpu", drawing->origin, chart->end, &drawing->cpu_bands[cpu]);
	add_html(&drawing->out, chart->cpu_name ? chart->cpu_name : strbuf_str(&name));
	add_end(drawing);
	add_text(drawing, "cpu-name", TEXT_X, cpu_y(drawing, cpu) + TEXT_Y, strbuf_str(&name));
	strbuf_deinit(&name);
}

static void add_stack(struct strbuf *out, const char *stack)
{
	while (stack && *stack) {
		size_t length = strcspn(stack, "\n");
		strbuf_add_char(out, '\n');
		text_add_html(out, stack, length);
		stack += length + (stack[length] == '\n');
	}
}

static void add_who(struct strbuf *out, const struct timechart_row *row, uint32_t tid, const char *open, const char *close)
{
	if (row)
		add_html(out, untrusted_raw(row->comm));
	strbuf_add_str(out, open);
	strbuf_add_u64(out, tid, 0);
	strbuf_add_str(out, close);
}

/* Spans of a row come one after the other. */
static void add_titled(struct drawing *drawing, const struct timechart_row *row)
{
	if (drawing->titled != row) {
		strbuf_clear(&drawing->title);
		add_who(&drawing->title, row, row->tid, ":", " ");
		drawing->titled = row;
	}
	strbuf_add(&drawing->out, drawing->title.data, drawing->title.len);
}

/* What a span says when the pointer rests on it. */
static void add_span_title(struct drawing *drawing, const struct timechart_row *row, size_t number)
{
	const struct timechart_span *span = &row->spans.data[number];
	const struct timechart_call call = timechart_call_of(row, number);
	static const char *const places[] = {[TIMECHART_RUNNING] = "running on CPU ",
					     [TIMECHART_WAITING] = "waiting for CPU ",
					     [TIMECHART_BLOCKED] = "blocked until woken on CPU "};
	struct strbuf *out = &drawing->out;
	if (span->kind > TIMECHART_BLOCKED) {
		strbuf_printf(out, "%s fd=%" PRId64 " bytes=%" PRIu64 " error=%" PRId64 " merges=%" PRIu64 " ",
			      timechart_kind_name(span->kind), call.fd, call.bytes, call.error, call.merges);
	} else {
		add_titled(drawing, row);
		strbuf_add_str(out, places[span->kind]);
		strbuf_add_u64(out, span->cpu, 0);
		strbuf_add_char(out, ' ');
	}
	add_duration(out, span->end - span->begin);
	add_stack(out, drawing->chart->stacks.data[span->stack]);
}

/* What ran on each CPU. */
static void add_runs(struct drawing *drawing, const struct timechart_row *row)
{
	for (size_t i = 0; i < row->spans.len; i++) {
		const struct timechart_span *span = &row->spans.data[i];
		if (span->kind != TIMECHART_RUNNING || span->cpu >= drawing->chart->cpu_count)
			continue;
		add_box(drawing, timechart_highlights(drawing->options, row, span) ? "running highlight" : "running", span->begin,
			span->end, &drawing->cpu_bands[span->cpu]);
		add_span_title(drawing, row, i);
		add_end(drawing);
	}
}

static void add_frequency(struct drawing *drawing, const struct timechart_power *power)
{
	enum { KHZ_PER_MHZ = 1000 };
	double share = drawing->chart->most_khz ? (double)power->state / (double)drawing->chart->most_khz : 0;
	double y = cpu_y(drawing, power->cpu) + CPU_HEIGHT * (1 - share);
	strbuf_printf(&drawing->out, "<path class=\"frequency\" d=\"M%.2f %.1fH%.2f\"><title>%.0f MHz</title></path>\n",
		      x_of(drawing, power->begin), y, x_of(drawing, power->end), (double)power->state / KHZ_PER_MHZ);
}

static void add_power(struct drawing *drawing)
{
	enum { CLASSES = 3 };
	const struct timechart *chart = drawing->chart;
	for (size_t i = 0; i < chart->power.len; i++) {
		const struct timechart_power *power = &chart->power.data[i];
		if (power->cpu >= chart->cpu_count)
			continue;
		if (!power->idle) {
			add_frequency(drawing, power);
			continue;
		}
		static const char *const classes[] = {"idle idle1", "idle idle2", "idle idle3"};
		uint64_t class = power->state > CLASSES ? CLASSES : power->state ? power->state : 1;
		add_box(drawing, classes[class - 1], power->begin, power->end, &drawing->cpu_bands[power->cpu]);
		strbuf_printf(&drawing->out, "idle C%" PRIu64 " ", power->state);
		add_duration(&drawing->out, power->end - power->begin);
		add_end(drawing);
	}
}

/* ---- rows ---- */

/* Of a system call: incoming data hang from above, outgoing ones stand below; the more, the taller. */
static void add_call(struct drawing *drawing, const struct timechart_row *row, size_t number)
{
	const struct timechart_span *span = &row->spans.data[number];
	const struct timechart_call call = timechart_call_of(row, number);
	static const double least = 0.1, half = 0.5;
	bool outgoing = span->kind == TIMECHART_WRITE || span->kind == TIMECHART_SEND || span->kind == TIMECHART_SYNC;
	double share = row->most_bytes ? (double)call.bytes / (double)row->most_bytes * half : 0;
	double tall = ROW_HEIGHT * (span->kind == TIMECHART_POLL ? 1 : share < least ? least : share);
	double y = row_y(drawing, row) + (outgoing ? ROW_HEIGHT - tall : 0);
	const struct band band = band_of(y, tall);
	add_box(drawing, call.error ? "error" : timechart_kind_name(span->kind), span->begin, span->end, &band);
}

static void add_row(struct drawing *drawing, const struct timechart_row *row)
{
	enum { TEXT_Y = 12 };
	const struct band band = band_of(row_y(drawing, row), ROW_HEIGHT);
	struct strbuf label = {0};
	timechart_add_label(&label, drawing->chart, row);
	strbuf_printf(&drawing->out, "<g class=\"row\" data-row=\"%zu\">\n", row->place);
	add_box(drawing, "process", row->begin, row->end, &band);
	add_html(&drawing->out, strbuf_str(&label));
	add_end(drawing);
	for (size_t i = 0; i < row->spans.len; i++) {
		const struct timechart_span *span = &row->spans.data[i];
		if (!timechart_draws(drawing->options, row, i))
			continue;
		if (span->kind > TIMECHART_BLOCKED)
			add_call(drawing, row, i);
		else
			add_box(drawing,
				timechart_highlights(drawing->options, row, span) ? "running highlight" : timechart_kind_name(span->kind),
				span->begin, span->end, &band);
		add_span_title(drawing, row, i);
		add_end(drawing);
	}
	add_text(drawing, "label", x_of(drawing, row->begin), row_y(drawing, row) + TEXT_Y, strbuf_str(&label));
	strbuf_add_str(&drawing->out, "</g>\n");
	strbuf_deinit(&label);
}

/* A line from the one who woke to the one who was woken; a short one above this when the other isn't shown. */
static void add_wakeup(struct drawing *drawing, const struct timechart_wakeup *wakeup)
{
	const struct timechart_row *from = wakeup->waker_row, *woken = wakeup->wakee_row;
	bool seen = from && from->shown && !wakeup->interrupt && from != woken;
	if (!woken || !woken->shown)
		return;
	double x = x_of(drawing, wakeup->time), end = row_y(drawing, woken);
	double begin = seen ? row_y(drawing, from) + (from->place < woken->place ? ROW_HEIGHT : 0) : end - (SLOT - ROW_HEIGHT);
	if (seen && from->place > woken->place)
		end += ROW_HEIGHT;
	enum { ATTRIBUTES = 3 };
	char *start = strbuf_reserve(&drawing->out, (size_t)ATTRIBUTES * ATTRIBUTE), *to = start;
	to = PUT_NUMBER(to, "<path class=\"wakeup\" d=\"M", x, X_DIGITS);
	to = PUT_NUMBER(to, " ", begin, 1);
	to = PUT_NUMBER(to, "V", end, 1);
	strbuf_advance(&drawing->out, (size_t)(to - start));
	strbuf_add_literal(&drawing->out, "\"><title>");
	if (wakeup->interrupt)
		strbuf_add_literal(&drawing->out, "an interrupt");
	else
		add_who(&drawing->out, from, wakeup->waker, "[", "]");
	strbuf_add_literal(&drawing->out, " wakes up ");
	add_who(&drawing->out, woken, wakeup->wakee, "[", "]");
	add_stack(&drawing->out, drawing->chart->stacks.data[wakeup->stack]);
	strbuf_add_literal(&drawing->out, "</title></path>\n");
	if (drawing->out.len > FLUSH)
		sink_move(drawing->sink, &drawing->out);
}

static void add_cpus(struct drawing *drawing)
{
	const struct timechart *chart = drawing->chart;
	drawing->cpu_bands = mem_alloc_array(chart->cpu_count, sizeof(*drawing->cpu_bands));
	for (uint32_t cpu = 0; cpu < chart->cpu_count; cpu++)
		drawing->cpu_bands[cpu] = band_of(cpu_y(drawing, cpu), CPU_HEIGHT);
	for (uint32_t cpu = 0; cpu < cpu_rows(chart); cpu++)
		add_cpu(drawing, cpu);
	for (size_t i = 0; i < chart->rows.len && !chart->io; i++)
		add_runs(drawing, chart->rows.data[i]);
	if (!chart->io && !drawing->options->no_power)
		add_power(drawing);
}

struct error *timechart_write_svg(const struct timechart *chart, const struct timechart_drawing *options, const struct sink *out)
{
	struct drawing drawing = {.chart = chart, .options = options, .sink = out, .origin = chart->begin / ROUND * ROUND};
	add_head(&drawing);
	add_grid(&drawing);
	add_legend(&drawing);
	add_cpus(&drawing);
	for (size_t i = 0; i < chart->rows.len; i++)
		if (chart->rows.data[i]->shown)
			add_row(&drawing, chart->rows.data[i]);
	for (size_t i = 0; i < chart->wakeups.len && !chart->io; i++)
		add_wakeup(&drawing, &chart->wakeups.data[i]);
	strbuf_add_str(&drawing.out, "</svg>\n");
	sink_move(out, &drawing.out);
	strbuf_deinit(&drawing.out);
	strbuf_deinit(&drawing.title);
	free(drawing.cpu_bands);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "timechart") : NULL;
}
