/* The page of a whole profile: a frame of elements, and all that was recorded as data of its script (profile.js), packed (packed.h):
 *
 *	title, slices, parts, duration in ns; facts: name, value
 *	events: name, samples, period, least weight of a node, threads that are left out; frames: label, module, kind;
 *		nodes: how far back the parent is (but for the first), then their frames;
 *		cells: node, as the difference to the one before, then slices, then weights;
 *		weights of all parts; lanes of threads, lanes of CPUs: name, weights of all slices
 *	annotations: function, file, event, share × 100; lines: kind, share × 100, address, text
 *
 * Lists begin with their length. The script adds names as text, never as markup. */
#include "view/profile_html.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "view/packed.h"

#include <string.h>

static const char packed_script[] = {
#include "view/packed_script.h"
};
static const char profile_script[] = {
#include "view/profile_script.h"
};
static const char profile_style[] = {
#include "view/profile_style_script.h"
};

static const char page_body[] =
	"<header><h1 id=\"title\">%s</h1><details><summary>What was recorded</summary><dl id=\"facts\"></dl></details></header>\n"
	"<main><div class=\"tools\"><label>Event <select id=\"event\"></select></label>"
	"<input id=\"search\" type=\"search\" placeholder=\"search ( / )\" aria-label=\"search for functions and files\">"
	"<button id=\"reset\" type=\"button\">reset (Esc)</button><span>Time: <b id=\"range\"></b> <span class=\"dim\">drag in the heat map or a "
	"lane to choose a part</span></span></div>\n"
	"<h2>Samples over time</h2><canvas id=\"heat\" aria-label=\"heat map of samples over time; arrow keys move the range\"></canvas>\n"
	"<h2 id=\"cpus-head\">CPUs</h2><canvas id=\"cpus\" aria-label=\"samples of each CPU over time\"></canvas>\n"
	"<h2>Threads <button id=\"more\" type=\"button\"></button></h2><canvas id=\"threads\" aria-label=\"samples of each thread over "
	"time\"></canvas>\n"
	"<h2>Flame graph</h2><div class=\"scroll flames\"><canvas id=\"flames\" role=\"img\"></canvas></div><div id=\"said\" class=\"said\" aria-live=\"polite\"></div>\n"
	"<div class=\"columns\"><section><h2>Functions <span id=\"count\" class=\"dim\"></span></h2><div class=\"scroll\">"
	"<table id=\"functions\"><thead><tr><th data-key=\"self\" data-title=\"Own\"><button type=\"button\">Own</button></th>"
	"<th data-key=\"total\" data-title=\"With callees\"><button type=\"button\">With callees</button></th>"
	"<th data-key=\"name\" data-title=\"Function\"><button type=\"button\">Function</button></th>"
	"<th data-key=\"module\" data-title=\"File\"><button type=\"button\">File</button></th></tr></thead><tbody></tbody></table></div>"
	"</section><section id=\"function\"></section></div>\n"
	"<noscript>This page needs scripts, which are all in it; it loads nothing.</noscript></main>\n";

static void pack_lanes(struct strbuf *out, const struct profile_lane *lanes, size_t count, uint32_t slices)
{
	size_t shown = 0;
	for (size_t i = 0; i < count; i++)
		shown += lanes[i].total > 0;
	packed_add_number(out, shown);
	for (size_t i = 0; i < count; i++) {
		if (!lanes[i].total)
			continue;
		packed_add_text(out, lanes[i].name);
		for (uint32_t slice = 0; slice < slices; slice++)
			packed_add_number(out, lanes[i].weights[slice]);
	}
}

static void pack_tree(struct strbuf *out, const struct profile_event *event)
{
	packed_add_number(out, event->frames.len);
	for (size_t i = 0; i < event->frames.len; i++) {
		packed_add_text(out, event->frames.data[i].label);
		packed_add_text(out, event->frames.data[i].module);
		packed_add_number(out, event->frames.data[i].kind);
	}
	packed_add_number(out, event->nodes.len);
	for (size_t i = 1; i < event->nodes.len; i++)
		packed_add_number(out, i - event->nodes.data[i].parent);
	for (size_t i = 0; i < event->nodes.len; i++)
		packed_add_number(out, event->nodes.data[i].frame);
	packed_add_number(out, event->cells.len);
	for (size_t i = 0; i < event->cells.len; i++)
		packed_add_number(out, event->cells.data[i].node - (i ? event->cells.data[i - 1].node : 0));
	for (size_t i = 0; i < event->cells.len; i++)
		packed_add_number(out, event->cells.data[i].slice);
	for (size_t i = 0; i < event->cells.len; i++)
		packed_add_number(out, event->cells.data[i].weight);
}

