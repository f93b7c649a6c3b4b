/* Objects that a bench puts beside the fleet (`make hostile`): PUT and DELETE of
 * /fleet/object/PLURAL/NAMESPACE/NAME. They are kept and sent as bytes, whatever those are. Each one holds
 * its resourceVersion as GUEST_VERSION, which every change replaces by a number of as many digits.
 * Header only. */
#ifndef TEST_FLEET_GUESTS_H
#define TEST_FLEET_GUESTS_H

#include <string.h>

#include "test/fleet/fleet.h"

#define GUEST_VERSION "\"resourceVersion\":\"0000000000000000\""
#define GUEST_VERSION_DIGITS 16
/* The fleet's versions begin here: as many digits, and no leading zero. */
#define GUEST_VERSION_FIRST UINT64_C(1000000000000000)

struct fleet_guest {
	enum fleet_kind kind;
	char *path; /* "NAMESPACE/NAME" */
	struct buf text;
	size_t version_at; /* of the digits in the text */
};

static struct {
	struct fleet_guest *all;
	size_t count, room;
} guests;

static struct fleet_guest *guest_find(enum fleet_kind kind, const char *path)
{
	for (size_t i = 0; i < guests.count; i++)
		if (guests.all[i].kind == kind && !strcmp(guests.all[i].path, path))
			return &guests.all[i];
	return NULL;
}

static struct fleet_guest *guest_add(enum fleet_kind kind, const char *path)
{
	struct fleet_guest *guest;

	if (guests.count == guests.room) {
		guests.room = 2 * guests.room + 64;
		guests.all = realloc(guests.all, guests.room * sizeof(*guests.all));
		if (!guests.all)
			abort();
	}
	guest = &guests.all[guests.count++];
	guest->kind = kind;
	guest->path = strdup(path);
	buf_init(&guest->text, FLEET_TEXT_MAX);
	return guest;
}

static void guest_remove(struct fleet_guest *guest)
{
	free(guest->path);
	buf_done(&guest->text);
	*guest = guests.all[--guests.count];
}

/* False: the text has no GUEST_VERSION. */
static bool guest_set_text(struct fleet_guest *guest, const char *text, size_t size)
{
	const char *at = memmem(text, size, GUEST_VERSION, strlen(GUEST_VERSION));

	if (!at)
		return false;
	guest->text.size = 0;
	if (buf_add(&guest->text, text, size) < 0)
		abort();
	guest->version_at = (size_t)(at - text) + strlen(GUEST_VERSION) - 1 - GUEST_VERSION_DIGITS;
	return true;
}

static void guest_set_version(struct fleet_guest *guest, uint64_t version)
{
	char digits[GUEST_VERSION_DIGITS + 1];

	(void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)version);
	memcpy(guest->text.data + guest->version_at, digits, GUEST_VERSION_DIGITS);
}

#endif
