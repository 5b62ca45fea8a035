/* Readable names. libiberty knows C++ (Itanium ABI), Rust (both manglings) and D; OCaml's simple scheme is decoded here.
 * A name of a procedure linkage table entry ("_Zx@plt") is readable when the function's is.
 *
 * libiberty does what a name says, however long that takes: the cost is looked at before (demangle_cost.h), and of the text only so much is
 * kept. */
#include "symbol/demangle.h"

#include "base/mem.h"
#include "base/text.h"
#include "symbol/demangle_cost.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16, SHORTEST = 1 << 10, TOTAL = 512 << 20 };

bool demangle_candidate(const char *name)
{
	if (name[0] == '_')
		return name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' || (name[1] == '_' && (name[2] == 'Z' || name[2] == 'R')) ||
		       str_starts_with(name, "_GLOBAL_");
	return name[0] == 'Z' || name[0] == 'R' || (name[0] == 'c' && str_starts_with(name, "caml") && isupper((unsigned char)name[4]));
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* camlModule__function_123: "__" separates modules, $xx is a character. */
static char *demangle_ocaml(const char *name)
{
	char *readable = mem_alloc(strlen(name) + 1), *to = readable;
	const char *at = name + strlen("caml");
	while (*at) {
		if (at[0] == '_' && at[1] == '_' && at[2] && at[2] != '_') {
			*to++ = '.';
			at += 2;
		} else if (at[0] == '$' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
			*to++ = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
	return readable;
}

/* What a demangler writes, as far as it is kept. */
struct readable {
	struct strbuf text;
	size_t limit;
	bool cut;
};

static void keep(const char *text, size_t len, void *context)
{
	struct readable *readable = context;
	size_t room = readable->limit - readable->text.len;
	readable->cut |= len > room;
	strbuf_add(&readable->text, text, len < room ? len : room);
}

/* The text, which says so when it was cut: between two characters of UTF-8. */
static char *finish(struct readable *readable)
{
	struct strbuf *text = &readable->text;
	if (readable->cut) {
		while (text->len && (text->data[text->len - 1] & 0xc0) == 0x80)
			text->len--;
		if (text->len && (text->data[text->len - 1] & 0x80))
			text->len--;
		strbuf_add_str(text, DEMANGLE_CUT);
	}
	return strbuf_detach(text);
}

/* libiberty's D demangler has no callback. Few back references ("Q") can't make much: n of them multiply a name by at most 3^(n/3). It
 * calls itself as deep as types are nested, at most once a byte. */
static char *demangle_d(const char *name, size_t limit)
{
	enum { REFERENCES = 24, D_LONGEST = 8192 };
	struct readable readable = {.limit = limit};
	size_t references = 0;
	for (const char *at = name; *at; at++)
		references += *at == 'Q';
	char *whole = references <= REFERENCES && strlen(name) <= D_LONGEST ? dlang_demangle(name, DMGL_NO_OPTS) : NULL;
	if (!whole)
		return NULL;
	keep(whole, strlen(whole), &readable);
	free(whole);
	return finish(&readable);
}

static char *too_much(const char *name, size_t limit)
{
	struct readable readable = {.limit = limit};
	keep(name, strlen(name), &readable);
	strbuf_add_str(&readable.text, DEMANGLE_REFUSED);
	return strbuf_detach(&readable.text);
}

/* "_GLOBAL__I_" and its kin end with what is initialized. */
static const char *mangled_part(const char *name)
{
	const char *inner = str_starts_with(name, "_GLOBAL_") ? strstr(name, "__Z") : NULL;
	return inner ? inner + 1 : name;
}

static char *demangle_plain(const char *name, size_t limit)
{
	if (name[0] == 'c')
		return demangle_candidate(name) ? demangle_ocaml(name) : NULL;
	if (strlen(name) > LONGEST)
		return too_much(name, limit);
	if (!demangle_cost_cxx(mangled_part(name)) || !demangle_cost_rust(name))
		return too_much(name, limit);
	struct readable readable = {.limit = limit};
	if (rust_demangle_callback(name, DMGL_NO_OPTS, keep, &readable))
		return finish(&readable);
	strbuf_deinit(&readable.text);
	readable = (struct readable){.limit = limit};
	if (cplus_demangle_v3_callback(name, DMGL_NO_OPTS, keep, &readable))
		return finish(&readable);
	strbuf_deinit(&readable.text);
	return name[0] == '_' && name[1] == 'D' ? demangle_d(name, limit) : NULL;
}

size_t demangle_limit(size_t count)
{
	size_t share = TOTAL / (count ? count : 1);
	return share < SHORTEST ? SHORTEST : share < DEMANGLE_LIMIT ? share : DEMANGLE_LIMIT;
}

char *demangle(const char *name, size_t limit)
{
	static const char plt[] = "@plt";
	if (!str_ends_with(name, plt))
		return demangle_plain(name, limit);
	char *function = mem_strndup(name, strlen(name) - strlen(plt));
	char *readable = demangle_plain(function, limit);
	free(function);
	if (!readable)
		return NULL;
	char *with_plt = mem_printf("%s%s", readable, plt);
	free(readable);
	return with_plt;
}
