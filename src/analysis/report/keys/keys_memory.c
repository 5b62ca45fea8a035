/* Keys of memory accesses (report --mem-mode): which data, at which cost, from where it came. */
#include "analysis/report/keys/keys_internal.h"

#include "analysis/report/data_places.h"
#include "analysis/script/sample_text.h"

#include <elf.h>

static const struct data_place *place_of(const struct key_source *source)
{
	return (const struct data_place *)(uintptr_t)source->words[0];
}

void key_daddr_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = (uintptr_t)data_places_data(context->places, sample->thread, sample->sample->cpumode, sample->sample->addr,
					       sample->model_time);
}

void key_iaddr_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = (uintptr_t)data_places_code(context->places, sample->thread, sample->sample->cpumode, sample->sample->ip,
					       sample->model_time);
}

void key_line_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = (uintptr_t)data_places_line(context->places, sample->thread, sample->sample->cpumode, sample->sample->addr,
					       sample->model_time);
}

void key_dso_daddr_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	uint64_t place;
	key_daddr_extract(context, key, sample, &place);
	const struct dso *dso = ((const struct data_place *)(uintptr_t)place)->dso;
	words[0] = dso ? (uintptr_t)(context->verbose ? dso->name : dso->short_name) : 0;
}

const char *key_dso_daddr_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const char *name = (const char *)(uintptr_t)source->words[0];
	return name ? name : "[unknown]";
}

int64_t key_data_place_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)place_of(source)->address;
}

/* Lines of one file are neighbours. */
int64_t key_line_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)place_of(source)->dso_addr;
}

/* "[.] table+0x40". Of code the function's name alone. */
static void add_place(const struct data_place *place, char level, uint64_t address, struct strbuf *out)
{
	strbuf_printf(out, "[%c] ", level);
	if (!place->symbol) {
		strbuf_printf(out, "%#.16lx", address);
		return;
	}
	strbuf_add_str(out, place->symbol->name);
	if (place->symbol->type != STT_FUNC && place->symbol->type != STT_GNU_IFUNC) {
		bool before = place->dso_addr < place->symbol->start;
		strbuf_printf(out, "%c0x%lx", before ? '-' : '+',
			      before ? place->symbol->start - place->dso_addr : place->dso_addr - place->symbol->start);
	}
}

void key_data_place_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct data_place *place = place_of(source);
	add_place(place, sample_text_mode(place->cpumode), place->address, out);
}

void key_line_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct data_place *place = place_of(source);
	char level = place->shared && place->cpumode != CPUMODE_KERNEL ? 's' : !place->dso ? 'X' : sample_text_mode(place->cpumode);
	add_place(place, level, place->dso_addr, out);
}

void key_phys_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->phys_addr;
}

void key_phys_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_printf(out, "[%c] %#.16lx", sample_text_mode(source->entry->cpumode), source->words[0]);
}

void key_data_page_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->data_page_size;
}

/* Parts of the data source. Kept is the part alone, where it is in the whole. */

static void extract_part(const struct fold_sample *sample, enum data_source_part part, uint64_t *words)
{
	words[0] = sample_data_source(&sample->event->attr, sample->sample) & sample_text_part_mask(part);
}

#define PART(name, part)                                                                                                                \
	void key_##name##_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample,           \
				  uint64_t *words)                                                                                      \
	{                                                                                                                               \
		extract_part(sample, part, words);                                                                                      \
	}                                                                                                                               \
	void key_##name##_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out) \
	{                                                                                                                               \
		sample_text_add_part(source->words[0], part, out);                                                                      \
	}

PART(mem_level, DATA_SOURCE_LEVEL)
PART(snoop, DATA_SOURCE_SNOOP)
PART(tlb, DATA_SOURCE_TLB)
PART(locked, DATA_SOURCE_LOCK)
PART(blocked, DATA_SOURCE_BLOCK)

/* By the bits first that processors have always told; what was added later lies above them. */
int64_t key_source_part_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	uint64_t low = source->words[0] & UINT32_MAX, rest = source->words[0] >> 32;
	return (int64_t)(low << 20 | rest);
}
