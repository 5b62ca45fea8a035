/* What the calls of sockets take: addresses, messages, options. */
#include "analysis/syscalls/syscall_internal.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

extern const struct constant_set constants_socket_family, constants_socket_level, constants_socket_option, constants_tcp_option,
	constants_udp_option, constants_ip_option, constants_ipv6_option, constants_netlink_option, constants_packet_option,
	constants_ip_protocol, constants_netlink_family, constants_msg;

/* ---- addresses ---- */

static void print_unix(struct strbuf *out, const uint8_t *data, size_t size)
{
	size_t length = size - offsetof(struct sockaddr_un, sun_path);
	const uint8_t *path = data + offsetof(struct sockaddr_un, sun_path);

	if (!length)
		return;
	strbuf_add_str(out, ", sun_path=");
	if (*path) {
		syscall_print_string(out, path, length, false, UINT32_MAX);
		return;
	}
	strbuf_add_char(out, '@'); /* an abstract name: its length counts, not a NUL */
	syscall_print_bytes(out, path + 1, length - 1, length - 1, UINT32_MAX, false);
}

static void print_inet(struct strbuf *out, const uint8_t *data)
{
	char text[INET_ADDRSTRLEN];

	strbuf_printf(out, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")", ntohs(get_u16(data + 2)),
		      inet_ntop(AF_INET, data + 4, text, sizeof(text)));
}

static void print_inet6(struct strbuf *out, const uint8_t *data)
{
	char text[INET6_ADDRSTRLEN];

	strbuf_printf(out, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u",
		      ntohs(get_u16(data + 2)), ntohl(get_u32(data + 4)), inet_ntop(AF_INET6, data + 8, text, sizeof(text)),
		      get_u32(data + 24));
}

void syscall_print_sockaddr(struct strbuf *out, const uint8_t *data, size_t size)
{
	enum { INET_SIZE = 16, INET6_SIZE = 28, NETLINK_SIZE = 12 };
	uint16_t family = size >= 2 ? get_u16(data) : 0;

	if (size < 2) {
		syscall_print_bytes(out, data, size, size, UINT32_MAX, false);
		return;
	}
	strbuf_add_str(out, "{sa_family=");
	constants_add_enum(out, &constants_socket_family, family, false);
	if (family == AF_UNIX)
		print_unix(out, data, size);
	else if (family == AF_INET && size >= INET_SIZE)
		print_inet(out, data);
	else if (family == AF_INET6 && size >= INET6_SIZE)
		print_inet6(out, data);
	else if (family == AF_NETLINK && size >= NETLINK_SIZE)
		strbuf_printf(out, ", nl_pid=%u, nl_groups=%08x", get_u32(data + 4), get_u32(data + 8));
	else if (size > 2) {
		strbuf_add_str(out, ", sa_data=");
		syscall_print_bytes(out, data + 2, size - 2, size - 2, UINT32_MAX, false);
	}
	strbuf_add_char(out, '}');
}

static void print_sockaddr(struct syscall_text *text, const struct syscall_memory *memory)
{
	syscall_print_sockaddr(text->out, memory->data, memory->size);
}

const struct syscall_type syscall_type_sockaddr = {
	.print_memory = print_sockaddr, .form = SYSCALL_FORM_SOCKET, .size = 1, .same_in_compat = true};

/* ---- vectors and messages ---- */

/* The next buffer of the argument behind the piece `*at`. */
static const struct syscall_memory *next_buffer(const struct syscall *call, unsigned int argument, size_t *at)
{
	while (*at < call->memory_count) {
		const struct syscall_memory *memory = &call->memory[(*at)++];
		if (memory->argument == argument && memory->kind == SYSCALL_MEMORY_BUFFER)
			return memory;
	}
	return NULL;
}

static void print_vector(struct syscall_text *text, unsigned int argument, const uint8_t *data, size_t count, size_t wanted, size_t *at)
{
	strbuf_add_char(text->out, '[');
	for (size_t i = 0; i < count; i++) {
		const struct syscall_memory *buffer = next_buffer(text->call, argument, at);
		strbuf_add_str(text->out, i ? ", {iov_base=" : "{iov_base=");
		if (buffer)
			syscall_print_bytes(text->out, buffer->data, buffer->size, buffer->wanted, text->style->string_limit, false);
		else if (get_u64(data + 16 * i + 8))
			syscall_print_address(text, get_u64(data + 16 * i));
		else
			strbuf_add_str(text->out, "\"\"");
		strbuf_printf(text->out, ", iov_len=%llu}", (unsigned long long)get_u64(data + 16 * i + 8));
	}
	strbuf_add_str(text->out, count < wanted ? ", ...]" : "]");
}

