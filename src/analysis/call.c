/* Descriptions of system calls, and calls as text (call.h). */
#include "analysis/call_internal.h"

#include "base/text.h"

#include <string.h>

extern const struct constant_set constants_errno;

const struct call_description *call_describe(const char *name)
{
	unsigned int low = 0, high = call_description_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = strcmp(call_descriptions[middle].name, name);
		if (!order)
			return &call_descriptions[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct call_type *call_plain_type(const char *c_type)
{
	if (!c_type)
		return &call_type_hex;
	if (strchr(c_type, '*'))
		return &call_type_ptr;
	if (!strcmp(c_type, "size_t"))
		return &call_type_size;
	if (strstr(c_type, "unsigned long") || strstr(c_type, "u64"))
		return &call_type_hex;
	if (strstr(c_type, "unsigned") || strstr(c_type, "u32"))
		return &call_type_uint;
	return strstr(c_type, "long") || strstr(c_type, "off_t") ? &call_type_long : &call_type_int;
}

unsigned int call_class(const char *name)
{
	static const char *const names[] = {"file", "desc", "net", "process", "memory", "signal", "ipc", "stat"};

	if (!strcmp(name, "network"))
		name = "net";
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return 1u << i;
	return 0;
}

bool call_never_returns(const struct call_description *description)
{
	return description->result == &call_type_never;
}

bool call_replaces(const struct call_description *description)
{
	return str_starts_with(description->name, "execve");
}

bool call_is_file(const struct call_argument_description *argument)
{
	return argument->type == &call_type_fd || argument->type == &call_type_dfd || argument->type == &call_type_special_mmap_fd;
}

bool call_returns_file(const struct call_description *description)
{
	return description->result == &call_type_fd || description->result == &call_type_special_fcntl ||
	       description->result == &call_type_special_bpf;
}

enum call_memory_form call_memory_form(const struct call_argument_description *argument, unsigned int *ret_size)
{
	*ret_size = argument->type->size;
	return argument->type->form;
}

const char *call_error_name(int64_t error)
{
	return error > 0 ? constants_name(&constants_errno, (uint64_t)error) : NULL;
}

const struct call_memory *call_memory_of(const struct call *call, unsigned int argument, enum call_memory_kind kind)
{
	for (size_t i = 0; i < call->memory_count; i++)
		if (call->memory[i].argument == argument && call->memory[i].kind == kind)
			return &call->memory[i];
	return NULL;
}

bool call_strips(const struct call_text *text)
{
	return !text->style->prefixes;
}

/* Types whose 0 means as much as any other number. */
static bool is_number(const struct call_type *type)
{
	static const struct call_type *const numbers[] = {&call_type_int,  &call_type_uint, &call_type_long,   &call_type_ulong, &call_type_size,
							  &call_type_off,  &call_type_pid,  &call_type_uid,    &call_type_dev,	 &call_type_signal,
							  &call_type_mode, &call_type_special_mmap_offset, &call_type_special_socket_protocol,
							  &call_type_special_fcntl_arg};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == type)
			return true;
	return false;
}

/* Is an argument of this value shown at all? 0 is left out unless it has a name or is a number that means something. */
static bool is_shown(const struct call_text *text, const struct call_argument_description *argument, uint64_t value)
{
	if (value || text->style->zeros || argument->type == &call_type_fd || (text->style->numbers && is_number(argument->type)))
		return true;
	const struct constant_set *set = argument->constants;
	return set && (constants_name(set, 0) || (set->field && set->field != &constants_octal && constants_name(set->field, 0)));
}

static bool print_argument(struct call_text *text, unsigned int i)
{
	const struct call_argument_description *argument = &text->call->description->arguments[i];
	uint64_t value = text->call->arguments[i];

	if (!is_shown(text, argument, value))
		return false;
	if (argument->type->print_value)
		return argument->type->print_value(text, i, value);
	call_print_pointed(text, i, argument->type);
	return true;
}

bool call_add_argument(const struct call *call, const struct call_style *style, unsigned int argument, struct strbuf *out)
{
	struct call_text text = {out, call, style};

	return print_argument(&text, argument);
}

static void truncate(struct strbuf *out, size_t length)
{
	out->len = length;
	if (out->data)
		out->data[length] = '\0';
}

static void add_arguments(struct call_text *text, bool filled_only)
{
	const struct call_description *description = text->call->description;
	bool first = true;

	for (unsigned int i = 0; i < description->count; i++) {
		const struct call_argument_description *argument = &description->arguments[i];
		size_t before = text->out->len;
		if (filled_only && argument->direction != CALL_FILLED)
			continue;
		if (!first)
			strbuf_add(text->out, ", ", 2);
		if (text->style->names) {
			strbuf_add_str(text->out, argument->name);
			strbuf_add(text->out, ": ", 2);
		}
		if (print_argument(text, i))
			first = false;
		else
			truncate(text->out, before);
	}
}

void call_add_text(const struct call *call, const struct call_style *style, struct strbuf *out)
{
	struct call_text text = {out, call, style};

	strbuf_add_str(out, call->description->name);
	strbuf_add_char(out, '(');
	add_arguments(&text, false);
	strbuf_add_char(out, ')');
}

void call_add_filled(const struct call *call, const struct call_style *style, struct strbuf *out)
{
	struct call_text text = {out, call, style};

	if (!call_failed(call->result) && !call->blind)
		add_arguments(&text, true);
}

static void add_error(struct strbuf *out, int64_t error)
{
	/* What the kernel keeps for itself: a signal interrupted the call, which is then started again, or fails with EINTR. */
	static const struct {
		int64_t error;
		const char *text;
	} internal[] = {
		{512, "? ERESTARTSYS (To be restarted if SA_RESTART is set)"},
		{513, "? ERESTARTNOINTR (To be restarted)"},
		{514, "? ERESTARTNOHAND (To be restarted if no handler)"},
		{516, "? ERESTART_RESTARTBLOCK (Interrupted by signal)"},
	};
	for (size_t i = 0; i < sizeof(internal) / sizeof(internal[0]); i++)
		if (internal[i].error == error) {
			strbuf_add_str(out, internal[i].text);
			return;
		}
	const char *name = call_error_name(error);
	if (name)
		strbuf_printf(out, "-1 %s (%s)", name, strerror((int)error));
	else
		strbuf_printf(out, "-1 (errno %lld)", (long long)error);
}

void call_add_result(const struct call *call, const struct call_style *style, struct strbuf *out)
{
	struct call_text text = {out, call, style};

	if (call_failed(call->result)) {
		call_begin_color(&text, CALL_COLOR_ERROR);
		add_error(out, -call->result);
		call_end_color(&text);
	} else {
		call->description->result->print_value(&text, CALL_ARGUMENTS, (uint64_t)call->result);
	}
}
