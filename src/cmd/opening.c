/* Opening a recording for analysis: options → session → resolver. */
#include "cmd/opening.h"

#include "analysis/hot_files.h"
#include "analysis/itrace/itrace.h"
#include "analysis/stitch.h"
#include "app/config.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/live.h"
#include "kernel/sandbox.h"
#include "symbol/carried/carried.h"
#include "symbol/kernel/guest_kernel.h"
#include "symbol/kernel/kallsyms_ahead.h"
#include "symbol/kernel/kernel_image.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each pass over the records begins with 0 and ends with `total`. */
static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	if (!done)
		progress_begin(progress, "Reading", total);
	progress->total = total;
	if (done < total)
		progress_update(progress, done);
	else
		progress_end(progress);
}

/* The bar tells how much of a file has come, or, where its size isn't known, how much of the time is used up. */
static void show_fetching(void *context, const char *name, uint64_t done, uint64_t total, double part)
{
	struct opening *opening = context;
	if (!name) {
		progress_end(&opening->fetching);
		opening->fetching_name[0] = '\0';
		return;
	}
	if (strncmp(opening->fetching_name, name, sizeof(opening->fetching_name) - 1) != 0) {
		const char *slash = strrchr(name, '/');
		snprintf(opening->fetching_name, sizeof(opening->fetching_name), "%s", name);
		snprintf(opening->fetching_title, sizeof(opening->fetching_title), "Debug file: %s", slash ? slash + 1 : name);
		progress_begin(&opening->fetching, opening->fetching_title, 1000);
	}
	progress_update(&opening->fetching, total ? (uint64_t)(1000.0 * (double)done / (double)total) : (uint64_t)(1000.0 * part));
}

enum { FETCHING_SECONDS = 30 };

/* --debuginfod-timeout, else of the configuration. */
static uint64_t fetching_ms(const struct input_options *input)
{
	uint32_t seconds = FETCHING_SECONDS;
	if (input->debuginfod_seconds >= 0)
		return (uint64_t)input->debuginfod_seconds * 1000;
	struct config config = {0};
	error_free(config_open(&config));
	const char *text = config_get(&config, "debuginfod.timeout");
	if (text && !number_parse_u32(text, &seconds))
		log_warning("configuration: debuginfod.timeout: invalid number of seconds '%s'", text);
	config_close(&config);
	return (uint64_t)seconds * 1000;
}

/* -C as a set of bits, which the opening owns and the filter borrows. */
static struct error *parse_cpus(const char *text, struct opening *opening, struct session_filter *filter)
{
	int *cpus;
	size_t count;
	if (!number_parse_list(text, &cpus, &count))
		return error_new_kind(ERROR_USAGE, "-C: invalid list of CPUs '%s': expected a list such as 0-3,7", text);
	filter->cpu_words = count ? (size_t)cpus[count - 1] / 64 + 1 : 1;
	opening->cpu_bits = mem_zalloc_array(filter->cpu_words, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++)
		opening->cpu_bits[cpus[i] / 64] |= 1ull << (cpus[i] % 64);
	filter->cpus = opening->cpu_bits;
	opening->cpu_words = filter->cpu_words;
	free(cpus);
	return NULL;
}

/* Files of options are looked at first: without one, a long reading would have been for nothing. */
static struct error *check_files(const struct input_options *input)
{
	if (input->vmlinux && access(input->vmlinux, R_OK))
		return error_system(errno, "-k %s", input->vmlinux);
	if (input->kallsyms && access(input->kallsyms, R_OK))
		return error_system(errno, "--kallsyms %s", input->kallsyms);
	if (input->symfs && access(input->symfs, X_OK))
		return error_system(errno, "--symfs %s", input->symfs);
	return NULL;
}

