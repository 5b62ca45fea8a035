/* A call tree as a flame graph of characters: the root above, what it calls below, as wide as what it costs. */
#pragma once

#include "result/calltree.h"
#include "tui/windows.h"

/* Takes keys until the person leaves. `title` is harmless; labels needn't be. The root's label is NULL: it stands for all. */
void flame_show(struct terminal *terminal, const char *title, const struct calltree *tree);
