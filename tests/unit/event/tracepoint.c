/* Formats of tracepoints: fields, printing, filters, and the section of a recording in both byte orders. */
#include "event/tracepoint/tracepoint.h"

#include "base/mem.h"
#include "event/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD(name, id)                                                         \
	"name: " name "\nID: " #id "\nformat:\n"                               \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(declaration, offset, size, sign) "\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"
#define FIELDS                                    \
	FIELD("char comm[16]", 8, 16, 0)          \
	FIELD("s32 number", 24, 4, 1)             \
	FIELD("u64 big", 32, 8, 0)                \
	FIELD("__data_loc char[] text", 40, 4, 0) \
	FIELD("__rel_loc char[] near", 44, 4, 0)  \
	FIELD("u16 list[4]", 48, 8, 0)            \
	FIELD("u8 mac[6]", 56, 6, 0) FIELD("u8 byte", 62, 1, 0) FIELD("bool yes", 63, 1, 0) FIELD("void * pointer", 64, 8, 0)

static struct tracepoint_formats *formats_with(const char *print_format)
{
	struct tracepoint_formats *formats = tracepoint_formats_create();
	char *text = mem_printf("%s%s\nprint fmt: %s\n", HEAD("thing", 7), FIELDS, print_format);

	assert_null(tracepoint_formats_add(formats, "test", text, strlen(text)));
	free(text);
	return formats;
}

/* comm "work", number -5, big 0xfedcba9876543210, text "hello" at 72, near "by" at 80, list 1 2 3 65535, a MAC address, byte 200, yes. */
static size_t make_record(uint8_t record[88])
{
	static const uint8_t mac[6] = {0x02, 0x42, 0xac, 0x11, 0x00, 0x0f};
	uint16_t type = 7, list[4] = {1, 2, 3, 65535};
	int32_t number = -5;
	uint64_t big = 0xfedcba9876543210, pointer = 0xffffffff81234560;
	uint32_t text = 72 | 6 << 16, near = (80 - 48) | 3 << 16;

	memset(record, 0, 88);
	memcpy(record, &type, 2);
	memcpy(record + 8, "work", 5);
	memcpy(record + 24, &number, 4);
	memcpy(record + 32, &big, 8);
	memcpy(record + 40, &text, 4);
	memcpy(record + 44, &near, 4);
	memcpy(record + 48, list, 8);
	memcpy(record + 56, mac, 6);
	record[62] = 200;
	record[63] = 1;
	memcpy(record + 64, &pointer, 8);
	memcpy(record + 72, "hello", 6);
	memcpy(record + 80, "by", 3);
	return 88;
}

static const char *resolve(void *context, uint64_t address, uint64_t *ret_start, const char **ret_module)
{
	*ret_start = 0xffffffff81234500;
	*ret_module = NULL;
	return address >= *ret_start ? "do_thing" : NULL;
}

static char *print(const char *print_format, size_t size)
{
	struct tracepoint_formats *formats = formats_with(print_format);
	uint8_t record[88], *copy = malloc(size ? size : 1);
	struct strbuf out = {0};

	make_record(record);
	memcpy(copy, record, size); /* of its size, so that a sanitizer sees reads behind its end */
	tracepoint_formats_set_resolver(formats, resolve, NULL);
	tracepoint_print(tracepoint_by_id(formats, 7), copy, size, &out);
	tracepoint_formats_destroy(formats);
	free(copy);
	return strbuf_detach(&out);
}

