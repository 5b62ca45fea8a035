/* The table of records: structures have their fields where a walk along the row finds them, and no walk leaves its record. */
#include "perfdata/dump/record_text.h"
#include "perfdata/record_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 256 };

struct buffer {
	union {
		struct record_header header;
		uint8_t bytes[ROOM];
	};
};

/* With a build-id where misc says that there is one. */
static struct buffer made(uint32_t type, uint16_t misc)
{
	struct buffer buffer = {.header = {.type = type, .misc = misc, .size = ROOM}};
	if (type == RECORD_MMAP2 && misc & RECORD_MISC_MMAP_BUILD_ID)
		((struct record_mmap2 *)&buffer)->build_id_size = sizeof(((struct record_mmap2 *)0)->build_id);
	return buffer;
}

static size_t offset_of(uint32_t type, uint16_t misc, const char *name)
{
	const struct buffer buffer = made(type, misc);
	struct record_walk walk = record_walk(record_kind(type), &buffer.header, ROOM);
	const struct record_field *field;
	size_t offset;
	while ((field = record_walk_next(&walk, &offset)))
		if (!strcmp(field->name, name))
			return offset;
	return 0;
}

static void test_structures(void **state)
{
	assert_int_equal(offset_of(RECORD_MMAP, 0, "name"), offsetof(struct record_mmap, name));
	assert_int_equal(offset_of(RECORD_MMAP2, 0, "inode"), offsetof(struct record_mmap2, inode));
	assert_int_equal(offset_of(RECORD_MMAP2, 0, "build_id"), 0);
	assert_int_equal(offset_of(RECORD_MMAP2, RECORD_MISC_MMAP_BUILD_ID, "build_id"), offsetof(struct record_mmap2, build_id));
	assert_int_equal(offset_of(RECORD_MMAP2, RECORD_MISC_MMAP_BUILD_ID, "inode"), 0);
	assert_int_equal(offset_of(RECORD_MMAP2, 0, "name"), offsetof(struct record_mmap2, name));
	assert_int_equal(offset_of(RECORD_MMAP2, RECORD_MISC_MMAP_BUILD_ID, "name"), offsetof(struct record_mmap2, name));
	assert_int_equal(offset_of(RECORD_TEXT_POKE, 0, "bytes"), offsetof(struct record_text_poke, bytes));
	assert_int_equal(offset_of(RECORD_HEADER_BUILD_ID, 0, "name"), offsetof(struct record_header_build_id, name));
	assert_int_equal(offset_of(RECORD_TIME_CONV, 0, "cap_short"), offsetof(struct record_time_conv, cap_short));
	assert_int_equal(offset_of(RECORD_AUXTRACE_ERROR, 0, "message"), offsetof(struct record_auxtrace_error, message));
	assert_int_equal(offset_of(RECORD_UNTHROTTLE, 0, "stream_id"), offsetof(struct record_throttle, stream_id));
}

/* The bit that the kernel leaves behind, with the devices that Linux has: of a disk (8:1), virtio (254:0), NVMe (259:2), none (0:35), a
 * loop device (7:3), a RAID (9:127); with and without generations of inodes. */
static void test_no_build_id(void **state)
{
	static const uint32_t devices[][2] = {{8, 1}, {254, 0}, {259, 2}, {0, 35}, {7, 3}, {9, 127}};
	struct buffer buffer = made(RECORD_MMAP2, RECORD_MISC_MMAP_BUILD_ID);
	struct record_mmap2 *record = (void *)&buffer;
	assert_true(record_has_build_id(&buffer.header));
	for (size_t i = 0; i < 2 * sizeof(devices) / sizeof(*devices); i++) {
		record->major = devices[i / 2][0];
		record->minor = devices[i / 2][1];
		record->inode = 7777;
		record->inode_generation = i % 2 ? 0xc0ffee00c0ffee : 0;
		assert_false(record_has_build_id(&buffer.header));
	}
	memset(record->build_id, 0, sizeof(record->build_id));
	memset(record->reserved, 0, sizeof(record->reserved));
	for (record->build_id_size = 16; record->build_id_size; record->build_id_size -= 8) {
		memset(record->build_id, 0, sizeof(record->build_id));
		memset(record->build_id, 0xab, record->build_id_size);
		assert_true(record_has_build_id(&buffer.header));
	}
	record->build_id_size = 8;
	buffer.header.misc = 0;
	assert_false(record_has_build_id(&buffer.header));
}

