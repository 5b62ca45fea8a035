/* Printing records. libtraceevent parses a tracepoint's format when its first record is printed; from its tree comes a program
 * (tracepoint_compile.c) that prints without it. Where there is no such program, libtraceevent prints, under the lock, for it is not safe
 * with threads. */
#include "event/tracepoint_internal.h"
#include "event/tracepoint_program.h"

#include <event-parse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <trace-seq.h>

/* libtraceevent's way of asking for a function's name; it changes *addr to the function's start. Only ever called under the lock. */
static char *bridge_resolver(void *context, unsigned long long *addr, char **ret_module)
{
	struct tracepoint_formats *formats = context;
	const char *module = NULL;
	uint64_t start = *addr;
	const char *name = formats->resolver(formats->resolver_context, *addr, &start, &module);

	*ret_module = (char *)module;
	*addr = start;
	return (char *)name;
}

static void give_tables(struct tracepoint_formats *formats)
{
	if (formats->printk)
		tep_parse_printk_formats(formats->tep, formats->printk);
	if (formats->cmdlines)
		tep_parse_saved_cmdlines(formats->tep, formats->cmdlines);
	if (formats->resolver)
		tep_set_function_resolver(formats->tep, bridge_resolver, formats);
	else if (formats->kallsyms)
		tep_parse_kallsyms(formats->tep, formats->kallsyms);
}

/* Lines of the form: 0xffffffff81234567 : "text\n" */
static void parse_printk(struct tracepoint_formats *formats)
{
	for (const char *line = formats->printk; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *colon;
		uint64_t address = strtoull(line, &colon, 16);
		const char *text = colon + strspn(colon, " ");
		if (colon == line || *text != ':')
			continue;
		text += 1 + (text[1] == ' ');
		size_t len = strcspn(text, "\n");
		if (len && *text == '"') {
			text++;
			len--;
		}
		if (len && text[len - 1] == '"')
			len--;
		if (len >= 2 && text[len - 2] == '\\' && text[len - 1] == 'n')
			len -= 2;
		*map64_insert(&formats->printk_by_address, address, NULL) = (uintptr_t)arena_strndup(&formats->arena, text, len);
	}
}

const char *tracepoint_printk(const struct tracepoint_formats *formats, uint64_t address)
{
	const uint64_t *text = map64_find(&formats->printk_by_address, address);

	return text ? (const char *)(uintptr_t)*text : NULL;
}

static struct tep_handle *handle(struct tracepoint_formats *formats)
{
	if (formats->tep)
		return formats->tep;
	parse_printk(formats);
	tep_set_loglevel(TEP_LOG_NONE);
	formats->tep = tep_alloc();
	if (!formats->tep)
		mem_exhausted();
	tep_set_flag(formats->tep, TEP_NSEC_OUTPUT);
	tep_set_local_bigendian(formats->tep, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_file_bigendian(formats->tep, formats->big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(formats->tep, (int)formats->long_size);
	tep_set_page_size(formats->tep, (int)formats->page_size);
	give_tables(formats);
	return formats->tep;
}

/* Makes the program of a tracepoint, or finds that another thread just did. */
static struct tracepoint_program *prepare(const struct tracepoint *tracepoint)
{
	struct tracepoint_formats *formats = tracepoint->formats;
	struct tracepoint_private *private = tracepoint->private;

	pthread_mutex_lock(&formats->lock);
	struct tracepoint_program *program = atomic_load_explicit(&private->program, memory_order_acquire);
	if (!program) {
		struct tep_event *event = NULL;
		tep_parse_event(handle(formats), private->text, private->size, tracepoint->system);
		event = tep_find_event(formats->tep, tracepoint->id);
		program = tracepoint_compile(formats, tracepoint, event);
		atomic_store_explicit(&private->program, program, memory_order_release);
	}
	pthread_mutex_unlock(&formats->lock);
	return program;
}

/* libtraceevent's own printing of one record. */
static void print_slowly(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out)
{
	struct tracepoint_formats *formats = tracepoint->formats;
	struct tep_record record = {.data = (void *)raw, .size = (int)size};
	struct trace_seq text;

	pthread_mutex_lock(&formats->lock);
	trace_seq_init(&text);
	tep_print_event(formats->tep, &text, &record, "%s", TEP_PRINT_INFO);
	for (unsigned int i = 0; i < text.len; i++) /* %c of 0 leaves one */
		if (text.buffer[i])
			strbuf_add_char(out, text.buffer[i]);
	trace_seq_destroy(&text);
	pthread_mutex_unlock(&formats->lock);
}

void tracepoint_print(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out)
{
	struct tracepoint_program *program = atomic_load_explicit(&tracepoint->private->program, memory_order_acquire);

	if (!program)
		program = prepare(tracepoint);
	if (tracepoint_run(program, tracepoint->formats, raw, size, out))
		return;
	if (program->kind == PROGRAM_FIELDS)
		tracepoint_print_fields(tracepoint, raw, size, out);
	else
		print_slowly(tracepoint, raw, size, out);
}

void tracepoint_formats_destroy(struct tracepoint_formats *formats)
{
	if (!formats)
		return;
	if (formats->tep)
		tep_free(formats->tep);
	pthread_mutex_destroy(&formats->lock);
	map64_deinit(&formats->printk_by_address);
	map64_deinit(&formats->by_id);
	map64_deinit(&formats->by_name);
	vec_deinit(&formats->tracepoints);
	arena_deinit(&formats->arena);
	free(formats);
}
