/* Colours of flame graphs. A palette puts each frame into a family (a range of hues with a name: "kernel", "JIT", a module) and, by a hash
 * of its name, into one of the family's shades, so that neighbours are told apart and a function has the same colour in every graph.
 *
 * Colours are classes of a style sheet, "c0", "c1", …, numbered family × FLAME_SHADES + shade.
 */
#pragma once

#include "base/strbuf.h"
#include "result/calltree.h"

enum { FLAME_SHADES = 35, FLAME_FAMILIES_MAX = 17 };

struct flame_palette;

/* By name, as --palette takes it; NULL for the default. Returns NULL when there is none of that name. */
const struct flame_palette *flame_palette_find(const char *name);
/* The names, separated by `between`. */
void flame_palette_add_names(struct strbuf *out, const char *between);
/* The number of the class of `node`; the root's is as good as any. */
unsigned int flame_palette_class(const struct flame_palette *palette, const struct calltree_node *node);
/* The class of a frame by how its share of the root's weight (total) differs from its share before (total_count): red is more, blue is
 * less. */
unsigned int flame_palette_change(const struct calltree_node *node, const struct calltree_node *root);
/* The rules of the style sheet for the families in `used` (a bit for each), for light backgrounds or for dark ones. `changes`: red and
 * blue. */
void flame_palette_add_rules(struct strbuf *out, const struct flame_palette *palette, uint32_t used, bool changes, bool dark);
/* A family's name for the legend; NULL when its name says nothing (the families of modules, palettes of one family). */
const char *flame_palette_family(const struct flame_palette *palette, unsigned int family, bool changes);
/* Whether families are modules: the legend then names the modules. */
bool flame_palette_by_module(const struct flame_palette *palette);