/* Names for the kernel addresses that tracepoints print (%pS). */
static const char *name_kernel_function(void *context, uint64_t address, uint64_t *ret_start, const char **ret_module)
{
	struct opening *opening = context;
	struct frame frame;
	resolver_frame(opening->resolver, opening->session->machine->kernel_maps, CPUMODE_KERNEL, address, UINT64_MAX, &frame);
	if (!frame.symbol)
		return NULL;
	*ret_start = address - (frame.dso_addr - frame.symbol->start);
	*ret_module = frame.map->dso->kind == DSO_KERNEL_MODULE ? frame.map->dso->short_name : NULL;
	return frame.symbol->name;
}

/* The folder in which a new or changed file of that name will be. Freed by the caller; NULL where there is none. */
static char *folder_of(const char *path)
{
	char *real = realpath(path, NULL);
	if (!real) {
		const char *slash = strrchr(path, '/');
		cleanup_free char *folder = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
		return realpath(folder, NULL);
	}
	char *slash = strrchr(real, '/');
	slash[slash == real] = '\0';
	return real;
}

/* What may be written: temporary files where others go, debug files from servers in their cache, the output. */
struct sandbox {
	struct sandbox_options options;
	const char *writable[8];
	size_t count;
	char *debug_cache;
	bool writes; /* an output */
};

/* What holds for all commands. The cache of debug files is made now, since rules are about what exists. */
static void sandbox_init(struct sandbox *sandbox, bool network)
{
	const char *home = getenv("HOME"), *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *temporary = getenv("TMPDIR");
	cleanup_free char *base = xdg && *xdg ? mem_strdup(xdg) : mem_printf("%s/.cache", home ? home : "");
	*sandbox = (struct sandbox){.options = {.network = network}, .writable = {"/tmp", "/var/tmp"}, .count = 2};
	if (temporary && *temporary)
		sandbox->writable[sandbox->count++] = temporary;
	if (!network)
		return;
	sandbox->debug_cache = cache && *cache ? mem_strdup(cache) : mem_printf("%s/debuginfod_client", base);
	mkdir(base, 0700);
	mkdir(sandbox->debug_cache, 0700);
	sandbox->writable[sandbox->count++] = sandbox->debug_cache;
}

/* The folder of what is written, or the file. */
static void add_output(struct sandbox *sandbox, const char *path)
{
	sandbox->writable[sandbox->count++] = path;
	sandbox->options.new_files = sandbox->writes = true;
}

/* From here on the process is confined; -v tells by what. */
static void sandbox_start(struct sandbox *sandbox)
{
	bool network = sandbox->options.network;
	process_roots_keep();
	sandbox->options.writable = sandbox->writable;
	struct sandbox_state state = sandbox_enter(&sandbox->options);
	log_info("Sandbox: %s%s; %s%s",
		 state.files ? "only temporary files can be written (Landlock)"
			     : "file access is not restricted: this kernel has no "
			       "Landlock",
		 state.files && sandbox->writes ? " and the output" : "",
		 state.calls ? "programs cannot be started" : "system calls are not restricted: no seccomp here",
		 !state.calls ? ""
		 : network    ? ", the network is allowed for DEBUGINFOD_URLS"
			      : ", no network");
	free(sandbox->debug_cache);
}

/* `cache` may be NULL. */
static void enter_sandbox(const struct input_options *input, const char *output, const char *pager, const char *cache)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool writes = output && strcmp(output, "-"), device = writes && output_is_device(output);
	cleanup_free char *folder = !writes ? NULL : device ? mem_strdup(output) : folder_of(output);
	struct sandbox sandbox;
	sandbox_init(&sandbox, urls && *urls && input->debuginfod_seconds);
	if (folder)
		add_output(&sandbox, folder);
	if (cache) {
		mkdir(cache, 0755);
		add_output(&sandbox, cache);
		sandbox.options.links = cache;
	}
	if (pager)
		pager_prepare(pager);
	sandbox_start(&sandbox);
}

void opening_sandbox(const struct input_options *input, const char *output, const char *pager)
{
	enter_sandbox(input, output, pager, NULL);
}

void opening_sandbox_and_cache(const struct input_options *input, const char *output, const char *cache)
{
	enter_sandbox(input, output, NULL, cache);
}

