/* For tests of ctl/cluster: the states that they wait for, and the number of
 * decisions. */
#ifndef TEST_SUPPORT_CONTROL_WAIT_H
#define TEST_SUPPORT_CONTROL_WAIT_H

#include <stdbool.h>

struct control;

/* context: a struct control. Its RayClusters and Pods are listed. */
bool control_is_synced(void *context);
/* As its metrics count them. */
unsigned control_decisions(const struct control *control);

#endif
