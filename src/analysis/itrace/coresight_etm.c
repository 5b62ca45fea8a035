/* ETMs: AUXTRACE_INFO (tools/perf/util/cs-etm.h) has a head, then for each CPU what is known of its ETM. Of an unknown kind nothing is
 * decoded, but its numbers are shown. */
#include "analysis/itrace/coresight_etm.h"

#include <inttypes.h>
#include <string.h>

enum info_word { INFO_VERSION, INFO_PMU_AND_CPUS, INFO_SNAPSHOTS, INFO_HEAD };
enum { ETM_MAGIC, ETM_CPU, ETM_HEAD }; /* of version 0; later ones have the number of registers behind it */
static const uint64_t MAGIC_ETM4 = 0x4040404040404040, MAGIC_ETE = 0x5050505050505050;

static uint64_t word_count(const struct record_auxtrace_info *info)
{
	return info->header.size < sizeof(*info) ? 0 : (info->header.size - sizeof(*info)) / sizeof(uint64_t);
}

struct error *etms_read(const struct record_auxtrace_info *info, etm_list *ret)
{
	const uint64_t count = word_count(info);
	if (count < INFO_HEAD)
		return error_new_kind(ERROR_FORMAT, "its description is cut");
	const bool has_size = info->words[INFO_VERSION] > 0;
	const uint32_t cpus = (uint32_t)info->words[INFO_PMU_AND_CPUS];
	uint64_t at = INFO_HEAD;
	for (uint32_t i = 0; i < cpus; i++) {
		struct etm etm = {0};
		const uint64_t head = ETM_HEAD + has_size;
		if (at + head > count)
			return error_new_kind(ERROR_FORMAT, "its description is cut");
		const uint64_t *words = info->words + at;
		const uint64_t size = has_size ? words[ETM_HEAD] : ETM_REGISTERS;
		etm.is_ete = words[ETM_MAGIC] == MAGIC_ETE;
		const uint64_t least = etm.is_ete ? ETE_REGISTERS : ETM_REGISTERS;
		if (words[ETM_MAGIC] != MAGIC_ETM4 && !etm.is_ete)
			return error_new_kind(ERROR_UNSUPPORTED, "it is neither of an ETM of version 4 nor of an ETE");
		if (size > count - at - head || size < least)
			return error_new_kind(ERROR_FORMAT, "its description is cut");
		etm.cpu = (uint32_t)words[ETM_CPU];
		memcpy(etm.registers, words + head, least * sizeof(etm.registers[0]));
		vec_push(ret, etm);
		at += head + size;
	}
	return NULL;
}

uint64_t etms_pmu(const struct record_auxtrace_info *info)
{
	return info->words[INFO_PMU_AND_CPUS] >> 32;
}

/* ── As text ── */

/* Names, up to the column where values stand. */
static void add_name(const char *name, struct strbuf *out)
{
	enum { TAB = 8, COLUMN = 3 };
	strbuf_printf(out, "\t%s", name);
	for (size_t tabs = strlen(name) / TAB; tabs < COLUMN; tabs++)
		strbuf_add_char(out, '\t');
}

static void add_word(const char *name, uint64_t value, struct strbuf *out)
{
	add_name(name, out);
	strbuf_printf(out, "       %" PRIx64 "\n", value);
}

static const char *register_name(uint64_t magic, uint64_t number)
{
	static const char *const NAMES[ETE_REGISTERS] = {
		[ETM_CONFIG] = "TRCCONFIGR",
		[ETM_TRACE_ID] = "TRCTRACEIDR",
		[ETM_ID0] = "TRCIDR0",
		[ETM_ID1] = "TRCIDR1",
		[ETM_ID2] = "TRCIDR2",
		[ETM_ID8] = "TRCIDR8",
		[ETM_AUTHENTICATION] = "TRCAUTHSTATUS",
		[ETM_ARCHITECTURE] = "TRCDEVARCH",
	};
	const uint64_t count = magic == MAGIC_ETE ? ETE_REGISTERS : magic == MAGIC_ETM4 ? ETM_REGISTERS : 0;
	return number < count ? NAMES[number] : "Unknown register";
}

