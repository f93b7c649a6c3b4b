#include "gcs/gcs_address.h"

#include <string.h>

static const char *const gcs_port_names[] = { "gcs-server", "gcs" };

static const struct container_port *gcs_find_port(const struct container *container)
{
	for (size_t n = 0; n < sizeof(gcs_port_names) / sizeof(gcs_port_names[0]); n++)
		for (size_t i = 0; i < container->port_count; i++)
			if (strcmp(container->ports[i].name, gcs_port_names[n]) == 0)
				return &container->ports[i];
	return NULL;
}

/* An address that it had is another Pod's one day. The kubelet of an Unknown one is silent. */
static bool has_ended(const struct pod *pod)
{
	return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0 ||
	       strcmp(pod->phase, "Unknown") == 0;
}

int gcs_address_of_pod(const struct pod *head, struct gcs_address *ret_address, struct err *err)
{
	const struct container_port *port = NULL;

	if (head->unreadable)
		return err_set(err, ERR_INPUT, "head Pod %s/%s cannot be read: %s",
			       head->namespace_, head->name, head->unreadable);
	if (has_ended(head))
		return err_set(err, ERR_RETRY, "head Pod %s/%s does not run (phase %s)",
			       head->namespace_, head->name, head->phase);
	if (!*head->pod_ip)
		return err_set(err, ERR_RETRY, "head Pod %s/%s has no IP address yet",
			       head->namespace_, head->name);
	if (head->spec.container_count > 0)
		port = gcs_find_port(&head->spec.containers[0]);
	if (port && (port->port < 1 || port->port > 65535))
		return err_set(err, ERR_INPUT,
			       "head Pod %s/%s: container port \"%s\" is %d, must be 1 "
			       "to 65535",
			       head->namespace_, head->name, port->name, (int)port->port);
	ret_address->host = head->pod_ip;
	ret_address->port = port ? (int)port->port : GCS_DEFAULT_PORT;
	return 0;
}
