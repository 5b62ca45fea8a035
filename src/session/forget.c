/* When the machine of a session forgets: at the end of a round, when it has grown enough. What comes out of order, and what callers have
 * beside the records (a BPF program's), asks with times that are a little older than the newest record: so long all is kept. */
#include "session/session_internal.h"

enum { KEPT_NS = 500000000 };

bool session_forget(struct session *session, const struct machine_holder *holder)
{
	struct session_private *private = session->private;
	const struct session_options *options = &private->options;
	if (!machine_has_grown(session->machine))
		return false;
	/* Nobody knows which records were lost; ends of threads may be among them. */
	bool lost = session->lost != private->forgot_lost;
	private->forgot_lost = session->lost;
	for (size_t i = 0; i < private->jit_sources.len; i++)
	private->jit_sources.data[i].dso->generation = session->machine->generation + 1;
	machine_forget_but(session->machine, private->turns.clock > KEPT_NS ? private->turns.clock - KEPT_NS : 0,
			   lost ? options->thread_gone : NULL, options->thread_gone_context, holder);
	jit_feed_renew(session);
	return true;
}
