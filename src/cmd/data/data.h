/* Within cmd/data. */
#pragma once

#include "app/command.h"
#include "cmd/opening.h"

struct data_convert_options {
	struct input_options input;
	struct output_options output;
	const char *to_json, *to_ctf;
	bool wall_clock, all;
};

/* They may stand before the subcommand's word as well. */
extern const struct option data_convert_options[];
extern const struct command cmd_data_convert;
