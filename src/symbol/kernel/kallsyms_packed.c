/* The kernel's symbols for what runs for days. Lines come in order: of those of one address the last one is kept, and goes up to the next
 * address, or to the end of its page where the kernel ends; which is what settling the whole list comes to (symbol_builder.c).
 *
 * Not here: modules, of which the whole list is read (kallsyms.c).
 */
#include "symbol/kernel/kallsyms.h"

#include "base/strbuf.h"

#include <string.h>

struct packing {
	struct symtab_writer *writer;
	const char *text_symbol;
	struct symbol last; /* came last, and isn't in the table yet; start 0: none */
	struct strbuf name; /* of it */
	uint64_t first;	    /* where the kernel begins */
	uint64_t text;	    /* where text_symbol is; 0 = not seen */
	bool begins, ends;  /* _text or _stext, and _etext were seen */
	bool modules;	    /* lines of modules have come: none of the kernel's own may follow */
	bool failed;
};

static void note_landmark(struct packing *packing, uint64_t address, const char *name)
{
	if (!strcmp(name, packing->text_symbol))
		packing->text = address;
	packing->begins |= !strcmp(name, "_text") || !strcmp(name, "_stext");
	packing->ends |= !strcmp(name, "_etext");
}

static bool put_last(struct packing *packing, uint64_t end)
{
	packing->last.end = end;
	packing->last.name = strbuf_str(&packing->name);
	return !packing->last.start || symtab_writer_add(packing->writer, &packing->last);
}

static bool take(struct packing *packing, const struct symbol *symbol)
{
	if (packing->modules || symbol->start < packing->last.start || !symbol->start)
		return false;
	if (symbol->start != packing->last.start && !put_last(packing, symbol->start))
		return false;
	packing->first = packing->first ? packing->first : symbol->start;
	packing->last = *symbol;
	strbuf_clear(&packing->name);
	strbuf_add(&packing->name, symbol->name, strlen(symbol->name));
	return true;
}

static bool visit(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct packing *packing = context;
	struct symbol symbol;
	if (module) { /* in the middle of the kernel's own it would end one of them */
		packing->modules = true;
		packing->failed = address >= packing->first && address <= packing->last.start;
		return !packing->failed;
	}
	if (name[0] == '_')
		note_landmark(packing, address, name);
	packing->failed = kallsyms_symbol(address, type, name, &symbol) && !take(packing, &symbol);
	return !packing->failed;
}

struct symtab *kallsyms_packed(const char *path, const char *text_symbol, uint64_t recorded, int source)
{
	struct packing packing = {.writer = symtab_writer_create(), .text_symbol = text_symbol};
	struct error *error = kallsyms_visit(path, visit, &packing);
	bool whole =
		!error && !packing.failed && packing.begins && packing.ends && put_last(&packing, symbol_stretched_end(packing.last.start));
	error_free(error);
	strbuf_deinit(&packing.name);
	if (whole)
		return symtab_writer_finish(packing.writer, recorded && packing.text ? recorded - packing.text : 0, source, path);
	symtab_writer_destroy(packing.writer);
	return NULL;
}
