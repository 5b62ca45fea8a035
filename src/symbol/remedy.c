/* Remedies. Which package has the debug file depends on the distribution: /etc/os-release says which one it is; dpkg's file lists say which
 * package a file is from, and by custom the debug package has its name with "-dbgsym" ("-dbg" for the C library and kernels). */
#include "symbol/remedy.h"

#include "base/cleanup.h"
#include "base/mapping.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum distribution { DISTRIBUTION_OTHER, DISTRIBUTION_DEBIAN, DISTRIBUTION_FEDORA, DISTRIBUTION_SUSE };

static enum distribution distribution_here(void)
{
	char line[256];
	enum distribution found = DISTRIBUTION_OTHER;
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

/* Does the list name the path on a line of its own? */
static bool list_has(const char *list_path, const char *path)
{
	struct mapping list = {0};
	struct error *error = mapping_open(list_path, &list);
	size_t len = strlen(path);
	bool found = false;
	if (error) {
		error_free(error);
		return false;
	}
	for (const uint8_t *at = list.data, *end = list.data + list.size; !found && at && at < end;) {
		at = memmem(at, (size_t)(end - at), path, len);
		if (!at)
			break;
		found = (at == list.data || at[-1] == '\n') && (at + len == end || at[len] == '\n');
		at += len;
	}
	mapping_close(&list);
	return found;
}

/* Debian's package that a file is from; freed by the caller, NULL when none is known. */
static char *debian_package(const char *path)
{
	static const char directory[] = "/var/lib/dpkg/info";
	DIR *dir = opendir(directory);
	char *package = NULL;
	/* Merged /usr: lists may still say /lib. */
	const char *without_usr = str_starts_with(path, "/usr/") ? path + 4 : path;
	for (struct dirent *entry; dir && !package && (entry = readdir(dir));) {
		if (!str_ends_with(entry->d_name, ".list"))
			continue;
		cleanup_free char *list = mem_printf("%s/%s", directory, entry->d_name);
		if (list_has(list, path) || (without_usr != path && list_has(list, without_usr)))
			package = mem_strndup(entry->d_name, strcspn(entry->d_name, ":") < strlen(entry->d_name)
								     ? strcspn(entry->d_name, ":")
								     : strlen(entry->d_name) - strlen(".list"));
	}
	if (dir)
		closedir(dir);
	return package;
}

static void debug_package(const struct dso *dso, struct strbuf *out)
{
	char id[41];
	const char *servers = getenv("DEBUGINFOD_URLS");
	enum distribution distribution = distribution_here();
	if (servers && *servers && dso->build_id.size) {
		/* What it fetches is kept where symbol_files_find() looks. */
		strbuf_printf(out, "run 'debuginfod-find debuginfo %s'", buildid_format(&dso->build_id, id));
	} else if (distribution == DISTRIBUTION_DEBIAN) {
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
		strbuf_add_str(out, "the kernel hides its addresses (kptr_restrict): run as root, or 'sysctl kernel.kptr_restrict=0'");
	else if (!resolver_options(resolver)->same_machine)
		strbuf_add_str(
			out, "this is not the kernel that was recorded: give its vmlinux with -k, or its list of symbols with --kallsyms");
	else
		strbuf_add_str(out, "give a vmlinux with -k, or a list of symbols with --kallsyms");
}

void resolver_remedy(struct resolver *resolver, const struct dso *dso, struct strbuf *out)
{
	enum symbol_source source = resolver_source(resolver, dso);
	if (source == SYMBOLS_FULL || source == SYMBOLS_NOT_LOADED)
		return;
	if (dso->kind == DSO_KERNEL || dso->kind == DSO_KERNEL_MODULE)
		kernel_remedy(resolver, source, out);
	else if (source == SYMBOLS_NO_JIT_MAP)
		strbuf_add_str(out, "have the run-time compiler write a perf map (node --perf-basic-prof, python3 -X perf, java with a "
				    "perf map agent)");
	else if (source == SYMBOLS_FORBIDDEN && dso->kind != DSO_FILE)
		strbuf_add_str(out, "-f uses the other user's perf map");
	else if (source == SYMBOLS_FORBIDDEN)
		strbuf_add_str(out, "run the report as a user who may read it");
	else if (source == SYMBOLS_WRONG_FILE)
		strbuf_add_str(out, "'perf record' keeps copies of files against this, unless -N is given");
	else if (source == SYMBOLS_NO_FILE && dso->kind == DSO_FILE)
		strbuf_add_str(out, "--symfs says below which directory files are");
	else if (dso->kind == DSO_FILE)
		debug_package(dso, out);
}
