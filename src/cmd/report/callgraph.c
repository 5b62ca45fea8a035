/* report -g STYLE,PERCENT,ENTRIES,ORDER,KEY,VALUE: in any order; words may be shortened. */
#include "cmd/report/callgraph.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

const char callgraph_choice_help[] =
	"show call graphs: graph (default), fractal, flat, folded or none; minimum percentage (0.5), maximum number of "
	"entries; caller or callee; function or address; percent, period or count";

void callgraph_choice_init(struct callgraph_choice *choice)
{
	*choice = (struct callgraph_choice){.mode = CALLGRAPH_PRINT_GRAPH, .min_percent = 0.5};
}

struct word {
	const char *text;
	enum { WORD_MODE, WORD_ORDER, WORD_KEY, WORD_VALUE } kind;
	int value;
};

static const struct word words[] = {
	{"graph", WORD_MODE, CALLGRAPH_PRINT_GRAPH},
	{"flat", WORD_MODE, CALLGRAPH_PRINT_FLAT},
	{"fractal", WORD_MODE, CALLGRAPH_PRINT_FRACTAL},
	{"folded", WORD_MODE, CALLGRAPH_PRINT_FOLDED},
	{"none", WORD_MODE, CALLGRAPH_PRINT_NONE},
	{"caller", WORD_ORDER, true},
	{"callee", WORD_ORDER, false},
	{"function", WORD_KEY, false},
	{"address", WORD_KEY, true},
	{"percent", WORD_VALUE, GRAPH_PERCENT},
	{"period", WORD_VALUE, GRAPH_PERIOD},
	{"count", WORD_VALUE, GRAPH_COUNT},
};

static bool apply_word(struct callgraph_choice *choice, const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(words[i].text, text, strlen(text)))
			continue;
		switch (words[i].kind) {
		case WORD_MODE:
			choice->mode = (enum callgraph_print)words[i].value;
			break;
		case WORD_ORDER:
			choice->order_given = true;
			choice->caller = words[i].value;
			break;
		case WORD_KEY:
			choice->by_address = words[i].value;
			break;
		case WORD_VALUE:
			choice->value = (enum graph_value)words[i].value;
			break;
		}
		return true;
	}
	return false;
}

struct error *callgraph_choice_parse(const struct option *option, const char *argument, bool negated, void *field)
{
	struct callgraph_choice *choice = field;
	if (negated) {
		choice->mode = CALLGRAPH_PRINT_NONE;
		return NULL;
	}
	choice->given = true;
	char text[256];
	snprintf(text, sizeof(text), "%s", argument ? argument : "");
	bool percent_given = false;
	char *save = NULL;
	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		double number;
		if (apply_word(choice, word))
			continue;
		if (!strcmp(word, "fp") || !strcmp(word, "dwarf") || !strcmp(word, "lbr"))
			return error_new_kind(
				ERROR_USAGE,
				"'%s' is a way to record stacks: perf record --call-graph %s; here -g chooses how to show them, such "
				"as -g caller",
				word, word);
		if (!number_parse_double(word, &number) || number < 0)
			return error_new_kind(
				ERROR_USAGE,
				"invalid value '%s': expected a style (graph, fractal, flat, folded, none), a percentage, a number of "
				"entries, caller or callee, function or address, percent, period or count",
				word);
		if (percent_given)
			choice->most_entries = (uint32_t)number;
		else
			choice->min_percent = number;
		percent_given = true;
	}
	if (choice->mode == CALLGRAPH_PRINT_NONE)
		choice->given = false;
	return NULL;
}
