/* The kernel's special pointers in print formats: %pM (MAC address), %pI4 %pI6 %pIS (IP addresses), %pU (UUID), %ph (bytes). What they
 * print is described in the kernel's Documentation/core-api/printk-formats.rst. */
#include "event/tracepoint/tracepoint_program.h"

#include "event/tracepoint/tracepoint_internal.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static void print_mac(struct strbuf *out, const char *letters, const uint8_t *bytes)
{
	const char *separator = letters[0] == 'm' ? "" : letters[1] == 'F' ? "-" : ":";

	for (int i = 0; i < 6; i++)
		strbuf_printf(out, "%s%02x", i ? separator : "", bytes[letters[1] == 'R' ? 5 - i : i]);
}

static void print_uuid(struct strbuf *out, const char *letters, const uint8_t *bytes)
{
	static const uint8_t mixed[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	bool upper = letters[1] == 'L' || letters[1] == 'B', swapped = letters[1] == 'L' || letters[1] == 'l';

	for (int i = 0; i < 16; i++) {
		strbuf_printf(out, upper ? "%02X" : "%02x", bytes[swapped ? mixed[i] : i]);
		if (i == 3 || i == 5 || i == 7 || i == 9)
			strbuf_add_char(out, '-');
	}
}

static void print_ip4(struct strbuf *out, char letter, bool reverse, const uint8_t *bytes)
{
	for (int i = 0; i < 4; i++)
		strbuf_printf(out, letter == 'i' ? "%s%03d" : "%s%d", i ? "." : "", bytes[reverse ? 3 - i : i]);
}

/* The order letter of an IPv4 address: host, network, little, big. */
static bool is_reversed(const struct print_run *run, char order)
{
	return order == 'l' || (order == 'h' && !run->formats->big_endian);
}

static uint32_t group_of(const uint8_t *bytes, int index)
{
	return (uint32_t)bytes[2 * index] << 8 | bytes[2 * index + 1];
}

/* Addresses whose last part is written as an IPv4 address: ::ffff:0:0/96, and ISATAP interface identifiers. */
static bool ends_in_ip4(const uint8_t *bytes)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t isatap[4] = {0x02, 0x00, 0x5e, 0xfe};

	return !memcmp(bytes, mapped, 12) || (((bytes[8] | 2) == isatap[0]) && !memcmp(bytes + 9, isatap + 1, 3));
}

/* The longest run of zero groups, of at least two; returns its start or -1. */
static int longest_zeros(const uint8_t *bytes, int groups, int *ret_len)
{
	int start = -1;

	*ret_len = 1;
	for (int i = 0; i < groups; i++) {
		int len = 0;
		while (i + len < groups && !group_of(bytes, i + len))
			len++;
		if (len <= *ret_len)
			continue;
		*ret_len = len;
		start = i;
	}
	return start;
}

static void print_ip6_short(struct strbuf *out, const uint8_t *bytes)
{
	bool ip4 = ends_in_ip4(bytes), colon = false;
	int groups = ip4 ? 6 : 8, len, zeros = longest_zeros(bytes, groups, &len);

	for (int i = 0; i < groups; i++) {
		if (i == zeros) {
			strbuf_add_str(out, "::");
			colon = false;
			i += len - 1;
			continue;
		}
		strbuf_printf(out, colon ? ":%x" : "%x", group_of(bytes, i));
		colon = true;
	}
	if (!ip4)
		return;
	if (colon)
		strbuf_add_char(out, ':');
	print_ip4(out, 'I', false, bytes + 12);
}

static void print_ip6(struct strbuf *out, char letter, bool compressed, const uint8_t *bytes)
{
	if (compressed && letter == 'I') {
		print_ip6_short(out, bytes);
		return;
	}
	for (int i = 0; i < 8; i++)
		strbuf_printf(out, letter == 'I' && i ? ":%04x" : "%04x", group_of(bytes, i));
}

static void print_sockaddr(const struct print_run *run, const char *letters, const uint8_t *bytes, size_t len)
{
	bool with_port = letters[0] == 'I' && strchr(letters + 2, 'p'), compressed = strchr(letters + 2, 'c');
	const char *order = letters + 2 + strcspn(letters + 2, "hnlb");
	uint16_t family = 0;

	if (len >= sizeof(family))
		memcpy(&family, bytes, sizeof(family));
	if (run->formats->swap)
		family = __builtin_bswap16(family);
	unsigned int port = len >= 4 ? group_of(bytes, 1) : 0;
	if (family == AF_INET && len < sizeof(struct sockaddr_in)) {
		strbuf_add_str(run->out, "INVALIDIPv4");
	} else if (family == AF_INET) {
		print_ip4(run->out, letters[0], is_reversed(run, *order), bytes + 4);
		if (with_port)
			strbuf_printf(run->out, ":%u", port);
	} else if (family == AF_INET6 && len < sizeof(struct sockaddr_in6)) {
		strbuf_add_str(run->out, "INVALIDIPv6");
	} else if (family == AF_INET6) {
		if (with_port)
			strbuf_add_char(run->out, '[');
		print_ip6(run->out, letters[0], compressed, bytes + 8);
		if (with_port)
			strbuf_printf(run->out, "]:%u", port);
	}
}

static void print_bytes(struct strbuf *out, char kind, const uint8_t *bytes, size_t len, int limit)
{
	const char *separator = kind == 'C' ? ":" : kind == 'D' ? "-" : kind == 'N' ? "" : " ";

	for (size_t i = 0; i < len && (int)i < limit; i++)
		strbuf_printf(out, "%s%02x", i ? separator : "", bytes[i]);
}

void run_special(const struct print_run *run, const struct step *step, int limit)
{
	const char *letters = step->text;
	size_t left, len;
	const uint8_t *bytes = run_bytes(run, step->source, &left, &len);

	if (len > left)
		len = left;
	switch (letters[0]) {
	case 'M':
	case 'm':
		if (len == 6)
			print_mac(run->out, letters, bytes);
		else
			strbuf_add_str(run->out, "INVALIDMAC");
		break;
	case 'U':
		if (len == 16)
			print_uuid(run->out, letters, bytes);
		else
			strbuf_add_str(run->out, "INVALIDUUID");
		break;
	case 'h':
		print_bytes(run->out, letters[1], bytes, len, limit);
		break;
	default:
		if (letters[1] == 'S')
			print_sockaddr(run, letters, bytes, len);
		else if (letters[1] == '4' && len == 4)
			print_ip4(run->out, letters[0], is_reversed(run, letters[2]), bytes);
		else if (letters[1] == '6' && len == 16)
			print_ip6(run->out, letters[0], letters[2] == 'c', bytes);
		else if (letters[1])
			strbuf_add_str(run->out, letters[1] == '4' ? "INVALIDIPv4" : "INVALIDIPv6");
	}
}
