/* A function's instructions on a screen: what each costs, its source, jumps and calls to follow. The texts of lines come from who opens it,
 * as the view writes them. */
#pragma once

#include "base/strbuf.h"
#include "result/annotation.h"
#include "tui/windows.h"

/* The annotation, whose style keys change, and its texts, made harmless. */
struct code_source {
	struct annotation *annotation;
	/* A line without a newline, or, for CODE_HEAD, what stands above all. */
	void (*text)(void *context, size_t line, struct strbuf *out);
	/* The style has changed: texts are asked for anew. */
	void (*restyle)(void *context);
	/* Finds out which data instructions access, once; returns of how many that is known. NULL = it can't be. */
	size_t (*find_data_types)(void *context);
	/* Prints all; says what has become of it. NULL = it can't be. */
	void (*print)(void *context, struct strbuf *note);
	/* Asks for a script, and shows what it prints; says in `note` why not. NULL = there are none. */
	void (*run_script)(void *context, struct strbuf *note);
	void *context;
};

#define CODE_HEAD ((size_t)-1)
#define CODE_BACK ((size_t)-1)
#define CODE_NEXT ((size_t)-2)
#define CODE_PREVIOUS ((size_t)-3)

struct code_window;

/* The cursor is on the hottest instruction. */
struct code_window *code_create(struct terminal *terminal, const struct code_source *source);
void code_destroy(struct code_window *code);
/* Takes keys until the person leaves (CODE_BACK), wants to see the next function or the one before (CODE_NEXT, CODE_PREVIOUS), or follows
 * the call at a line, which is returned. Can be called again then: it goes on where it was. */
size_t code_run(struct code_window *code);
/* For the next code_run(): what the last line says. */
void code_note(struct code_window *code, const char *text);
