#!/bin/bash
# Replaces the program as under_valgrind.sh does: the program may only read files and use the system calls that
# src/test/tools/net_confine.c lists. Any other call ends it (SIGSYS, exit status 159).
exec "$(dirname "$RAYSCALER_PROGRAM")/tools/net_confine" "$RAYSCALER_PROGRAM" "$@"
