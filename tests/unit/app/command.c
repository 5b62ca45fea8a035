/* How a subcommand is found: by its name or three letters of it, behind options of its command, which are handed on. */
#include "app/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct values {
	const char *input;
	bool force;
};

static const struct option options[] = {
	OPTION_STRING('i', "input", struct values, input, "FILE", "input"),
	OPTION_FLAG('f', "force", struct values, force, "force"),
	OPTION_END,
};

static const struct command latency = {"sched latency", "Latency", NULL, NULL, NULL}, map = {"sched map", "Map", NULL, NULL, NULL};
static const struct command *const subcommands[] = {&latency, &map, NULL};
static const struct command sched = {.name = "sched", .options = options, .subcommands = subcommands};
static const struct command plain = {.name = "plain", .options = options};

/* The words from the subcommand's own on, joined; "" when there is none. */
static const char *found(const struct command *command, const char *line, const struct command *expected)
{
	static char text[200];
	char copy[200], *argv[20];
	int argc = 0, at = 0;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *rest = copy, *word; (word = strsep(&rest, " "));)
		argv[argc++] = word;
	argv[argc] = NULL;
	text[0] = '\0';
	assert_ptr_equal(command_find_subcommand(command, argc, argv, &at), expected);
	for (int i = at; expected && i < argc; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > at ? " " : "", argv[i]);
	return text;
}

static void by_name(void **state)
{
	assert_string_equal(found(&sched, "sched latency -p", &latency), "latency -p");
	assert_string_equal(found(&sched, "sched lat", &latency), "lat");
	assert_string_equal(found(&sched, "sched map", &map), "map");
	found(&sched, "sched la", NULL);
	found(&sched, "sched latencyx", NULL);
	found(&sched, "sched", NULL);
	found(&sched, "sched -h", NULL);
	found(&sched, "sched other latency", NULL);
	found(&plain, "plain latency", NULL);
}

static void behind_options(void **state)
{
	assert_string_equal(found(&sched, "sched -i file latency -p", &latency), "latency -i file -p");
	assert_string_equal(found(&sched, "sched -f --input=file map", &map), "map -f --input=file");
	assert_string_equal(found(&sched, "sched -i map latency", &latency), "latency -i map");
	found(&sched, "sched -x latency", NULL);
	found(&sched, "sched -i latency", NULL);
}

int app_command_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_name), cmocka_unit_test(behind_options)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