static void print_iovec(struct syscall_text *text, const struct syscall_memory *memory)
{
	size_t at = 0;

	print_vector(text, memory->argument, memory->data, memory->size / 16, memory->wanted / 16, &at);
}

const struct syscall_type syscall_type_iovec = {.print_memory = print_iovec, .form = SYSCALL_FORM_VECTOR, .size = 1};

/* struct msghdr of 64-bit machines: include/linux/socket.h, struct user_msghdr */
enum {
	MESSAGE_NAME_SIZE = 8,
	MESSAGE_VECTOR = 16,
	MESSAGE_COUNT = 24,
	MESSAGE_CONTROL = 32,
	MESSAGE_CONTROL_SIZE = 40,
	MESSAGE_FLAGS = 48,
	MESSAGE_SIZE = 56
};

static void print_control_data(struct strbuf *out, uint32_t type, const uint8_t *data, size_t size)
{
	if (type == SCM_RIGHTS) {
		strbuf_add_char(out, '[');
		for (size_t i = 0; i + 4 <= size; i += 4)
			strbuf_printf(out, i ? ", %d" : "%d", (int)get_u32(data + i));
		strbuf_add_char(out, ']');
	} else if (type == SCM_CREDENTIALS && size >= 12) {
		strbuf_printf(out, "{pid=%d, uid=%u, gid=%u}", (int)get_u32(data), get_u32(data + 4), get_u32(data + 8));
	} else {
		syscall_print_bytes(out, data, size, size, UINT32_MAX, true);
	}
}

static void print_control(struct strbuf *out, const struct syscall_memory *control)
{
	size_t at = 0;

	strbuf_add_str(out, ", msg_control=[");
	while (at + sizeof(struct cmsghdr) <= control->size) {
		size_t size = get_u64(control->data + at);
		uint32_t level = get_u32(control->data + at + 8), type = get_u32(control->data + at + 12);
		if (size < sizeof(struct cmsghdr) || size > control->size - at)
			break;
		strbuf_printf(out, "%s{cmsg_len=%zu, cmsg_level=", at ? ", " : "", size);
		constants_add_enum(out, &constants_socket_level, level, false);
		strbuf_add_str(out, ", cmsg_type=");
		if (level == SOL_SOCKET && (type == SCM_RIGHTS || type == SCM_CREDENTIALS))
			strbuf_add_str(out, type == SCM_RIGHTS ? "SCM_RIGHTS" : "SCM_CREDENTIALS");
		else
			put_hex(out, type);
		if (size > sizeof(struct cmsghdr)) {
			strbuf_add_str(out, ", cmsg_data=");
			print_control_data(out, level == SOL_SOCKET ? type : 0, control->data + at + 16, size - 16);
		}
		strbuf_add_char(out, '}');
		at += (size + 7) & ~(size_t)7;
	}
	strbuf_add_char(out, ']');
}

static void print_msghdr(struct syscall_text *text, const struct syscall_memory *memory)
{
	const uint8_t *data = memory->data;
	const struct syscall_memory *name = syscall_memory_of(text->call, memory->argument, SYSCALL_MEMORY_ADDRESS);
	const struct syscall_memory *control = syscall_memory_of(text->call, memory->argument, SYSCALL_MEMORY_CONTROL);
	struct strbuf *out = text->out;
	size_t at = 0, count = get_u64(data + MESSAGE_COUNT), shown = 0;

	strbuf_add_str(out, "{msg_name=");
	if (name && name->size)
		syscall_print_sockaddr(out, name->data, name->size);
	else
		syscall_print_address(text, get_u64(data));
	strbuf_printf(out, ", msg_namelen=%u, msg_iov=", get_u32(data + MESSAGE_NAME_SIZE));
	const struct syscall_memory *vector = NULL;
	for (size_t i = 0; i < text->call->memory_count && !vector; i++)
		if (text->call->memory[i].argument == memory->argument && text->call->memory[i].kind == SYSCALL_MEMORY_VECTOR)
			vector = &text->call->memory[i];
	if (vector) {
		shown = vector->size / 16;
		print_vector(text, memory->argument, vector->data, shown, count, &at);
	} else {
		syscall_print_address(text, get_u64(data + MESSAGE_VECTOR));
	}
	strbuf_printf(out, ", msg_iovlen=%zu", count);
	if (control && control->size)
		print_control(out, control);
	strbuf_printf(out, ", msg_controllen=%llu, msg_flags=", (unsigned long long)get_u64(data + MESSAGE_CONTROL_SIZE));
	constants_add_flags(out, &constants_msg, get_u32(data + MESSAGE_FLAGS), false);
	strbuf_add_char(out, '}');
}

