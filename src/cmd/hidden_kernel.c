/* The sentence about kernel addresses that were hidden while something was recorded. */
#include "cmd/hidden_kernel.h"

#include "analysis/report/fold.h"
#include "base/log.h"
#include "kernel/fix.h"

void hidden_kernel_warn(const struct fold *fold)
{
	const struct machine *machine = fold->session->machine;
	if (machine->kernel && machine->kernel_reloc_address)
		return;
	uint64_t all, hidden = fold_count_hidden(fold, &all);
	if (hidden)
		log_warning("%.0f%% of the samples are in the kernel and have no function names, because kernel addresses were hidden "
			    "during recording. Record as root, or first run:  " FIX_KERNEL_ADDRESSES,
			    100.0 * (double)hidden / (double)all);
}
