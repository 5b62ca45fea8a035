/* Names that others choose: of threads, of cgroups, strings in records of tracepoints. As characters they could move the cursor or colour a
 * terminal, so they have a type of their own: %s and strbuf_add_str() don't compile with it, text_add_untrusted() and its kin escape it
 * (base/text.h).
 *
 * untrusted_raw() is for comparing, measuring, hashing, and for what goes to a script or to a view, which escapes all that it writes.
 * tools/check-untrusted lists where it may stand. */
#pragma once

/* Never defined: a pointer to it is a pointer to a C string. */
struct untrusted;

static inline const struct untrusted *untrusted(const char *name)
{
	return (const struct untrusted *)(const void *)name;
}

static inline const char *untrusted_raw(const struct untrusted *name)
{
	return (const char *)(const void *)name;
}
