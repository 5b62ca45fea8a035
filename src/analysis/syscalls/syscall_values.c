/* Types of system call arguments that are plain values: numbers, file descriptors, flags, signals, modes. */
#include "analysis/syscalls/syscall_internal.h"

#include "base/text.h"

#include <sys/sysmacros.h>

extern const struct constant_set constants_signal, constants_key_serial, constants_ioctl, constants_file_type, constants_stat_mode_bits;

enum { CURRENT_DIRECTORY = -100 }; /* AT_FDCWD */

static bool print_int(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_decimal(text->out, (int32_t)value);
	return true;
}

static bool print_uint(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	strbuf_add_u64(text->out, (uint32_t)value, 0);
	return true;
}

static bool print_long(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_decimal(text->out, (int64_t)value);
	return true;
}

static bool print_ulong(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	strbuf_add_u64(text->out, value, 0);
	return true;
}

static bool print_hex(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_hex(text->out, value);
	return true;
}

void syscall_print_address(struct syscall_text *text, uint64_t address)
{
	if (address)
		put_hex(text->out, address);
	else
		strbuf_add_str(text->out, "NULL");
}

static bool print_pointer(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	syscall_print_address(text, value);
	return true;
}

const struct syscall_type syscall_type_int = {.print_value = print_int};
const struct syscall_type syscall_type_uint = {.print_value = print_uint};
const struct syscall_type syscall_type_long = {.print_value = print_long};
const struct syscall_type syscall_type_ulong = {.print_value = print_ulong};
const struct syscall_type syscall_type_size = {.print_value = print_ulong};
const struct syscall_type syscall_type_off = {.print_value = print_long};
const struct syscall_type syscall_type_hex = {.print_value = print_hex};
const struct syscall_type syscall_type_ptr = {.print_value = print_pointer};

/* A part of another argument (the upper half of an offset). */
static bool print_nothing(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return false;
}

static bool print_question(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	strbuf_add_char(text->out, '?');
	return true;
}

const struct syscall_type syscall_type_hidden = {.print_value = print_nothing};
const struct syscall_type syscall_type_never = {.print_value = print_question};

static bool print_pid(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_style *style = text->style;
	const struct untrusted *name = style->thread_name && value ? style->thread_name(style->thread_name_context, (uint32_t)value) : NULL;

	put_decimal(text->out, (int32_t)value);
	if (name) {
		strbuf_add(text->out, " (", 2);
		text_add_untrusted(text->out, name);
		strbuf_add_char(text->out, ')');
	}
	return true;
}

const struct syscall_type syscall_type_pid = {.print_value = print_pid};

/* ---- files ---- */

/* The path of the descriptor in this argument: which of the call's files is it? */
static const char *file_of(const struct syscall_text *text, unsigned int argument)
{
	const struct syscall_description *description = text->call->description;
	unsigned int number = 0;

	if (argument == SYSCALL_ARGUMENTS)
		return text->call->files[2];
	for (unsigned int i = 0; i < argument; i++)
		number += syscall_is_file(&description->arguments[i]);
	return number < 2 ? text->call->files[number] : NULL;
}

static bool print_file(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const char *file = file_of(text, argument);

	put_decimal(text->out, (int32_t)value);
	if (file) {
		strbuf_add_char(text->out, '<');
		strbuf_add_str(text->out, file);
		strbuf_add_char(text->out, '>');
	}
	return true;
}

static bool print_directory(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if ((int32_t)value != CURRENT_DIRECTORY)
		return print_file(text, argument, value);
	strbuf_add_str(text->out, text->style->prefixes ? "AT_FDCWD" : "CWD");
	return true;
}

const struct syscall_type syscall_type_fd = {.print_value = print_file};
const struct syscall_type syscall_type_dfd = {.print_value = print_directory};

/* ---- names ---- */

static bool print_flags(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	constants_add_flags(text->out, text->call->description->arguments[argument].constants, (uint32_t)value, syscall_strips(text));
	return true;
}

static bool print_enum(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct constant_set *set = text->call->description->arguments[argument].constants;

	/* Numbers below 0 are kept in full by the table when the header has them so. */
	value = constants_name(set, (uint64_t)(int64_t)(int32_t)value) ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
	constants_add_enum(text->out, set, value, syscall_strips(text));
	return true;
}

const struct syscall_type syscall_type_flags = {.print_value = print_flags};
const struct syscall_type syscall_type_enum = {.print_value = print_enum};