static bool print_message(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);

	if (!memory)
		memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_ENTRY);
	if (memory && memory->size >= MESSAGE_SIZE && !text->call->compat)
		print_msghdr(text, memory);
	else
		syscall_print_address(text, value);
	return true;
}

const struct syscall_type syscall_type_msghdr = {.print_value = print_message, .form = SYSCALL_FORM_MESSAGE};

/* struct mmsghdr: a msghdr and the bytes that were sent or received. What the messages point to isn't copied. */
static void print_short_message(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_str(text->out, "{msg_hdr={msg_name=");
	syscall_print_address(text, get_u64(data));
	strbuf_printf(text->out, ", msg_namelen=%u, msg_iov=", get_u32(data + MESSAGE_NAME_SIZE));
	syscall_print_address(text, get_u64(data + MESSAGE_VECTOR));
	strbuf_printf(text->out, ", msg_iovlen=%llu, msg_controllen=%llu, msg_flags=", (unsigned long long)get_u64(data + MESSAGE_COUNT),
		      (unsigned long long)get_u64(data + MESSAGE_CONTROL_SIZE));
	constants_add_flags(text->out, &constants_msg, get_u32(data + MESSAGE_FLAGS), false);
	strbuf_printf(text->out, "}, msg_len=%u}", get_u32(data + MESSAGE_SIZE));
}

const struct syscall_type syscall_type_mmsghdr = {.print_element = print_short_message, .form = SYSCALL_FORM_FIXED, .size = 64};

/* ---- options ---- */

static const struct constant_set *options_of(uint64_t level)
{
	switch (level) {
	case SOL_SOCKET:
		return &constants_socket_option;
	case IPPROTO_TCP:
		return &constants_tcp_option;
	case IPPROTO_UDP:
		return &constants_udp_option;
	case IPPROTO_IP:
		return &constants_ip_option;
	case IPPROTO_IPV6:
		return &constants_ipv6_option;
	case 263: /* SOL_PACKET */
		return &constants_packet_option;
	case 270: /* SOL_NETLINK */
		return &constants_netlink_option;
	}
	return NULL;
}

static bool print_option(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct constant_set *set = options_of((uint32_t)text->call->arguments[1]);

	if (set)
		constants_add_enum(text->out, set, (uint32_t)value, false);
	else
		put_hex(text->out, (uint32_t)value);
	return true;
}

const struct syscall_type syscall_type_special_socket_option = {.print_value = print_option};

/* Most options are an int. */
static void print_option_value(struct syscall_text *text, const struct syscall_memory *memory)
{
	uint32_t level = (uint32_t)text->call->arguments[1], option = (uint32_t)text->call->arguments[2];

	if (level == SOL_SOCKET && option == SO_LINGER && memory->size == 8)
		strbuf_printf(text->out, "{l_onoff=%d, l_linger=%d}", (int)get_u32(memory->data), (int)get_u32(memory->data + 4));
	else if (level == SOL_SOCKET && option == SO_PEERCRED && memory->size == 12)
		strbuf_printf(text->out, "{pid=%d, uid=%u, gid=%u}", (int)get_u32(memory->data), get_u32(memory->data + 4),
			      get_u32(memory->data + 8));
	else if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO) && memory->size == 16)
		syscall_type_timeval.print_element(text, memory->data);
	else if (memory->size == 4)
		strbuf_printf(text->out, "[%d]", (int)get_u32(memory->data));
	else
		syscall_print_bytes(text->out, memory->data, memory->size, memory->wanted, text->style->string_limit, false);
}

const struct syscall_type syscall_type_socket_value = {
	.print_memory = print_option_value, .form = SYSCALL_FORM_SOCKET, .size = 1, .same_in_compat = true};

/* The third argument of socket() depends on the family. */
static bool print_protocol(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	uint64_t family = text->call->arguments[0];

	if (family == AF_INET || family == AF_INET6)
		constants_add_enum(text->out, &constants_ip_protocol, (uint32_t)value, syscall_strips(text));
	else if (family == AF_NETLINK)
		constants_add_enum(text->out, &constants_netlink_family, (uint32_t)value, false);
	else
		put_hex(text->out, (uint32_t)value);
	return true;
}

const struct syscall_type syscall_type_special_socket_protocol = {.print_value = print_protocol};