void opening_sandbox_with_cache(const char *cache, bool network)
{
	struct sandbox sandbox;
	sandbox_init(&sandbox, network);
	mkdir(cache, 0755);
	add_output(&sandbox, cache);
	sandbox.options.links = cache;
	sandbox_start(&sandbox);
}

/* Where symbols are looked for, as far as options say so. */
static struct symbol_options symbols_of(const struct input_options *input, const struct opening *opening)
{
	const struct reader_feed *feed = opening->session ? reader_file_feed(opening->session->reader) : NULL;
	return (struct symbol_options){
		.find_file = feed ? feed->find_file : NULL,
		.file_context = feed ? feed->context : NULL,
		.symfs = input->symfs && strcmp(input->symfs, "/") ? input->symfs : NULL,
		.vmlinux = input->vmlinux,
		.kallsyms = input->kallsyms,
		.guest_kallsyms = input->guest_kallsyms,
		.guest_vmlinux = input->guest_vmlinux,
		.guest_mount = input->guest_mount,
		.kcore_dir = opening->kcore_dir,
		.buildid_dir = opening->buildid_dir,
		.ignore_vmlinux = input->ignore_vmlinux,
		.load_modules = input->load_modules,
		.force = input->force,
		.demangle = input->demangle,
		.demangle_kernel = input->demangle_kernel,
	};
}

char *opening_kcore_dir(const struct input_options *input)
{
	const char *path = input->input ? input->input : "perf.data";
	cleanup_free char *folder = mem_printf("%s/kcore_dir", path), *core = mem_printf("%s/kcore", folder);
	struct stat status;
	return !lstat(core, &status) && S_ISREG(status.st_mode) && !lstat(folder, &status) && S_ISDIR(status.st_mode) ? take_pointer(folder)
														      : NULL;
}

/* Names, lines and code that the recording brought; NULL = none. */
static struct carried *find_carried(const struct features *features)
{
	struct carried *carried = features->carried ? carried_decode(features->carried, features->carried_size) : NULL;
	if (!carried && features_has(features, FEATURE_SELF_CONTAINED))
		log_warning("the recording's own names are damaged, or newer than this perf: files of this machine are used instead");
	return carried;
}

struct reading_ahead {
	struct opening *opening;
	const struct input_options *input;
	bool adds_up, names_kernel;
};

/* Whether some event can have samples in the kernel. */
static bool samples_kernel(const struct event_list *list)
{
	for (size_t i = 0; i < list->events.len; i++)
		if (!list->events.data[i]->attr.exclude_kernel && list->events.data[i]->attr.type != PERF_TYPE_TRACEPOINT)
			return true;
	return false;
}

/* The kernel's build-id as the recording's header has it; size 0 = it hasn't. */
static struct buildid recorded_kernel_id(const struct features *features)
{
	for (size_t i = 0; i < features->build_ids.len; i++) {
		const struct feature_build_id *entry = &features->build_ids.data[i];
		if ((entry->misc & RECORD_MISC_CPUMODE) == CPUMODE_KERNEL && str_starts_with(entry->filename, "[kernel"))
			return entry->id;
	}
	return (struct buildid){0};
}

/* Samples of a large recording are in the kernel nearly always, and tracepoints tell of places in it: while one processor goes over the
 * records, another one reads the kernel's symbols. */
static void read_kernel_ahead(const struct reading_ahead *reading, const struct session *session)
{
	enum { LARGE = 16 << 20 };
	const struct reader *reader = session->reader;
	if (features_has(&reader->features, FEATURE_SELF_CONTAINED)) /* it brings them */
		return;
	if (!reader->stable || reader->data_end - reader->data_offset < LARGE || session->jobs < 2)
		return;
	struct symbol_options symbols = symbols_of(reading->input, reading->opening);
	symbols.same_machine = session_is_of_this_machine(session);
	const struct buildid id = recorded_kernel_id(&reader->features);
	cleanup_free char *path = kernel_list_path(&symbols, &id);
	if (path)
		reading->opening->ahead = kallsyms_ahead_start(path);
}

