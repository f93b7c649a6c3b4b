/* The rows of lint about claims: see feature/lint/core/lint_rule.h. */
#ifndef FEATURE_DEVICE_CLAIMS_MODEL_CLAIM_RULE_H
#define FEATURE_DEVICE_CLAIMS_MODEL_CLAIM_RULE_H

#define CLAIM_RULE_CLIQUE "clique-affinity-missing"
#define CLAIM_RULE_NODES "compute-domain-nodes"

#define CLAIM_LINT_RULES(T, N, S)                                                                  \
	T(CLAIM_MISSING, ERROR, "claim-missing", claim_rule_missing,                               \
	  "a ResourceClaim or ResourceClaimTemplate does not exist: no Pod starts",                \
	  "create it, or correct its name")                                                        \
	T(CLAIM_SHARED, WARNING, "claim-shared", claim_rule_shared,                                \
	  "workers share one ResourceClaim, or wait for it", "name a ResourceClaimTemplate")       \
	T(CLAIM_OF_PARTS, WARNING, "claim-of-parts", claim_rule_of_parts,                          \
	  "claimed parts of GPUs without `num-gpus`: Ray counts whole GPUs", "declare `num-gpus`") \
	T(CLIQUE_AFFINITY_MISSING, WARNING, CLAIM_RULE_CLIQUE, claim_rule_clique,                  \
	  "a group claims a channel of a ComputeDomain without affinity on "                       \
	  "`nvidia.com/gpu.clique`",                                                               \
	  "add the lines")                                                                         \
	N(COMPUTE_DOMAIN_NODES, WARNING, CLAIM_RULE_NODES,                                         \
	  "`numNodes` of a ComputeDomain is deprecated", "write 0")

#endif
