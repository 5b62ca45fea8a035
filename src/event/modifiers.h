/* The letters behind the colon of an event's name, made from its attribute. */
#pragma once

#include "base/strbuf.h"
#include "event/attr.h"

/* ":u", ":ppp", ":HG", …: what is measured and how exactly, as the kernel's perf calls it; nothing where the attribute is as by default. */
void event_add_modifiers(const struct event_attr *attr, struct strbuf *out);
