/* The argument of report's -g. */
#pragma once

#include "app/options.h"
#include "cmd/report/report.h"

extern const char callgraph_choice_help[];
/* As without -g. */
void callgraph_choice_init(struct callgraph_choice *choice);
option_parse_fn callgraph_choice_parse;
