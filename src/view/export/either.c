/* Protocol buffers or JSON. */
#include "view/export/either.h"

#include "base/formats/protobuf.h"

#include <assert.h>
#include <inttypes.h>

/* JSON is put together in the outermost buffer. */
void either_init(struct either *out, bool as_json)
{
	*out = (struct either){.as_json = as_json, .json.out = &out->open[0]};
	if (as_json)
		json_begin_object(&out->json);
}

void either_deinit(struct either *out)
{
	for (size_t i = 0; i < EITHER_DEEPEST; i++)
		strbuf_deinit(&out->open[i]);
	strbuf_deinit(&out->list);
}

void either_begin(struct either *out, uint32_t field, const char *name)
{
	if (out->as_json) {
		if (name)
			json_name(&out->json, name);
		json_begin_object(&out->json);
		return;
	}
	assert(out->depth + 1 < EITHER_DEEPEST);
	out->fields[++out->depth] = field;
}

void either_end(struct either *out)
{
	if (out->as_json) {
		json_end_object(&out->json);
		return;
	}
	protobuf_add_message(&out->open[out->depth - 1], out->fields[out->depth], &out->open[out->depth]);
	out->depth--;
}

void either_begin_list(struct either *out, const char *name)
{
	if (!out->as_json)
		return;
	json_name(&out->json, name);
	json_begin_array(&out->json);
}

void either_end_list(struct either *out)
{
	if (out->as_json)
		json_end_array(&out->json);
}

void either_numbers(struct either *out, uint32_t field, const char *name, const uint32_t *numbers, size_t count)
{
	if (!count)
		return;
	either_begin_list(out, name);
	for (size_t i = 0; i < count; i++) {
		if (out->as_json)
			json_u64(&out->json, numbers[i]);
		else
			protobuf_varint(&out->list, numbers[i]);
	}
	either_end_list(out);
	if (!out->as_json)
		protobuf_add_message(&out->open[out->depth], field, &out->list);
}

void either_numbers64(struct either *out, uint32_t field, const char *name, const uint64_t *numbers, size_t count)
{
	either_begin_list(out, name);
	for (size_t i = 0; i < count; i++) {
		if (out->as_json)
			json_value(&out->json, "\"%" PRIu64 "\"", numbers[i]);
		else
			protobuf_varint(&out->list, numbers[i]);
	}
	either_end_list(out);
	if (!out->as_json)
		protobuf_add_message(&out->open[out->depth], field, &out->list);
}

void either_number(struct either *out, uint32_t field, const char *name, uint32_t number)
{
	if (!out->as_json)
		protobuf_add_u64(&out->open[out->depth], field, number);
	else if (number)
		json_add_u64(&out->json, name, number);
}

static void add_json64(struct either *out, const char *name, uint64_t number)
{
	json_name(&out->json, name);
	json_value(&out->json, "\"%" PRIu64 "\"", number);
}

void either_present64(struct either *out, uint32_t field, const char *name, uint64_t number)
{
	if (out->as_json)
		add_json64(out, name, number);
	else
		protobuf_add_present(&out->open[out->depth], field, number);
}

void either_number64(struct either *out, uint32_t field, const char *name, uint64_t number)
{
	if (number)
		either_present64(out, field, name, number);
}

void either_fixed64(struct either *out, uint32_t field, const char *name, uint64_t number)
{
	if (!number)
		return;
	if (out->as_json)
		add_json64(out, name, number);
	else
		protobuf_add_fixed64(&out->open[out->depth], field, number);
}

void either_text(struct either *out, uint32_t field, const char *name, const char *text)
{
	if (out->as_json)
		json_add_string(&out->json, name, text);
	else
		protobuf_add_string(&out->open[out->depth], field, text);
}

void either_element(struct either *out, uint32_t field, const char *text)
{
	if (out->as_json)
		json_string(&out->json, text);
	else
		protobuf_add_string(&out->open[out->depth], field, text);
}

void either_finish(struct either *out)
{
	if (!out->as_json)
		return;
	json_end_object(&out->json);
	strbuf_add_char(&out->open[0], '\n');
}
