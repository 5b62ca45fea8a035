/* perf inject: a recording, completed by what was not known when it was made.
 *
 *	perf inject -b -i perf.data -o with-ids.data       build-ids of the files that samples hit
 *	perf inject -j -i perf.data -o with-code.data      files of generated code
 *	perf inject --convert-callchain -i dwarf.data -o small.data
 *	perf record -o - … | perf inject -b | perf report -i -
 *
 *	perf inject --itrace=i1000ib -i traced.data -o samples.data
 *
 * Everything else goes through as it is. */
#include "cmd/inject/inject.h"

#include "app/command.h"
#include "app/config.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "cmd/opening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE struct inject_options

static struct error *parse_guest_data(const struct option *option, const char *argument, bool negated, void *field)
{
	return inject_guest_option(argument, field);
}

static const struct option inject_options[] = {
	OPTION_STRING('i', "input", TYPE, input, "FILE", "recording to read (default: standard input)"),
	OPTION_STRING('o', "output", TYPE, output, "FILE",
		      "output file (default: standard output); an existing recording is kept as FILE.old"),
	OPTION_FLAG('f', "force", TYPE, force, "read files even if another user owns them"),
	OPTION_HEADING("Put in"),
	OPTION_FLAG('b', "build-ids", TYPE, build_ids, "add build-ids of the files that contain samples or their callers"),
	OPTION_FLAG(0, "buildid-all", TYPE, all_build_ids, "add build-ids of all mapped files"),
	OPTION_FLAG('B', "mmap2-buildids", TYPE, maps_hit,
		    "keep only maps hit by samples, with build-ids in their MMAP2 records (all maps if there are stack copies)"),
	OPTION_FLAG(0, "mmap2-buildid-all", TYPE, maps_all, "keep all maps, with build-ids in their MMAP2 records"),
	OPTION_STRING(0, "known-build-ids", TYPE, known_build_ids, "LIST",
		      "with the options above: use these 'BUILD-ID PATH' pairs, separated by commas, or file://NAME with one pair per line "
		      "as printed by 'perf buildid-list'"),
	OPTION_STRING('k', "vmlinux", TYPE, vmlinux, "FILE", "take the kernel's build-id from this image if the recording has none"),
	OPTION_FLAG('j', "jit", TYPE, jit,
		    "for tools that cannot read jitdumps: write JIT-compiled code as ELF files in the directory OUTPUT.jit and add their "
		    "mappings"),
	OPTION_FLAG(0, "ignore-vmlinux", TYPE, ignore_vmlinux, "do not take a build-id from the kernel image of -k"),
	OPTION_FLAG('s', "sched-stat", TYPE, sleep,
		    "show where and how long tasks slept: turn sched_switch events (with sched_stat_* or sched_waking, if recorded) into "
		    "samples weighted by sleep time"),
	OPTION_FLAG(
		0, "convert-callchain", TYPE, convert_chains,
		"replace stack copies (--call-graph dwarf) by unwound call chains; the recording becomes much smaller and faster to read"),
	OPTION_FLAG(0, "self-contained", TYPE, self_contained,
		    "store names, source lines and code of what was hit in the recording, so that it can be read on any machine"),
	OPTION_WHOLE(
		0, "guest-data", "FILE,PID[,OFFSET[,SCALE]]",
		"put in a recording that was made in a guest at the same time; PID: its hypervisor's process on the host, OFFSET: how far its "
		"time stamp counter is ahead of the host's, SCALE: how many times faster it runs. Once for each guest",
		parse_guest_data, OPTION_NO_NEGATION),
	OPTION_STRING(
		0, "guestmount", TYPE, guest_mount, "DIRECTORY",
		"with --guest-data: copy files of guests that have build-ids into the build-id cache from here, where each guest's root file "
		"system is in a folder called by the number of its hypervisor's process"),
	OPTION_STRING(0, "kallsyms", TYPE, kallsyms, "FILE",
		      "names of the kernel, for traces (--itrace); nothing else that is put in needs them"),
	OPTION_ITRACE(TYPE, itrace),
	OPTION_FLAG(0, "strip", TYPE, strip, "with --itrace: leave out the samples that were recorded"),
	OPTION_REFUSED(
		0, "vm-time-correlation", "OPTIONS",
		"the packets of a trace are never rewritten, since libipt only reads them; where the guest's clock differs from the host's, "
		"record and decode inside of the guest, and put that recording into the host's by --guest-data with its offset and scale"),
	OPTION_SANDBOX(TYPE, sandbox),
	OPTION_GROUP(output_option_group, TYPE, output_options),
	OPTION_END,
};

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") != 0 && !output_is_device(path);
}

