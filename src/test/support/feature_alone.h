/* One feature as the controller keeps it, for a test that calls its hooks itself. */
#ifndef TEST_SUPPORT_FEATURE_ALONE_H
#define TEST_SUPPORT_FEATURE_ALONE_H

#include <stdint.h>

#include "ctl/report/feature.h"

static const struct feature *alone_table[2];
static struct features *alone;

/* Its state. */
static inline void *alone_begin(const struct feature *feature, const struct control *control)
{
	const void *self;

	alone_table[0] = feature;
	alone = features_new(control, alone_table);
	(void)features_page(alone, 0, &self);
	return (void *)(uintptr_t)self;
}

static inline void alone_end(void)
{
	features_free(alone);
	alone = NULL;
}

#endif
