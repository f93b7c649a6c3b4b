#include "ctl/watch/optional_watch.h"

#define DENIED_RETRY_MS 300000
#define TROUBLE "cannot read from the API server"

static void on_error(void *context, const struct err *err)
{
	struct optional_watch *watch = context;

	if (err->kind != ERR_DENIED && err->kind != ERR_NOT_FOUND) {
		log_repeat_error(&watch->trouble, TROUBLE, watch->plural, err->text);
		return;
	}
	if (watch->refused == err->kind)
		return;
	watch->refused = err->kind;
	log_write(watch->level,
		  err->kind == ERR_NOT_FOUND && watch->absent ? watch->absent : watch->without,
		  "error", err->text, NULL);
	if (watch->on_refused)
		watch->on_refused(watch);
}

static void on_live(void *context)
{
	struct optional_watch *watch = context;

	log_repeat_end(&watch->trouble, TROUBLE, watch->plural);
	if (watch->refused != ERR_NONE)
		log_info(watch->again, NULL);
	watch->refused = ERR_NONE;
}

void optional_watch_start(struct optional_watch *watch, struct kube_client *client,
			  struct kube_informer_options informer)
{
	watch->refused = ERR_NONE;
	watch->plural = informer.type->plural;
	informer.denied_retry_ms = DENIED_RETRY_MS;
	informer.callbacks.on_error = on_error;
	informer.callbacks.on_live = on_live;
	informer.callbacks.context = watch;
	watch->informer = kube_informer_new(client, &informer);
}

bool optional_watch_known(const struct optional_watch *watch)
{
	return watch->refused != ERR_NONE || kube_informer_synced(watch->informer);
}

void optional_watch_done(struct optional_watch *watch)
{
	kube_informer_free(watch->informer);
	log_repeat_done(&watch->trouble);
}
