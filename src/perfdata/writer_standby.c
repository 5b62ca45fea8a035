/* Features for a recording whose recorder is killed.
 *
 * Readers find the table of feature sections where the data ends. That is too late for recordings that cannot be read without their
 * features: those with tracepoints (formats), compressed ones (sizes) and directories (that they are). So these get the sections ahead,
 * between the attributes and the data, and the table behind every piece of data that is written:
 *
 *	header | ids | attributes | sections | data … E | table          data.size up to and with E, an empty record of 8 bytes
 *	header | ids | attributes | sections | data … E[table] data … E | table
 *
 * When more data follows, E grows over the old table: it becomes the payload of a record of a type that all readers pass over without a
 * word (HEADER_EVENT_TYPE, meaningless since 2011). Data is written first, then E's size, then the header's data size: at every moment what
 * the header says is whole. */
#include "base/mem.h"
#include "perfdata/features/features_write.h"
#include "perfdata/writer_internal.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The table is written again and again: it holds only what a reader cannot do without. */
static bool is_indispensable(unsigned int feature)
{
	return feature == FEATURE_TRACING_DATA || feature == FEATURE_ARCH || feature == FEATURE_EVENT_DESC ||
	       feature == FEATURE_GROUP_DESC || feature == FEATURE_COMPRESSED || feature == FEATURE_DIR_FORMAT;
}

void writer_standby_prepare(struct writer *writer, const struct features *features, const uint64_t bits[4], uint64_t at, struct strbuf *out)
{
	struct file_section table[FEATURE_COUNT];
	struct record_header header = {.type = RECORD_HEADER_EVENT_TYPE, .size = sizeof(header)};
	unsigned int count = 0;
	size_t first = out->len;

	memset(writer->standby_bits, 0, sizeof(writer->standby_bits));
	for (unsigned int feature = 0; feature < FEATURE_COUNT; feature++) {
		size_t start = out->len;
		if (!(bits[feature / 64] >> feature % 64 & 1) || !is_indispensable(feature) ||
		    !writer_encode_feature(writer, features, feature, out))
			continue;
		table[count++] = (struct file_section){at + (start - first), out->len - start};
		writer->standby_bits[feature / 64] |= 1ull << feature % 64;
	}
	strbuf_add_chars(out, '\0', -(out->len - first) & 7);
	writer->standby_size = sizeof(header) + count * sizeof(table[0]);
	writer->standby = mem_alloc(writer->standby_size);
	memcpy(writer->standby, &header, sizeof(header));
	memcpy((uint8_t *)writer->standby + sizeof(header), table, count * sizeof(table[0]));
}

void writer_standby_absorb(struct writer *writer, uint64_t table_at)
{
	uint16_t size = (uint16_t)writer->standby_size;
	off_t header = (off_t)(table_at - sizeof(struct record_header));

	ssize_t done = pwrite(writer->fd, &size, sizeof(size), header + (off_t)offsetof(struct record_header, size));
	(void)done; /* these bytes are on the disk already */
}
