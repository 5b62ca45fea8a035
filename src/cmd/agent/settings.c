/* What is to be done: the configuration file, then the command line.
 *
 *	[agent]                           options by their long names
 *		budget = 0.5
 *		label-env = service=OTEL_SERVICE_NAME
 *	[labels]                          of all samples
 *		environment = production
 *	[sink main]                       where it goes; one section for each
 *		url = clickhouses://agent@db.example:8443/perf
 *		password-file = /etc/perf-agent.password
 */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/sampling_options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define O struct agent_settings

enum { HZ = 19, DEPTH = 127 };
static const uint64_t second_ns = 1000000000;

/* ---- options ---- */

static struct error *parse_window(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t ns;
	if (!number_parse_duration(argument, "s", &ns) || ns < second_ns || ns > 3600 * second_ns)
		return error_new_kind(ERROR_USAGE, "invalid length '%s': expected 1s to 1h; 10s to 60s is usual", argument);
	*(uint64_t *)field = ns;
	return NULL;
}

/* "0.5%" or "0.5". */
static struct error *parse_budget(const struct option *option, const char *argument, bool negated, void *field)
{
	cleanup_free char *number = mem_strdup(argument);
	size_t length = strlen(number);
	double percent;
	if (length && number[length - 1] == '%')
		number[length - 1] = '\0';
	if (!number_parse_double(number, &percent) || !(percent > 0) || percent > 100)
		return error_new_kind(ERROR_USAGE, "invalid budget '%s': expected a percentage of one CPU above 0, such as 0.5%%",
				      argument);
	*(double *)field = percent;
	return NULL;
}

/* Of the flight recorder: up to an hour. */
static struct error *parse_time(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t ns;
	if (!number_parse_duration(argument, "s", &ns) || ns > 3600 * second_ns)
		return error_new_kind(ERROR_USAGE, "invalid time '%s': expected one up to 1h, such as 10s", argument);
	*(uint64_t *)field = ns;
	return NULL;
}

static struct error *parse_triggers(const struct option *option, const char *argument, bool negated, void *field)
{
	return flight_triggers_parse(argument, field);
}

static struct error *parse_size(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_size(argument, field) || !*(uint64_t *)field)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected one such as 80M", argument);
	return NULL;
}

