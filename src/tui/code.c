/* A function's instructions on a screen (code.h).
 *
 *	      Percent       what the view writes
 *	        0.10        test   %edi,%edi
 *	  +-                ↓ jle    31             the chosen line is a jump: the bar leads to its target
 *	  |    30.66        mov    s,%rcx
 *	 2+>          31:   ← ret                   two jumps lead here (J)
 */
#include "tui/code.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct code_window {
	struct terminal *terminal;
	struct code_source source;
	VEC(size_t) shown;   /* numbers of lines */
	VEC(size_t) hottest; /* of instructions with samples, the hottest first */
	uint32_t *jumps;     /* by line: how many lead there */
	size_t at, top;	     /* in `shown` */
	bool no_source, no_arrows, counts;
	char *wanted;
	struct strbuf note;
};

static const struct key_help keys[] = {
	{"", "Moving"},
	{"Up, Down, PgUp, PgDn", "one line, one page"},
	{"Home, End", "the first line, the last one"},
	{"H", "the hottest instruction"},
	{"Tab, Shift-Tab", "the next hottest, the one before"},
	{"Enter, Right", "go where the jump goes, or into the function that is called"},
	{">, <", "the next function, the one before: the hottest comes first"},
	{"Esc, q, Left", "back"},
	{"", "Finding"},
	{"/, ?", "a text, downwards or upwards"},
	{"n, N", "the same again, in the other direction"},
	{"", "What is shown"},
	{"s", "source text, or none"},
	{"o, f", "offsets and names, or addresses as in the file"},
	{"O", "offsets of jumps' targets; of calls as well; of all instructions"},
	{"k", "numbers of source lines"},
	{"l", "whole places of source lines: file and number"},
	{"t", "percentages, numbers of samples, sums of periods"},
	{"b", "shares of periods, or of samples"},
	{"p", "shares of the function, or of the whole recording"},
	{"c", "the least and the most cycles of a block, or only the average (of branch records with cycles)"},
	{"B", "what the letters of branch counters stand for (of branch records with counters)"},
	{"T", "the type and member of the data that an instruction accesses (of programs with debug information)"},
	{"j", "the bar from a jump to its target"},
	{"J", "how many jumps lead to a line"},
	{"P", "print to a file FUNCTION.annotation"},
	{"r", "run a script on what the table shows (opened from a recording's table)"},
	{"h, F1", "this help"},
	{0},
};

/* ---- lines ---- */

static const struct annotation_line *line_at(const struct code_window *code, size_t shown)
{
	return &code->source.annotation->lines.data[code->shown.data[shown]];
}

/* Where a line is among those that are shown; the next one where it isn't. */
static size_t find_shown(const struct code_window *code, size_t line)
{
	for (size_t i = 0; i < code->shown.len; i++)
		if (code->shown.data[i] >= line)
			return i;
	return code->shown.len ? code->shown.len - 1 : 0;
}

/* The cursor stays on its line. */
static void choose_lines(struct code_window *code)
{
	const struct annotation *annotation = code->source.annotation;
	size_t line = code->at < code->shown.len ? code->shown.data[code->at] : 0;
	code->shown.len = 0;
	for (size_t i = 0; i < annotation->lines.len; i++)
		if (!code->no_source || annotation->lines.data[i].kind == ANNOTATION_INSTRUCTION)
			vec_push(&code->shown, i);
	code->at = find_shown(code, line);
}