void syscall_print_signal(struct strbuf *out, uint64_t signal, bool strip)
{
	enum { FIRST_REALTIME = 32, SIGNALS = 64 };
	const char *name = constants_name(&constants_signal, signal);

	if (name)
		strbuf_add_str(out, name + (strip ? constants_signal.strip : 0));
	else if (signal >= FIRST_REALTIME && signal <= SIGNALS)
		strbuf_printf(out, signal == FIRST_REALTIME ? "%sRTMIN" : "%sRT_%u", strip ? "" : "SIG",
			      (unsigned int)signal - FIRST_REALTIME);
	else
		put_decimal(out, (int32_t)signal);
}

static bool print_signal(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	syscall_print_signal(text->out, (uint32_t)value, syscall_strips(text));
	return true;
}

const struct syscall_type syscall_type_signal = {.print_value = print_signal};

/* R_OK|W_OK, for short R|W. */
static bool print_access(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	static const char letters[] = "RWX";
	bool first = true;

	if (!(value & 7) && !syscall_strips(text))
		strbuf_add_str(text->out, "F_OK");
	for (unsigned int i = 0; i < 3; i++)
		if (value >> (2 - i) & 1) {
			if (!first)
				strbuf_add_char(text->out, '|');
			strbuf_add_char(text->out, letters[i]);
			if (!syscall_strips(text))
				strbuf_add(text->out, "_OK", 3);
			first = false;
		}
	return (value & 7) || !syscall_strips(text);
}

const struct syscall_type syscall_type_access = {.print_value = print_access};

static bool print_key(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if ((uint32_t)value)
		put_hex(text->out, (uint32_t)value);
	else
		strbuf_add_str(text->out, "IPC_PRIVATE");
	return true;
}

static bool print_keyring(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const char *name = constants_name(&constants_key_serial, (uint64_t)(int64_t)(int32_t)value);

	if (name)
		strbuf_add_str(text->out, name);
	else
		put_decimal(text->out, (int32_t)value);
	return true;
}

const struct syscall_type syscall_type_key = {.print_value = print_key};
const struct syscall_type syscall_type_keyring = {.print_value = print_keyring};

/* A request made by _IOC() says what it is even when nobody knows its name: include/uapi/asm-generic/ioctl.h. */
static bool print_request(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"};
	uint32_t request = (uint32_t)value;
	const char *name = constants_name(&constants_ioctl, request);

	if (name)
		strbuf_add_str(text->out, name);
	else
		strbuf_printf(text->out, "_IOC(%s, 0x%x, 0x%x, 0x%x)", directions[request >> 30], request >> 8 & 0xff, request & 0xff,
			      request >> 16 & 0x3fff);
	return true;
}

const struct syscall_type syscall_type_ioctl = {.print_value = print_request};

/* ---- modes, users, devices ---- */

void syscall_print_permissions(struct strbuf *out, uint64_t mode)
{
	put_octal(out, mode, 2);
}

void syscall_print_file_mode(struct strbuf *out, uint64_t mode)
{
	enum { TYPE = 0170000, SPECIAL = 07000 };
	const char *type = constants_name(&constants_file_type, mode & TYPE);

	if (type) {
		strbuf_add_str(out, type);
		strbuf_add_char(out, '|');
	}
	if (mode & SPECIAL) {
		constants_add_flags(out, &constants_stat_mode_bits, mode & SPECIAL, false);
		strbuf_add_char(out, '|');
	}
	put_octal(out, type ? mode & 0777 : mode & ~(uint64_t)SPECIAL, 2);
}

static bool print_mode(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_octal(text->out, (uint16_t)value, 2);
	return true;
}

static bool print_file_mode(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	syscall_print_file_mode(text->out, (uint16_t)value);
	return true;
}

const struct syscall_type syscall_type_mode = {.print_value = print_mode};
const struct syscall_type syscall_type_file_mode = {.print_value = print_file_mode};

static bool print_user(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if ((int32_t)value == -1)
		strbuf_add(text->out, "-1", 2);
	else
		strbuf_add_u64(text->out, (uint32_t)value, 0);
	return true;
}

const struct syscall_type syscall_type_uid = {.print_value = print_user};

void syscall_print_device(struct strbuf *out, uint64_t device)
{
	strbuf_add_str(out, "makedev(");
	put_hex(out, major(device));
	strbuf_add(out, ", ", 2);
	put_hex(out, minor(device));
	strbuf_add_char(out, ')');
}

static bool print_device(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	syscall_print_device(text->out, (uint32_t)value);
	return true;
}

const struct syscall_type syscall_type_dev = {.print_value = print_device};
