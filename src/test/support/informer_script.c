#include "test/support/informer_script.h"

struct kube_script informer_script;
struct kube_informer *informer;
struct err last_error;

int informer_setup(void **state)
{
	(void)state;
	informer_script = (struct kube_script){ .loop = NULL };
	last_error = (struct err){ .kind = ERR_NONE };
	return 0;
}

static const char *version_of(const void *object)
{
	return object ? ((const struct pod *)object)->resource_version : "-";
}

static void on_change(void *context, enum kube_change change, const char *key, const void *old,
		      const void *new_object)
{
	static const char *const names[] = { "", "ADDED", "MODIFIED", "DELETED", "BAD", "UNREAD" };

	(void)context;
	(void)buf_printf(&informer_script.seen, "%s %s %s %s;", names[change], key, version_of(old),
			 version_of(new_object));
}

static void on_synced(void *context)
{
	(void)context;
	(void)buf_add_string(&informer_script.seen, "synced;");
}

static void on_error(void *context, const struct err *err)
{
	(void)context;
	last_error = *err;
	(void)buf_printf(&informer_script.seen, "error %s;", err_kind_name(err->kind));
}

void informer_on_live(void *context)
{
	(void)context;
	(void)buf_add_string(&informer_script.seen, "live;");
}

static bool has_seen(void *context)
{
	return strstr(buf_string(&informer_script.seen), context) != NULL;
}

void informer_wait_seen(const char *text)
{
	const char *at;

	if (!loop_wait_until(informer_script.loop, has_seen, (void *)(uintptr_t)text, WAIT_MS))
		fail_msg("never seen: \"%s\"; seen: \"%s\"", text,
			 buf_string(&informer_script.seen));
	at = strstr(buf_string(&informer_script.seen), text);
	buf_consume(&informer_script.seen, (size_t)(at - informer_script.seen.data) + strlen(text));
}

const struct kube_informer_callbacks informer_callbacks = { .on_change = on_change,
							    .on_synced = on_synced,
							    .on_error = on_error,
							    .on_live = informer_on_live };

void informer_start_with(const struct step *steps, size_t count,
			 const struct kube_informer_options *options)
{
	script_steps(&informer_script, steps, count);
	informer = kube_informer_new(informer_script.client, options);
}

void informer_start(const struct step *steps, size_t count)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .label_selector = "ray.io/cluster",
						       .callbacks = informer_callbacks };

	informer_start_with(steps, count, &options);
}

void informer_stop(void)
{
	kube_informer_free(informer);
	script_done(&informer_script);
}

const char *informer_version(const char *name)
{
	return version_of(kube_informer_get(informer, "a", name));
}
