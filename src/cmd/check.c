/* perf check feature NAME[,NAME…]: is it in this build? For scripts: the exit status is 0 when all are, 1 when one is not or is unknown. */
#include "app/build_features.h"
#include "app/command.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct check_options {
	bool quiet;
};

static const struct option check_options[] = {
	OPTION_FLAG('q', "quiet", struct check_options, quiet, "print nothing; report by exit status only"),
	OPTION_END,
};

static bool is_same_name(const char *name, const char *word, size_t len)
{
	return !strncasecmp(name, word, len) && !name[len];
}

/* Shows the feature that is called `word` by its name or its macro. */
static bool check_feature(const char *word, size_t len, bool quiet, struct error **ret_error)
{
	for (const struct build_feature *feature = build_features; feature->name; feature++) {
		if (!is_same_name(feature->name, word, len) && !is_same_name(feature->macro, word, len))
			continue;
		if (!quiet)
			printf("%22s: [ %-3s ]  # %s\n", feature->name, feature->on ? "on" : "OFF", feature->macro);
		return feature->on;
	}
	struct strbuf safe = {0};
	text_add_safe(&safe, word, len);
	if (!*ret_error)
		*ret_error = error_new("unknown feature '%s'; 'perf version --build-options' lists them", strbuf_str(&safe));
	strbuf_deinit(&safe);
	return false;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct check_options options = {0};
	struct error *error;
	int words;
	error = options_parse(check_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (error)
		return error;
	if (words != 2 || strcmp(argv[0], "feature"))
		return error_new_kind(ERROR_USAGE, "nothing to check: give 'feature' and the names of features");
	bool all = true;
	for (const char *name = argv[1]; *name;) {
		size_t len = strcspn(name, ",");
		if (!check_feature(name, len, options.quiet, &error))
			all = false;
		name += len + (name[len] == ',');
	}
	*ret_status = all ? 0 : 1;
	return error;
}

static const char *const usage[] = {"[-q] feature NAME[,NAME…]", NULL};
const struct command cmd_check = {"check", "Check whether this build has a feature", usage, check_options, run};