const char *inject_written_file(const struct inject_options *options)
{
	return is_file(options->output) ? options->output : is_file(options->input) ? options->input : "perf.data";
}

/* Files of generated code are beside the output, or the input. */
static const char *confined_to(const struct inject_options *options)
{
	return options->jit || is_file(options->output) ? inject_written_file(options) : options->output;
}

static struct error *check_options(const struct inject_options *options)
{
	if ((!options->input || !strcmp(options->input, "-")) && isatty(STDIN_FILENO))
		return error_new_kind(ERROR_USAGE, "no input: give a recording with -i or through a pipe");
	if (options->vmlinux && !options->ignore_vmlinux && access(options->vmlinux, R_OK))
		return error_system(errno, "-k %s", options->vmlinux);
	if (options->kallsyms && !options->itrace.asked)
		log_info("--kallsyms: %s isn't read: nothing that is put in needs names of the kernel", options->kallsyms);
	if (options->strip && !options->itrace.asked)
		return error_new_kind(ERROR_USAGE, "--strip requires --itrace");
	if (options->guest_mount && !options->guests.len)
		return error_new_kind(ERROR_USAGE, "--guestmount requires --guest-data");
	if (options->guests.len && options->itrace.asked)
		return error_new_kind(ERROR_USAGE,
				      "--guest-data can't be combined with --itrace: put guests in first, then decode the trace of what "
				      "comes out");
	if (options->self_contained && (!options->output || !is_file(options->output)))
		return error_new_kind(ERROR_USAGE, "--self-contained writes a file: give it with -o");
	if (options->known_build_ids && !options->build_ids && !options->all_build_ids && !options->maps_hit && !options->maps_all)
		return error_new_kind(ERROR_USAGE, "--known-build-ids requires -b, --buildid-all, -B or --mmap2-buildid-all");
	return NULL;
}

static struct error *put_sample_through(struct inject *inject, const struct record *record)
{
	struct record changed = *record;
	if (inject->options->sleep && !inject_sleep(inject, &changed))
		return NULL;
	struct record converted = changed;
	const struct stack *stack = inject_chain(inject, &converted) ? &inject->stack : NULL;
	struct error *error = inject_build_ids(inject, &changed, stack);
	error = error ? error : inject_hit_maps(inject, &changed, stack);
	return error ? error : inject_write(inject, converted.header);
}

static struct error *put_through(struct inject *inject, const struct record *record)
{
	bool done;
	struct error *error = inject->options->jit ? inject_jit(inject, record) : NULL;
	if (error || (inject->options->jit && session_maps_jitdump(inject->session, record->header)))
		return error;
	if (record->event && record->event->index >= inject->host_events) {
		inject->left_out++;
		return NULL;
	}
	if (record->header->type == RECORD_SAMPLE)
		return put_sample_through(inject, record);
	if (record->header->type == RECORD_AUXTRACE)
		return inject_write_trace(inject, record);
	error = inject_map(inject, record, &done);
	error = error ? error : inject_build_ids(inject, record, NULL);
	return error || done ? error : inject_write(inject, record->header);
}

/* With --itrace: what is about the trace means nothing without it; --strip: nor are recorded samples wanted. */
static bool is_replaced(const struct inject *inject, const struct record *record)
{
	switch (record->header->type) {
	case RECORD_SAMPLE:
		return inject->options->strip && record->event->index < inject->recorded_events;
	case RECORD_AUXTRACE_INFO:
	case RECORD_AUX:
	case RECORD_ITRACE_START:
	case RECORD_AUX_OUTPUT_HW_ID:
		return true;
	}
	return false;
}

static struct error *put_all_through(struct inject *inject)
{
	struct record record;
	struct error *error = NULL;
	while (!error && session_next(inject->session, &record, &error) > 0) {
		error = inject_guests_before(inject, &record);
		if (!error && !(inject->itrace && is_replaced(inject, &record)))
			error = put_through(inject, &record);
	}
	return error ? error : inject_guests_finish(inject);
}

