/* Text from outside (names in recordings, files, processes) made harmless, and small helpers on C strings. */
#pragma once

#include "base/strbuf.h"
#include "base/untrusted.h"

/* Adds `len` bytes; control characters, DEL, invalid UTF-8 and C1 controls become \xNN, so that no name can move the cursor or colour a
 * terminal. Tabs and newlines too. */
void text_add_safe(struct strbuf *buf, const char *string, size_t len);
/* A name of others (base/untrusted.h), made harmless in the same way; and as a JSON string. */
void text_add_untrusted(struct strbuf *buf, const struct untrusted *name);
void text_add_untrusted_json(struct strbuf *buf, const struct untrusted *name);
/* The same as a copy, freed by the caller. */
char *text_safe_copy(const char *string);
/* The same for a message of several lines: newlines stay. */
void text_add_safe_lines(struct strbuf *buf, const char *string);
/* True when text_add_safe() would change nothing: lets hot paths copy. */
bool text_is_safe(const char *string, size_t len);
/* How many bytes text_add_safe() adds. */
size_t text_safe_length(const char *string, size_t len);
size_t text_untrusted_length(const struct untrusted *name);
/* The same for HTML and XML text and attribute values: & < > " ' are escaped as well. */
void text_add_html(struct strbuf *buf, const char *string, size_t len);
/* A JSON string with its quotes. */
void text_add_json(struct strbuf *buf, const char *string, size_t len);
/* The same for a <script> of a page: neither markup nor the script's end can begin in it. */
void text_add_script(struct strbuf *buf, const char *string, size_t len);
/* Any bytes as base64, with its padding (RFC 4648). */
void text_add_base64(struct strbuf *buf, const void *data, size_t size);
/* A CSV field, quoted when it has to be. `separator`: what stands between fields, one character or more. */
void text_add_csv(struct strbuf *buf, const char *string, size_t len, const char *separator);
/* Columns that the UTF-8 text takes on a terminal. */
size_t text_width(const char *string, size_t len);

/* Adds `text` and a newline, broken at spaces so that no line passes `columns`; the first line begins in column `at`, the others at
 * `indent`. A newline in the text stays one. */
void text_add_wrapped(struct strbuf *out, const char *text, unsigned int indent, unsigned int at, unsigned int columns);

/* Whether `word` is one of a comma-separated list. */
bool str_is_listed(const char *list, const char *word);
bool str_starts_with(const char *string, const char *prefix);
bool str_ends_with(const char *string, const char *suffix);
/* Shell-like * ? [a-z] over the whole string. */
bool str_glob_match(const char *pattern, const char *string);
bool str_has_glob(const char *pattern);
/* Damerau-Levenshtein distance, for "did you mean". */
unsigned int str_distance(const char *a, const char *b);
/* The nearest of `count` names to `word`, or NULL when none is near. */
const char *str_nearest(const char *word, const char *const *names, size_t count);
/* The same, but the shortest name that has the whole word in it goes before: "awesome" for "make_awesome". */
const char *str_nearest_part(const char *word, const char *const *names, size_t count);
