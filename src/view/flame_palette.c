/* Colours of flame graphs: the palettes' tables, and from hue, saturation and lightness to the colours of a style sheet. */
#include "view/flame_palette.h"

#include <math.h>
#include <string.h>

enum { HUES = 7, LIGHTNESSES = FLAME_SHADES / HUES };
enum { CHANGE_MORE, CHANGE_LESS, CHANGE_FAMILIES };

/* Hues in degrees, saturation and lightness in percent; a range begins there and has that extent. */
struct family {
	const char *name;
	short hue, hues;
	short saturation;
	short lightness, lightnesses;
};

struct flame_palette {
	const char *name;
	struct family families[FLAME_FAMILIES_MAX];
	unsigned int (*family)(const struct calltree_node *node);
};

static unsigned int one_family(const struct calltree_node *node)
{
	(void)node;
	return 0;
}

static unsigned int family_of_kind(const struct calltree_node *node)
{
	return node->kind;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ hash >> 15;
}

enum { MODULES = FLAME_FAMILIES_MAX - 1, NO_MODULE = MODULES };

static unsigned int family_of_module(const struct calltree_node *node)
{
	return node->module ? hash_name(node->module) % MODULES : NO_MODULE;
}

/* Families of languages: what runs in which of their engines' parts. */
enum { LANGUAGE_OWN, LANGUAGE_INLINED, LANGUAGE_CPP, LANGUAGE_KERNEL, LANGUAGE_C };

static unsigned int family_of_engine(const struct calltree_node *node, bool own)
{
	if (node->kind == FRAME_KERNEL)
		return LANGUAGE_KERNEL;
	if (node->kind == FRAME_INLINED)
		return LANGUAGE_INLINED;
	if (own || node->kind == FRAME_JIT)
		return LANGUAGE_OWN;
	return node->label && strstr(node->label, "::") ? LANGUAGE_CPP : LANGUAGE_C;
}

static unsigned int family_of_java(const struct calltree_node *node)
{
	return family_of_engine(node, node->label && strchr(node->label, '/') && node->label[0] != '[' && node->label[0] != '/');
}

static unsigned int family_of_js(const struct calltree_node *node)
{
	return family_of_engine(node,
				node->label && (strstr(node->label, ".js") || strstr(node->label, ".mjs") || strstr(node->label, "JS:")));
}

static unsigned int family_of_perl(const struct calltree_node *node)
{
	return family_of_engine(node, node->label && (strstr(node->label, "Perl") || strstr(node->label, ".pl")));
}

#define ENGINE(own)                                                                                                \
	{                                                                                                          \
		[LANGUAGE_OWN] = {own, 90, 50, 55, 58, 16}, [LANGUAGE_INLINED] = {"inlined", 168, 24, 50, 60, 16}, \
		[LANGUAGE_CPP] = {"C++", 48, 12, 80, 58, 14}, [LANGUAGE_KERNEL] = {"kernel", 20, 16, 90, 60, 12},  \
		[LANGUAGE_C] = {"native", 350, 22, 80, 64, 12},                                                    \
	}

static const struct flame_palette palettes[] = {
	{
		"kind",
		{
			[FRAME_USER] = {"user", 34, 26, 86, 58, 18},
			[FRAME_KERNEL] = {"kernel", 2, 24, 84, 62, 16},
			[FRAME_JIT] = {"JIT", 84, 56, 50, 56, 18},
			[FRAME_INLINED] = {"inlined", 166, 40, 48, 60, 16},
			[FRAME_OTHER] = {"thread", 45, 0, 22, 74, 12},
			[FRAME_WAITING] = {"waiting", 205, 30, 70, 62, 20},
		},
		family_of_kind,
	},
	{
		"module",
		{
			{NULL, 0, 14, 75, 62, 14},
			{NULL, 22, 14, 80, 60, 14},
			{NULL, 45, 14, 75, 58, 14},
			{NULL, 68, 14, 55, 58, 14},
			{NULL, 90, 14, 50, 60, 14},
			{NULL, 112, 14, 45, 62, 14},
			{NULL, 135, 14, 45, 58, 14},
			{NULL, 158, 14, 50, 56, 14},
			{NULL, 180, 14, 50, 60, 14},
			{NULL, 202, 14, 60, 66, 12},
			{NULL, 225, 14, 65, 72, 10},
			{NULL, 248, 14, 60, 74, 10},
			{NULL, 270, 14, 50, 72, 10},
			{NULL, 292, 14, 45, 70, 10},
			{NULL, 315, 14, 55, 70, 12},
			{NULL, 338, 14, 65, 68, 12},
			[NO_MODULE] = {NULL, 45, 0, 22, 74, 12},
		},
		family_of_module,
	},
	{"hot", {{NULL, 0, 56, 90, 54, 18}}, one_family},
	{"mem", {{NULL, 100, 60, 55, 50, 24}}, one_family},
	{"io", {{NULL, 195, 50, 60, 58, 22}}, one_family},
	{"red", {{NULL, 350, 16, 80, 58, 22}}, one_family},
	{"blue", {{NULL, 205, 30, 70, 62, 20}}, one_family},
	{"green", {{NULL, 100, 40, 50, 54, 24}}, one_family},
	{"aqua", {{NULL, 170, 24, 50, 56, 22}}, one_family},
	{"yellow", {{NULL, 46, 14, 80, 54, 20}}, one_family},
	{"orange", {{NULL, 22, 16, 90, 58, 16}}, one_family},
	{"purple", {{NULL, 275, 34, 50, 66, 16}}, one_family},
	{"java", ENGINE("Java"), family_of_java},
	{"js", ENGINE("JavaScript"), family_of_js},
	{"perl", ENGINE("Perl"), family_of_perl},
};

