#include "cli/shared/commands.h"

#include <signal.h>

#include "cli/shared/flags.h"
#include "cli/shared/help.h"

static const char help[] =
	"usage: @ park\n"
	"Does nothing until SIGTERM or SIGINT: the autoscaler container of a head Pod\n"
	"whose cluster is scaled by a rayscaler controller.\n"
	"exit status: 0 it was stopped by a signal, 2 wrong usage\n";

/* KubeRay requires an `autoscaler` container in the head Pod; in controller mode it has no work. It
 * must end at once on SIGTERM, also as process 1, where the kernel ignores signals without a
 * handler: sigwait accepts them whatever the disposition is. */
int cli_park(int argc, char **argv)
{
	struct flags flags = { .at = NULL };
	sigset_t end;
	int signal_number, status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	sigwait(&end, &signal_number);
	return EXIT_DONE;
}