static void printing(void **state)
{
	static const char *const cases[][2] = {
		{"\"\"", ""},
		{"\"100%% of\\t%s\\\\\", REC->comm", "100% of\twork\\"},
		{"\"%d %u %x %#x %08x %-6d| %+d\", REC->number, REC->number, REC->number, REC->number, 0x1f, REC->number, 7",
		 "-5 4294967291 fffffffb 0xfffffffb 0000001f -5    | +7"},
		{"\"%lld %llu %llx %hd %hhu %5.3d %c\", REC->big, REC->big, REC->big, REC->number, REC->byte, REC->byte, 65",
		 "-81985529216486896 18364758544493064720 fedcba9876543210 -5 200   200 A"},
		{"\"%s|%8s|%-8s|%.2s|%.*s\", REC->comm, __get_str(text), __get_rel_str(near), REC->comm, 3, __get_str(text)",
		 "work|   hello|by      |wo|hel"},
		{"\"%p %ps %pS %p\", REC->pointer, REC->pointer, (void *)REC->pointer, ((void *)0)",
		 "0xffffffff81234560 do_thing do_thing+0x60 (nil)"},
		{"\"%d %d %d\", REC->list[3], ((u8 *)REC->list)[1], REC->list[REC->yes]", "65535 2 2"},
		{"\"%s %s\", REC->yes ? \"yes\" : \"no\", !REC->yes ? \"yes\" : REC->byte > 100 ? \"big\" : \"small\"", "yes big"},
		{"\"%d\", REC->byte & (0x40 | 0x80) ? REC->byte >> 3 : 0", "25"},
		{"\"%d %d\", 7 - 2 - 1, (unsigned char)(REC->number) % 16 * 2 + 1", "4 23"},
		{"\"%s\", __print_flags(REC->byte, \"|\", { 0x80, \"HIGH\" }, { 1 << 6, \"MID\" }, { 1, \"LOW\" })", "HIGH|MID|0x8"},
		{"\"%s %s\", __print_flags(0, \"|\", { 1, \"A\" }), __print_flags(0, \"|\", { 1, \"A\" }, { UNKNOWN, \"none\" })", " none"},
		{"\"%6s %s\", __print_symbolic(REC->yes, { 0, \"n\" }, { 1, \"y\" }), __print_symbolic(REC->byte, { 1, \"one\" })",
		 "     y 0xc8"},
		{"\"%s %s\", __print_symbolic(REC->yes, { TIMER_SOFTIRQ, \"TI\" \"MER\" }), __print_symbolic(0, { HI_SOFTIRQ, \"HI\" })",
		 "TIMER HI"},
		{"\"%s %s\", __print_hex(REC->mac, 3), __print_hex_str(REC->mac, sizeof(REC->mac))", "02 42 ac 0242ac11000f"},
		{"\"%s %s\", __print_array(REC->list, 4, 2), __print_array(__get_dynamic_array(text), __get_dynamic_array_len(text) - 1, "
		 "1)",
		 "{0x1,0x2,0x3,0xffff} {0x68,0x65,0x6c,0x6c,0x6f}"},
		{"\"%s %s\", __print_array(REC->list, 3, 0), __print_array(REC->mac, 2, 16)",
		 "{BAD SIZE:0 0x1,0x0,0x2} {BAD SIZE:16 0x2,0x42}"},
		{"\"%pM %pm %pMF\", REC->mac, REC->mac, REC->mac", "02:42:ac:11:00:0f 0242ac11000f 02-42-ac-11-00-0f"},
		{"\"%pI4 %pi4\", REC->number, REC->number", "251.255.255.255 251.255.255.255"},
		{"\"%*ph\", 3, __get_dynamic_array(text)", "68 65 6c"},
		{"\"%s\", __get_bitmask(text)", "006f,6c6c6568"},
		{"\"%s\", __get_cpumask(near)", "1,5-6,8,11-14"},
		{"\"%llu.%06llu\", __print_ns_to_secs(REC->big), __print_ns_without_secs(REC->big)", "18364758544.493064720"},
		{"\"%d\", unknown_function(REC->byte)", "[FAILED TO PARSE] comm=work number=-5 big=18364758544493064720 text=hello near=by "
							"list=ARRAY[01, 00, 02, 00, 03, 00, ff, ff] "
							"mac=ARRAY[02, 42, ac, 11, 00, 0f] byte=200 yes=1 pointer=0xffffffff81234560"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *printed = print(cases[i][0], 88);
		assert_string_equal(printed, cases[i][1]);
		free(printed);
	}
}

/* Neither a record nor a format can reach the terminal. */
static void escapes(void **state)
{
	struct tracepoint_formats *formats = formats_with("\"\x1b[1m\\r\\t%s %s %c%s\", REC->comm, REC->yes ? \"\x1b\" : \"\", REC->byte, "
							  "__print_flags(1, \"\", { 1, \"\x07\" })");
	struct strbuf out = {0};
	uint8_t record[88];

	size_t size = make_record(record);
	memcpy(record + 8, "a\x1b]0;\xc3\xa4\n", 9);
	tracepoint_print(tracepoint_by_id(formats, 7), record, size, &out);
	assert_string_equal(strbuf_str(&out), "\\x1b[1m\\x0d\ta\\x1b]0;\xc3\xa4\\x0a \\x1b \\xc8\\x07");
	strbuf_deinit(&out);
	tracepoint_formats_destroy(formats);
}

/* A record that ends anywhere, and formats that make no sense, print something or nothing. */
static void damage(void **state)
{
	static const char *const formats[] = {
		"\"%s %s %s %d %llu %pM %s %s %s\", REC->comm, __get_str(text), __get_rel_str(near), REC->list[REC->byte], REC->big, "
		"REC->mac, "
		"__print_hex(REC->mac, 4000000000), __print_array(REC->list, REC->big, 8), __get_bitmask(text)",
		"\"%s\", __print_array(REC->pointer, 4000000000, 0)",
		"\"%d\", 1 / 0",
		"\"%d\", REC->byte % 0",
		"\"%llx\", 1 << 200",
		"\"%*d\", REC->big, 1",
		"\"%d %d\", 1",
		"\"%q\", 1",
		"\"%",
		"\"%d\", ((((((((((((",
		"\"%d\", REC->missing",
		"\"%s\", __print_flags(",
		"\"%s\", __print_flags(REC->byte, \"|\", { 1, ",
		"\"%pIS %pU\", REC->comm, REC->comm",
		"",
		"REC->byte",
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		for (size_t size = 0; size <= 88; size++)
			free(print(formats[i], size));
}

/* Expressions of any length end. */
static void long_formats(void **state)
{
	static const char *const pieces[][3] = {
		{"", "REC->number + ", "1"}, {"", "REC->number ? 1 : ", "2"}, {"", "(", "1"}, {"", "!", "1"}, {"", "1, ", "1"}};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct strbuf format = {0};
		strbuf_add_str(&format, "\"%d\", ");
		for (int j = 0; j < 200000; j++)
			strbuf_add_str(&format, pieces[i][1]);
		strbuf_add_str(&format, pieces[i][2]);
		free(print(strbuf_str(&format), 88));
		strbuf_deinit(&format);
	}
}

static void fields(void **state)
{
	struct tracepoint_formats *formats = formats_with("\"\"");
	const struct tracepoint *tracepoint = tracepoint_by_name(formats, "test", "thing");
	uint8_t record[88];
	size_t len, size = make_record(record);

	assert_ptr_equal(tracepoint, tracepoint_by_id(formats, 7));
	assert_null(tracepoint_by_id(formats, 8));
	assert_null(tracepoint_by_name(formats, "test", "other"));
	const struct tracepoint_field *comm = tracepoint_field(tracepoint, "comm"), *list = tracepoint_field(tracepoint, "list");
	assert_string_equal(comm->type, "char[16]");
	assert_true(comm->flags & TRACEPOINT_FIELD_STRING);
	assert_int_equal(list->element_size, 2);
	assert_true(tracepoint_field(tracepoint, "common_pid")->flags & TRACEPOINT_FIELD_COMMON);
	assert_int_equal(tracepoint_read(tracepoint_field(tracepoint, "number"), record, size), -5);
	assert_int_equal(tracepoint_read(tracepoint_field(tracepoint, "big"), record, size), 0xfedcba9876543210);
	assert_int_equal(tracepoint_read(tracepoint_field(tracepoint, "big"), record, 39), 0);
	assert_memory_equal(tracepoint_read_string(tracepoint_field(tracepoint, "near"), record, size, &len), "by", 3);
	assert_int_equal(len, 2);
	assert_string_equal(untrusted_raw(tracepoint_read_string(tracepoint_field(tracepoint, "text"), record, 77, &len)), "");
	assert_int_equal(len, 0);
	tracepoint_formats_destroy(formats);
}

static void add(struct strbuf *out, const void *data, size_t size, bool swap)
{
	for (size_t i = 0; i < size; i++)
		strbuf_add_char(out, ((const char *)data)[swap ? size - 1 - i : i]);
}

/* The section as a machine of either byte order writes it. */
static void make_section(struct strbuf *out, bool swap)
{
	static const char text[] = HEAD("thing", 7) FIELDS "\nprint fmt: \"%d %llx %s\", REC->number, REC->big, REC->pointer\n";
	static const char printk[] = "0x1122334455667788 : \"a \x1b string\\n\"\n";
	uint32_t page = 4096, none = 0, one = 1;
	uint64_t size = 0;

	strbuf_add(out, "\x17\x08\x44tracing0.6", 14);
	strbuf_add_char(out, (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swap);
	strbuf_add_char(out, 8);
	add(out, &page, 4, swap);
	strbuf_add(out, "header_page", 12);
	add(out, &size, 8, swap);
	strbuf_add(out, "header_event", 13);
	add(out, &size, 8, swap);
	add(out, &none, 4, swap);
	add(out, &one, 4, swap);
	strbuf_add(out, "test", 5);
	add(out, &one, 4, swap);
	size = strlen(text);
	add(out, &size, 8, swap);
	strbuf_add(out, text, size);
	add(out, &none, 4, swap);
	none = sizeof(printk) - 1;
	add(out, &none, 4, swap);
	strbuf_add(out, printk, none);
	size = 0;
	add(out, &size, 8, swap);
}

static void sections(void **state)
{
	for (int swap = 0; swap < 2; swap++) {
		struct strbuf section = {0}, out = {0};
		struct tracepoint_formats *formats;
		uint8_t native[88], record[88];
		uint64_t pointer = 0x1122334455667788;

		make_section(&section, swap);
		make_record(native);
		memcpy(native + 64, &pointer, 8);
		memcpy(record, native, sizeof(record));
		for (size_t i = 0; swap && i < 4; i++)
			record[24 + i] = native[27 - i];
		for (size_t i = 0; swap && i < 8; i++) {
			record[32 + i] = native[39 - i];
			record[64 + i] = native[71 - i];
		}
		assert_null(tracepoint_formats_load_data(section.data, section.len, &formats));
		const struct tracepoint *tracepoint = tracepoint_by_id(formats, 7);
		assert_int_equal(tracepoint_read(tracepoint_field(tracepoint, "number"), record, sizeof(record)), -5);
		tracepoint_print(tracepoint, record, sizeof(record), &out);
		assert_string_equal(strbuf_str(&out), "-5 fedcba9876543210 a \\x1b string");
		tracepoint_formats_destroy(formats);
		/* Cut anywhere, it is an error, and what was whole is there. */
		for (size_t len = 0; len < section.len - 8; len++) {
			struct error *error = tracepoint_formats_load_data(section.data, len, &formats);
			assert_non_null(error);
			assert_null(tracepoint_by_id(formats, 8));
			error_free(error);
			tracepoint_formats_destroy(formats);
		}
		strbuf_deinit(&section);
		strbuf_deinit(&out);
	}
}

static void filters(void **state)
{
	static const struct {
		const char *filter, *mistake;
		int column;
	} cases[] = {
		{"number == -5", NULL, 0},
		{"comm ~ \"w*\" && (big & 0x10 || !(byte<3))", NULL, 0},
		{"common_pid!=1&&CPU==0&&COMM=='x'", NULL, 0},
		{"CPU & CPUS{0-3}", NULL, 0},
		{"pointer.function == do_thing || pointer.function != 0xffff", NULL, 0},
		{"numbr == 1", "unknown field 'numbr'", 0},
		{"number = 1", "'=' is not a comparison", 7},
		{"number", "missing comparison", 6},
		{"number ==", "missing", 9},
		{"number == x", "invalid number", 10},
		{"number ~ 1", "with a pattern", 7},
		{"comm < \"x\"", "cannot be compared", 5},
		{"comm == x", "must be quoted", 8},
		{"comm == \"x", "unterminated", 8},
		{"(number == 1", "missing closing parenthesis", 0},
		{"number == 1)", "unexpected ')'", 11},
		{"number == 1 &&", "missing", 14},
		{"", "missing", 0},
	};
	struct tracepoint_formats *formats = formats_with("\"\"");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf resolved = {0};
		struct error *error = filter_check(tracepoint_by_id(formats, 7), NULL, cases[i].filter, &resolved);
		if (!cases[i].mistake) {
			assert_null(error);
			assert_string_equal(strbuf_str(&resolved), cases[i].filter);
		}
		strbuf_deinit(&resolved);
		if (!error)
			continue;
		assert_non_null(error);
		const char *caret = strrchr(error_message(error), '\n');
		if (!strstr(error_message(error), cases[i].mistake) || strchr(caret, '^') - caret - 3 != cases[i].column)
			fail_msg("%s: %s", cases[i].filter, error_message(error));
		error_free(error);
	}
	tracepoint_formats_destroy(formats);
}

/* Names of numbers become these, on the field that the format shows by them. */
static void filter_names(void **state)
{
	static const char *const cases[][2] = {
		{"number == TWO", "number == 2"},
		{"(number!=ONE||number == 'ONE|TWO') && byte & LOW", "(number!=1||number == 3) && byte & 1"},
		{"comm == \"TWO\" && number == -1", "comm == \"TWO\" && number == -1"},
		{"number == LOW", NULL},
		{"number == \"THREE\"", NULL},
		{"CPU == TWO", NULL},
	};
	struct tracepoint_formats *formats =
		formats_with("\"%s %s\", __print_symbolic(REC->number, {1, \"ONE\"}, {2, \"TWO\"}, {3, \"ONE|TWO\"}), "
			     "(REC->byte) ? __print_flags((unsigned long)REC->byte, \"|\", {1, \"LOW\"}, {2, \"HIGH\"}) : \"none\"");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf resolved = {0};
		struct error *error = filter_check(tracepoint_by_id(formats, 7), NULL, cases[i][0], &resolved);
		if (cases[i][1]) {
			assert_null(error);
			assert_string_equal(strbuf_str(&resolved), cases[i][1]);
		} else {
			assert_non_null(error);
			assert_non_null(strstr(error_message(error), "invalid number"));
			assert_true(*cases[i][0] == 'C' || strstr(error_message(error), "of type s32; or one of: ONE TWO ONE|TWO"));
			error_free(error);
		}
		strbuf_deinit(&resolved);
	}
	tracepoint_formats_destroy(formats);
}

int event_tracepoint_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printing), cmocka_unit_test(escapes),	cmocka_unit_test(damage),  cmocka_unit_test(long_formats),
		cmocka_unit_test(fields),   cmocka_unit_test(sections), cmocka_unit_test(filters), cmocka_unit_test(filter_names),
	};

	return cmocka_run_group_tests_name("event/tracepoint", tests, NULL, NULL);
}