static bool is_label_name(const char *name)
{
	return *name && !isdigit((unsigned char)*name) && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* A later value takes the place of an earlier one. */
static void set_label(agent_labels *labels, const char *name, const char *value)
{
	size_t at = 0;
	while (at < labels->len && strcmp(labels->data[at].name, name) < 0)
		at++;
	if (at < labels->len && !strcmp(labels->data[at].name, name)) {
		free(labels->data[at].value);
		labels->data[at].value = mem_strdup(value);
		return;
	}
	vec_push(labels, (struct agent_label){0});
	memmove(labels->data + at + 1, labels->data + at, (labels->len - 1 - at) * sizeof(*labels->data));
	labels->data[at] = (struct agent_label){mem_strdup(name), mem_strdup(value)};
}

static struct error *add_label(agent_labels *labels, const char *name, const char *value)
{
	if (!is_label_name(name))
		return error_new_kind(ERROR_USAGE,
				      "invalid label name '%s': expected lower-case letters, digits and '_', and no digit in front", name);
	set_label(labels, name, value);
	return NULL;
}

struct error *agent_parse_label(const struct option *option, const char *argument, bool negated, void *field)
{
	const char *equals = strchr(argument, '=');
	if (!equals)
		return error_new_kind(ERROR_USAGE, "invalid label '%s': expected NAME=VALUE", argument);
	cleanup_free char *name = mem_strndup(argument, (size_t)(equals - argument));
	return add_label(field, name, equals + 1);
}

/* "service=OTEL_SERVICE_NAME, APP_VERSION": without a name, the variable's in lower case. */
static struct error *parse_environment(const struct option *option, const char *argument, bool negated, void *field)
{
	cleanup_free char *list = mem_strdup(argument);
	struct error *error = NULL;
	char *rest = list, *word;
	while (!error && (word = strtok_r(rest, ", \t", &rest))) {
		char *equals = strchr(word, '=');
		cleanup_free char *name = equals ? mem_strndup(word, (size_t)(equals - word)) : mem_strdup(word);
		for (char *c = name; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		error = add_label(field, name, equals ? equals + 1 : word);
	}
	return error;
}

/* ---- sinks ---- */

static struct agent_sink_settings *find_sink(struct agent_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->sinks.len; i++)
		if (!strcmp(settings->sinks.data[i].name, name))
			return &settings->sinks.data[i];
	vec_push(&settings->sinks, (struct agent_sink_settings){.name = mem_strdup(name)});
	return &settings->sinks.data[settings->sinks.len - 1];
}

/* It is called like its scheme, the second one of a scheme "file-2". */
static struct error *parse_sink(const struct option *option, const char *argument, bool negated, void *field)
{
	struct agent_settings *settings = (void *)((char *)field - offsetof(struct agent_settings, sinks));
	cleanup_free char *scheme = mem_strndup(argument, strcspn(argument, ":"));
	cleanup_free char *name = mem_strdup(scheme);
	for (unsigned int i = 2; find_sink(settings, name)->options.url; i++) {
		free(name);
		name = mem_printf("%s-%u", scheme, i);
	}
	struct agent_sink_settings *sink = find_sink(settings, name);
	sink->options.url = argument;
	sink->where = "--sink";
	return NULL;
}

static struct error *set_sink_timeout(struct agent_sink_settings *sink, const char *value)
{
	uint64_t ns;
	if (!number_parse_duration(value, "s", &ns) || ns < 1000000 || ns > 3600 * second_ns)
		return error_new("invalid time '%s': expected one such as 30s", value);
	sink->options.http.timeout_ms = (unsigned int)(ns / 1000000);
	return NULL;
}

static struct error *set_sink(struct agent_sink_settings *sink, const char *key, const struct config_entry *entry)
{
	struct http_options *http = &sink->options.http;
	const struct {
		const char *key, **value;
	} texts[] = {
		{"url", &sink->options.url},   {"token-file", &http->token_file},
		{"user", &http->user},	       {"password-file", &http->password_file},
		{"ca-file", &http->ca_file},   {"certificate-file", &http->certificate_file},
		{"key-file", &http->key_file},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(texts[i].key, key)) {
			*texts[i].value = entry->value;
			sink->where = i && sink->where ? sink->where : entry->where;
			return NULL;
		}
	if (!strcmp(key, "timeout"))
		return set_sink_timeout(sink, entry->value);
	if (!strcmp(key, "spool-limit"))
		return parse_size(NULL, entry->value, false, &sink->limit);
	return error_new("unknown setting '%s' of a sink: there are url, token-file, user, password-file, ca-file, certificate-file, "
			 "key-file, timeout and spool-limit",
			 key);
}

/* Names become folders. */
static bool is_sink_name(const char *name)
{
	return *name && *name != '.' && strlen(name) < 64 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(name);
}

/* ---- the file ---- */

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
/* What the file may say in [agent] as well. */
static const struct option configured[] = {
	OPTION_HEADING("What is measured"),
	CUSTOM('e', "event", words, "EVENT", "events to sample, as perf record has them (default: cycles, or the CPU's clock)",
	       event_words_parse_event),
	CUSTOM('F', "freq", sampling, "HZ", "samples a second and CPU (default 19)", sampling_option_freq),
	OPTION_CUSTOM_FLAGS(0, "call-graph", O, sampling, "MODE", "how to record stacks: auto (complete, default), fp or dwarf[,BYTES]",
			    sampling_option_callgraph, 0),
	OPTION_FLAG(0, "off-cpu", O, off_cpu, "also where threads sleep and how long, as event offcpu-time"),
	CUSTOM(0, "window", window_ns, "TIME", "length of the windows that are added up and sent (default 10s)", parse_window),
	CUSTOM(0, "label", labels, "NAME=VALUE", "a label of all samples; may be repeated", agent_parse_label),
	CUSTOM(0, "label-env", environment, "[NAME=]VARIABLE,…", "labels from environment variables of the processes", parse_environment),
	OPTION_STRING(0, "host", O, host, "NAME", "what this machine is called (default: its host name)"),

	OPTION_HEADING("The flight recorder"),
	OPTION_STRING(0, "flight", O, flight.folder, "FOLDER",
		      "hold the last seconds in memory, and write them there when something is wrong"),
	CUSTOM(0, "flight-on", flight.triggers, "TRIGGER,…",
	       "when: load>N, cpu-pressure>N% (io-, memory-), SYSCALL>TIME, SYSTEM:PROBE>TIME; SIGUSR2 always; may be repeated",
	       parse_triggers),
	CUSTOM(0, "flight-before", flight.before_ns, "TIME", "what came so long before it (default 10s)", parse_time),
	CUSTOM(0, "flight-after", flight.after_ns, "TIME", "and comes so long after it (default 5s)", parse_time),
	CUSTOM(0, "flight-quiet", flight.quiet_ns, "TIME", "not again for so long, unless somebody asks (default 30s)", parse_time),
	OPTION_U64(0, "flight-keep", O, flight.keep, "N", "so many recordings stay (default 20)"),
	CUSTOM(0, "flight-limit", flight.limit, "SIZE", "with so many bytes (default 1G)", parse_size),

	OPTION_HEADING("What it may cost"),
	CUSTOM(0, "budget", budget_percent, "PERCENT", "CPU time at most, of one CPU (default 0.5%): else the rate is lowered",
	       parse_budget),
	CUSTOM(0, "memory", memory, "SIZE", "memory at most (default 80M)", parse_size),

	OPTION_HEADING("Where it goes"),
	OPTION_STRING(0, "spool", O, spool, "FOLDER", "where windows wait for their sinks (default " AGENT_SPOOL ")"),

	OPTION_HEADING("The agent itself"),
	OPTION_STRING(0, "socket", O, socket, "PATH", "where 'perf agent status' asks (default " AGENT_SOCKET ")"),
	OPTION_STRING(0, "metrics", O, metrics, "ADDRESS:PORT", "serve /metrics (OpenMetrics) there; only on loopback addresses"),
	OPTION_FLAG(0, "sandbox", O, sandbox,
		    "give up the rights that measuring does not need, once all is open (default; --no-sandbox: keep them)"),
	OPTION_END,
};

const struct option agent_option_table[] = {
	{OPTION_KIND_GROUP, 0, NULL, 0, NULL, NULL, NULL, configured, 0}, /* of the same structure */
	CUSTOM(0, "sink", sinks, "URL",
	       "send there, too: clickhouse://…, pyroscope://…, parca://…, otlp://…, file:///FOLDER; may be repeated", parse_sink),
	OPTION_STRING(0, "config", O, config, "FILE", "read this configuration (default " AGENT_CONFIG ", if it is there)"),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

static struct error *set_agent(struct agent_settings *settings, const char *key, const struct config_entry *entry)
{
	const struct option *known = configured;
	while (known->kind != OPTION_KIND_END && !(known->long_name && !strcmp(known->long_name, key)))
		known++;
	if (known->kind == OPTION_KIND_END)
		return error_new("unknown setting '%s' of [agent]: they are called like the options of 'perf agent run'", key);
	return options_set(configured, key, entry->value, settings);
}

static struct error *take_entry(struct agent_settings *settings, const struct config_entry *entry)
{
	const char *dot = strrchr(entry->name, '.'), *key = dot + 1;
	cleanup_free char *section = mem_strndup(entry->name, (size_t)(dot - entry->name));
	if (!strcmp(section, "agent"))
		return set_agent(settings, key, entry);
	if (!strcmp(section, "labels"))
		return add_label(&settings->labels, key, entry->value);
	if (!str_starts_with(section, "sink."))
		return error_new("unknown section [%s]: there are [agent], [labels] and [sink NAME]", section);
	const char *name = section + strlen("sink.");
	if (!is_sink_name(name))
		return error_new("invalid name of a sink '%s': expected letters, digits, '-', '_' and '.'", name);
	return set_sink(find_sink(settings, name), key, entry);
}

static struct error *read_file(struct agent_settings *settings)
{
	const char *path = settings->config ? settings->config : AGENT_CONFIG;
	if (access(path, R_OK))
		return !settings->config && errno == ENOENT ? NULL : error_system(errno, "%s", path);
	struct error *error = config_open_file(path, &settings->file);
	for (size_t i = 0; i < settings->file.entries.len && !error; i++) {
		const struct config_entry *entry = &settings->file.entries.data[i];
		struct error *wrong = take_entry(settings, entry);
		if (wrong) /* not a wrong command line */
			error = error_new("%s: %s: %s", entry->where, entry->name, error_message(wrong));
		error_free(wrong);
	}
	for (size_t i = 0; i < settings->sinks.len && !error; i++)
		if (!settings->sinks.data[i].options.url)
			error = error_new("%s: [sink %s] has no url", settings->sinks.data[i].where ? settings->sinks.data[i].where : path,
					  settings->sinks.data[i].name);
	return error;
}

/* ---- all ---- */

static void init(struct agent_settings *settings)
{
	*settings = (struct agent_settings){
		.window_ns = 10 * second_ns,
		.budget_percent = 0.5,
		.memory = 80 << 20,
		.spool = AGENT_SPOOL,
		.socket = AGENT_SOCKET,
		.sandbox = true,
		.flight =
			{.before_ns = 10 * second_ns, .after_ns = 5 * second_ns, .quiet_ns = 30 * second_ns, .keep = 20, .limit = 1 << 30},
		.sampling = {.freq = HZ,
			     .freq_given = true,
			     .callgraph = CALLCHAIN_AUTO,
			     .callgraph_default = CALLCHAIN_AUTO,
			     .callgraph_implied = true,
			     .stack_grows = true,
			     .max_stack = DEPTH},
	};
}

/* Options move the words of a command line. */
static struct error *parse_words(int argc, char *const *argv, struct agent_settings *settings)
{
	cleanup_free char **copy = mem_zalloc_array((size_t)argc + 1, sizeof(*copy));
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	return options_parse_alone(agent_option_table, argc, copy, settings, "");
}

static void complete(struct agent_settings *settings, size_t words_of_file)
{
	struct sampling *sampling = &settings->sampling;
	struct event_words *words = &settings->words;
	if (words->len > words_of_file) { /* -e takes the place of what the file says */
		words->len -= words_of_file;
		memmove(words->data, words->data + words_of_file, words->len * sizeof(*words->data));
	}
	sampling->by_cpu = true;
	sampling->cgroups = true;
	sampling->clockid_given = true;
	sampling->clockid = CLOCK_MONOTONIC;
	sampling->identifier = true;
	sampling->unwind_memory = settings->memory / 8;
	sampling->unwind_lazily = true;
	sampling->unwind_more = "a larger --memory, of which they get an eighth";
	for (size_t i = 0; i < settings->sinks.len; i++)
		settings->sinks.data[i].options.name = settings->sinks.data[i].name;
}

static struct error *check_flight(const struct flight_settings *flight)
{
	if (flight->triggers.len && !flight->folder)
		return error_new_kind(ERROR_USAGE, "--flight-on needs a folder for recordings: --flight FOLDER");
	if (flight->folder && *flight->folder != '/')
		return error_new_kind(ERROR_USAGE, "--flight %s: expected an absolute path", flight->folder);
	return flight->keep ? NULL : error_new_kind(ERROR_USAGE, "--flight-keep 0: at least one recording has to stay");
}

struct error *agent_settings_read(int argc, char *const *argv, struct agent_settings *ret)
{
	struct agent_settings first;
	struct sockaddr_storage address;
	unsigned int size;
	init(&first);
	init(ret);
	struct error *error = parse_words(argc, argv, &first);
	ret->config = first.config;
	agent_settings_deinit(&first);
	if (!error)
		error = read_file(ret);
	size_t words_of_file = ret->words.len;
	if (!error)
		error = parse_words(argc, argv, ret);
	if (!error && ret->metrics)
		error = agent_parse_loopback(ret->metrics, &address, &size);
	complete(ret, words_of_file);
	if (!error)
		error = check_flight(&ret->flight);
	return error ? error : sampling_check_freq(&ret->sampling);
}

void agent_labels_deinit(agent_labels *labels)
{
	for (size_t i = 0; i < labels->len; i++) {
		free(labels->data[i].name);
		free(labels->data[i].value);
	}
	vec_deinit(labels);
}

void agent_settings_deinit(struct agent_settings *settings)
{
	agent_labels_deinit(&settings->labels);
	agent_labels_deinit(&settings->environment);
	for (size_t i = 0; i < settings->sinks.len; i++)
		free(settings->sinks.data[i].name);
	vec_deinit(&settings->sinks);
	vec_deinit(&settings->words);
	flight_triggers_deinit(&settings->flight.triggers);
	config_close(&settings->file);
	*settings = (struct agent_settings){0};
}

struct error *agent_parse_loopback(const char *text, struct sockaddr_storage *ret, unsigned int *ret_size)
{
	const char *colon = strrchr(text, ':');
	uint32_t port;
	*ret = (struct sockaddr_storage){0};
	if (!colon || !number_parse_u32(colon + 1, &port) || port > UINT16_MAX)
		return error_new_kind(ERROR_USAGE, "--metrics %s: expected an address and a port, such as 127.0.0.1:9464", text);
	bool bracketed = *text == '[' && colon[-1] == ']';
	cleanup_free char *host = mem_strndup(text + bracketed, (size_t)(colon - text) - (bracketed ? 2 : 0));
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1 && ntohl(v4->sin_addr.s_addr) >> 24 == 127) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*ret_size = sizeof(*v4);
		return NULL;
	}
	*ret = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*ret_size = sizeof(*v6);
		return NULL;
	}
	return error_new_kind(ERROR_USAGE, "--metrics %s: only loopback addresses are served, such as 127.0.0.1:9464 and [::1]:9464", text);
}