enum { UNCHANGED_LIGHTNESS = 91 };

/* Of what became more or less: the shade is how much; the first one is that of what is about as before. */
static const struct family changes_families[CHANGE_FAMILIES] = {
	[CHANGE_MORE] = {"more than before", 0, 0, 88, 96, -38},
	[CHANGE_LESS] = {"less than before", 215, 0, 80, 96, -36},
};

const struct flame_palette *flame_palette_find(const char *name)
{
	for (size_t i = 0; i < sizeof(palettes) / sizeof(*palettes); i++)
		if (!name || !strcmp(palettes[i].name, name))
			return &palettes[i];
	return NULL;
}

void flame_palette_add_names(struct strbuf *out, const char *between)
{
	for (size_t i = 0; i < sizeof(palettes) / sizeof(*palettes); i++) {
		strbuf_add_str(out, i ? between : "");
		strbuf_add_str(out, palettes[i].name);
	}
}

unsigned int flame_palette_class(const struct flame_palette *palette, const struct calltree_node *node)
{
	return palette->family(node) * FLAME_SHADES + (node->label ? hash_name(node->label) % FLAME_SHADES : 0);
}

unsigned int flame_palette_change(const struct calltree_node *node, const struct calltree_node *root)
{
	double before = root->total_count ? (double)node->total_count / (double)root->total_count : 0;
	double after = root->total ? (double)node->total / (double)root->total : 0;
	double most = before > after ? before : after;
	double change = most > 0 ? (after - before) / most : 0;
	/* What is a hair of the whole is pale however much it changed: the square root keeps middling frames in sight. */
	double shade = fabs(change) * sqrt(most) * FLAME_SHADES;
	unsigned int limited = shade >= FLAME_SHADES - 1 ? FLAME_SHADES - 1 : (unsigned int)shade;
	return (change < 0 ? CHANGE_LESS : CHANGE_MORE) * FLAME_SHADES + limited;
}

/* One of red, green and blue, 0 to 255. */
static int channel(double hue, double saturation, double lightness, int n)
{
	double k = fmod(n + hue / 30, 12), a = saturation * fmin(lightness, 1 - lightness);
	double value = lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
	return (int)lround(255 * value);
}

static void add_rule(struct strbuf *out, const struct family *family, unsigned int class, unsigned int shade, bool changes, bool dark)
{
	double across = changes ? 0 : (double)(shade % HUES) / (HUES - 1);
	double down = changes ? (double)shade / (FLAME_SHADES - 1) : (double)(shade / HUES) / (LIGHTNESSES - 1);
	double hue = fmod(family->hue + family->hues * across, 360);
	/* What is as before is grey: pale red would say that it has grown. */
	bool unchanged = changes && !shade;
	double saturation = unchanged ? 0 : family->saturation / 100.0 * (dark ? 0.75 : 1);
	double lightness = (unchanged ? UNCHANGED_LIGHTNESS : family->lightness + family->lightnesses * down) / 100.0 * (dark ? 0.84 : 1);
	strbuf_printf(out, ".c%u{fill:#%02x%02x%02x}", class, channel(hue, saturation, lightness, 0),
		      channel(hue, saturation, lightness, 8), channel(hue, saturation, lightness, 4));
}

void flame_palette_add_rules(struct strbuf *out, const struct flame_palette *palette, uint32_t used, bool changes, bool dark)
{
	const struct family *families = changes ? changes_families : palette->families;
	for (unsigned int i = 0; i < FLAME_FAMILIES_MAX; i++)
		if (used >> i & 1)
			for (unsigned int shade = 0; shade < FLAME_SHADES; shade++)
				add_rule(out, &families[i], i * FLAME_SHADES + shade, shade, changes, dark);
}

const char *flame_palette_family(const struct flame_palette *palette, unsigned int family, bool changes)
{
	return (changes ? changes_families : palette->families)[family].name;
}

bool flame_palette_by_module(const struct flame_palette *palette)
{
	return palette->family == family_of_module;
}
