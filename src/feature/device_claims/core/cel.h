/* Selectors of DRA: the part of the Common Expression Language (CEL) that the documents of drivers
 * use, judged as Kubernetes 1.34 does (k8s.io/dynamic-resource-allocation/cel). Anything else is not
 * refused but UNKNOWN: what it is part of may still be decided (`false && x` is false).
 *
 * Judged: device.driver, device.attributes['domain'].name and ['name'], device.capacity,
 * device.allowMultipleAllocations, has(), .?name, [?'name'], orValue, hasValue, value, `in` of a list
 * or a map, == != < <= > >= && || ! ?:, quantity() and semver() with compareTo, isGreaterThan,
 * isLessThan, major, minor, patch; startsWith, endsWith, contains, lowerAscii, cel.bind, and matches
 * for a pattern without operators but `^` and `$`.
 * Unknown: arithmetic, loops (all, exists, map), other functions, versions with a pre-release or a
 * build, quantities with a sign or an exponent.
 *
 * Texts of any user arrive here. Limits below bound memory, recursion and steps; above one of them
 * the expression is unknown. Pure. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_CEL_H
#define FEATURE_DEVICE_CLAIMS_CORE_CEL_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

#define CEL_TEXT_MAX (10 * 1024) /* bytes: the API server refuses longer ones */
#define CEL_NODES_MAX 2048       /* of the syntax tree, about 128 bytes each */
#define CEL_DEPTH_MAX 48         /* of the syntax tree, and of parentheses */
#define CEL_BINDS_MAX 16         /* variables of cel.bind */
#define CEL_STEPS_MAX 100000     /* of one judgement: nodes, attributes */

enum cel_verdict { CEL_NO = 0, CEL_YES, CEL_UNKNOWN };

struct cel_device {
	const char *driver;
	const struct device *device;
};

struct cel;

/* Never NULL; owned by the arena. */
const struct cel *cel_compile(const char *text, struct arena *arena);
/* The first part of the text that is not judged ("function split"), for messages; NULL: none. */
const char *cel_problem(const struct cel *cel);
/* NO also for an error of the expression, as a missing attribute: no such device is allocated. The
 * device's attributes and capacity have names with their domain. Adds what it took to *steps. */
enum cel_verdict cel_judge(const struct cel *cel, const struct cel_device *device, size_t *steps);

#endif
