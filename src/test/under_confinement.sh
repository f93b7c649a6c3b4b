#!/bin/bash
# Stands in the place of the program as under_valgrind.sh does: the program may only read files and call what
# src/test/tools/net_confine.c lists. Anything else is its end (SIGSYS, exit status 159).
exec "$(dirname "$RAYSCALER_PROGRAM")/tools/net_confine" "$RAYSCALER_PROGRAM" "$@"
