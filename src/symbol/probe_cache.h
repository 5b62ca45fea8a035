/* Probes that are kept beside a program's copy in the build-id cache, shared with the kernel's perf: DIR/PATH/BUILDID/probes.
 *
 *	%sdt_shop:sale=sale                              a static tracepoint
 *	p:sdt_shop/sale /usr/bin/shop:0x1161 …           what the kernel is told of it, a line for each place
 *	#probe_shop:left=leave%return $retval            a probe that somebody made, as it was asked for
 *	r:probe_shop/left__return /usr/bin/shop:0x1139 …
 */
#pragma once

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>

struct probe_cache_entry {
	bool is_static;
	char *spec;	   /* the first line, without its sign */
	char *definitions; /* the others, each with a newline */
};

struct probe_cache {
	char *path;
	VEC(struct probe_cache_entry) entries;
};

/* `name` is the program's path, or "[kernel.kallsyms]"; `id` its build-id in hexadecimal digits. A file that isn't there is an empty
 * one. */
void probe_cache_read(const char *dir, const char *name, const char *id, struct probe_cache *ret);
void probe_cache_deinit(struct probe_cache *cache);
/* Writes it back, at once and whole; without entries it is removed. */
struct error *probe_cache_write(const struct probe_cache *cache);
/* Adds an entry, or replaces that of the same words. */
void probe_cache_put(struct probe_cache *cache, bool is_static, const char *spec, const char *definitions);
void probe_cache_remove(struct probe_cache *cache, size_t index);
/* Whether a pattern of "GROUP:EVENT", "EVENT", or of the words of an entry means it. */
bool probe_cache_matches(const struct probe_cache_entry *entry, const char *pattern);
