/* Is this a virtual machine, and whose? */
#pragma once

#include <stddef.h>

/* The hypervisor's name ("KVM", "VMware", "QEMU (TCG)", else its own signature), or NULL on bare metal or where it cannot be told. Fills
 * `buffer`. */
const char *hypervisor_name(char *buffer, size_t size);
