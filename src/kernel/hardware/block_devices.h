/* Names of block devices, and what a device of the device mapper does. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds the name in /dev ("sda1", "md0"); false when there is no such device now. */
bool block_device_add_name(uint32_t major, uint32_t minor, struct strbuf *out);
/* Adds what the device mapper calls its device ("vg0-root"); false when it is none of it. */
bool block_device_add_mapper_name(uint32_t major, uint32_t minor, struct strbuf *out);
/* Adds the kinds of targets of a device of the device mapper, each once ("delay", "linear, crypt"); false when it is none, or may not be
 * asked: that takes root. */
bool block_device_add_targets(uint32_t major, uint32_t minor, struct strbuf *out);
