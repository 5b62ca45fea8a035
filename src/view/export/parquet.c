/* A table of samples as Parquet (github.com/apache/parquet-format), for data frames and SQL engines: the columns of lines.h and the stack.
 *
 *	"PAR1" | group of rows: for each column [dictionary page] data page | … | metadata (Thrift) | its size | "PAR1"
 *
 * Numbers are plain, texts numbers of a dictionary of their group; what isn't known is null. Pages are compressed by zstd. There are no
 * statistics and no indexes.
 */
#include "base/formats/protobuf.h"
#include "base/formats/thrift.h"
#include "base/mem.h"
#include "view/export/lines.h"
#include "view/export/streaming.h"
#include "view/export/string_table.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Rows and bytes of stacks' names in a group: no page may come near 2 GB, whatever names there are. */
enum { GROUP_ROWS = 1 << 17, GROUP_TEXT = 1 << 26, COMPRESSION_LEVEL = 1 };
static const char magic[] = "PAR1";

/* parquet.thrift */
enum physical_type { TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum converted_type { CONVERTED_UTF8 = 0, CONVERTED_UINT32 = 13, CONVERTED_UINT64 = 14 };
enum { REPETITION_REQUIRED, REPETITION_OPTIONAL };
enum encoding { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };
enum page_type { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum file_field { FILE_VERSION = 1, FILE_SCHEMA, FILE_ROWS, FILE_GROUPS, FILE_CREATOR = 6 };
enum schema_field { SCHEMA_TYPE = 1, SCHEMA_REPETITION = 3, SCHEMA_NAME, SCHEMA_CHILDREN, SCHEMA_CONVERTED };
enum group_field { GROUP_COLUMNS = 1, GROUP_SIZE, GROUP_ROW_COUNT };
enum chunk_field { CHUNK_OFFSET = 2, CHUNK_METADATA };
enum metadata_field {
	META_TYPE = 1,
	META_ENCODINGS,
	META_PATH,
	META_CODEC,
	META_VALUES,
	META_PLAIN_SIZE,
	META_SIZE,
	META_DATA_OFFSET = 9,
	META_DICTIONARY_OFFSET = 11,
};
enum page_field { PAGE_TYPE = 1, PAGE_PLAIN_SIZE, PAGE_SIZE, PAGE_DATA_HEADER = 5, PAGE_DICTIONARY_HEADER = 7 };
enum page_header_field { HEADER_VALUES = 1, HEADER_ENCODING, HEADER_DEFINITION, HEADER_REPETITION };

/* A column of a group of rows, as the metadata tell where it is. */
struct chunk {
	uint64_t dictionary_offset, data_offset; /* 0 = no dictionary */
	uint64_t plain_size, size;		 /* with the headers of pages */
};

struct writing {
	const struct samples *samples;
	const struct sink *sink;
	struct strbuf out;
	uint64_t written; /* what the sink has got */
	ZSTD_CCtx *zstd;
	struct strbuf header, page, compressed;
	VEC(struct chunk) chunks; /* group after group */
	VEC(size_t) ends;	  /* of groups: rows before the next one */
	size_t columns;
	struct line_names names;
	samples_path path;
	struct strbuf stack;
};

/* The values of a column of a group. */
struct values {
	struct strbuf plain;	   /* of numbers */
	VEC(uint32_t) numbers;	   /* of texts */
	struct string_table texts; /* the dictionary */
	struct map64 stacks;	   /* by stack: a number of `numbers` */
	struct strbuf known;	   /* runs: which rows have a value */
	size_t run;
	bool run_known;
};

static uint64_t position(const struct writing *writing)
{
	return writing->written + writing->out.len;
}

static void add_little_endian(struct strbuf *out, uint64_t value, size_t bytes)
{
	char *at = strbuf_reserve(out, bytes);
	for (size_t i = 0; i < bytes; i++)
		at[i] = (char)(value >> 8 * i);
	strbuf_advance(out, bytes);
}

/* ---- pages ---- */

static void compress_page(struct writing *writing)
{
	size_t most = ZSTD_compressBound(writing->page.len);
	strbuf_clear(&writing->compressed);
	char *to = strbuf_reserve(&writing->compressed, most);
	size_t size = ZSTD_compressCCtx(writing->zstd, to, most, strbuf_str(&writing->page), writing->page.len, COMPRESSION_LEVEL);
	if (ZSTD_isError(size))
		mem_exhausted();
	strbuf_advance(&writing->compressed, size);
}

/* Writes what is in writing->page. */
static void write_page(struct writing *writing, enum page_type type, size_t values, enum encoding encoding, struct chunk *chunk)
{
	struct thrift thrift = {.out = &writing->header};
	compress_page(writing);
	strbuf_clear(&writing->header);
	thrift_add_int(&thrift, PAGE_TYPE, THRIFT_I32, type);
	thrift_add_int(&thrift, PAGE_PLAIN_SIZE, THRIFT_I32, (int64_t)writing->page.len);
	thrift_add_int(&thrift, PAGE_SIZE, THRIFT_I32, (int64_t)writing->compressed.len);
	thrift_begin(&thrift, type == PAGE_DATA ? PAGE_DATA_HEADER : PAGE_DICTIONARY_HEADER);
	thrift_add_int(&thrift, HEADER_VALUES, THRIFT_I32, (int64_t)values);
	thrift_add_int(&thrift, HEADER_ENCODING, THRIFT_I32, encoding);
	if (type == PAGE_DATA) {
		thrift_add_int(&thrift, HEADER_DEFINITION, THRIFT_I32, ENCODING_RLE);
		thrift_add_int(&thrift, HEADER_REPETITION, THRIFT_I32, ENCODING_RLE);
	}
	thrift_end(&thrift);
	thrift_end(&thrift);
	chunk->plain_size += writing->header.len + writing->page.len;
	chunk->size += writing->header.len + writing->compressed.len;
	strbuf_add(&writing->out, strbuf_str(&writing->header), writing->header.len);
	strbuf_add(&writing->out, strbuf_str(&writing->compressed), writing->compressed.len);
	strbuf_clear(&writing->page);
	if (writing->out.len >= STREAMING_BLOCK) {
		writing->written += writing->out.len;
		sink_move(writing->sink, &writing->out);
	}
}

static void write_dictionary(struct writing *writing, const struct values *values, struct chunk *chunk)
{
	chunk->dictionary_offset = position(writing);
	for (size_t i = 0; i < values->texts.list.len; i++) {
		const char *text = values->texts.list.data[i];
		size_t length = strlen(text);
		add_little_endian(&writing->page, length, sizeof(uint32_t));
		strbuf_add(&writing->page, text, length);
	}
	write_page(writing, PAGE_DICTIONARY, values->texts.list.len, ENCODING_PLAIN, chunk);
}

/* Numbers of the dictionary: their width in bits, then all as one run of packed groups of eight. */
static void add_packed(struct strbuf *out, const uint32_t *numbers, size_t count, size_t dictionary)
{
	unsigned int width = 1, bits = 0;
	uint64_t pending = 0;
	while (dictionary > (uint64_t)1 << width)
		width++;
	strbuf_add_char(out, (char)width);
	protobuf_varint(out, (count + 7) / 8 << 1 | 1);
	for (size_t i = 0; i < (count + 7) / 8 * 8; i++) {
		pending |= (uint64_t)(i < count ? numbers[i] : 0) << bits;
		for (bits += width; bits >= 8; bits -= 8, pending >>= 8)
			strbuf_add_char(out, (char)pending);
	}
}

/* ---- columns ---- */

static void end_run(struct values *values)
{
	if (!values->run)
		return;
	protobuf_varint(&values->known, values->run << 1);
	strbuf_add_char(&values->known, (char)values->run_known);
	values->run = 0;
}

static void add_known(struct values *values, bool known)
{
	if (known != values->run_known)
		end_run(values);
	values->run_known = known;
	values->run++;
}

static void add_value(struct values *values, const struct line_column *column, const struct line_value *value)
{
	add_known(values, value->kind != LINE_NOTHING);
	if (value->kind == LINE_TEXT)
		vec_push(&values->numbers, string_table_lasting(&values->texts, value->text));
	else if (value->kind != LINE_NOTHING)
		add_little_endian(&values->plain, value->number, column->type == LINE_COLUMN_U64 ? sizeof(uint64_t) : sizeof(uint32_t));
}

static void add_stack(struct writing *writing, struct values *values, uint32_t stack)
{
	bool first;
	add_known(values, stack != 0);
	if (!stack)
		return;
	uint64_t *number = map64_insert(&values->stacks, stack, &first);
	if (first) {
		strbuf_clear(&writing->stack);
		line_names_add_stack(&writing->names, writing->samples, stack, ';', &writing->path, &writing->stack);
		*number = string_table_number(&values->texts, strbuf_str(&writing->stack));
	}
	vec_push(&values->numbers, (uint32_t)*number);
}

static bool is_text(const struct line_column *column)
{
	return !column->id || column->type == LINE_COLUMN_TEXT;
}

/* `column`: the last one, without an id, is the stack. */
static void write_chunk(struct writing *writing, const struct line_column *column, size_t from, size_t to)
{
	struct values values = {0};
	struct chunk chunk = {0};
	for (size_t i = from; i < to; i++) {
		const struct samples_row *row = &writing->samples->rows.data[i];
		if (column->id) {
			const struct line_value value = column->value(writing->samples, row);
			add_value(&values, column, &value);
		} else {
			add_stack(writing, &values, row->stack);
		}
	}
	end_run(&values);
	if (is_text(column))
		write_dictionary(writing, &values, &chunk);
	chunk.data_offset = position(writing);
	add_little_endian(&writing->page, values.known.len, sizeof(uint32_t));
	strbuf_add(&writing->page, strbuf_str(&values.known), values.known.len);
	if (is_text(column))
		add_packed(&writing->page, values.numbers.data, values.numbers.len, values.texts.list.len);
	else
		strbuf_add(&writing->page, strbuf_str(&values.plain), values.plain.len);
	write_page(writing, PAGE_DATA, to - from, is_text(column) ? ENCODING_DICTIONARY : ENCODING_PLAIN, &chunk);
	vec_push(&writing->chunks, chunk);
	strbuf_deinit(&values.plain);
	strbuf_deinit(&values.known);
	vec_deinit(&values.numbers);
	string_table_deinit(&values.texts);
	map64_deinit(&values.stacks);
}

/* ---- metadata ---- */

static const char *column_name(const struct line_column *column)
{
	return column->id ? column->id : "stack";
}

static enum physical_type column_type(const struct line_column *column)
{
	return is_text(column) ? TYPE_BYTES : column->type == LINE_COLUMN_U64 ? TYPE_INT64 : TYPE_INT32;
}

static void add_schema(const struct writing *writing, struct thrift *thrift)
{
	thrift_begin_list(thrift, FILE_SCHEMA, THRIFT_STRUCT, writing->columns + 1);
	thrift_begin_element(thrift);
	thrift_add_text(thrift, SCHEMA_NAME, "samples");
	thrift_add_int(thrift, SCHEMA_CHILDREN, THRIFT_I32, (int64_t)writing->columns);
	thrift_end(thrift);
	for (size_t i = 0; i < writing->columns; i++) {
		const struct line_column *column = &line_columns[i];
		enum physical_type type = column_type(column);
		thrift_begin_element(thrift);
		thrift_add_int(thrift, SCHEMA_TYPE, THRIFT_I32, type);
		thrift_add_int(thrift, SCHEMA_REPETITION, THRIFT_I32, REPETITION_OPTIONAL);
		thrift_add_text(thrift, SCHEMA_NAME, column_name(column));
		thrift_add_int(thrift, SCHEMA_CONVERTED, THRIFT_I32,
			       type == TYPE_BYTES   ? CONVERTED_UTF8
			       : type == TYPE_INT64 ? CONVERTED_UINT64
						    : CONVERTED_UINT32);
		thrift_end(thrift);
	}
}

static void add_chunk(struct thrift *thrift, const struct line_column *column, const struct chunk *chunk, size_t rows)
{
	thrift_begin_element(thrift);
	thrift_add_int(thrift, CHUNK_OFFSET, THRIFT_I64, 0); /* this is the only place of its metadata */
	thrift_begin(thrift, CHUNK_METADATA);
	thrift_add_int(thrift, META_TYPE, THRIFT_I32, column_type(column));
	thrift_begin_list(thrift, META_ENCODINGS, THRIFT_I32, is_text(column) ? 3 : 2);
	thrift_add_int_element(thrift, ENCODING_PLAIN);
	thrift_add_int_element(thrift, ENCODING_RLE);
	if (is_text(column))
		thrift_add_int_element(thrift, ENCODING_DICTIONARY);
	thrift_begin_list(thrift, META_PATH, THRIFT_TEXT, 1);
	thrift_add_text_element(thrift, column_name(column));
	thrift_add_int(thrift, META_CODEC, THRIFT_I32, CODEC_ZSTD);
	thrift_add_int(thrift, META_VALUES, THRIFT_I64, (int64_t)rows);
	thrift_add_int(thrift, META_PLAIN_SIZE, THRIFT_I64, (int64_t)chunk->plain_size);
	thrift_add_int(thrift, META_SIZE, THRIFT_I64, (int64_t)chunk->size);
	thrift_add_int(thrift, META_DATA_OFFSET, THRIFT_I64, (int64_t)chunk->data_offset);
	if (chunk->dictionary_offset)
		thrift_add_int(thrift, META_DICTIONARY_OFFSET, THRIFT_I64, (int64_t)chunk->dictionary_offset);
	thrift_end(thrift);
	thrift_end(thrift);
}

/* By stack: the bytes of its names. Freed by the caller. */
static uint64_t *stack_sizes(const struct writing *writing)
{
	const struct samples *samples = writing->samples;
	uint64_t *sizes = mem_zalloc_array(samples->stacks.len + 1, sizeof(*sizes));
	for (size_t i = 1; i < samples->stacks.len; i++) {
		const struct samples_stack *stack = &samples->stacks.data[i];
		uint32_t function = samples->frames.data[stack->frame].function;
		sizes[i] = sizes[stack->parent] + 1 + writing->names.ends[function] - (function ? writing->names.ends[function - 1] : 0);
	}
	return sizes;
}

static void divide_into_groups(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	uint64_t *sizes = stack_sizes(writing), text = 0;
	size_t *seen = mem_zalloc_array(samples->stacks.len + 1, sizeof(*seen)); /* by stack: the last group that has it, from 1 on */
	size_t from = 0;
	for (size_t i = 0; i < samples->rows.len; i++) {
		uint32_t stack = samples->rows.data[i].stack;
		if (i - from == GROUP_ROWS || (text >= GROUP_TEXT && seen[stack] != writing->ends.len + 1)) {
			vec_push(&writing->ends, i);
			from = i;
			text = 0;
		}
		if (seen[stack] != writing->ends.len + 1)
			text += sizes[stack];
		seen[stack] = writing->ends.len + 1;
	}
	if (samples->rows.len)
		vec_push(&writing->ends, samples->rows.len);
	free(sizes);
	free(seen);
}

static void add_groups(const struct writing *writing, struct thrift *thrift)
{
	const struct chunk *chunk = writing->chunks.data;
	thrift_begin_list(thrift, FILE_GROUPS, THRIFT_STRUCT, writing->ends.len);
	for (size_t group = 0, from = 0; group < writing->ends.len; from = writing->ends.data[group++]) {
		size_t rows = writing->ends.data[group] - from;
		uint64_t size = 0;
		thrift_begin_element(thrift);
		thrift_begin_list(thrift, GROUP_COLUMNS, THRIFT_STRUCT, writing->columns);
		for (size_t i = 0; i < writing->columns; i++, chunk++) {
			add_chunk(thrift, &line_columns[i], chunk, rows);
			size += chunk->plain_size;
		}
		thrift_add_int(thrift, GROUP_SIZE, THRIFT_I64, (int64_t)size);
		thrift_add_int(thrift, GROUP_ROW_COUNT, THRIFT_I64, (int64_t)rows);
		thrift_end(thrift);
	}
}

static void write_metadata(struct writing *writing)
{
	size_t begin = writing->out.len;
	struct thrift thrift = {.out = &writing->out};
	thrift_add_int(&thrift, FILE_VERSION, THRIFT_I32, 2);
	add_schema(writing, &thrift);
	thrift_add_int(&thrift, FILE_ROWS, THRIFT_I64, (int64_t)writing->samples->rows.len);
	add_groups(writing, &thrift);
	thrift_add_text(&thrift, FILE_CREATOR, "perf-ng version " PERF_VERSION);
	thrift_end(&thrift);
	add_little_endian(&writing->out, writing->out.len - begin, sizeof(uint32_t));
	strbuf_add_str(&writing->out, magic);
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct writing writing = {.samples = samples, .sink = out, .zstd = ZSTD_createCCtx()};
	if (!writing.zstd)
		mem_exhausted();
	while (line_columns[writing.columns].id)
		writing.columns++;
	writing.columns++;
	line_names_init(&writing.names, samples, line_add_frame);
	strbuf_add_str(&writing.out, magic);
	divide_into_groups(&writing);
	for (size_t group = 0, from = 0; group < writing.ends.len; from = writing.ends.data[group++])
		for (size_t i = 0; i < writing.columns; i++)
			write_chunk(&writing, &line_columns[i], from, writing.ends.data[group]);
	write_metadata(&writing);
	line_names_deinit(&writing.names);
	ZSTD_freeCCtx(writing.zstd);
	strbuf_deinit(&writing.header);
	strbuf_deinit(&writing.page);
	strbuf_deinit(&writing.compressed);
	strbuf_deinit(&writing.stack);
	vec_deinit(&writing.chunks);
	vec_deinit(&writing.ends);
	vec_deinit(&writing.path);
	return stream_end(&writing.out, out, "Parquet file");
}

const struct view_ops view_parquet = {
	.name = "parquet",
	.summary = "a table of samples for data frames and SQL engines (Apache Parquet)",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};
