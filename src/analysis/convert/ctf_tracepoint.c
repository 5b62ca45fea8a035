/* Fields of tracepoints in a CTF trace. Numbers are widened to 32 or 64 bits, arrays stay arrays, what has another length in each record
 * becomes a sequence, characters a string. */
#include "analysis/convert/ctf_internal.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_BYTES = 64 << 10 }; /* of a record: its size has 16 bits */

/* ---- names ---- */

/* CTF 1.8, "TSDL reserved keywords", and what names must not be the same as. */
static const char *const reserved[] = {
	"align",     "callsite", "const",    "char",	"clock",   "double",   "enum",	   "env",	 "event",  "floating_point",
	"float",     "integer",	 "int",	     "long",	"short",   "signed",   "stream",   "string",	 "struct", "trace",
	"typealias", "typedef",	 "unsigned", "variant", "void",	   "_Bool",    "_Complex", "_Imaginary", "u32",	   "s32",
	"x32",	     "u64",	 "s64",	     "x64",	"uint8_t", "uint32_t", "uint64_t", "time_t",
};

static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (!strcmp(name, reserved[i]))
			return true;
	return isdigit((unsigned char)*name);
}

struct names {
	struct map64 used; /* hashes */
	unsigned int doubles;
};

/* Readers pass over one leading '_': such names are the same. */
static bool take_name(struct names *names, const char *name)
{
	bool is_new;
	name += *name == '_';
	map64_insert(&names->used, hash_bytes(name, strlen(name)), &is_new);
	return is_new;
}

/* The field's name as one that TSDL allows and no other field has: "_align", "pid_dupl_0". Freed by the caller. */
static char *choose_name(struct names *names, const char *name)
{
	bool is_samples = str_starts_with(*name == '_' ? name + 1 : name, "perf_");
	const char *prefix = is_samples ? "field_" : is_reserved(name) ? "_" : "";
	char *chosen = mem_printf("%s%s", prefix, name);
	while (!take_name(names, chosen)) {
		free(chosen);
		chosen = mem_printf("%s%s_dupl_%u", prefix, name, names->doubles++);
	}
	return chosen;
}

/* ---- classes ---- */

/* As the kernel's tool shows them: pointers and unsigned longs, which are addresses mostly, in hexadecimal. */
static enum ctf_type type_of(const struct tracepoint_field *field)
{
	bool wide = field->element_size == sizeof(uint64_t);
	if (field->flags & TRACEPOINT_FIELD_SIGNED)
		return wide ? CTF_S64 : CTF_S32;
	if (field->flags & TRACEPOINT_FIELD_POINTER || strstr(field->type, "long"))
		return CTF_X64;
	return wide ? CTF_U64 : CTF_U32;
}

static struct ctf_field field_of(const struct tracepoint_field *field)
{
	struct ctf_field ret = {.field = field, .type = type_of(field)};
	if (field->flags & TRACEPOINT_FIELD_STRING)
		ret.form = CTF_TEXT;
	else if (field->flags & TRACEPOINT_FIELD_DYNAMIC)
		ret.form = CTF_SEQUENCE;
	else if (field->flags & TRACEPOINT_FIELD_ARRAY)
		ret.form = CTF_ARRAY;
	ret.count = ret.form == CTF_ARRAY ? field->size / field->element_size : 0;
	if (ret.form == CTF_ARRAY && !ret.count)
		ret.form = CTF_SEQUENCE;
	return ret;
}

static void declare(const struct ctf_field *field, struct names *names, struct strbuf *out)
{
	char suffix[256] = "", *name = choose_name(names, field->field->name);
	if (field->form == CTF_TEXT) {
		strbuf_printf(out, "\t\tstring %s;\n", name);
		free(name);
		return;
	}
	if (field->form == CTF_ARRAY)
		snprintf(suffix, sizeof(suffix), "[%" PRIu32 "]", field->count);
	if (field->form == CTF_SEQUENCE) {
		char *wanted = mem_printf("_%.200s_length", name), *length = choose_name(names, wanted);
		ctf_declare_integer(out, CTF_U32, length, "");
		snprintf(suffix, sizeof(suffix), "[%s]", length);
		free(wanted);
		free(length);
	}
	ctf_declare_integer(out, field->type, name, suffix);
	free(name);
}