/* Before the first record. */
static struct error *prepare(void *context, struct session *session)
{
	const struct reading_ahead *reading = context;
	const struct symbol_options symbols = symbols_of(reading->input, reading->opening);

	session->machine->guest_code = reading->input->guest_code;
	if (reading->names_kernel || (reading->adds_up && samples_kernel(&session->reader->events)))
		read_kernel_ahead(reading, session);
	return guest_kernel_add(session->machine, &symbols, reading->input->guest_modules);
}

struct error *option_itrace(const struct option *option, const char *argument, bool negated, void *field)
{
	(void)option;
	struct itrace_options *options = field;
	if (!negated)
		return itrace_options_parse(argument, options);
	options->none = true;
	return NULL;
}

/* The recording's reader: with a hardware trace, one that gives what is made of it as well. Commands that add up read more than once, so
 * that it becomes a file for them. */
static struct error *open_reader(struct opening *opening, const struct opening_options *options, struct session_options *session_options)
{
	struct itrace_options made;
	struct reader *reader;
	session_options->input.streaming = options->streaming;
	struct error *error = reader_open(&session_options->input, &reader);
	bool wanted = !options->first_bytes && !(options->itrace && options->itrace->none);
	session_options->reader = reader;
	if (error || !wanted || !itrace_is_in(reader))
		return error;
	session_options->reader = NULL;
	itrace_options_default(&made, options->streaming);
	if (options->itrace && options->itrace->given)
		made = *options->itrace;
	made.flow = options->itrace && options->itrace->flow;
	const struct symbol_options symbols = symbols_of(options->input, opening);
	if ((error = itrace_open(reader, &made, &symbols, &opening->itrace)))
		return error;
	reader = itrace_reader(opening->itrace);
	if (!options->streaming && (error = reader_spool(reader))) {
		reader_close(reader);
		return error;
	}
	session_options->reader = reader;
	session_options->unordered = true;
	return NULL;
}

/* The recording and the resolver for it; on an error opening_end() frees what there is. */
static struct error *open_recording(struct opening *opening, const struct opening_options *options, struct session_options *session_options)
{
	const struct input_options *input = options->input;
	struct reading_ahead reading = {opening, input, !options->streaming, options->names_kernel};
	session_options->described = prepare;
	session_options->described_context = &reading;
	opening->buildid_dir = config_buildid_dir();
	opening->kcore_dir = options->reader ? NULL : opening_kcore_dir(input);
	if (!options->progress)
		progress_begin(&opening->progress, "Reading", 0);
	struct error *error = options->reader ? NULL : open_reader(opening, options, session_options);
	if (!error)
		error = session_open(session_options, &opening->session);
	if (!options->progress)
		progress_end(&opening->progress);
	if (error)
		return error;
	opening->session->machine->maps_wait = options->reader;
	struct symbol_options symbols = symbols_of(input, opening);
	symbols.same_machine = session_is_of_this_machine(opening->session);
	symbols.sparing = options->reader;
	symbols.ahead = opening->ahead;
	symbols.carried = opening->carried = find_carried(&opening->session->reader->features);
	const struct debug_server_options server = {
		.budget_ms = fetching_ms(input), .progress = options->progress ? NULL : show_fetching, .context = opening};
	symbols.debug_server = opening->debug_server = options->first_bytes ? NULL : debug_server_create(&server);
	if (!options->streaming)
		hot_files_fetch(opening->session, &symbols);
	opening->resolver = resolver_create(opening->session->machine, &symbols);
	if (opening->session->reader->formats)
		tracepoint_formats_set_resolver(opening->session->reader->formats, name_kernel_function, opening);
	return NULL;
}

