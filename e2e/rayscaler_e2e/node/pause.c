/* The first process of a node and of each Pod: it reaps what is left to it, and ends on SIGTERM. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void end(int number)
{
	(void)number;
	_exit(0);
}

int main(void)
{
	struct sigaction ending = {.sa_handler = end}, reaping = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};

	if (sigaction(SIGTERM, &ending, NULL) || sigaction(SIGINT, &ending, NULL) || sigaction(SIGCHLD, &reaping, NULL))
		return 1;
	for (;;)
		pause();
}
