/* perf version: the version, and with --build-options what this build was made with. */
#include "app/build_features.h"
#include "app/command.h"

#include <stdio.h>

struct version_options {
	bool build_options;
};

static const struct option version_options[] = {
	OPTION_FLAG(0, "build-options", struct version_options, build_options, "also show which features are built in"),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct version_options options = {0};
	int words;
	struct error *error = options_parse(version_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (error)
		return error;
	printf("perf version %s\n", PERF_VERSION);
	if (options.build_options)
		for (const struct build_feature *feature = build_features; feature->name; feature++)
			printf("%22s: [ %-3s ]  # %s\n", feature->name, feature->on ? "on" : "OFF", feature->macro);
	return NULL;
}

static const char *const usage[] = {"[--build-options]", NULL};
const struct command cmd_version = {"version", "Show the version of perf", usage, version_options, run};