/* Returns how many words it is; 0: there are no more that can be told apart. */
static uint64_t describe_etm(const uint64_t *words, uint64_t count, bool has_size, struct strbuf *out)
{
	const uint64_t head = ETM_HEAD + has_size;
	if (head > count)
		return 0;
	add_word("Magic number", words[ETM_MAGIC], out);
	add_name("CPU", out);
	strbuf_printf(out, "       %" PRId64 "\n", (int64_t)words[ETM_CPU]);
	if (has_size)
		add_word("NR_TRC_PARAMS", words[ETM_HEAD], out);
	const uint64_t size = has_size ? words[ETM_HEAD] : ETM_REGISTERS;
	if (size > count - head)
		return 0;
	for (uint64_t i = 0; i < size; i++)
		add_word(register_name(words[ETM_MAGIC], i), words[head + i], out);
	return head + size;
}

void etms_describe(const struct record_auxtrace_info *info, struct strbuf *out)
{
	static const char *const NAMES[INFO_HEAD] = {"Header version", "PMU type/num cpus", "Snapshot"};
	const uint64_t count = word_count(info);
	for (uint64_t i = 0; i < INFO_HEAD && i < count; i++)
		add_word(NAMES[i], info->words[i], out);
	for (uint64_t at = INFO_HEAD, size; at < count; at += size) {
		size = describe_etm(info->words + at, count - at, info->words[INFO_VERSION] > 0, out);
		if (!size)
			return;
	}
}

/* ── libopencsd ── */

dcd_tree_handle_t etm_create_tree(bool is_raw)
{
	return csd.create_dcd_tree(is_raw ? OCSD_TRC_SRC_SINGLE : OCSD_TRC_SRC_FRAME_FORMATTED,
				   is_raw ? 0 : OCSD_DFRMTR_FRAME_MEM_ALIGN | OCSD_DFRMTR_RESET_ON_4X_FSYNC);
}

bool etm_create_decoder(const struct etm *etm, dcd_tree_handle_t tree, int flags, unsigned char *ret_id)
{
	const uint64_t *registers = etm->registers;
	const ocsd_ete_cfg ete = {
		.reg_idr0 = (uint32_t)registers[ETM_ID0],
		.reg_idr1 = (uint32_t)registers[ETM_ID1],
		.reg_idr2 = (uint32_t)registers[ETM_ID2],
		.reg_idr8 = (uint32_t)registers[ETM_ID8],
		.reg_devarch = (uint32_t)registers[ETM_ARCHITECTURE],
		.reg_configr = (uint32_t)registers[ETM_CONFIG],
		.reg_traceidr = (uint32_t)registers[ETM_TRACE_ID],
		.arch_ver = ARCH_AA64,
		.core_prof = profile_CortexA,
	};
	const ocsd_etmv4_cfg etm4 = {
		.reg_idr0 = (uint32_t)registers[ETM_ID0],
		.reg_idr1 = (uint32_t)registers[ETM_ID1],
		.reg_idr2 = (uint32_t)registers[ETM_ID2],
		.reg_idr8 = (uint32_t)registers[ETM_ID8],
		.reg_configr = (uint32_t)registers[ETM_CONFIG],
		.reg_traceidr = (uint32_t)registers[ETM_TRACE_ID],
		.arch_ver = ARCH_V8,
		.core_prof = profile_CortexA,
	};
	const char *name = etm->is_ete ? OCSD_BUILTIN_DCD_ETE : OCSD_BUILTIN_DCD_ETMV4I;
	const void *config = etm->is_ete ? (const void *)&ete : &etm4;
	return csd.dt_create_decoder(tree, name, flags, config, ret_id) == OCSD_OK;
}
