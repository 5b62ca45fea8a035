/* CoreSight for dumps: packets as text, in libopencsd's words. It writes them in a process of its own (coresight_process.h). */
#include "analysis/itrace/coresight_etm.h"
#include "analysis/itrace/coresight_process.h"

#include <string.h>
#include <unistd.h>

struct packet_dump {
	const etm_list *etms;
	const struct trace_dump *trace;
	int to; /* a pipe */
};

/* A stream without frames begins where it can be followed from: frames tell first of all whose their bytes are. */
static bool is_raw(const struct trace_dump *trace)
{
	static const uint8_t POINT[12] = {[11] = 0x80};
	return trace->size >= sizeof(POINT) && !memcmp(trace->data, POINT, sizeof(POINT));
}

static void write_line(const void *context, const char *text, int length)
{
	const struct packet_dump *dump = context;
	if (length > 0 && (!coresight_write(dump->to, "\t", 1) || !coresight_write(dump->to, text, (size_t)length)))
		_exit(1);
}

/* Printers take the output that there is when they are made. */
static bool add_printers(const struct packet_dump *dump, dcd_tree_handle_t tree, bool raw)
{
	const struct trace_dump *trace = dump->trace;
	unsigned char id;
	if (csd.def_errlog_init(OCSD_ERR_SEV_NONE, 1) != OCSD_OK ||
	    csd.def_errlog_set_strprint_cb(tree, (void *)dump, write_line) != OCSD_OK)
		return false;
	for (size_t i = 0; i < dump->etms->len; i++) {
		const struct etm *etm = &dump->etms->data[i];
		if (raw && trace->cpu != (uint32_t)-1 && etm->cpu != trace->cpu)
			continue;
		if (etm_create_decoder(etm, tree, OCSD_CREATE_FLG_PACKET_PROC, &id))
			csd.dt_set_pkt_protocol_printer(tree, id, 0);
	}
	return true;
}

/* In the process. Where libopencsd gives up, it does so for the whole stream. */
static bool dump_packets(void *context, int to)
{
	struct packet_dump *dump = context;
	const struct trace_dump *trace = dump->trace;
	const bool raw = is_raw(trace);
	const dcd_tree_handle_t tree = etm_create_tree(raw);
	uint32_t used = 0;
	dump->to = to;
	if (tree == C_API_INVALID_TREE_HANDLE || !add_printers(dump, tree, raw))
		return false;
	for (size_t at = 0; at < trace->size; at += used) {
		const size_t left = trace->size - at;
		const ocsd_datapath_resp_t response = csd.dt_process_data(
			tree, OCSD_OP_DATA, at, left > UINT32_MAX ? UINT32_MAX : (uint32_t)left, trace->data + at, &used);
		if (OCSD_DATA_RESP_IS_FATAL(response) || !used)
			return false;
	}
	return true;
}

static void add_packets(struct packet_dump *dump, struct strbuf *out)
{
	enum { MOST = 1 << 30 };
	size_t left_out;
	const bool whole = coresight_process_collect(dump_packets, dump, MOST, out, &left_out);
	if (left_out)
		strbuf_printf(out, "\tThe text of more packets, %zu MB, is left out.\n", (left_out >> 20) + 1);
	if (!whole)
		strbuf_add_str(out, "\tThe rest makes no sense.\n");
}

void coresight_dump(const struct trace_dump *trace, struct strbuf *out)
{
	etm_list etms = {0};
	struct error *error = etms_read(trace->info, &etms);
	if (!error)
		error = coresight_library_load();
	const char *kind = !etms.len ? "" : etms.data[0].is_ete ? " ETE" : " ETMV4I";
	strbuf_printf(out, "\n. ... CoreSight%s Trace data: size %#zx bytes\n", kind, trace->size);
	if (error)
		strbuf_printf(out, "\tIts packets aren't shown: %s\n", error_message(error));
	else
		add_packets(&(struct packet_dump){.etms = &etms, .trace = trace}, out);
	error_free(error);
	vec_deinit(&etms);
}
