/* Packets of Intel PT as text, in the kernel tool's words. Facts about packets: Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 3, chapter "Intel Processor Trace". */
#include "analysis/itrace/decoder.h"
#include "analysis/itrace/pt_info.h"
#include "analysis/itrace/pt_library.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

uint64_t pt_info_word(const struct record_auxtrace_info *info, enum pt_word word)
{
	return info->header.size >= sizeof(*info) + (word + 1) * sizeof(uint64_t) ? info->words[word] : 0;
}

/* Behind the words: the text of the filters of addresses, padded with zeros, and a word that newer recorders have. */
static void describe_tail(const struct record_auxtrace_info *info, struct strbuf *out)
{
	const char *text = (const char *)(info->words + PT_WORDS), *end = (const char *)info + info->header.size;
	uint64_t length = pt_info_word(info, PT_FILTER_SIZE), event_trace;

	if (text > end || (length && length >= (uint64_t)(end - text)))
		return;
	strbuf_printf(out, "  %-20s", "Filter string");
	text_add_safe(out, text, length);
	strbuf_add_char(out, '\n');
	text += length ? (length + 1 + 7) / 8 * 8 : 0;
	if (text > end || (size_t)(end - text) < sizeof(event_trace))
		return;
	memcpy(&event_trace, text, sizeof(event_trace));
	strbuf_printf(out, "  %-20s%" PRIu64 "\n", "Cap Event Trace", event_trace);
}

void pt_describe(const struct record_auxtrace_info *info, struct strbuf *out)
{
	static const struct {
		const char *name;
		bool hex;
	} WORDS[PT_WORDS] = {
		{"PMU Type", false},
		{"Time Shift", false},
		{"Time Muliplier", false},
		{"Time Zero", false},
		{"Cap Time Zero", false},
		{"TSC bit", true},
		{"NoRETComp bit", true},
		{"Have sched_switch", false},
		{"Snapshot mode", false},
		{"Per-cpu maps", false},
		{"MTC bit", true},
		{"MTC freq bits", true},
		{"TSC:CTC numerator", false},
		{"TSC:CTC denominator", false},
		{"CYC bit", true},
		{"Max non-turbo ratio", false},
		{"Filter string len.", false},
	};
	for (unsigned int i = 0; i < PT_WORDS && info->header.size >= sizeof(*info) + (i + 1) * sizeof(uint64_t); i++)
		if (WORDS[i].hex)
			strbuf_printf(out, "  %-20s%#" PRIx64 "\n", WORDS[i].name, info->words[i]);
		else
			strbuf_printf(out, "  %-20s%" PRIu64 "\n", WORDS[i].name, info->words[i]);
	describe_tail(info, out);
}

/* ── Packets ── */

static void add_tnt(const struct pt_packet_tnt *tnt, struct strbuf *out)
{
	strbuf_add_str(out, "TNT ");
	for (unsigned int bit = tnt->bit_size; bit-- > 0;)
		strbuf_add_char(out, tnt->payload >> bit & 1 ? 'T' : 'N');
	strbuf_printf(out, " (%u)", tnt->bit_size);
}

/* As many bytes of the address as the packet has. */
static void add_ip(const char *name, const struct pt_packet_ip *ip, struct strbuf *out)
{
	if (ip->ipc == pt_ipc_suppressed)
		strbuf_printf(out, "%s no ip", name);
	else
		strbuf_printf(out, "%s 0x%" PRIx64, name,
			      (uint64_t)ip->ip & (ip->ipc == pt_ipc_full ? UINT64_MAX : (UINT64_C(1) << 48) - 1));
}

static void add_mode(const struct pt_packet_mode *mode, struct strbuf *out)
{
	static const char *const WIDTHS[] = {[ptem_unknown] = "0", [ptem_16bit] = "16", [ptem_32bit] = "32", [ptem_64bit] = "64"};
	if (mode->leaf == pt_mol_exec)
		strbuf_printf(out, "MODE.Exec IF:0 %s", WIDTHS[pt_get_exec_mode(&mode->bits.exec)]);
	else
		strbuf_printf(out, "MODE.TSX TXAbort:%u InTX:%u", mode->bits.tsx.abrt, mode->bits.tsx.intx);
}

static void add_power(const struct pt_packet *packet, struct strbuf *out)
{
	const struct pt_packet_pwre *pwre = &packet->payload.pwre;
	const struct pt_packet_pwrx *pwrx = &packet->payload.pwrx;
	const struct pt_packet_mwait *mwait = &packet->payload.mwait;
	switch (packet->type) {
	case ppt_mwait:
		strbuf_printf(out, "MWAIT %#llx Hints %#x Extensions %#x", mwait->hints | (unsigned long long)mwait->ext << 32,
			      mwait->hints, mwait->ext);
		break;
	case ppt_pwre:
		strbuf_printf(out, "PWRE %#x HW:%u CState:%d Sub-CState:%d", pwre->sub_state | pwre->state << 4 | pwre->hw << 7, pwre->hw,
			      pwre->state, pwre->sub_state);
		break;
	case ppt_pwrx:
		strbuf_printf(out, "PWRX %#x Last CState:%d Deepest CState:%d Wake Reason %#x",
			      pwrx->deepest | pwrx->last << 4 | pwrx->interrupt << 8 | pwrx->store << 10 | pwrx->autonomous << 11,
			      pwrx->last, pwrx->deepest, pwrx->interrupt | pwrx->store << 2 | pwrx->autonomous << 3);
		break;
	default:
		strbuf_printf(out, "EXSTOP IP:%u", packet->payload.exstop.ip);
	}
}

