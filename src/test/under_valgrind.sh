#!/bin/bash
# Replaces the program, so that a test runs it under valgrind: its commands (make valgrind) or
# anything of e2e (RAYSCALER=src/test/under_valgrind.sh). RAYSCALER_PROGRAM is the program,
# RAYSCALER_VALGRIND_LOGS a directory that gets a file for each process, empty where nothing was found: no
# read of uninitialized memory, no leaked memory. A finding makes the exit status 99.
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
	--trace-children=no --suppressions="$(dirname "$0")/valgrind.supp" \
	--log-file="$RAYSCALER_VALGRIND_LOGS/%p.txt" "$RAYSCALER_PROGRAM" "$@"
