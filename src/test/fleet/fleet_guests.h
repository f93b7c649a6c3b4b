/* Objects that a bench puts beside the fleet (`make hostile`): PUT and DELETE of
 * /fleet/object/PLURAL/NAMESPACE/NAME. They are kept and sent as bytes, whatever those are. Each one holds
 * its resourceVersion as GUEST_VERSION, which every change replaces by a number of as many digits.
 * Header only. */
#ifndef TEST_FLEET_GUESTS_H
#define TEST_FLEET_GUESTS_H

#include <stdint.h>
#include <string.h>

#include "base/map.h"
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
	struct map places[FLEET_KINDS]; /* by path: the place in `all`, from 1 */
} guests;

static struct fleet_guest *guest_find(enum fleet_kind kind, const char *path)
{
	uintptr_t place = (uintptr_t)map_get(&guests.places[kind], path);

	return place > 0 ? &guests.all[place - 1] : NULL;
}

static void guest_place(const struct fleet_guest *guest)
{
	map_set(&guests.places[guest->kind], guest->path,
		(void *)(uintptr_t)(guest - guests.all + 1));
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
	guest_place(guest);
	buf_init(&guest->text, FLEET_TEXT_MAX);
	return guest;
}

static void guest_remove(struct fleet_guest *guest)
{
	(void)map_remove(&guests.places[guest->kind], guest->path);
	free(guest->path);
	buf_done(&guest->text);
	*guest = guests.all[--guests.count];
	if (guest < guests.all + guests.count)
		guest_place(guest);
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
