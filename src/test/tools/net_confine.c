/* Starts a program with only the system calls that rayscaler needs (test/support/confine.h):
 *
 *   net_confine PROGRAM [ARGUMENT...]
 *
 * Exit status 2: wrong usage, or no such filter on this machine; 159, as a shell reports it, when
 * the program made another call. */
#include "test/support/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: net_confine PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (confine(argv[1])) {
		fprintf(stderr, "net_confine: no seccomp filter here: %s\n", strerror(errno));
		return 2;
	}
	(void)execv(argv[1], argv + 1);
	_exit(2);
}
