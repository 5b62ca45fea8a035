/* Readable names. libiberty knows C++ (Itanium ABI), Rust (both manglings) and D; OCaml's simple scheme is decoded here.
 * A name of a procedure linkage table entry ("_Zx@plt") is readable when the function's is. */
#include "symbol/demangle.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

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

static char *demangle_plain(const char *name)
{
	if (name[0] == 'c')
		return demangle_candidate(name) ? demangle_ocaml(name) : NULL;
	char *readable = cplus_demangle(name, DMGL_NO_OPTS);
	if (!readable && name[0] == '_' && name[1] == 'D')
		readable = dlang_demangle(name, DMGL_NO_OPTS);
	return readable;
}

char *demangle(const char *name)
{
	static const char plt[] = "@plt";
	if (!str_ends_with(name, plt))
		return demangle_plain(name);
	char *function = mem_strndup(name, strlen(name) - strlen(plt));
	char *readable = demangle_plain(function);
	free(function);
	if (!readable)
		return NULL;
	char *with_plt = mem_printf("%s%s", readable, plt);
	free(readable);
	return with_plt;
}
