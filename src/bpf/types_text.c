/* libbpf's printer of typed data, for the types of the kernel that runs (types_text.h). Members that are 0 are left out by it. */
#include "bpf/types_text.h"

#include "base/mem.h"
#include "base/vec.h"
#include "bpf/support.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

struct known_type {
	const char *name; /* of the caller: the same pointer each time */
	int id;		  /* negative: there is none */
};

struct bpf_types_text {
	struct btf *btf;
	struct btf_dump *dump;
	struct strbuf text; /* of the structure that is printed */
	bool names;
	VEC(struct known_type) known;
};

static void add(void *context, const char *format, va_list arguments)
{
	struct bpf_types_text *types = context;
	strbuf_vprintf(&types->text, format, arguments);
}

struct error *bpf_types_text_open(bool names, struct bpf_types_text **ret)
{
	struct bpf_types_text *types = mem_zalloc(sizeof(*types));
	types->names = names;
	types->btf = btf__load_vmlinux_btf();
	types->dump = types->btf ? btf_dump__new(types->btf, add, types, NULL) : NULL;
	if (types->dump) {
		*ret = types;
		return NULL;
	}
	int number = errno;
	bpf_types_text_close(types);
	return error_system(number, "this kernel's types (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF) cannot be read");
}

void bpf_types_text_close(struct bpf_types_text *types)
{
	if (!types)
		return;
	btf_dump__free(types->dump);
	btf__free(types->btf);
	strbuf_deinit(&types->text);
	vec_deinit(&types->known);
	free(types);
}

static int find(struct bpf_types_text *types, const char *name)
{
	for (size_t i = 0; i < types->known.len; i++)
		if (types->known.data[i].name == name)
			return types->known.data[i].id;
	int id = btf__find_by_name_kind(types->btf, name, BTF_KIND_STRUCT);
	vec_push(&types->known, (struct known_type){name, id});
	return id;
}

bool bpf_types_text_add(struct bpf_types_text *types, const char *name, const void *data, size_t size, struct strbuf *out)
{
	LIBBPF_OPTS(btf_dump_type_data_opts, options, .compact = true, .skip_names = !types->names);
	int id = find(types, name);
	strbuf_clear(&types->text);
	if (id < 0 || btf_dump__dump_type_data(types->dump, (uint32_t)id, data, size, &options) < 0)
		return false;
	strbuf_add_str(out, strbuf_str(&types->text));
	return true;
}