static int hotter(const void *a, const void *b, void *context)
{
	const struct annotation *annotation = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	double p = annotation_percent(annotation, annotation_value(annotation, x, 0), 0),
	       q = annotation_percent(annotation, annotation_value(annotation, y, 0), 0);
	return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

static void find_hottest(struct code_window *code)
{
	const struct annotation *annotation = code->source.annotation;
	code->hottest.len = 0;
	for (size_t i = 0; i < annotation->lines.len; i++)
		if (annotation->lines.data[i].kind == ANNOTATION_INSTRUCTION && annotation_value(annotation, i, 0)->samples)
			vec_push(&code->hottest, i);
	if (code->hottest.len)
		qsort_r(code->hottest.data, code->hottest.len, sizeof(size_t), hotter, (void *)annotation);
}

static void go_hottest(struct code_window *code, size_t rank)
{
	if (rank < code->hottest.len)
		code->at = find_shown(code, code->hottest.data[rank]);
}

/* From the rank of the chosen line on; from none to the hottest. */
static void step_hottest(struct code_window *code, bool next)
{
	size_t count = code->hottest.len, line = code->shown.len ? code->shown.data[code->at] : 0;
	for (size_t i = 0; i < count; i++)
		if (code->hottest.data[i] == line) {
			go_hottest(code, (i + (next ? 1 : count - 1)) % count);
			return;
		}
	go_hottest(code, 0);
}

struct code_window *code_create(struct terminal *terminal, const struct code_source *source)
{
	struct code_window *code = mem_zalloc(sizeof(*code));
	const struct annotation *annotation = source->annotation;
	code->terminal = terminal;
	code->source = *source;
	code->jumps = mem_zalloc_array(annotation->lines.len + 1, sizeof(*code->jumps));
	for (size_t i = 0; i < annotation->lines.len; i++) {
		const struct annotation_line *line = &annotation->lines.data[i];
		if (line->kind == ANNOTATION_INSTRUCTION && line->flow == FLOW_JUMP && line->target_line < annotation->lines.len)
			code->jumps[line->target_line]++;
	}
	choose_lines(code);
	find_hottest(code);
	go_hottest(code, 0);
	return code;
}

void code_destroy(struct code_window *code)
{
	if (!code)
		return;
	vec_deinit(&code->shown);
	vec_deinit(&code->hottest);
	free(code->jumps);
	free(code->wanted);
	strbuf_deinit(&code->note);
	free(code);
}

void code_note(struct code_window *code, const char *text)
{
	strbuf_clear(&code->note);
	strbuf_add_str(&code->note, text);
}

/* ---- drawing ---- */

enum { GUTTER = 5 };

/* Lines above the code: with titles of columns where there are some that don't explain themselves. */
static int head_lines(const struct code_window *code)
{
	return code->source.annotation->cycles && code->source.annotation->style.compact ? 3 : 2;
}

static size_t page_lines(const struct code_window *code)
{
	int lines = terminal_lines(code->terminal) - head_lines(code) - 1;
	return lines > 1 ? (size_t)lines : 1;
}

/* Where the chosen jump leads among the lines that are shown, or CODE_BACK. */
static size_t chosen_target(const struct code_window *code)
{
	const struct annotation_line *line = code->shown.len ? line_at(code, code->at) : NULL;
	if (!line || line->kind != ANNOTATION_INSTRUCTION || line->flow != FLOW_JUMP ||
	    line->target_line >= code->source.annotation->lines.len)
		return CODE_BACK;
	return find_shown(code, line->target_line);
}

/* How many jumps lead here, and the bar of the chosen jump. */
static void add_gutter(const struct code_window *code, size_t shown, size_t target, struct strbuf *out)
{
	uint32_t jumps = code->jumps[code->shown.data[shown]];
	size_t first = target < code->at ? target : code->at, last = target < code->at ? code->at : target;
	if (code->counts && jumps)
		strbuf_printf(out, "%2u", jumps);
	else
		strbuf_add_str(out, "  ");
	if (code->no_arrows || target == CODE_BACK || shown < first || shown > last)
		strbuf_add_str(out, "   ");
	else
		strbuf_add_str(out, shown == target ? "+> " : shown == code->at ? "+- " : "|  ");
}

static enum terminal_style style_of(const struct code_window *code, size_t shown)
{
	const struct annotation *annotation = code->source.annotation;
	size_t line = code->shown.data[shown];
	if (shown == code->at)
		return STYLE_CURSOR;
	if (annotation->lines.data[line].kind != ANNOTATION_INSTRUCTION)
		return STYLE_FRAME;
	double percent = annotation_percent(annotation, annotation_value(annotation, line, 0), 0);
	return percent >= 5 ? STYLE_HOT : percent > 0.5 ? STYLE_WARM : STYLE_PLAIN;
}

static void draw_line(const struct code_window *code, int at, size_t shown, size_t target)
{
	struct strbuf gutter = {0}, text = {0};
	int columns = terminal_columns(code->terminal);
	add_gutter(code, shown, target, &gutter);
	code->source.text(code->source.context, code->shown.data[shown], &text);
	terminal_put(code->terminal, at, 0, GUTTER, STYLE_DIM, strbuf_str(&gutter));
	terminal_put(code->terminal, at, GUTTER, columns - GUTTER, style_of(code, shown), strbuf_str(&text));
	strbuf_deinit(&gutter);
	strbuf_deinit(&text);
}

static void draw_head(const struct code_window *code)
{
	struct strbuf text = {0};
	int columns = terminal_columns(code->terminal);
	code->source.text(code->source.context, CODE_HEAD, &text);
	char *rest = text.data;
	for (int i = 0; i < head_lines(code) && rest; i++) {
		terminal_put(code->terminal, i, 0, columns, i ? STYLE_HEADER : STYLE_TITLE, "");
		terminal_put(code->terminal, i, i < 2 ? 0 : GUTTER, columns, i ? STYLE_HEADER : STYLE_TITLE, strsep(&rest, "\n"));
	}
	strbuf_deinit(&text);
}

/* Moves the page so that the cursor is on it: by a line where it was on the next one, else so that as much is seen before it as behind. */
static void follow_cursor(struct code_window *code, size_t page)
{
	size_t last_top = code->shown.len > page ? code->shown.len - page : 0;
	if (code->at + 1 == code->top)
		code->top = code->at;
	else if (code->at == code->top + page)
		code->top++;
	else if (code->at < code->top || code->at > code->top + page)
		code->top = code->at > page / 2 ? code->at - page / 2 : 0;
	if (code->top > last_top)
		code->top = last_top;
}

static void draw(struct code_window *code)
{
	size_t page = page_lines(code), target = chosen_target(code);
	struct strbuf status = {0};
	follow_cursor(code, page);
	terminal_clear(code->terminal);
	draw_head(code);
	for (size_t i = 0; i < page && code->top + i < code->shown.len; i++)
		draw_line(code, head_lines(code) + (int)i, code->top + i, target);
	if (code->note.len)
		strbuf_add(&status, code->note.data, code->note.len);
	else
		strbuf_add_str(&status, "h: help   Tab: next hottest   Enter: follow   s: source   /: find   q: back");
	status_put(code->terminal, strbuf_str(&status), terminal_columns(code->terminal));
	terminal_show(code->terminal, 0, -1);
	strbuf_deinit(&status);
}

/* ---- finding ---- */

static void find(struct code_window *code, bool down)
{
	size_t count = code->shown.len;
	struct strbuf text = {0};
	for (size_t i = 1; code->wanted && *code->wanted && i <= count; i++) {
		size_t at = (code->at + (down ? i : count - i % count)) % count;
		strbuf_clear(&text);
		code->source.text(code->source.context, code->shown.data[at], &text);
		if (strstr(strbuf_str(&text), code->wanted)) {
			code->at = at;
			strbuf_deinit(&text);
			return;
		}
	}
	strbuf_deinit(&text);
	code_note(code, "not found");
}

static void ask(struct code_window *code, bool down)
{
	char *wanted = question_ask(code->terminal, "Search", "Text that a line has in it", code->wanted);
	if (!wanted)
		return;
	free(code->wanted);
	code->wanted = wanted;
	find(code, down);
}

/* ---- keys ---- */

static void click(struct code_window *code)
{
	int line, column;
	terminal_clicked(code->terminal, &line, &column);
	line -= head_lines(code);
	if (line >= 0 && (size_t)line < page_lines(code) && code->top + (size_t)line < code->shown.len)
		code->at = code->top + (size_t)line;
}

static bool move(struct code_window *code, int key)
{
	size_t page = page_lines(code), last = code->shown.len ? code->shown.len - 1 : 0;
	switch (key) {
	case KEY_CLICK:
		click(code);
		break;
	case KEY_LINE_UP:
		code->at -= code->at > 0;
		break;
	case KEY_LINE_DOWN:
		code->at += code->at < last;
		break;
	case KEY_PAGE_UP:
		code->at = code->at > page ? code->at - page : 0;
		code->top = code->top > page ? code->top - page : 0;
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		code->at = code->at + page < last ? code->at + page : last;
		code->top += page;
		break;
	case KEY_FIRST:
		code->at = 0;
		break;
	case KEY_LAST:
		code->at = last;
		break;
	case 'H':
		go_hottest(code, 0);
		break;
	case KEY_TABULATOR:
	case KEY_BACK_TABULATOR:
		step_hottest(code, key == KEY_TABULATOR);
		break;
	default:
		return false;
	}
	return true;
}

/* What is known is asked for once, which takes a moment. */
static void toggle_data_types(struct code_window *code)
{
	struct annotation *annotation = code->source.annotation;
	annotation->style.data_types = !annotation->style.data_types;
	if (annotation->data_types || !code->source.find_data_types)
		return;
	if (!code->source.find_data_types(code->source.context))
		code_note(code, "no type of data is known here: that needs debug information (compile with -g)");
}

/* Keys that change the annotation's style. */
static bool restyle(struct code_window *code, int key)
{
	struct annotation_style *style = &code->source.annotation->style;
	switch (key) {
	case 'o':
	case 'f':
		style->compact = !style->compact;
		break;
	case 'O':
		style->offsets = style->offsets == OFFSETS_TARGETS ? OFFSETS_CALLS
				 : style->offsets == OFFSETS_CALLS ? OFFSETS_ALL
								   : OFFSETS_TARGETS;
		break;
	case 'k':
		style->places = style->places == PLACES_NUMBERS ? PLACES_NONE : PLACES_NUMBERS;
		break;
	case 'l':
		style->places = style->places == PLACES_FILES ? PLACES_NONE : PLACES_FILES;
		break;
	case 't':
		style->show = style->show == ANNOTATION_PERCENT	  ? ANNOTATION_SAMPLES
			      : style->show == ANNOTATION_SAMPLES ? ANNOTATION_PERIOD
								  : ANNOTATION_PERCENT;
		break;
	case 'b':
		style->hits = !style->hits;
		break;
	case 'p':
		style->global = !style->global;
		break;
	case 'c':
		if (!code->source.annotation->cycles)
			code_note(code, "there are no cycles: record with -b on a processor that counts them");
		style->cycle_range = !style->cycle_range;
		break;
	case 'T':
		toggle_data_types(code);
		break;
	default:
		return false;
	}
	code->source.restyle(code->source.context);
	find_hottest(code);
	return true;
}

static bool change(struct code_window *code, int key)
{
	const struct key_help *lists[] = {keys};
	switch (key) {
	case 's':
		code->no_source = !code->no_source;
		choose_lines(code);
		break;
	case 'B':
		if (!counters_explain(code->terminal, code->source.annotation->counters, code->source.annotation->counter_count))
			code_note(code, COUNTERS_MISSING);
		break;
	case 'j':
		code->no_arrows = !code->no_arrows;
		break;
	case 'J':
		code->counts = !code->counts;
		break;
	case '/':
	case '?':
		ask(code, key == '/');
		break;
	case 'n':
	case 'N':
		find(code, key == 'n');
		break;
	case 'h':
	case KEY_HELP_F1:
		help_show(code->terminal, "Keys of instructions", lists, 1);
		break;
	case 'P':
		if (code->source.print)
			code->source.print(code->source.context, &code->note);
		break;
	case 'r':
		if (code->source.run_script)
			code->source.run_script(code->source.context, &code->note);
		else
			code_note(code, "scripts are run from the table of a recording (perf report)");
		break;
	default:
		return false;
	}
	return true;
}

/* Goes to a jump's target; a call is the caller's business. */
static bool follows(struct code_window *code)
{
	size_t target = chosen_target(code);
	if (target != CODE_BACK) {
		code->at = target;
		return false;
	}
	const struct annotation_line *line = code->shown.len ? line_at(code, code->at) : NULL;
	if (line && line->kind == ANNOTATION_INSTRUCTION && (line->flow == FLOW_CALL || line->flow == FLOW_JUMP))
		return true;
	code_note(code, "this line neither jumps nor calls");
	return false;
}

size_t code_run(struct code_window *code)
{
	for (;;) {
		draw(code);
		int key = terminal_key(code->terminal, -1);
		strbuf_clear(&code->note);
		if (key == KEY_ESCAPE || key == 'q' || key == KEY_GO_LEFT || key == KEY_CLOSED)
			return CODE_BACK;
		if (key == '>' || key == '<')
			return key == '>' ? CODE_NEXT : CODE_PREVIOUS;
		if ((key == KEY_RETURN || key == KEY_GO_RIGHT) && follows(code))
			return code->shown.data[code->at];
		if (key == KEY_RETURN || key == KEY_GO_RIGHT || move(code, key) || restyle(code, key) || change(code, key))
			continue;
		if (key < KEY_NOTHING || key == KEY_UNKNOWN)
			code_note(code, "this key does nothing: h lists those that do");
	}
}
