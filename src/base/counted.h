/* Included before every file of the folders that a decision calls (mk/rules.mk): each turn of each loop
 * there is counted in the bounded run of the thread (base/bounded.h), so that no loop, however it is written
 * and whoever adds it, runs beside the budget of the decision. A loop then needs a step expression:
 * `for (;;)` does not compile, `while` does. */
#ifndef BASE_COUNTED_H
#define BASE_COUNTED_H

/* Before their words are macros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded.h"

/* clang-format off */
#define for(...) for (__VA_ARGS__, bounded_count(1))
#define while(...) while (bounded_count(1), (__VA_ARGS__))
/* libc's sort has memory of its own while it compares. */
#define qsort(...) (bounded_hold(), qsort(__VA_ARGS__), bounded_release())
#define qsort_r(...) (bounded_hold(), qsort_r(__VA_ARGS__), bounded_release())
/* clang-format on */

#endif
