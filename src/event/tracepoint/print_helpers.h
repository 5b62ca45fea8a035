/* The kernel's helper macros in print formats, and what they share with the expressions around them. */
#pragma once

#include "event/tracepoint/print_format.h"

/* Parses "(ARGUMENTS)" of the helper `name`. False when it is not known or misused. */
bool format_parse_helper(struct format_parser *parser, const char *name, struct operand *ret);

/* String literals as one text that is safe to print; NULL when there is none. */
char *format_parse_text(struct format_parser *parser);
/* A word that isn't a number, as a copy; NULL when the current token is something else. */
char *format_parse_name(struct format_parser *parser);
struct print_node *format_node(struct format_parser *parser, enum node_kind kind);
struct text_source *format_text(struct format_parser *parser, enum text_kind kind);
const struct print_node *format_value(struct format_parser *parser, uint64_t value);
