/* A timechart as one HTML page: the data as a script's literal, and timechart.js, which draws the part that is looked at. Nothing is loaded
 * from anywhere, which the page's policy forbids, too.
 *
 *	CHART = {begin, end, kinds: […], power: […], stacks: […], lanes: [{name, title, spans: [begin, length, kind, cpu, stack, …]}, …], wakeups: […]}
 *
 * Times are ns since `begin`; numbers of a span stand one behind the other. */
#include "view/timechart/timechart.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static const char timechart_script[] = {
#include "view/timechart_script.h"
};

enum { FLUSH = 1 << 16 };
enum { FLAG_HIGHLIGHT = 1, FLAG_ERROR = 2 };

struct page {
	const struct timechart *chart;
	const struct timechart_drawing *options;
	const struct sink *sink;
	struct strbuf out;
	struct strbuf stacks;
	struct map64 stack_numbers; /* text → its number, from 1 */
};

static void add_string(struct strbuf *out, const char *text)
{
	text_add_script(out, text, strlen(text));
}

static uint64_t stack_number(struct page *page, const char *stack)
{
	bool is_new;
	if (!stack)
		return 0;
	uint64_t *number = map64_insert(&page->stack_numbers, (uintptr_t)stack, &is_new);
	if (is_new) {
		*number = page->stack_numbers.count;
		strbuf_add_char(&page->stacks, ',');
		add_string(&page->stacks, stack);
	}
	return *number;
}

static void add_span(struct page *page, const struct timechart_row *row, size_t number)
{
	const struct timechart_span *span = &row->spans.data[number];
	const struct timechart_call call = timechart_call_of(row, number);
	uint64_t begin = page->chart->begin;
	unsigned int flags = timechart_highlights(page->options, row, span) ? FLAG_HIGHLIGHT : 0;
	if (call.error)
		flags |= FLAG_ERROR;
	strbuf_printf(&page->out, "%" PRId64 ",%" PRIu64 ",%d,%" PRIu32 ",%u,%" PRIu64 ",", (int64_t)(span->begin - begin),
		      span->end - span->begin, (int)span->kind, span->cpu, flags,
		      stack_number(page, page->chart->stacks.data[span->stack]));
	if (page->chart->io)
		strbuf_printf(&page->out, "%" PRId64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",", call.fd, call.bytes, call.error, call.merges);
	if (page->out.len > FLUSH)
		sink_move(page->sink, &page->out);
}

static void add_lane(struct page *page, const struct timechart_row *row)
{
	struct strbuf label = {0};
	timechart_add_label(&label, page->chart, row);
	strbuf_add_str(&page->out, "{name:");
	add_string(&page->out, strbuf_str(&label));
	strbuf_printf(&page->out, ",tid:%" PRIu32 ",begin:%" PRIu64 ",end:%" PRIu64 ",shown:%d,spans:[", row->tid,
		      row->begin - page->chart->begin, row->end - page->chart->begin, (int)row->shown);
	for (size_t i = 0; i < row->spans.len; i++)
		if (timechart_draws(page->options, row, i))
			add_span(page, row, i);
	strbuf_add_str(&page->out, "]},\n");
	strbuf_deinit(&label);
}

static void add_power(struct page *page)
{
	const struct timechart *chart = page->chart;
	for (size_t i = 0; i < chart->power.len && !page->options->no_power; i++) {
		const struct timechart_power *power = &chart->power.data[i];
		strbuf_printf(&page->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%d,%" PRIu64 ",", power->begin - chart->begin,
			      power->end - power->begin, power->cpu, (int)power->idle, power->state);
	}
}

static void add_wakeups(struct page *page)
{
	const struct timechart *chart = page->chart;
	for (size_t i = 0; i < chart->wakeups.len; i++) {
		const struct timechart_wakeup *wakeup = &chart->wakeups.data[i];
		strbuf_printf(&page->out, "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%d,", wakeup->time - chart->begin, wakeup->waker,
			      wakeup->wakee, (int)wakeup->interrupt);
	}
}

static void add_data(struct page *page)
{
	const struct timechart *chart = page->chart;
	strbuf_printf(&page->out, "var CHART={end:%" PRIu64 ",io:%s,cpus:%" PRIu32 ",khz:%" PRIu64 ",kinds:[", chart->end - chart->begin,
		      chart->io ? "true" : "false", chart->cpu_count, chart->most_khz);
	for (enum timechart_kind kind = 0; kind < TIMECHART_KINDS; kind++)
		strbuf_printf(&page->out, "'%s',", timechart_kind_name(kind));
	strbuf_add_str(&page->out, "],places:[");
	for (uint32_t cpu = 0; cpu < chart->cpu_count; cpu++)
		strbuf_printf(&page->out, "%" PRIu32 ",", chart->cpu_places ? chart->cpu_places[cpu] : cpu);
	strbuf_add_str(&page->out, "],lanes:[\n");
	for (size_t i = 0; i < chart->rows.len; i++)
		if (chart->rows.data[i]->spans.len || chart->rows.data[i]->shown)
			add_lane(page, chart->rows.data[i]);
	strbuf_add_str(&page->out, "],power:[");
	add_power(page);
	strbuf_add_str(&page->out, "],wakeups:[");
	add_wakeups(page);
	strbuf_printf(&page->out, "],stacks:[\"\"%s]};\n", strbuf_str(&page->stacks));
}

struct error *timechart_write_html(const struct timechart *chart, const struct timechart_drawing *options, const struct sink *out)
{
	struct page page = {.chart = chart, .options = options, .sink = out};
	strbuf_add_str(
		&page.out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
		"style-src 'unsafe-inline'\">\n<title>Timechart</title>\n<style>\n"
		"body{margin:0;font:13px sans-serif;background:#fdfcf7;color:#222}#bar{position:sticky;top:0;padding:6px 10px;"
		"background:inherit;z-index:1}#bar *{margin-right:8px}#details{white-space:pre-wrap;min-height:2.5em;padding:0 10px}"
		"canvas{display:block;width:100%;cursor:crosshair}\n"
		"@media(prefers-color-scheme:dark){body{background:#1c1c1e;color:#ddd}}\n</style></head><body>\n"
		"<div id=\"bar\"><button id=\"reset\">all</button><input id=\"search\" placeholder=\"name or tid\" "
		"aria-label=\"search\"><label><input type=\"checkbox\" id=\"every\">all threads</label><span id=\"range\"></span></div>\n"
		"<div id=\"details\"></div><canvas id=\"chart\" tabindex=\"0\" aria-label=\"timechart\"></canvas>\n<script>\n");
	add_data(&page);
	strbuf_add_str(&page.out, timechart_script);
	strbuf_add_str(&page.out, "</script>\n</body></html>\n");
	sink_move(out, &page.out);
	strbuf_deinit(&page.out);
	strbuf_deinit(&page.stacks);
	map64_deinit(&page.stack_numbers);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "timechart") : NULL;
}
