/* perf report on a screen: zooming. The rows stay; those that are left out are taken out of their order. */
#include "cmd/report/screen.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The key by which rows tell this apart, or NULL. */
static const struct key *zoom_key(const struct screen *screen, enum zoom_kind kind)
{
	const struct report_keys *keys = &screen->event->keys;
	const struct key *found = NULL;
	for (size_t i = 0; i < keys->identity_count; i++) {
		const struct key *key = keys->identity[i];
		bool names_place =
			key->filter == KEY_FILTER_DSO || key->filter == KEY_FILTER_SYMBOL || (key->flags & (KEY_HAS_DSO | KEY_HAS_SYM));
		bool fits = kind == ZOOM_THREAD ? key->domain == KEY_ACTOR && (key->filter == KEY_FILTER_COMM || (key->flags & KEY_THREADS))
			    : kind == ZOOM_SOCKET ? key->domain == KEY_EXTRA && !strcmp(key->name, "socket")
			    : kind == ZOOM_SYMBOL ? key->domain == KEY_PLACE && (key->flags & KEY_HAS_SYM)
						  : key->domain == KEY_PLACE && names_place;
		if (fits && (!found || (key->flags & KEY_THREADS)))
			found = key;
	}
	return found;
}

/* The same for what the line of the cursor has of it, all rows alike that it is made of: in a hierarchy upper levels tell less. */
static const struct key *line_key(const struct screen *screen, enum zoom_kind kind)
{
	const struct key *key = zoom_key(screen, kind);
	size_t line = browser_row(screen->browser);
	return key && (line == BROWSER_NO_ROW || rows_table_line_has(screen->table, line, key)) ? key : NULL;
}

static bool tells_threads(const struct key *key)
{
	return key->flags & KEY_THREADS;
}

const struct fold_frame *screen_place(const struct screen *screen, uint32_t row)
{
	struct key_source source;
	const struct key *key = line_key(screen, ZOOM_DSO);
	if (!key)
		return NULL;
	rows_source(screen->event->rows, row, key, &source);
	return source.place;
}

const struct fold_frame *screen_function(const struct screen *screen, uint32_t row)
{
	const struct fold_frame *place = screen_place(screen, row);
	bool named = !screen->report->options->hierarchy || line_key(screen, ZOOM_SYMBOL);
	return named && place && place->symbol && place->map ? place : NULL;
}

const struct fold_frame *screen_target(const struct screen *screen, uint32_t row)
{
	const struct report_keys *keys = &screen->event->keys;
	size_t line = browser_row(screen->browser);
	for (size_t i = 0; i < keys->identity_count; i++) {
		const struct key *key = keys->identity[i];
		struct key_source source;
		if (strcmp(key->name, "symbol_to") != 0 || line == BROWSER_NO_ROW || !rows_table_line_has(screen->table, line, key))
			continue;
		rows_source(screen->event->rows, row, key, &source);
		return source.target && source.target->symbol && source.target->map ? source.target : NULL;
	}
	return NULL;
}

/* ---- filtering ---- */

/* The keys that a zoom looks at; NULL where it doesn't. */
struct zoom_keys {
	const struct key *place, *actor, *socket;
};

static bool place_passes(const struct screen_zoom *zoom, const struct fold_frame *place)
{
	const struct dso *dso = place->map ? place->map->dso : NULL;
	if ((zoom->dso && dso != zoom->dso) || (zoom->kernel && !(dso && dso->kernel)))
		return false;
	return !zoom->symbol || (place->symbol && strstr(place->symbol->name, zoom->symbol));
}

static bool row_passes(const struct screen *screen, const struct zoom_keys *keys, uint32_t row)
{
	const struct screen_zoom *zoom = &screen->zoom;
	const struct rows *rows = screen->event->rows;
	struct key_source source;
	if (keys->place) {
		rows_source(rows, row, keys->place, &source);
		if (!place_passes(zoom, source.place))
			return false;
	}
	if (keys->socket) {
		rows_source(rows, row, keys->socket, &source);
		if (*source.words != zoom->socket)
			return false;
	}
	if (!keys->actor)
		return true;
	rows_source(rows, row, keys->actor, &source);
	return zoom->thread ? source.actor->thread == zoom->thread : source.actor->comm == zoom->comm;
}

bool screen_entry_passes(const struct screen *screen, const struct fold_entry *entry)
{
	const struct screen_zoom *zoom = &screen->zoom;
	const struct fold *fold = screen->report->fold;
	const struct fold_actor *actor = &fold->actors[entry->actor];
	if (zoom->thread && actor->thread != zoom->thread)
		return false;
	return (!zoom->comm || actor->comm == zoom->comm) && place_passes(zoom, &fold->frames[entry->leaf]);
}