static void pack_event(struct strbuf *out, const struct profile_page *profile, const struct profile_event *event)
{
	packed_add_text(out, event->name);
	packed_add_number(out, event->samples);
	packed_add_number(out, event->period);
	packed_add_number(out, event->least);
	packed_add_number(out, event->other_threads);
	pack_tree(out, event);
	for (uint32_t i = 0; i < profile->slices * profile->parts; i++)
		packed_add_number(out, event->parts[i]);
	pack_lanes(out, event->threads.data, event->threads.len, profile->slices);
	pack_lanes(out, event->cpus.data, event->cpus.len, profile->slices);
}

static void pack_line(struct strbuf *out, const struct annotation *annotation, size_t number)
{
	const struct annotation_line *line = &annotation->lines.data[number];
	bool instruction = line->kind == ANNOTATION_INSTRUCTION;
	packed_add_number(out, line->kind);
	packed_add_number(
		out, instruction ? (uint64_t)(100 * annotation_percent(annotation, annotation_value(annotation, number, 0), 0) + 0.5) : 0);
	packed_add_number(out, line->address);
	struct strbuf text = {0};
	if (instruction)
		strbuf_printf(&text, "%-8s %s", line->mnemonic, line->operands);
	else
		strbuf_add_str(&text, line->text ? line->text : "");
	if (line->target_name.name)
		strbuf_printf(&text, "   # %s", line->target_name.name);
	packed_add_text(out, strbuf_str(&text));
	strbuf_deinit(&text);
}

static void pack_annotation(struct strbuf *out, const struct annotation *annotation)
{
	const struct annotation_event *event = &annotation->events[0];
	packed_add_text(out, annotation->function);
	packed_add_text(out, annotation->file);
	packed_add_text(out, event->name);
	packed_add_number(out, event->global.period ? 10000 * event->local.period / event->global.period : 0);
	packed_add_number(out, annotation->lines.len);
	for (size_t i = 0; i < annotation->lines.len; i++)
		pack_line(out, annotation, i);
}

static void pack(struct strbuf *out, const struct profile_page *profile)
{
	packed_add_text(out, profile->title);
	packed_add_number(out, profile->slices);
	packed_add_number(out, profile->parts);
	packed_add_number(out, profile->duration_ns);
	packed_add_number(out, profile->facts.len);
	for (size_t i = 0; i < profile->facts.len; i++) {
		packed_add_text(out, profile->facts.data[i].name);
		packed_add_text(out, profile->facts.data[i].value);
	}
	packed_add_number(out, profile->events.len);
	for (size_t i = 0; i < profile->events.len; i++)
		pack_event(out, profile, &profile->events.data[i]);
	packed_add_number(out, profile->annotations.len);
	for (size_t i = 0; i < profile->annotations.len; i++)
		pack_annotation(out, profile->annotations.data[i]);
}

static void add_page(struct strbuf *text, const struct profile_page *profile)
{
	struct strbuf title = {0};
	text_add_html(&title, profile->title, strlen(profile->title));
	strbuf_printf(text,
		      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src "
		      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<title>%s</title>\n<style>\n%s</style></head><body>\n",
		      strbuf_str(&title), profile_style);
	strbuf_printf(text, page_body, strbuf_str(&title));
	strbuf_deinit(&title);
}

struct error *profile_html_write(const struct profile_page *profile, const struct sink *out)
{
	struct strbuf text = {0}, plain = {0};
	add_page(&text, profile);
	strbuf_add_str(&text, "<script>\nvar PROFILE=\"");
	pack(&plain, profile);
	bool fits = packed_write(&text, &plain);
	strbuf_deinit(&plain);
	strbuf_add_str(&text, "\";\n");
	strbuf_add_str(&text, packed_script);
	strbuf_add_str(&text, profile_script);
	strbuf_add_str(&text, "</script>\n</body></html>\n");
	sink_write(out, text.data, text.len);
	strbuf_deinit(&text);
	int failed = sink_flush(out);
	if (!fits)
		return error_new("not enough memory to compress the page");
	return failed ? error_system(failed, "page") : NULL;
}
