/* File header and the recognition of what a file is. Numbers of a foreign byte order are turned here; sections that point outside of the
 * file are cut down, so that later code can trust them. */
#include "perfdata/header.h"

#include <string.h>

bool header_detect(const void *data, size_t size, struct header_kind *ret)
{
	uint64_t words[2];
	if (size < sizeof(words))
		return false;
	memcpy(words, data, sizeof(words));
	struct header_kind kind = {0};
	/* The magic of the first version was the same bytes in both orders; there the size tells. */
	if (words[0] == __builtin_bswap64(HEADER_MAGIC_V2) || words[0] == __builtin_bswap64(HEADER_MAGIC_V1))
		kind.swapped = true;
	else if (words[0] != HEADER_MAGIC_V2 && words[0] != HEADER_MAGIC_V1)
		return false;
	kind.v1 = words[0] == HEADER_MAGIC_V1 || words[0] == __builtin_bswap64(HEADER_MAGIC_V1);
	if (kind.v1 && words[1] > UINT32_MAX)
		kind.swapped = !kind.swapped;
	uint64_t header_size = kind.swapped ? __builtin_bswap64(words[1]) : words[1];
	kind.pipe = header_size == PIPE_HEADER_SIZE;
	*ret = kind;
	return true;
}

static void section_clamp(struct file_section *section, uint64_t file_size)
{
	if (section->offset > file_size)
		*section = (struct file_section){.offset = file_size};
	else if (section->size > file_size - section->offset)
		section->size = file_size - section->offset;
}

/* The words of the feature bitmap were written as `unsigned long`: in a foreign 32-bit recording the halves are swapped one by one. A set
 * bit of HOSTNAME, which every recorder writes, in the right place tells. */
static void features_swap(uint64_t features[4])
{
	uint64_t swapped[4];
	for (int i = 0; i < 4; i++)
		swapped[i] = __builtin_bswap64(features[i]);
	if (!(swapped[0] & (1u << 3)) && (swapped[0] >> 32 & (1u << 3)))
		for (int i = 0; i < 4; i++)
			swapped[i] = swapped[i] >> 32 | swapped[i] << 32;
	memcpy(features, swapped, sizeof(swapped));
}

struct error *header_read(const void *data, size_t size, struct header_kind kind, struct file_header *ret)
{
	struct file_header header = {0};
	if (size < FILE_HEADER_SIZE_OLD)
		return error_new_kind(ERROR_FORMAT, "file of %zu bytes is too short for the header of a recording (%d bytes)", size,
				      FILE_HEADER_SIZE_OLD);
	memcpy(&header, data, size < FILE_HEADER_SIZE ? size : FILE_HEADER_SIZE);
	if (kind.swapped) {
		uint64_t *words = (uint64_t *)&header;
		for (size_t i = 0; i < FILE_HEADER_SIZE_OLD / 8; i++)
			words[i] = __builtin_bswap64(words[i]);
		features_swap(header.features);
	}
	if (header.size < FILE_HEADER_SIZE_OLD)
		return error_new_kind(ERROR_FORMAT, "header size %llu, expected at least %d", (unsigned long long)header.size,
				      FILE_HEADER_SIZE_OLD);
	if (header.size < FILE_HEADER_SIZE)
		memset(header.features, 0, sizeof(header.features));
	if (header.attr_size < EVENT_ATTR_SIZE_MIN + sizeof(struct file_section))
		return error_new_kind(ERROR_FORMAT, "attributes of %llu bytes, expected at least %zu", (unsigned long long)header.attr_size,
				      EVENT_ATTR_SIZE_MIN + sizeof(struct file_section));
	section_clamp(&header.attrs, size);
	section_clamp(&header.event_types, size);
	*ret = header;
	return NULL;
}