static void add_timing(const struct pt_packet *packet, struct strbuf *out)
{
	switch (packet->type) {
	case ppt_tsc:
		strbuf_printf(out, "TSC 0x%" PRIx64, packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		strbuf_printf(out, "TMA CTC 0x%x FC 0x%x", packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		strbuf_printf(out, "MTC 0x%x", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		strbuf_printf(out, "CYC 0x%" PRIx64, packet->payload.cyc.value);
		break;
	default:
		strbuf_printf(out, "CBR 0x%x", packet->payload.cbr.ratio);
	}
}

/* Those that are nothing but a name. */
static const char *plain_name(enum pt_packet_type type)
{
	switch (type) {
	case ppt_pad:
		return "PAD";
	case ppt_psb:
		return "PSB";
	case ppt_psbend:
		return "PSBEND";
	case ppt_stop:
		return "TraceSTOP";
	case ppt_ovf:
		return "OVF";
	default:
		return NULL;
	}
}

static void add_packet(const struct pt_packet *packet, struct strbuf *out)
{
	switch (packet->type) {
	case ppt_fup:
		return add_ip("FUP", &packet->payload.ip, out);
	case ppt_tip:
		return add_ip("TIP", &packet->payload.ip, out);
	case ppt_tip_pge:
		return add_ip("TIP.PGE", &packet->payload.ip, out);
	case ppt_tip_pgd:
		return add_ip("TIP.PGD", &packet->payload.ip, out);
	case ppt_tnt_8:
	case ppt_tnt_64:
		return add_tnt(&packet->payload.tnt, out);
	case ppt_mode:
		return add_mode(&packet->payload.mode, out);
	case ppt_pip:
		strbuf_printf(out, "PIP 0x%" PRIx64 " (NR=%u)", (uint64_t)packet->payload.pip.cr3 >> 5, packet->payload.pip.nr);
		return;
	case ppt_vmcs:
		strbuf_printf(out, "VMCS 0x%" PRIx64, packet->payload.vmcs.base);
		return;
	case ppt_mnt:
		strbuf_printf(out, "MNT 0x%" PRIx64, packet->payload.mnt.payload);
		return;
	case ppt_ptw:
		strbuf_printf(out, "PTWRITE 0x%" PRIx64 " IP:%u", packet->payload.ptw.payload, packet->payload.ptw.ip);
		return;
	case ppt_exstop:
	case ppt_mwait:
	case ppt_pwre:
	case ppt_pwrx:
		return add_power(packet, out);
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_cbr:
		return add_timing(packet, out);
	default:
		strbuf_add_str(out, plain_name(packet->type) ? plain_name(packet->type) : "Bad packet!");
	}
}

/* The packet at `offset` with the padding behind it, up to 8 bytes; what is none is a single byte. */
static size_t read_packet(struct pt_packet_decoder *decoder, const uint8_t *trace, size_t size, size_t offset, struct pt_packet *ret)
{
	enum { TOGETHER = 8 };
	int got = pt.pkt_sync_set(decoder, offset);
	if (got >= 0)
		got = pt.pkt_next(decoder, ret, sizeof(*ret));
	if (got <= 0 || (size_t)got > size - offset) {
		*ret = (struct pt_packet){.type = ppt_invalid};
		return 1;
	}
	size_t length = (size_t)got;
	while (length < TOGETHER && length < size - offset && !trace[offset + length])
		length++;
	return length;
}

void pt_dump(const struct trace_dump *trace, struct strbuf *out)
{
	struct error *error = pt_library_load();
	const uint8_t *bytes = trace->data;
	const size_t size = trace->size;
	struct pt_config config;
	size_t length;
	strbuf_printf(out, ".\n. ... Intel Processor Trace data: size %zu bytes\n", size);
	if (error) {
		strbuf_printf(out, ".  %s\n", error_message(error));
		error_free(error);
		return;
	}
	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = config.begin + size;
	struct pt_packet_decoder *decoder = pt.pkt_alloc_decoder(&config);
	for (size_t offset = 0; decoder && offset < size; offset += length) {
		struct pt_packet packet;
		length = read_packet(decoder, bytes, size, offset, &packet);
		trace_dump_bytes(bytes, offset, length, out);
		add_packet(&packet, out);
		strbuf_add_char(out, '\n');
	}
	pt.pkt_free_decoder(decoder);
}