static size_t fixed_size(const struct ctf_field *field)
{
	switch (field->form) {
	case CTF_TEXT:
		return 1;
	case CTF_SEQUENCE:
		return sizeof(uint32_t);
	case CTF_ARRAY:
		return field->count * ctf_type_size(field->type);
	default:
		return ctf_type_size(field->type);
	}
}

/* Fields that are too many or too large to be in one record are left out. */
void ctf_declare_tracepoint(struct ctf_class *class, struct strbuf *out)
{
	const struct tracepoint *tracepoint = class->tracepoint;
	struct names names = {0};
	uint32_t left = MOST_BYTES;
	class->fields = mem_zalloc_array(tracepoint->field_count + 1, sizeof(*class->fields));
	for (size_t i = 0; i < tracepoint->field_count; i++) {
		uint32_t size = tracepoint->fields[i].size ? tracepoint->fields[i].size : 1;
		if (size > left) {
			log_info("%s:%s: its fields are larger than a record; those from %s on are left out", tracepoint->system,
				 tracepoint->name, tracepoint->fields[i].name);
			break;
		}
		left -= size;
		class->fields[class->field_count] = field_of(&tracepoint->fields[i]);
		class->fixed_size += fixed_size(&class->fields[class->field_count]);
		declare(&class->fields[class->field_count++], &names, out);
	}
	map64_deinit(&names.used);
}

/* ---- samples ---- */

struct room {
	size_t left; /* bytes that what has no fixed length may still take of the record */
};

static size_t take(struct room *room, size_t bytes)
{
	size_t taken = bytes < room->left ? bytes : room->left;
	room->left -= taken;
	return taken;
}

static void put_string(const struct tracepoint_field *field, const struct sample *sample, struct room *room, struct strbuf *out)
{
	size_t most;
	const struct untrusted *text = tracepoint_read_string(field, sample->raw, sample->raw_size, &most);
	size_t length = take(room, most);
	text_add_safe(out, untrusted_raw(text), length);
	strbuf_add_char(out, '\0');
}

/* `count` elements of the record, as far as it has them; zeros behind them. */
static void put_elements(const struct ctf_field *of, const uint8_t *bytes, size_t length, size_t count, const struct sample *sample,
			 struct strbuf *out)
{
	struct tracepoint_field element = *of->field;
	bool whole = element.element_size <= sizeof(uint64_t);
	size_t step = element.element_size;
	element.size = whole ? element.element_size : 1;
	element.flags &= ~(uint32_t)(TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_RELATIVE);
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0;
		element.offset = (uint32_t)(bytes ? bytes - (const uint8_t *)sample->raw + (ptrdiff_t)(i * step) : 0);
		if (bytes && (i + 1) * step <= length)
			value = tracepoint_read(&element, sample->raw, sample->raw_size);
		ctf_put_integer(out, of->type, value);
	}
}

static void put_list(const struct ctf_field *field, const struct sample *sample, struct room *room, struct strbuf *out)
{
	size_t length;
	const uint8_t *bytes = tracepoint_read_bytes(field->field, sample->raw, sample->raw_size, &length);
	size_t count = field->count;
	if (field->form == CTF_SEQUENCE) {
		count = bytes ? take(room, length) / field->field->element_size : 0;
		ctf_put_integer(out, CTF_U32, count);
	}
	put_elements(field, bytes, length, count, sample, out);
}

bool ctf_tracepoint_fits(const struct ctf_class *class, const struct sample *sample)
{
	enum { MOST_TIMES = 16, FREE = 64 };
	return class->fixed_size <= MOST_TIMES * ((size_t)(sample->raw ? sample->raw_size : 0) + FREE);
}

void ctf_put_tracepoint(const struct ctf_class *class, const struct sample *sample, struct strbuf *out)
{
	struct room room = {MOST_BYTES};
	for (size_t i = 0; i < class->field_count; i++) {
		const struct ctf_field *field = &class->fields[i];
		if (field->form == CTF_TEXT)
			put_string(field->field, sample, &room, out);
		else if (field->form == CTF_NUMBER)
			ctf_put_integer(out, field->type, tracepoint_read(field->field, sample->raw, sample->raw_size));
		else
			put_list(field, sample, &room, out);
	}
}
