#include "core/capacity/accelerator_type.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"

#define NAME_SIZE_MAX 63 /* of a label's value */

/* How the value of a label names the model. */
enum reading {
	READING_NAME = 1, /* the device's name with '-' for blanks */
	READING_TABLE,    /* a word of the cloud */
	READING_AMD_NAME, /* the device's name with '_' for blanks */
	READING_AMD_ID,   /* the PCI device id */
};

/* gpu-feature-discovery, ACK, the label of Kubernetes 1.8, GKE, EKS, Karpenter, AMD's labeller. */
static const struct model_label {
	const char *key;
	enum reading reading;
} model_labels[] = {
	{ "nvidia.com/gpu.product", READING_NAME },
	{ "aliyun.accelerator/nvidia_name", READING_NAME },
	{ "alpha.kubernetes.io/nvidia-gpu-name", READING_NAME },
	{ "cloud.google.com/gke-accelerator", READING_TABLE },
	{ "k8s.amazonaws.com/accelerator", READING_TABLE },
	{ "karpenter.k8s.aws/instance-gpu-name", READING_TABLE },
	{ "karpenter.azure.com/sku-gpu-name", READING_TABLE },
	{ "amd.com/gpu.product-name", READING_AMD_NAME },
	{ "amd.com/gpu.device-id", READING_AMD_ID },
	{ "beta.amd.com/gpu.device-id", READING_AMD_ID },
};

/* Words of clouds, without "nvidia-" and "tesla-", in lower case. */
static const struct model_word {
	const char *word, *type;
} model_words[] = {
	{ "a10", "A10" },        { "a100", "A100" },       { "a100-40gb", "A100" },
	{ "a100-80gb", "A100" }, { "a10g", "A10G" },       { "b200", "B200" },
	{ "b300", "B300" },      { "gb200", "GB200" },     { "gb300", "GB300" },
	{ "h100", "H100" },      { "h100-80gb", "H100" },  { "h100-mega-80gb", "H100" },
	{ "h200", "H200" },      { "h200-141gb", "H200" }, { "k80", "K80" },
	{ "l4", "L4" },          { "l40s", "L40S" },       { "m60", "M60" },
	{ "p100", "P100" },      { "p4", "P4" },           { "rtx-pro-6000", "RTX-PRO-6000" },
	{ "t4", "T4" },          { "v100", "V100" },
};