struct error *opening_begin(struct opening *opening, const struct opening_options *options)
{
	const struct input_options *input = options->input;
	void (*progress)(void *context, uint64_t done, uint64_t total) = options->progress ? options->progress : show_progress;
	void *progress_context = options->progress ? options->progress_context : &opening->progress;
	struct session_options session_options = {
		.input = {.path = input->input,
			  .force = input->force,
			  .recorder = options->recorder,
			  .first_bytes = options->first_bytes,
			  .progress = progress,
			  .progress_context = progress_context},
		.filter.time_text = options->time,
		.sparing = options->sparing,
		.reader = options->reader,
		.forgets = options->reader && !options->remembers,
		.thread_gone = live_thread_gone,
		.symfs = input->symfs,
		.jobs = (unsigned int)input->jobs,
		.streaming = options->streaming,
		.unordered = options->unordered,
		.kernel_only = options->kernel_only,
		.threadless = options->threadless,
		.progress = progress,
		.progress_context = progress_context,
	};
	*opening = (struct opening){0};
	struct error *error = check_files(input);
	if (!error && options->cpus)
		error = parse_cpus(options->cpus, opening, &session_options.filter);
	if (error) {
		reader_close(options->reader);
		return error;
	}
	if (options->confined && input->sandbox)
		opening_sandbox(input, options->output, options->output ? NULL : options->confined);
	else if (input->sandbox && options->unconfined)
		log_info("Sandbox: not entered: %s", options->unconfined);
	error = open_recording(opening, options, &session_options);
	if (error)
		opening_end(opening);
	return error;
}

void opening_end(struct opening *opening)
{
	resolver_destroy(opening->resolver);
	carried_destroy(opening->carried);
	kallsyms_ahead_destroy(opening->ahead);
	debug_server_destroy(opening->debug_server);
	session_close(opening->session);
	itrace_close(opening->itrace);
	free(opening->cpu_bits);
	free(opening->buildid_dir);
	free(opening->kcore_dir);
	*opening = (struct opening){0};
}

size_t opening_events_sampled(const struct opening *opening)
{
	const struct session *session = opening->session;
	size_t count = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		count += session->event_counts[i].samples > 0;
	return count;
}

struct error *opening_choose_event(const struct opening *opening, const char *wanted, const char *doing, const struct event **ret)
{
	const struct session *session = opening->session;
	const struct event *chosen = NULL;
	size_t with_samples = opening_events_sampled(opening);
	for (size_t i = 0; i < session->reader->events.events.len && !chosen; i++) {
		const struct event *event = session->reader->events.events.data[i];
		if (wanted ? !strcmp(event->name, wanted) : session->event_counts[i].samples > 0)
			chosen = event;
	}
	if (!chosen && wanted)
		return error_new("no event '%s' in %s; 'perf evlist' lists its events", wanted, reader_name(session->reader));
	if (!wanted && with_samples > 1)
		log_warning("%zu events have samples; %s %s (choose another with --show-event NAME)", with_samples, doing, chosen->name);
	*ret = chosen;
	return NULL;
}

struct stitcher *opening_stitcher(const struct opening *opening)
{
	const char *why;
	struct stitcher *stitcher = stitcher_create(opening->session, &why);

	if (!stitcher)
		log_warning("--stitch-lbr has no effect: %s.", why);
	return stitcher;
}

void opening_warn(const struct opening *opening)
{
	struct strbuf text = {0};
	session_loss_text(opening->session, &text);
	if (text.len)
		log_warning("%s", strbuf_str(&text));
	strbuf_clear(&text);
	session_diagnostics_text(opening->session, &text);
	if (text.len)
		log_warning("%s", strbuf_str(&text));
	strbuf_clear(&text);
	if (opening->itrace)
		itrace_diagnostics_text(opening->itrace, &text);
	if (text.len)
		log_warning("%s", strbuf_str(&text));
	strbuf_clear(&text);
	debug_server_diagnostics(opening->debug_server, &text);
	if (text.len)
		log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

struct error *option_inline(const struct option *option, const char *argument, bool negated, void *field)
{
	enum stack_inlines *inlines = field;
	if (argument && strcmp(argument, "all") != 0 && strcmp(argument, "unwound") != 0)
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use all or unwound", argument);
	*inlines = negated ? STACK_INLINES_NONE : argument && *argument == 'u' ? STACK_INLINES_UNWOUND : STACK_INLINES_ALL;
	return NULL;
}
