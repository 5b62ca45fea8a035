/* Keys of the data that instructions access, by its type. */
#include "analysis/report/keys/keys_internal.h"

#include "base/intern.h"
#include "symbol/data/data_access.h"

enum { CACHE_LINE = 64 };

/* Only what was sampled accesses something there and then: callers don't. */
static const struct data_access *access_of(const struct key_context *context, const struct key_source *source)
{
	const struct fold_frame *place = source->target ? source->target : source->place;
	bool known = place->map && !source->caller;
	return data_accesses_at(context->accesses, known ? place->map->dso : NULL, known ? place->symbol : NULL,
				known ? map_to_dso(place->map, place->ip) : 0);
}

/* Types of one name are one row, whatever file they are from. */
void key_type_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)access_of(context, source)->type->name; /* interned */
}

void key_typeoff_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	key_type_identify(context, source, words);
	words[1] = access_of(context, source)->offset;
}

void key_typecln_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	key_type_identify(context, source, words);
	words[1] = access_of(context, source)->offset / CACHE_LINE;
}

const char *key_type_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return access_of(context, source)->type->name;
}

/* By name, then by number. */
static const char *name_and_number(struct key_context *context, const struct data_access *access, uint32_t number)
{
	struct strbuf text = {0};
	strbuf_printf(&text, "%s\1%08x", access->type->name, number);
	const char *kept = intern_string(context->strings, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

const char *key_typeoff_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const struct data_access *access = access_of(context, source);
	return name_and_number(context, access, access->offset);
}

const char *key_typecln_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const struct data_access *access = access_of(context, source);
	return name_and_number(context, access, access->offset / CACHE_LINE);
}

void key_typeoff_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct data_access *access = access_of(context, source);
	strbuf_printf(out, "%s +%#x (", access->type->name, access->offset);
	if (access->type->member_count)
		data_type_add_path(access->type, access->offset, out);
	else
		strbuf_add_str(out, "no field");
	strbuf_add_char(out, ')');
}

void key_typecln_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct data_access *access = access_of(context, source);
	strbuf_printf(out, "%s: cache-line %u", access->type->name, access->offset / CACHE_LINE);
}