/* Percentages of what is shown relate to the rows that are left. */
static void sum_up(const struct screen *screen)
{
	struct rows *rows = screen->event->rows;
	size_t events = rows->options.event_count;
	if (!screen->zooms.len) {
		memcpy(rows->total_shown, screen->totals, events * sizeof(*rows->total_shown));
		memcpy(rows->samples_shown, screen->totals + events, events * sizeof(*rows->samples_shown));
		return;
	}
	memset(rows->total_shown, 0, events * sizeof(*rows->total_shown));
	memset(rows->samples_shown, 0, events * sizeof(*rows->samples_shown));
	for (size_t i = 0; i < rows->shown_count; i++)
		for (size_t event = 0; event < events; event++) {
			const struct row_sums *sums = &rows->sums[rows->order[i] * events + event];
			rows->total_shown[event] += sums->period;
			rows->samples_shown[event] += sums->count;
		}
}

void screen_filter(struct screen *screen)
{
	const struct screen_zoom *zoom = &screen->zoom;
	struct rows *rows = screen->event->rows;
	bool by_place = zoom->dso || zoom->kernel || zoom->symbol;
	const struct zoom_keys keys = {.place = by_place ? zoom_key(screen, ZOOM_DSO) : NULL,
				       .actor = zoom->thread || zoom->comm ? zoom_key(screen, ZOOM_THREAD) : NULL,
				       .socket = zoom->by_socket ? zoom_key(screen, ZOOM_SOCKET) : NULL};
	rows->shown_count = 0;
	for (size_t i = 0; i < screen->order_count; i++)
		if (row_passes(screen, &keys, screen->order[i]))
			rows->order[rows->shown_count++] = screen->order[i];
	sum_up(screen);
	size_t most = screen->report->options->most_rows;
	if (most && rows->shown_count > most)
		rows->shown_count = most;
}

bool screen_row_filter(const struct screen *screen, uint32_t row, struct screen_row_filter *ret)
{
	const struct key *file = line_key(screen, ZOOM_DSO), *symbol = line_key(screen, ZOOM_SYMBOL),
			 *actor = line_key(screen, ZOOM_THREAD);
	struct key_source source;
	*ret = (struct screen_row_filter){.by_dso = file, .by_symbol = symbol, .thread = screen->zoom.thread, .comm = screen->zoom.comm};
	if (file) {
		rows_source(screen->event->rows, row, file, &source);
		ret->dso = source.place->map ? source.place->map->dso : NULL;
	}
	if (symbol) {
		rows_source(screen->event->rows, row, symbol, &source);
		ret->symbol = source.place->symbol;
	}
	if (actor) {
		rows_source(screen->event->rows, row, actor, &source);
		ret->thread = tells_threads(actor) ? source.actor->thread : ret->thread;
		ret->comm = source.actor->comm;
	}
	return file || actor;
}

/* ---- in and out ---- */

static void clear_kind(struct screen *screen, enum zoom_kind kind)
{
	struct screen_zoom *zoom = &screen->zoom;
	switch (kind) {
	case ZOOM_DSO:
		zoom->dso = NULL;
		break;
	case ZOOM_KERNEL:
		zoom->kernel = false;
		break;
	case ZOOM_THREAD:
		zoom->thread = NULL;
		zoom->comm = NULL;
		break;
	case ZOOM_SOCKET:
		zoom->by_socket = false;
		break;
	default:
		free(zoom->symbol);
		zoom->symbol = NULL;
	}
	size_t kept = 0;
	for (size_t i = 0; i < screen->zooms.len; i++)
		if (screen->zooms.data[i] != kind)
			screen->zooms.data[kept++] = screen->zooms.data[i];
	screen->zooms.len = kept;
}

static bool is_zoomed(const struct screen *screen, enum zoom_kind kind)
{
	for (size_t i = 0; i < screen->zooms.len; i++)
		if (screen->zooms.data[i] == kind)
			return true;
	return false;
}

/* What the row has becomes the zoom. */
static bool take_from_row(struct screen *screen, enum zoom_kind kind, uint32_t row)
{
	struct screen_zoom *zoom = &screen->zoom;
	const struct key *key = kind == ZOOM_KERNEL ? zoom_key(screen, kind) : line_key(screen, kind);
	struct key_source source;
	if (!key)
		return false;
	if (kind == ZOOM_KERNEL) {
		zoom->kernel = true;
		return true;
	}
	if (row == SCREEN_NO_ROW)
		return false;
	rows_source(screen->event->rows, row, key, &source);
	switch (kind) {
	case ZOOM_DSO:
		zoom->dso = source.place->map ? source.place->map->dso : NULL;
		return zoom->dso;
	case ZOOM_THREAD:
		zoom->thread = tells_threads(key) ? source.actor->thread : NULL;
		zoom->comm = source.actor->comm;
		return true;
	default:
		zoom->by_socket = true;
		zoom->socket = *source.words;
		return true;
	}
}

