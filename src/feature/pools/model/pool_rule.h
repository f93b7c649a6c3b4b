/* The rows of lint about GPUPools: see feature/lint/core/lint_rule.h. */
#ifndef FEATURE_POOLS_MODEL_POOL_RULE_H
#define FEATURE_POOLS_MODEL_POOL_RULE_H

#define POOL_RULE_GUARANTEES "pool-guarantees"
#define POOL_RULE_UNREACHABLE "queue-unreachable"
#define POOL_RULE_MINIMUM "pool-minimum"
#define POOL_RULE_OVERLAP "pool-overlap"
#define POOL_RULE_NONE "group-without-pool"

#define POOL_LINT_RULES(T, N, S)                                                                   \
	N(POOL_GUARANTEES, WARNING, POOL_RULE_GUARANTEES,                                          \
	  "the guarantees of a GPUPool exceed its `gpus`, or these are 0", "raise `gpus`")         \
	N(QUEUE_UNREACHABLE, WARNING, POOL_RULE_UNREACHABLE,                                       \
	  "a queue selects all namespaces before others", "move it to the end")                    \
	N(POOL_MINIMUM, WARNING, POOL_RULE_MINIMUM,                                                \
	  "the `minReplicas` of a queue's RayClusters exceed its `maximum`",                       \
	  "lower them, or raise `maximum`")                                                        \
	N(POOL_OVERLAP, INFO, POOL_RULE_OVERLAP,                                                   \
	  "a group may match two GPUPools; a warning if one has none left", "set `groups`")        \
	N(GROUP_WITHOUT_POOL, INFO, POOL_RULE_NONE,                                                \
	  "no GPUPool in the files matches a group with GPUs", "add one")

#endif
