/* Descriptions of system calls, and calls as text (syscall.h). */
#include "analysis/syscalls/syscall_internal.h"

#include "base/text.h"

#include <string.h>

extern const struct constant_set constants_errno;

const struct syscall_description *syscall_describe(const char *name)
{
	unsigned int low = 0, high = syscall_description_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = strcmp(syscall_descriptions[middle].name, name);
		if (!order)
			return &syscall_descriptions[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct syscall_type *syscall_plain_type(const char *c_type)
{
	if (!c_type)
		return &syscall_type_hex;
	if (strchr(c_type, '*'))
		return &syscall_type_ptr;
	if (!strcmp(c_type, "size_t"))
		return &syscall_type_size;
	if (strstr(c_type, "unsigned long") || strstr(c_type, "u64"))
		return &syscall_type_hex;
	if (strstr(c_type, "unsigned") || strstr(c_type, "u32"))
		return &syscall_type_uint;
	return strstr(c_type, "long") || strstr(c_type, "off_t") ? &syscall_type_long : &syscall_type_int;
}

unsigned int syscall_class(const char *name)
{
	static const char *const names[] = {"file", "desc", "net", "process", "memory", "signal", "ipc", "stat"};

	if (!strcmp(name, "network"))
		name = "net";
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return 1u << i;
	return 0;
}

bool syscall_never_returns(const struct syscall_description *description)
{
	return description->result == &syscall_type_never;
}

bool syscall_replaces(const struct syscall_description *description)
{
	return str_starts_with(description->name, "execve");
}

bool syscall_is_file(const struct syscall_argument_description *argument)
{
	return argument->type == &syscall_type_fd || argument->type == &syscall_type_dfd || argument->type == &syscall_type_special_mmap_fd;
}

bool syscall_returns_file(const struct syscall_description *description)
{
	return description->result == &syscall_type_fd || description->result == &syscall_type_special_fcntl ||
	       description->result == &syscall_type_special_bpf;
}

enum syscall_memory_form syscall_memory_form(const struct syscall_argument_description *argument, unsigned int *ret_size)
{
	*ret_size = argument->type->size;
	return argument->type->form;
}

const char *syscall_error_name(int64_t error)
{
	return error > 0 ? constants_name(&constants_errno, (uint64_t)error) : NULL;
}

const struct syscall_memory *syscall_memory_of(const struct syscall *call, unsigned int argument, enum syscall_memory_kind kind)
{
	for (size_t i = 0; i < call->memory_count; i++)
		if (call->memory[i].argument == argument && call->memory[i].kind == kind)
			return &call->memory[i];
	return NULL;
}

bool syscall_strips(const struct syscall_text *text)
{
	return !text->style->prefixes;
}

/* Types whose 0 means as much as any other number. */
static bool is_number(const struct syscall_type *type)
{
	static const struct syscall_type *const numbers[] = {&syscall_type_int,
							     &syscall_type_uint,
							     &syscall_type_long,
							     &syscall_type_ulong,
							     &syscall_type_size,
							     &syscall_type_off,
							     &syscall_type_pid,
							     &syscall_type_uid,
							     &syscall_type_dev,
							     &syscall_type_signal,
							     &syscall_type_mode,
							     &syscall_type_special_mmap_offset,
							     &syscall_type_special_socket_protocol,
							     &syscall_type_special_fcntl_arg};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == type)
			return true;
	return false;
}

/* Is an argument of this value shown at all? 0 is left out unless it has a name or is a number that means something. */
static bool is_shown(const struct syscall_text *text, const struct syscall_argument_description *argument, uint64_t value)
{
	if (value || text->style->zeros || argument->type == &syscall_type_fd || (text->style->numbers && is_number(argument->type)))
		return true;
	const struct constant_set *set = argument->constants;
	return set && (constants_name(set, 0) || (set->field && set->field != &constants_octal && constants_name(set->field, 0)));
}

static bool print_argument(struct syscall_text *text, unsigned int i)
{
	const struct syscall_argument_description *argument = &text->call->description->arguments[i];
	uint64_t value = text->call->arguments[i];

	if (!is_shown(text, argument, value))
		return false;
	if (argument->type->print_value)
		return argument->type->print_value(text, i, value);
	syscall_print_pointed(text, i, argument->type);
	return true;
}

bool syscall_add_argument(const struct syscall *call, const struct syscall_style *style, unsigned int argument, struct strbuf *out)
{
	struct syscall_text text = {out, call, style};

	return print_argument(&text, argument);
}

static void truncate(struct strbuf *out, size_t length)
{
	out->len = length;
	if (out->data)
		out->data[length] = '\0';
}

static void add_arguments(struct syscall_text *text, bool filled_only)
{
	const struct syscall_description *description = text->call->description;
	bool first = true;

	for (unsigned int i = 0; i < description->count; i++) {
		const struct syscall_argument_description *argument = &description->arguments[i];
		size_t before = text->out->len;
		if (filled_only && argument->direction != SYSCALL_FILLED)
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

void syscall_add_text(const struct syscall *call, const struct syscall_style *style, struct strbuf *out)
{
	struct syscall_text text = {out, call, style};

	strbuf_add_str(out, call->description->name);
	strbuf_add_char(out, '(');
	add_arguments(&text, false);
	strbuf_add_char(out, ')');
}

void syscall_add_filled(const struct syscall *call, const struct syscall_style *style, struct strbuf *out)
{
	struct syscall_text text = {out, call, style};

	if (!syscall_failed(call->result) && !call->blind)
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
	const char *name = syscall_error_name(error);
	if (name)
		strbuf_printf(out, "-1 %s (%s)", name, strerror((int)error));
	else
		strbuf_printf(out, "-1 (errno %lld)", (long long)error);
}

void syscall_add_result(const struct syscall *call, const struct syscall_style *style, struct strbuf *out)
{
	struct syscall_text text = {out, call, style};

	if (syscall_failed(call->result)) {
		syscall_begin_color(&text, SYSCALL_COLOR_ERROR);
		add_error(out, -call->result);
		syscall_end_color(&text);
	} else {
		call->description->result->print_value(&text, SYSCALL_ARGUMENTS, (uint64_t)call->result);
	}
}
