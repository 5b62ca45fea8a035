/* Remedies. Which package has the debug file depends on the distribution: /etc/os-release says which one it is; dpkg's file lists say which
 * package a file is from, and by custom the debug package has its name with "-dbgsym" ("-dbg" for the C library and kernels). */
#include "symbol/remedy.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum linux_distribution { DISTRIBUTION_OTHER, DISTRIBUTION_DEBIAN, DISTRIBUTION_FEDORA, DISTRIBUTION_SUSE };

static enum linux_distribution distribution_here(void)
{
	char line[256];
	enum linux_distribution found = DISTRIBUTION_OTHER;
	cleanup_fclose FILE *file = fopen("/etc/os-release", "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!str_starts_with(line, "ID=") && !str_starts_with(line, "ID_LIKE="))
			continue;
		if (strstr(line, "debian") || strstr(line, "ubuntu"))
			found = DISTRIBUTION_DEBIAN;
		else if (strstr(line, "fedora") || strstr(line, "rhel"))
			found = DISTRIBUTION_FEDORA;
		else if (strstr(line, "suse"))
			found = DISTRIBUTION_SUSE;
	}
	return found;
}

/* Looking through dpkg's lists: a thousand small files. */
struct package_search {
	const char *path;  /* without /usr: with a merged /usr, lists may say either */
	VEC(char *) lists; /* names of files */
	int directory;
	_Atomic size_t found; /* number + 1 of the list that names the path; 0 = none yet */
};

enum { LISTS_PER_ITEM = 32 };

/* Is the path, maybe with "/usr" before it, a line of its own? */
static bool text_has_line(const char *text, size_t size, const char *path)
{
	static const char usr[] = "/usr";
	size_t len = strlen(path), before = sizeof(usr) - 1;
	for (const char *at = text; (at = memmem(at, (size_t)(text + size - at), path, len)); at += len) {
		const char *line = (size_t)(at - text) >= before && !memcmp(at - before, usr, before) ? at - before : at;
		if ((line == text || line[-1] == '\n') && (at + len == text + size || at[len] == '\n'))
			return true;
	}
	return false;
}

static bool list_has(int directory, const char *name, const char *path)
{
	struct stat st;
	cleanup_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return false;
	cleanup_free char *text = mem_alloc((size_t)st.st_size);
	ssize_t size = read(fd, text, (size_t)st.st_size);
	return size > 0 && text_has_line(text, (size_t)size, path);
}

static void search_lists(void *context, unsigned int worker, size_t item)
{
	struct package_search *search = context;
	(void)worker;
	for (size_t i = item * LISTS_PER_ITEM; i < search->lists.len && i < (item + 1) * LISTS_PER_ITEM && !atomic_load(&search->found);
	     i++)
		if (list_has(search->directory, search->lists.data[i], search->path))
			atomic_store(&search->found, i + 1);
}

/* Debian's package that a file is from; freed by the caller, NULL when none is known. */
static char *debian_package(const char *path)
{
	char *package = NULL;
	DIR *dir = opendir("/var/lib/dpkg/info");
	if (!dir)
		return NULL;
	struct package_search search = {.path = str_starts_with(path, "/usr/") ? path + 4 : path, .directory = dirfd(dir)};
	for (struct dirent *entry; (entry = readdir(dir));)
		if (str_ends_with(entry->d_name, ".list"))
			vec_push(&search.lists, mem_strdup(entry->d_name));
	pool_run(pool_default_jobs(), (search.lists.len + LISTS_PER_ITEM - 1) / LISTS_PER_ITEM, search_lists, &search);
	if (search.found) {
		const char *name = search.lists.data[search.found - 1], *colon = strchr(name, ':');
		package = mem_strndup(name, colon ? (size_t)(colon - name) : strlen(name) - strlen(".list"));
	}
	for (size_t i = 0; i < search.lists.len; i++)
		free(search.lists.data[i]);
	vec_deinit(&search.lists);
	closedir(dir);
	return package;
}

static void debug_package(const struct dso *dso, struct strbuf *out)
{
	char id[41];
	const char *servers = getenv("DEBUGINFOD_URLS");
	enum linux_distribution distribution = distribution_here();
	if (servers && *servers && dso->build_id.size)
		strbuf_add_str(out, "the servers in DEBUGINFOD_URLS do not have it; ");
	if (distribution == DISTRIBUTION_DEBIAN) {
		cleanup_free char *package = debian_package(dso->name);
		if (package)
			strbuf_printf(out, "install %s%s", package, strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym");
		else
			strbuf_add_str(out, "build it with -g and do not strip it");
	} else if (distribution == DISTRIBUTION_FEDORA) {
		strbuf_add_str(out, "dnf debuginfo-install ");
		text_add_safe(out, dso->name, strlen(dso->name));
	} else if (distribution == DISTRIBUTION_SUSE && dso->build_id.size) {
		strbuf_printf(out, "zypper install -C 'debuginfo(build-id)=%s'", buildid_format(&dso->build_id, id));
	} else {
		strbuf_add_str(out, "install its debug package, or build it with -g and do not strip it");
	}
}

static void kernel_remedy(struct resolver *resolver, enum symbol_source source, struct strbuf *out)
{
	if (source == SYMBOLS_FORBIDDEN)
		strbuf_add_str(out, "kernel addresses are hidden (kptr_restrict): run as root, or see 'perf doctor kernel-addresses'");
	else if (!resolver_options(resolver)->same_machine)
		strbuf_add_str(out, "this is not the recorded kernel: give its vmlinux with -k, or its symbols with --kallsyms");
	else
		strbuf_add_str(out, "give a vmlinux with -k, or symbols with --kallsyms");
}

void resolver_remedy(struct resolver *resolver, const struct dso *dso, struct strbuf *out)
{
	enum symbol_source source = resolver_source(resolver, dso);
	if (source == SYMBOLS_FULL || source == SYMBOLS_NOT_LOADED)
		return;
	if (dso->kind == DSO_KERNEL || dso->kind == DSO_KERNEL_MODULE)
		kernel_remedy(resolver, source, out);
	else if (source == SYMBOLS_NO_JIT_MAP)
		strbuf_add_str(out, "make the JIT compiler write a perf map (node --perf-basic-prof, python3 -X perf, java with a perf "
				    "map agent)");
	else if (source == SYMBOLS_FORBIDDEN && dso->kind != DSO_FILE)
		strbuf_add_str(out, "use --force to read the perf map of another user");
	else if (source == SYMBOLS_FORBIDDEN)
		strbuf_add_str(out, "run as a user who can read it");
	else if (source == SYMBOLS_WRONG_FILE)
		strbuf_add_str(out, "to prevent this, 'perf record' keeps copies of files unless -N is given");
	else if (source == SYMBOLS_NO_FILE && dso->kind == DSO_FILE)
		strbuf_add_str(out, "give the directory of copies with --symfs");
	else if (dso->kind == DSO_FILE)
		debug_package(dso, out);
}