/* ray 2.60, _private/accelerators/amd_gpu.py amd_product_dict. */
static const struct model_word amd_models[] = {
	{ "66a1", "AMD-Instinct-MI50" },       { "738c", "AMD-Instinct-MI100" },
	{ "7408", "AMD-Instinct-MI250X" },     { "740c", "AMD-Instinct-MI250X-MI250" },
	{ "740f", "AMD-Instinct-MI210" },      { "74a0", "AMD-Instinct-MI300A" },
	{ "74a1", "AMD-Instinct-MI300X-OAM" }, { "74a2", "AMD-Instinct-MI308X-OAM" },
	{ "74a5", "AMD-Instinct-MI325X-OAM" }, { "74a9", "AMD-Instinct-MI300X-HF" },
	{ "75a0", "AMD-Instinct-MI350X-OAM" }, { "75a3", "AMD-Instinct-MI355X-OAM" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- Ray's rule for names --- */

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_word(char c)
{
	return is_upper(c) || text_is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
}

/* A copy of the first `size` bytes with one character replaced by another. */
static const char *replaced(const char *text, size_t size, char from, char to, struct arena *arena)
{
	char *copy = arena_strndup(arena, text, size);

	for (char *at = copy; *at != '\0'; at++)
		if (*at == from)
			*at = to;
	return copy;
}

/* The start of the second word; NULL: there is only one word. */
static const char *after_brand(const char *name)
{
	const char *at = name;

	while (is_word(*at))
		at++;
	if (at == name || *at != ' ')
		return NULL;
	return at + strspn(at, " ");
}

/* [A-Z0-9]*\d[A-Z0-9]*: where it ends, NULL when there is no digit in it. */
static const char *model_end(const char *at)
{
	bool has_digit = false;

	for (; is_upper(*at) || text_is_digit(*at); at++)
		has_digit = has_digit || text_is_digit(*at);
	return has_digit ? at : NULL;
}

/* \w+\s+((?:[A-Z]+\s+)*[A-Z0-9]*\d[A-Z0-9]*) */
static const char *model_of(const char *name, struct arena *arena)
{
	const char *start = after_brand(name), *at = start, *end;

	while (at) {
		const char *word = at;

		end = model_end(at);
		if (end)
			return replaced(start, (size_t)(end - start), ' ', '-', arena);
		while (is_upper(*at))
			at++;
		if (at == word || *at != ' ')
			return NULL;
		at += strspn(at, " ");
	}
	return NULL;
}

const char *accelerator_type_of_name(const char *name, struct arena *arena)
{
	const char *blanks = replaced(name, strlen(name), '-', ' ', arena);
	const char *model = model_of(blanks, arena);

	if (model && strlen(model) > 1)
		return model;
	if (strncmp(blanks, "NVIDIA ", 7) == 0)
		blanks += 7 + strspn(blanks + 7, " ");
	return *blanks != '\0' ? replaced(blanks, strlen(blanks), ' ', '-', arena) : NULL;
}

/* The rule of Ray before 2.60: \w+\s+([A-Z0-9]+), where one letter is not enough. NULL: no
 * match. */
static const char *older_type_of_name(const char *name, struct arena *arena)
{
	const char *start = after_brand(replaced(name, strlen(name), '-', ' ', arena));
	size_t size = 0;

	if (!start)
		return NULL;
	while (is_upper(start[size]) || text_is_digit(start[size]))
		size++;
	return size > 1 ? arena_strndup(arena, start, size) : NULL;
}

/* A number of up to four digits; -1: none. */
static int number_at(const char **at)
{
	int value = 0, digits = 0;

	for (; text_is_digit(**at) && digits < 4; (*at)++, digits++)
		value = value * 10 + (**at - '0');
	return digits > 0 ? value : -1;
}

/* Whether this version is known to use the current rule. */
static bool names_as_today(const char *ray_version)
{
	int major = number_at(&ray_version);

	if (major < 0 || *ray_version++ != '.')
		return false;
	return major > 2 || (major == 2 && number_at(&ray_version) >= 60);
}

/* --- values of labels --- */

static const char *find_word(const struct model_word *words, size_t count, const char *word)
{
	const struct model_word *found = ARRAY_FIND(words, count, word, word);

	return found ? found->type : NULL;
}

static char *lower(const char *text, struct arena *arena)
{
	char *copy = arena_strdup(arena, text);

	for (char *at = copy; *at != '\0'; at++)
		if (is_upper(*at))
			*at = (char)(*at - 'A' + 'a');
	return copy;
}

static const char *without(const char *text, const char *prefix)
{
	size_t size = strlen(prefix);

	return strncmp(text, prefix, size) == 0 ? text + size : text;
}

/* The name without the suffix that the device plugin adds to a shared device. */
static const char *without_sharing(const char *name, struct arena *arena)
{
	const char *mig = strstr(name, "-MIG-");
	size_t size = mig ? (size_t)(mig - name) : strlen(name);
	static const char shared[] = "-SHARED";

	if (size > sizeof(shared) - 1 &&
	    strncmp(name + size - (sizeof(shared) - 1), shared, sizeof(shared) - 1) == 0)
		size -= sizeof(shared) - 1;
	return arena_strndup(arena, name, size);
}

static const char *type_of_product(const char *value, const char *ray_version, struct arena *arena)
{
	const char *name = without_sharing(value, arena);
	const char *type = accelerator_type_of_name(name, arena);
	const char *older = older_type_of_name(name, arena);

	if (!type || names_as_today(ray_version))
		return type;
	return older && strcmp(type, older) == 0 ? type : NULL;
}

static const char *type_of_word(const char *value, const char *ray_version, struct arena *arena)
{
	const char *type = find_word(model_words, COUNT(model_words),
				     without(without(lower(value, arena), "nvidia-"), "tesla-"));

	if (type && strncmp(type, "RTX-", 4) == 0 && !names_as_today(ray_version))
		return NULL;
	return type;
}

static const char *type_of_amd_name(const char *value, struct arena *arena)
{
	const char *dashes = replaced(value, strlen(value), ' ', '-', arena);
	const char *name = replaced(dashes, strlen(dashes), '_', '-', arena);
	const struct model_word *found = ARRAY_FIND(amd_models, COUNT(amd_models), type, name);

	return found ? found->type : NULL;
}

static const char *type_of_value(enum reading reading, const char *value, const char *ray_version,
				 struct arena *arena)
{
	if (strlen(value) > NAME_SIZE_MAX)
		return NULL;
	switch (reading) {
	case READING_NAME:
		return type_of_product(value, ray_version, arena);
	case READING_TABLE:
		return type_of_word(value, ray_version, arena);
	case READING_AMD_NAME:
		return type_of_amd_name(value, arena);
	case READING_AMD_ID:
		return find_word(amd_models, COUNT(amd_models), without(lower(value, arena), "0x"));
	}
	return NULL;
}

static bool of_label(const char *key, const char *value, const char *ray_version,
		     struct arena *arena, struct accelerator_type *ret_type)
{
	ARRAY_EACH(const struct model_label, label, model_labels, COUNT(model_labels)) {
		if (strcmp(label->key, key) != 0)
			continue;
		const char *type = type_of_value(label->reading, value, ray_version, arena);
		if (!type)
			return false;
		*ret_type = (struct accelerator_type){
			.type = type,
			.vendor = label->reading >= READING_AMD_NAME ? "AMD" : "NVIDIA",
			.resource = arena_printf(arena, ACCELERATOR_TYPE_PREFIX "%s", type),
			.key = label->key,
			.value = value,
		};
		return true;
	}
	return false;
}

bool accelerator_type_is_label(const char *key)
{
	return ARRAY_FIND(model_labels, COUNT(model_labels), key, key) != NULL;
}

/* --- a Pod's spec --- */

/* The model found so far, when several labels or terms must agree. */
struct finding {
	struct accelerator_type type; /* type NULL: none */
	bool contradicts;
};

static void note(struct finding *finding, const struct accelerator_type *type)
{
	if (!finding->type.type || !type->type)
		finding->type = *type;
	else if (strcmp(finding->type.type, type->type) != 0)
		finding->contradicts = true;
}

static bool settled(const struct finding *finding)
{
	return finding->type.type && !finding->contradicts;
}

/* Every value that the expression allows is the same model. */
static bool of_expression(const struct node_expression *expression, const char *ray_version,
			  struct arena *arena, struct accelerator_type *ret_type)
{
	struct finding finding = { .contradicts = false };

	if (expression->is_field || strcmp(expression->operation, "In") != 0)
		return false;
	for (size_t i = 0; i < expression->values.count; i++) {
		struct accelerator_type type;

		if (!of_label(expression->key, expression->values.at[i], ray_version, arena, &type))
			return false;
		note(&finding, &type);
	}
	*ret_type = finding.type;
	return settled(&finding);
}

static bool of_term(const struct node_term *term, const char *ray_version, struct arena *arena,
		    struct accelerator_type *ret_type)
{
	struct finding finding = { .contradicts = false };

	for (size_t i = 0; i < term->count; i++) {
		struct accelerator_type type;

		if (of_expression(&term->expressions[i], ray_version, arena, &type))
			note(&finding, &type);
	}
	*ret_type = finding.type;
	return settled(&finding);
}

/* Terms are alternatives, so all of them must name the same model. */
static bool of_affinity(const struct pod_spec *spec, const char *ray_version, struct arena *arena,
			struct accelerator_type *ret_type)
{
	struct finding finding = { .contradicts = false };

	for (size_t i = 0; i < spec->required_node_term_count; i++) {
		struct accelerator_type type;

		if (spec->required_node_terms[i].count == 0)
			continue; /* matches no Node */
		if (!of_term(&spec->required_node_terms[i], ray_version, arena, &type))
			return false;
		note(&finding, &type);
	}
	*ret_type = finding.type;
	return settled(&finding);
}

bool accelerator_type_of_pod(const struct pod_spec *spec, const char *ray_version,
			     struct arena *arena, struct accelerator_type *ret_type)
{
	struct finding finding = { .contradicts = false };
	struct accelerator_type type;

	for (size_t i = 0; i < spec->node_selector.count; i++)
		if (of_label(spec->node_selector.at[i].key, spec->node_selector.at[i].value,
			     ray_version, arena, &type))
			note(&finding, &type);
	if (of_affinity(spec, ray_version, arena, &type))
		note(&finding, &type);
	*ret_type = finding.type;
	CHECK(!settled(&finding) || (finding.type.resource && finding.type.vendor));
	return settled(&finding);
}

/* --- a group --- */

/* The vendor of the driver in the container: sharing systems expose NVIDIA devices there. */
static const char *vendor_of(const struct device_row *row)
{
	static const char *const on_nvidia[] = { "Alibaba gpushare", "Volcano", "HAMi" };

	return text_is_among(row->vendor, on_nvidia, COUNT(on_nvidia)) ? "NVIDIA" : row->vendor;
}

/* The product of the claimed devices, as their driver publishes it. */
static bool of_claims(const struct pod_claims *claims, const char *vendor, const char *ray_version,
		      struct arena *arena, struct accelerator_type *ret_type)
{
	bool is_amd = strcmp(vendor, "AMD") == 0;
	const char *type;

	if (!claims || *claims->product == '\0' || strlen(claims->product) > NAME_SIZE_MAX)
		return false;
	type = is_amd ? type_of_amd_name(claims->product, arena) :
			type_of_product(claims->product, ray_version, arena);
	if (!type)
		return false;
	*ret_type = (struct accelerator_type){
		.type = type,
		.vendor = is_amd ? "AMD" : "NVIDIA",
		.resource = arena_printf(arena, ACCELERATOR_TYPE_PREFIX "%s", type),
		.key = "productName",
		.value = claims->product,
	};
	return true;
}

/* The device whose model the raylet reports; NULL: it reports none. */
static const struct device_row *reported_device(const struct capacity *capacity)
{
	if (capacity->problem || capacity->gpu_amount <= 0 || capacity->device.kind != DEVICE_GPU)
		return NULL;
	return capacity->device.row;
}

bool accelerator_type_of_group(const struct worker_group *group, const struct capacity *capacity,
			       const char *ray_version, struct arena *arena,
			       struct accelerator_type *ret_type)
{
	const struct device_row *row = reported_device(capacity);

	if (!row)
		return false;
	if (!accelerator_type_of_pod(&group->template.spec, ray_version, arena, ret_type) &&
	    !of_claims(capacity->claims, vendor_of(row), ray_version, arena, ret_type))
		return false;
	return strcmp(vendor_of(row), ret_type->vendor) == 0;
}

static bool has_type(const struct capacity *capacity)
{
	VEC_EACH(const struct resource, item, &capacity->resources)
		if (strncmp(item->name, ACCELERATOR_TYPE_PREFIX, strlen(ACCELERATOR_TYPE_PREFIX)) ==
		    0)
			return true;
	return false;
}

/* TPUs, Neuron devices and the like: each raylet reports a type. */
static bool is_other_accelerator(const struct capacity *capacity)
{
	return !capacity->problem && capacity->device.kind != DEVICE_NONE &&
	       capacity->device.kind != DEVICE_GPU;
}

bool accelerator_type_is_open(const struct worker_group *group, const struct capacity *capacity,
			      const char *ray_version, struct arena *arena)
{
	static const char *const detected[] = { "NVIDIA", "AMD" };
	const struct labels *selector = &group->template.spec.node_selector;
	const struct device_row *row = reported_device(capacity);
	struct accelerator_type type;

	if (is_other_accelerator(capacity))
		return !has_type(capacity);
	if (!row || !text_is_among(vendor_of(row), detected, COUNT(detected)) ||
	    accelerator_type_of_group(group, capacity, ray_version, arena, &type))
		return false;
	for (size_t i = 0; i < selector->count; i++)
		if (accelerator_type_is_label(selector->at[i].key))
			return false;
	return !has_type(capacity);
}