/* A compiler pads nothing as long as each field is aligned to its size. */
static void test_aligned(void **state)
{
	for (uint32_t type = 0; type < RECORD_USER_MAX; type++)
		for (int misc = 0; misc < 2 && record_kind(type); misc++) {
			const struct buffer buffer = made(type, misc ? UINT16_MAX : 0);
			struct record_walk walk = record_walk(record_kind(type), &buffer.header, ROOM);
			const struct record_field *field;
			size_t offset;
			while ((field = record_walk_next(&walk, &offset))) {
				assert_true(offset + field->size <= ROOM);
				if (field->kind == FIELD_NUMBER || field->kind == FIELD_SIGNED)
					assert_int_equal(offset % field->size, 0);
			}
		}
}

/* Whatever the size: a record that is refused has fields that don't fit, others have all that their row promises. */
static void test_sizes(void **state)
{
	for (uint32_t type = 0; type < RECORD_USER_MAX; type++) {
		const struct record_kind *kind = record_kind(type);
		for (uint16_t size = sizeof(struct record_header); kind && size < ROOM; size++) {
			struct buffer buffer = {.header = {.type = type, .size = size}};
			bool fits = size >= kind->least_size && (type >= RECORD_USER_START || size % 8 == 0);
			bool terminated = !kind->text_offset || size > kind->text_offset;
			struct record_walk walk = record_walk(kind, &buffer.header, size);
			size_t offset, end = sizeof(buffer.header);
			for (const struct record_field *field; (field = record_walk_next(&walk, &offset)); end = offset + field->size)
				assert_true(offset == end && offset + field->size <= size);
			assert_int_equal(record_check(kind, &buffer.header) == NULL, fits && terminated);
			assert_true(size < kind->least_size || end >= kind->least_size);
		}
	}
}

static void test_list(void **state)
{
	const struct record_header header = {.type = RECORD_NAMESPACES, .size = 24 + 3 * 16 + 8};
	struct record_walk walk = record_walk(record_kind(RECORD_NAMESPACES), &header, header.size);
	size_t offset, last = 0;
	int links = 0;
	for (const struct record_field *field; (field = record_walk_next(&walk, &offset)); last = offset)
		links += !strcmp(field->name, "inode");
	assert_int_equal(links, 3);
	assert_int_equal(last, 24 + 3 * 16);
}

/* Texts name fields that their rows have; of parts that aren't in the table an assertion tells. */
static void check_text(uint32_t type, const char *template)
{
	struct buffer buffer = {.header = {.type = type, .size = ROOM}};
	struct strbuf out = {0};
	const struct record_text text = {.header = &buffer.header, .end = ROOM, .out = &out};
	size_t offset;
	if (!template)
		return;
	for (const char *at = template; (at = strchr(at, '{')); at++)
		assert_true(at[1] == '!' || record_find(&buffer.header, ROOM, at + 1, strcspn(at + 1, ":}"), &offset));
	record_text_add(&text, template);
	assert_null(strchr(strbuf_str(&out), '{'));
	strbuf_deinit(&out);
}

static void test_texts(void **state)
{
	for (uint32_t type = 0; type < RECORD_USER_MAX; type++)
		if (record_kind(type)) {
			check_text(type, record_dump_text(record_kind(type)));
			check_text(type, record_script_text(record_kind(type)));
		}
}

static void test_forms(void **state)
{
	struct strbuf out = {0};
	const struct record_task task = {.header = {RECORD_FORK, 0, sizeof(task)}, .pid = (uint32_t)-1, .ppid = 7, .time = 0x1f};
	const struct record_text text = {.header = &task.header, .end = sizeof(task), .out = &out};
	record_text_add(&text, "{pid} {pid:d} [{ppid:5d}] [{ppid:-3d}] {time:x} {time:#x} {time:04x} {tid:#x} {ptid:02x}.");
	assert_string_equal(strbuf_str(&out), "4294967295 -1 [    7] [7  ] 1f 0x1f 001f 0 00.");
	strbuf_deinit(&out);
}

int perfdata_records_tests(void);
int perfdata_records_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structures), cmocka_unit_test(test_no_build_id), cmocka_unit_test(test_aligned),
		cmocka_unit_test(test_sizes),	   cmocka_unit_test(test_list),	       cmocka_unit_test(test_texts),
		cmocka_unit_test(test_forms),
	};
	return cmocka_run_group_tests_name("perfdata/records", tests, NULL, NULL);
}
