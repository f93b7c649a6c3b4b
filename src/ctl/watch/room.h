/* What Nodes have free, for passes of RayClusters that have Unschedulable Pods, so that a plan can tell
 * "fits on no Node of the cluster" from "waits for one" (core/decide/outlook). Controller mode only, and
 * optional: without the right to list Nodes it says so once, and plans then say less.
 *
 * Nothing is watched and nothing is kept while every Pod finds its Node. When a pass asks and the last
 * look is older than a minute, Nodes and Pods of the cluster are listed once (ctl/watch/stock), in pages, and
 * kept in short for as long as somebody asks; of larger clusters than the limits in room.c nothing is
 * said. A pass gets the few Nodes that are closest to its groups, with what takes room there: the rest
 * changes nothing in what it says, and snapshots stay small.
 * Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_ROOM_H
#define CTL_WATCH_ROOM_H

#include "base/arena.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"

struct room;

/* NULL in sidecar mode; every function takes NULL and does nothing then. */
struct room *room_new(const struct control *control);
void room_free(struct room *room);

/* Adds Nodes and other Pods to the view of a RayCluster that has Unschedulable Pods, when they are known.
 * Nodes that are in the view stay as they are. Borrowed until the loop turns. */
void room_view(struct room *room, struct arena *arena, struct pass_view *view);

#endif
