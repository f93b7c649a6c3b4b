/* The lint digest of one RayCluster, kept until its generation or an annotation changes, so that a
 * pass does not run the rules. Owned by ctl/cluster; may be lost. No I/O. */
#ifndef FEATURE_LINT_CTL_LINTED_H
#define FEATURE_LINT_CTL_LINTED_H

#include <stddef.h>

#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/lint_digest.h"
#include "core/model/settings.h"

struct linted;

struct linted *linted_new(void);
void linted_free(struct linted *linted); /* NULL is fine */

/* Valid until the next call with another RayCluster or another version of it. */
const struct lint_digest *linted_of(struct linted *linted, const struct ray_cluster *cluster,
				    const struct settings *settings,
				    const struct device_table *devices);
size_t linted_runs(const struct linted *linted); /* how often the rules were run */

#endif
