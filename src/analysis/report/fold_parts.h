/* The entries of some of a recording's events as a fold of their own, so that what is made for each event costs as much as its own
 * samples. */
#pragma once

#include "analysis/report/fold.h"

struct fold_parts;

/* Keeps the pointer, and numbers of all entries. */
struct fold_parts *fold_parts_create(struct fold *fold);
/* After fold_carry() of the fold. */
void fold_parts_renew(struct fold_parts *parts);
void fold_parts_destroy(struct fold_parts *parts);
/* A fold that has all entries of these events in their order, valid until the next call and as long as the parts: the whole fold where they
 * are a good part of it, else one that has nothing but what they use, under numbers of its own. It has no `ends`. Not for
 * fold_destroy(). */
struct fold *fold_parts_take(struct fold_parts *parts, const struct event *const *events, size_t count);