static void tell(const struct inject *inject)
{
	struct strbuf text = {0};
	inject->session->reader->diagnostics.auxtrace_bytes -= inject->trace_bytes;
	session_diagnostics_text(inject->session, &text);
	if (inject->itrace)
		itrace_diagnostics_text(inject->itrace, &text);
	if (text.len)
		log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
	if (inject->left_out)
		log_warning("%llu records were dropped: the stream described their events only after its first records",
			    (unsigned long long)inject->left_out);
	if (inject->bytes_saved)
		log_info("%llu bytes of stacks became call chains", (unsigned long long)inject->bytes_saved);
	log_info("%llu records, %llu bytes", (unsigned long long)inject->written,
		 (unsigned long long)writer_totals(inject->writer).file_bytes);
}

/* --itrace: what is read is what was recorded and what is made of the trace. */
static struct error *open_trace(struct inject *inject, struct session_options *session_options)
{
	struct itrace_options made = inject->options->itrace;
	struct reader *reader;
	if (!made.asked || made.none)
		return NULL;
	if (!made.given)
		itrace_options_default(&made, false);
	made.unchosen = false; /* who writes a file doesn't add up yet: branches belong into it, as the kernel's tool has it */
	struct error *error = reader_open(&session_options->input, &reader);
	if (error)
		return error;
	if (!itrace_is_in(reader)) {
		log_warning("--itrace: there is no hardware trace to decode: everything goes through as it is");
		session_options->reader = reader;
		return NULL;
	}
	inject->recorded_events = (unsigned int)reader->events.events.len;
	inject->kcore_dir = opening_kcore_dir(&(struct input_options){.input = session_options->input.path});
	const struct symbol_options symbols = {
		.vmlinux = inject->options->vmlinux,
		.kallsyms = inject->options->kallsyms,
		.kcore_dir = inject->kcore_dir,
		.buildid_dir = inject->buildid_dir,
		.force = inject->options->force,
	};
	error = itrace_open(reader, &made, &symbols, &inject->itrace);
	if (error)
		return error;
	session_options->reader = itrace_reader(inject->itrace);
	session_options->unordered = true;
	return NULL;
}

static struct error *inject_recording(struct inject *inject)
{
	const struct inject_options *options = inject->options;
	struct session_options session_options = {
		.input = {.path = options->input ? options->input : "-", .force = options->force},
		.streaming = true,
		.whole_groups = true,
		.code = options->jit ? inject_jit_note : NULL,
		.code_context = inject,
	};
	inject->buildid_dir = config_buildid_dir();
	if (options->sandbox)
		opening_sandbox_and_cache(&(struct input_options){.input = options->input}, confined_to(options),
					  options->guest_mount ? inject->buildid_dir : NULL);
	struct error *error = open_trace(inject, &session_options);
	error = error ? error : session_open(&session_options, &inject->session);
	if (error)
		return error;
	inject->same_machine = session_is_of_this_machine(inject->session);
	error = options->sleep ? inject_sleep_init(inject) : NULL;
	inject_output_prepare(inject);
	error = !error && options->convert_chains ? inject_chain_init(inject) : error;
	error = error ? error : inject_guests_open(inject);
	inject_maps_init(inject);
	error = error ? error : inject_output_open(inject);
	error = error ? error : put_all_through(inject);
	error = error ? error : inject_output_finish(inject);
	if (error)
		return error;
	if (options->jit)
		inject_jit_tell(inject);
	inject_sleep_tell(inject);
	inject_guests_tell(inject);
	tell(inject);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct inject_options options = {.sandbox = true};
	struct inject inject = {.options = &options};
	struct error *error = options_parse_alone(inject_options, argc, argv, &options, ": give the recording with -i");
	error = error ? error : check_options(&options);
	error = error ? error : inject_build_ids_init(&inject);
	error = error ? error : inject_recording(&inject);
	inject_maps_deinit(&inject);
	inject_chain_deinit(&inject);
	inject_jit_deinit(&inject);
	inject_output_deinit(&inject);
	inject_sleep_deinit(&inject);
	inject_build_ids_deinit(&inject);
	inject_guests_close(&inject);
	inject_guest_options_deinit(&options);
	session_close(inject.session);
	itrace_close(inject.itrace);
	free(inject.kcore_dir);
	free(inject.buildid_dir);
	return error;
}

static const char *const usage[] = {"[options]", NULL};
const struct command cmd_inject = {"inject", "Add build-ids, JIT-compiled code or sleep times to a recording", usage, inject_options, run};