bool screen_zoom_toggle(struct screen *screen, enum zoom_kind kind, uint32_t row)
{
	if (is_zoomed(screen, kind))
		clear_kind(screen, kind);
	else if (take_from_row(screen, kind, row))
		vec_push(&screen->zooms, kind);
	else
		return false;
	screen_make_table(screen, false);
	return true;
}

void screen_zoom_symbol(struct screen *screen, char *text)
{
	clear_kind(screen, ZOOM_SYMBOL);
	if (text && *text) {
		screen->zoom.symbol = text;
		vec_push(&screen->zooms, ZOOM_SYMBOL);
	} else {
		free(text);
	}
	screen_make_table(screen, false);
}

bool screen_zoom_out(struct screen *screen)
{
	if (!screen->zooms.len)
		return false;
	clear_kind(screen, *vec_last(&screen->zooms));
	screen_make_table(screen, false);
	return true;
}

void screen_zoom_reset(struct screen *screen)
{
	while (screen->zooms.len)
		clear_kind(screen, *vec_last(&screen->zooms));
}

static const struct dso *find_dso(const struct machine *machine, const struct dso *wanted)
{
	const struct dso *named = NULL;
	machine_each_dso (dso, machine) {
		if (strcmp(dso->name, wanted->name) != 0)
			continue;
		if (dso->pid == wanted->pid && dso->inode == wanted->inode && buildid_equal(&dso->build_id, &wanted->build_id))
			return dso;
		named = dso;
	}
	return named;
}

/* Names of threads are kept once, so that the pointer found is that of all threads that are called so; NULL: none is. */
static const struct untrusted *find_comm(const struct machine *machine, const struct untrusted *wanted)
{
	for (size_t i = 0; i < machine->threads.len; i++) {
		const struct thread *thread = machine->threads.data[i];
		for (uint32_t j = 0; j < thread->comm_count; j++)
			if (!strcmp(thread->comms[j].name, untrusted_raw(wanted)))
				return untrusted(thread->comms[j].name);
		if (thread->nameless && !strcmp(thread->nameless, untrusted_raw(wanted)))
			return untrusted(thread->nameless);
	}
	return NULL;
}

void screen_zoom_move(struct screen *screen, struct machine *machine)
{
	struct screen_zoom *zoom = &screen->zoom;
	if (zoom->thread)
		zoom->thread = machine_thread(machine_of_guest(machine, zoom->thread->process->machine->guest_pid), zoom->thread->tid,
					      zoom->thread->start);
	if (zoom->comm && !(zoom->comm = find_comm(machine, zoom->comm)))
		clear_kind(screen, ZOOM_THREAD);
	if (zoom->dso && !(zoom->dso = find_dso(machine, zoom->dso)))
		clear_kind(screen, ZOOM_DSO);
}

/* ---- in words ---- */

static void add_name(struct strbuf *out, const char *name)
{
	text_add_safe(out, name, strlen(name));
}

/* All ones where the recording doesn't tell. */
static void add_socket(struct strbuf *out, uint64_t socket)
{
	if (socket == UINT64_MAX)
		strbuf_add_str(out, "unknown");
	else
		strbuf_printf(out, "%lu", socket);
}

static void add_thread(struct strbuf *out, const struct thread *thread, const struct untrusted *comm)
{
	text_add_untrusted(out, comm);
	if (thread)
		strbuf_printf(out, "(%u)", thread->tid);
}

void screen_zoom_text(const struct screen *screen, struct strbuf *out)
{
	const struct screen_zoom *zoom = &screen->zoom;
	if (zoom->comm) {
		strbuf_add_str(out, ", Thread: ");
		add_thread(out, zoom->thread, zoom->comm);
	}
	if (zoom->dso) {
		strbuf_add_str(out, ", DSO: ");
		add_name(out, zoom->dso->short_name);
	}
	if (zoom->kernel)
		strbuf_add_str(out, ", DSO: kernel and modules");
	if (zoom->by_socket) {
		strbuf_add_str(out, ", Processor Socket: ");
		add_socket(out, zoom->socket);
	}
	if (zoom->symbol) {
		strbuf_add_str(out, ", Symbol: ");
		add_name(out, zoom->symbol);
	}
}

bool screen_zoom_name(const struct screen *screen, enum zoom_kind kind, uint32_t row, struct strbuf *out)
{
	const struct key *key = line_key(screen, kind);
	struct key_source source;
	if (!key)
		return false;
	rows_source(screen->event->rows, row, key, &source);
	if (kind == ZOOM_THREAD)
		add_thread(out, tells_threads(key) ? source.actor->thread : NULL, source.actor->comm);
	else if (kind == ZOOM_SOCKET)
		add_socket(out, *source.words);
	else if (kind == ZOOM_SYMBOL && source.place->symbol)
		add_name(out, source.place->symbol->name);
	else if (kind == ZOOM_DSO && source.place->map)
		add_name(out, source.place->map->dso->short_name);
	else
		return false;
	return true;
}
