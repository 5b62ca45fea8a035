/* perf top --dump-symtab: the symbols that addresses were looked up in, file by file, in the words of the kernel's tool:
 *
 *	dso: libm.so.6 (/usr/lib/x86_64-linux-gnu/libm.so.6, loaded, 9c2a…)
 *	 3c0a0-3c0ff g sinf
 *
 * Tables load when the first sample is in their file: of others there is one line, and nothing is read now. Files of processes without a
 * sample aren't there. */
#include "cmd/top/top.h"

#include "base/text.h"
#include "symbol/dso_build_id.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

static char binding_letter(const struct symbol *symbol)
{
	return symbol->binding == STB_GLOBAL ? 'g' : symbol->binding == STB_LOCAL ? 'l' : 'w';
}

static void write_symbols(FILE *out, const struct symtab *symtab)
{
	const struct symbol *symbol;
	struct strbuf name = {0};
	for (size_t i = 0; (symbol = symtab_at(symtab, i)); i++) {
		strbuf_clear(&name);
		text_add_safe(&name, symbol->name, strlen(symbol->name));
		fprintf(out, " %lx-%lx %c %s\n", symbol->start, symbol->end, binding_letter(symbol), strbuf_str(&name));
	}
	strbuf_deinit(&name);
}

/* Of a loaded one also where its names are from, where it isn't the file itself, or why there are none. */
static void write_file(FILE *out, struct resolver *resolver, struct dso *dso)
{
	enum symbol_source source = resolver_source(resolver, dso);
	bool loaded = source != SYMBOLS_NOT_LOADED, carried;
	const char *origin = resolver_origin(resolver, dso, &carried);
	struct strbuf line = {0};
	char id[41] = "";
	if (loaded)
		dso_learn_build_id(dso);
	strbuf_add_str(&line, "dso: ");
	text_add_safe(&line, dso->short_name, strlen(dso->short_name));
	strbuf_add_str(&line, " (");
	text_add_safe(&line, dso->name, strlen(dso->name));
	strbuf_printf(&line, ", %sloaded, %s)", loaded ? "" : "NOT ", dso->build_id.size ? buildid_format(&dso->build_id, id) : "");
	if (origin && strcmp(origin, dso->name) != 0) {
		strbuf_add_str(&line, " from ");
		text_add_safe(&line, origin, strlen(origin));
	}
	if (loaded && source != SYMBOLS_FULL)
		strbuf_printf(&line, ": %s", symbol_source_text(source));
	fprintf(out, "%s\n", strbuf_str(&line));
	strbuf_deinit(&line);
	if (loaded)
		write_symbols(out, resolver_symtab(resolver, dso));
}

void top_write_symbols(const struct top *top, FILE *out)
{
	const struct machine *machine = top->report.session->machine;
	machine_each_dso (dso, machine)
		write_file(out, top->report.opening.resolver, dso);
}
