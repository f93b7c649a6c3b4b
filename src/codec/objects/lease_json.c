#include "codec/objects/lease_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/text/json_write.h"

static int count_decode(const struct json_at *spec, const char *name, int64_t maximum,
			int64_t *ret_value)
{
	struct json_at member = json_member(spec, name);
	int64_t value = 0;

	if (json_integer(spec, name, NULL, &value))
		return -1;
	if (value < 0 || value > maximum)
		return json_fail(&member, "is %lld, must be from 0 to %lld", (long long)value,
				 (long long)maximum);
	*ret_value = value;
	return 0;
}

int lease_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct lease *ret_lease, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), spec;
	struct object_metadata metadata;
	struct lease lease = LEASE_INIT;

	if (json_expect(&root, JSON_OBJECT) || object_metadata_decode(&root, true, &metadata) ||
	    json_object(&root, "spec", &spec) ||
	    json_text(&spec, "holderIdentity", &lease.holder) ||
	    json_text(&spec, "acquireTime", &lease.acquire_time) ||
	    json_text(&spec, "renewTime", &lease.renew_time) ||
	    count_decode(&spec, "leaseDurationSeconds", LEASE_DURATION_SECONDS_MAX,
			 &lease.duration_seconds) ||
	    count_decode(&spec, "leaseTransitions", LEASE_TRANSITIONS_MAX, &lease.transitions))
		return -1;
	lease.namespace_ = metadata.namespace_;
	lease.name = metadata.name;
	lease.resource_version = metadata.resource_version;
	lease.labels = metadata.labels;
	lease.annotations = metadata.annotations;
	*ret_lease = lease;
	return 0;
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (text[0])
		json_write_text(writer, name, text);
}

static void write_labels(struct json_writer *writer, const char *name, const struct labels *labels)
{
	if (labels->count == 0)
		return;
	json_write_object(writer, name);
	for (size_t i = 0; i < labels->count; i++)
		json_write_text(writer, labels->at[i].key, labels->at[i].value);
	json_write_object_end(writer);
}

int lease_write(const struct lease *lease, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", LEASE_API_VERSION);
	json_write_text(&writer, "kind", "Lease");
	json_write_object(&writer, "metadata");
	json_write_text(&writer, "name", lease->name);
	json_write_text(&writer, "namespace", lease->namespace_);
	write_text(&writer, "resourceVersion", lease->resource_version);
	write_labels(&writer, "labels", &lease->labels);
	write_labels(&writer, "annotations", &lease->annotations);
	json_write_object_end(&writer);
	json_write_object(&writer, "spec");
	json_write_text(&writer, "holderIdentity", lease->holder);
	json_write_integer(&writer, "leaseDurationSeconds", lease->duration_seconds);
	write_text(&writer, "acquireTime", lease->acquire_time);
	write_text(&writer, "renewTime", lease->renew_time);
	json_write_integer(&writer, "leaseTransitions", lease->transitions);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return buf->overflowed ? -1 : 0;
}

bool lease_same(const struct lease *one, const struct lease *other)
{
	return !strcmp(one->holder, other->holder) &&
	       !strcmp(one->acquire_time, other->acquire_time) &&
	       !strcmp(one->renew_time, other->renew_time) &&
	       one->duration_seconds == other->duration_seconds &&
	       one->transitions == other->transitions;
}
