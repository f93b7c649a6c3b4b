#!/usr/bin/env python3
"""Errors in the source of the sharing of GPUs, of budgets and of answers to reports of others, each of which a law, a test or a bench must notice.

Each mutant is one replaced text of a file; the program is built in a copy of the tree and must fail. `make mutants`
runs all, MUTANTS=REGEX those whose number and file match. A text that is not there once is an error: the list follows
the source. The laws run with few states: what they notice with these, they notice with more.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, NamedTuple

FILL = "src/core/share/share_fill.c"
RELEASE = "src/core/share/share_release.c"
SHARE = "src/core/share/share.c"
WORK = "src/core/share/share_work.c"
POOLS, LEDGER = "src/feature/pools/ctl/pools.c", "src/feature/pools/core/pool_ledger.c"
ALLOCATION = "src/feature/pools/core/pool_allocation.c"
ASKS = "src/feature/pools/core/pool_asks.c"
POOL_ROUNDS = "src/feature/pools/core/pool_rounds.c"
POOL_MEMBER, PLACES = "src/feature/pools/core/pool_member.c", "src/feature/pools/core/pool_places.c"
LOCKS, WORLDS = "core_pool_rounds_test", "core_pool_laws_test"
LAWS, ROUNDS, CALLER = "core_share_laws_test", "core_share_rounds_test", "ctl_pools_laws_test"
STORE = "src/kube/kube_store.c"
BUDGETS, VIEWS = "src/ctl/shared/memory_budgets.c", "src/feature/device_claims/ctl/device_watch.c"
COUNTED, GATE = "src/base/counted.h", "src/core/decide/gate.c"
BUDGET, ARENA, BUF = "src/base/budget.c", "src/base/arena.c", "src/base/buf.c"
PASS, PASS_READ, PASS_DECIDE = "src/ctl/pass/pass.c", "src/ctl/pass/pass_read.c", "src/ctl/pass/pass_decide.c"
PAGE, SERVE = "src/ctl/report/list_page.c", "src/net/serve.c"
INFORMER, LATE, DECODE = "src/kube/kube_informer.c", "src/kube/kube_informer_late.c", "src/kube/kube_decode.c"
GOLDEN, LINT, PODS = "codec_golden_test", "codec_lint_test", "codec_pod_status_test"
LINTED = "src/feature/lint/objects/"
STATUS, SERVED, START = "src/core/model/pod_status.c", "src/core/report/served.c", "src/core/capacity/start_params.c"
QUEUE = "src/feature/queue/core/queue.c"
TRY, ALIKE = "src/core/schedule/schedule_try.c", "src/core/schedule/schedule_alike.c"
CLASS = "src/core/schedule/schedule_class.c"
CELL, REQUESTS = "src/core/schedule/schedule_cell.c", "src/core/schedule/schedule_requests.c"
PACKINGS = "core_schedule_laws_test"
GANGS, MEMORY = "src/core/decide/gang_wait.c", "src/core/model/memory_state.c"
FEW = {"SHARE_LAWS_COUNT": "20000", "SHARE_ROUNDS_COUNT": "300", "POOLS_LAWS_COUNT": "300", "POOL_LAWS_STEPS": "100000", "POOL_LAWS_WORLDS": "25"}
TIMEOUT = 900


class Mutant(NamedTuple):
    file: str
    old: str
    new: str
    program: str
    """Of build/test; of build/tools with its arguments, if it begins with "tools/"; a target if with "make "."""
    law: str  # in its output; "" when the program aborts


MUTANTS = [
    # ---- core/share: the state of one call
    Mutant(FILL, "share_room(work, account, guaranteed, work->free) &&", "work->free &&", LAWS, "law 3"),
    Mutant(FILL, "account->usage + account->leaving + amount <=", "account->usage + amount <=", LAWS, "law 1"),
    Mutant(FILL, "work->free -= given->amount;", ";", LAWS, "law 1"),
    Mutant(FILL, "share_charge(work, account, given->amount, 0);", "share_charge(work, account, 0, 0);", LAWS, "law 1"),
    Mutant(FILL, "share_charge(work, account, 0, amount);", "share_charge(work, account, 0, 0);", LAWS, "law 3"),
    Mutant(FILL, "account->usage + account->claim + given->amount > account->guaranteed", "account->usage > account->guaranteed", LAWS, "law"),
    Mutant(FILL, "return unit == work->reserved ||", "return false &&", LAWS, "law 5"),
    Mutant(FILL, "return order < 0;\n\tsince_a", "return order > 0;\n\tsince_a", LAWS, "law"),
    Mutant(FILL, "return a->queue->priority > b->queue->priority;", "return a->queue->priority < b->queue->priority;", LAWS, "law 4"),
    Mutant(FILL, "return a->rank < b->rank;", "return a < b;", LAWS, "another order of the input"),
    Mutant(RELEASE, "if (!replaced && loser->usage - loser->coming - worker->amount < loser->guaranteed)", "if (loser->usage < 0)", LAWS, "law 2"),
    Mutant(SHARE, "->queue->drain_after_ms >= 0;", "->queue->drain_after_ms >= -1;", LAWS, "law 2"),
    Mutant(SHARE, ">= work->pool->idle_after_ms;", ">= 0;", LAWS, "law 2"),
    Mutant(SHARE, "return worker->state == SHARE_IDLE &&", "return worker->state != SHARE_LEAVING &&", LAWS, "law 2"),
    Mutant(RELEASE, "order->deadline_ms = work->pool->now_ms + account", "order->deadline_ms = account", LAWS, "law 2"),
    Mutant(RELEASE, "order->unit = need->unit;", "order->unit = 0;", LAWS, "law 2"),
    Mutant(RELEASE, "account->leaving -= worker->amount;\n\tshare_charge(work, account, worker->amount, 0);", "account->leaving -= worker->amount;", LAWS, "law"),
    Mutant(SHARE, "scale(account->guaranteed, pool->capacity, sum)", "account->guaranteed", LAWS, "law"),
    Mutant(SHARE, "share_waits_long(work->pool, unit) &&", "true &&", LAWS, "law 5"),
    Mutant(WORK, "return free - (work->unlent - share_unlent(account));", "return free;", LAWS, "law 3"),
    Mutant(WORK, "return account->claim > unlent ? account->claim : unlent;", "return unlent;", LAWS, "law 3"),
    Mutant(SHARE, "ret_key->by[0] = index != work->reserved;", "ret_key->by[0] = 0;", "core_share_test", "FAILED"),
    # ---- core/share: rounds
    Mutant(RELEASE, "share_dominant(need->account, need->given->amount)) >= 0;", "share_dominant(need->account, 0)) >= 0;", ROUNDS, "FAILED"),
    Mutant(WORK, "return unit->amount - share_unlent(", "return 0 * share_unlent(", ROUNDS, "FAILED"),
    Mutant(WORK, "return unit->amount - share_unlent(share_account_of(work, unit->cluster));", "return unit->amount;", LAWS, "law 4"),
    Mutant(RELEASE, "worker->since_ms > work->pool->reserved_since_ms &&", "worker->since_ms > 0 * work->pool->reserved_since_ms &&", LAWS, "law 2"),
    Mutant(WORK, "share_compare(share_here(account), share_here(owner)) >= 0);", "true);", "core_share_test", "FAILED"),
    Mutant(WORK, "(most == 0 || notice < most);", "(most == 0 || notice < 2 * most);", LAWS, "law 2"),
    Mutant(POOL_ROUNDS, "(past->coming ? 2 : 1)", "(past->coming ? 1 : 2)", LOCKS, "FAILED"),
    Mutant(FILL, "!work->lends && fits_soon(", "fits_soon(", "core_share_test", "FAILED"),
    Mutant(POOL_ROUNDS, "unit->unlent = true;", "unit->unlent = false;", LOCKS, "FAILED"),
    Mutant(RELEASE, "busy <= may_end_busy(need)", "busy <= 0", ROUNDS, "FAILED"),
    # ---- the caller: law 1
    Mutant(LEDGER, "replicas = int64_max(replicas, patch->replicas[group]);", "replicas = int64_max(replicas, 0);", CALLER, "law 1"),
    Mutant(POOLS, "return err->kind == ERR_CONFLICT ||", "return err->kind == ERR_CONFLICT || err->kind == ERR_TIMEOUT ||", CALLER, "law 1"),
    Mutant(LEDGER, "return patch->generation > 0 && generation >= patch->generation;", "return generation >= patch->generation;", CALLER, "law 1"),
    Mutant(LEDGER, "return !accepted && now_ms >= patch->until_ms;", "return !accepted && now_ms >= 0 * patch->until_ms;", CALLER, "law 1"),
    Mutant(LEDGER, "patch->older = entry->patches;", "patch->older = NULL;", CALLER, "law 1"),
    Mutant(LEDGER, "patch->replicas[g] = replicas[g];", "patch->replicas[g] = 0;", CALLER, "law 1"),
    Mutant(LEDGER, "? cluster->generation :", "? INT64_MAX :", CALLER, "law 1"),
    Mutant(LEDGER, "if (more > 0 &&\n", "if (false &&\n", CALLER, "law 1"),
    Mutant(POOL_ROUNDS, "int64_t capacity = r->input->capacities[pool] - table->outside;", "int64_t capacity = r->input->capacities[pool] + 2 * RESOURCE_UNIT;", "core_pool_allocation_test", "FAILED"),
    Mutant(POOL_ROUNDS, "if (tables->joints.count > 0)", "if (tables->joints.count > 0 && false)", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, "\ttry_again(r);\n", "\tif (false)\n\t\ttry_again(r);\n", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, ".reserve_at_most_ms = at_most_ms(table),", ".reserve_at_most_ms = 0,", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, "past->reserve_again = now +", "past->reserve_again = 0 * now +", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, "unit->refused = !unit->unreserved && !is_saved_for(past, queue) &&", "unit->refused = !unit->unreserved && past->queues[queue].owed > 0 && !is_saved_for(past, queue) &&", WORLDS, "law 10"),
    Mutant(POOL_ROUNDS, "unit->amount <= left);", "unit->amount <= left + unit->amount);", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, "past->queues[past->saved_for].owed >= past->most);", "false);", LOCKS, "FAILED"),
    Mutant(ALLOCATION, "past->queues[queue].owed / second + (past->queues[queue].owed % second > 0);", "0 * second;", LOCKS, "FAILED"),
    Mutant(LEDGER, "resource_product(status->unused_seconds, RESOURCE_UNIT * MS_PER_SECOND);", "0;", LOCKS, "FAILED"),
    Mutant(LEDGER, "past->reserve_again = time_or_zero(status->reserve_again);", ";", LOCKS, "FAILED"),
    Mutant(LEDGER, "past->reserved_since = status->saved_since;", ";", LOCKS, "FAILED"),
    Mutant(LEDGER, "past->queues[queue].granted_since = time_or_zero(status->granted_since);", ";", LOCKS, "FAILED"),
    Mutant(POOL_ROUNDS, "return; /* the reservation is continued */", "past->saved = 0;", LOCKS, "FAILED"),
    Mutant(ALLOCATION, ".unreserved = !is_large(member, ask) || ask->requested,", ".unreserved = !is_large(member, ask) && ask->requested,", LOCKS, "FAILED"),
    Mutant(ALLOCATION, "if (unused && !rests)", "if (unused && !rests && false)", LOCKS, "FAILED"),
    Mutant(ASKS, "now >= unconfirmed_after(asks);", "false;", LOCKS, "FAILED"),
    Mutant(ASKS, "if (!launched_any) {", "if (true) {", LOCKS, "FAILED"),
    Mutant(POOLS, "if (!scaled && !unreadable)", "if (false)", "ctl_pools_test", "FAILED"),
    Mutant(LEDGER, "asks->rests_until > 0 || asks->held_since != 0 ||", "asks->rests_until > 0 ||", "ctl_pools_test", "FAILED"),
    Mutant(ASKS, '\tFIELD_INTEGER(struct pool_ask_part, replicas, "replicas"),\n', "", "ctl_pools_test", "FAILED"),
    Mutant(POOLS, ".small = !source->large ||", ".small = true ||", "ctl_pools_test", "FAILED"),
    # ---- the caller in random worlds
    Mutant(WORK, "account->queue->priority <= owner->queue->priority &&", "true &&", WORLDS, "law 7"),
    Mutant(SHARE, "ret_key->by[1] = worker->needed + (worker->needed && !worker->requested);", "ret_key->by[1] = !worker->needed + (worker->needed && !worker->requested);", WORLDS, "law 9"),
    Mutant(FILL, "share_waits_long(work->pool, unit));", "share_waits_long(work->pool, unit) && false);", WORLDS, "law 6"),
    Mutant(SHARE, "int64_max(demand, account->unlent_part)", "demand", WORLDS, "law 8"),
    Mutant(POOL_ROUNDS, "least = count < least ? count : least;", "least = run && (least == SIZE_MAX || count > least) ? count : least;", WORLDS, "law 4"),
    Mutant(POOL_ROUNDS, "*turn = found ? first : first + i;", "*turn = first;", LOCKS, "FAILED"),
    Mutant(ALLOCATION, "entry.granted_since = TIME_NONE;\n\t} else if (entry.granted_since == TIME_NONE) {", ";\n\t} else if (entry.granted_since == TIME_NONE) {", WORLDS, "law 5"),
    Mutant(POOL_MEMBER, "if (host->state < replica->state)", "if (host->state > replica->state)", WORLDS, "law 9"),
    Mutant(ALLOCATION, "if (!table->last_labels || labels->at != table->last_labels)", "if (!table->last_labels)", WORLDS, "law 1"),
    Mutant("src/core/nodes/node_fit.c", "!node_match_is_cordoned(demand->spec, node) &&", "", WORLDS, "law 3"),
    # ---- the caller: law 8
    Mutant(POOLS, "if (own->expected && !own->decided)", "if (own->expected && false)", CALLER, "law 8"),
    Mutant(LEDGER, "old ? old : stored_asks(", "old || true ? old : stored_asks(", CALLER, "law 8"),
    Mutant(LEDGER, "strcmp(one->cluster, entry->key) == 0", "strcmp(one->cluster, entry->key) > 0", CALLER, "law 8"),
    Mutant(LEDGER, ".since = one->since,", ".since = status->waiting_units[0].since,", CALLER, "law 8"),
    Mutant(LEDGER, "for (size_t i = 0; i < status->waiting_unit_count", "for (size_t i = 1; i < status->waiting_unit_count", CALLER, "law 8"),
    Mutant(ASKS, "entry.since = time->since < now ? time->since : now;", "entry.since = now;", CALLER, "law 8"),
    Mutant(LEDGER, "patch->generation = generation;", "patch->generation = 0 * generation;", CALLER, "law 8"),
    Mutant(LEDGER, "\t\tentry->spent = false;\n", "", CALLER, "law 8"),
    Mutant(LEDGER, "entry->patches->until_ms = INT64_MIN;", "entry->patches->until_ms += 0;", CALLER, "law 8"),
    # ---- the caller: law 10
    Mutant(ALLOCATION, "int64_t count = granted[ask - input->asks[index]->list.at];", "int64_t count = granted[ask - input->asks[index]->list.at] / 2;", CALLER, "law 10"),
    Mutant(ALLOCATION, "grants[ask->parts[p].group] += count * ask->parts[p].replicas;", "grants[ask->parts[p].group] += count;", CALLER, "law 10"),
    Mutant(LEDGER, "(__int128)pool_entry_held(entry, p);", "0;", "ctl_pools_test", "FAILED"),
    Mutant(ALLOCATION, "room = b->input->capacities[pool] / amount + 1;", "room = 1;", CALLER, "law 10"),
    # ---- budgets: a charge or a limit that is left out
    Mutant(BUDGET, "for (struct budget *one = budget; one; one = one->parent)\n\t\tadd(one, bytes);", "if (budget)\n\t\tadd(budget, bytes);", "base_budget_test", ""),
    Mutant(BUDGET, "return is_part(used, left(rest_of(parent, bytes, &of), parent->spared_bytes));", "return parent != NULL || (of = NULL);", "base_budget_test", "FAILED"),
    Mutant(BUDGET, "if (used <= budget->granted_bytes)\n\t\t\treturn NULL;", "", "base_budget_test", "FAILED"),
    Mutant(BUDGETS, "passes->granted_bytes = all / PASSES_GRANTED_PARTS;", "", "ctl_memory_budgets_test", "FAILED"),
    Mutant(VIEWS, "if (first || has_room(watch))", "if (first || has_room(watch) || true)", "ctl_device_view_test", "FAILED"),
    Mutant(ARENA, "if (!budget_take(budget, bytes))", "if (!budget_take(budget, 0 * bytes))", "base_budget_test", ""),
    Mutant(ARENA, "arena->over_budget = true;", "arena->over_budget = false;", "base_budget_test", ""),
    Mutant(BUF, "if (!budget_charge(buf->budget, capacity - buf->capacity)) {", "if (!budget_charge(buf->budget, 0 * capacity)) {", "base_budget_test", ""),
    Mutant(STORE, "(void)budget_take(budget, content.beside_bytes);", "", "kube_store_budget_test", ""),
    Mutant(STORE, "if (!problem && (content->arena.over_budget || budget_is_over(content->budget)))", "if (!problem && content->arena.over_budget && 0)", "kube_store_budget_test", ""),
    Mutant(STORE, "arena_move(&decoded->arena, content.arena.budget);", "", "kube_store_budget_test", ""),
    Mutant(STORE, "if (budget_is_over(content.budget))\n\t\tkube_store_spoil", "if (false)\n\t\tkube_store_spoil", "kube_store_budget_test", ""),
    Mutant(STORE, "store->budgets ? store->budgets->beside : NULL);", "store->budgets ? old->arena.budget : NULL);", "kube_store_budget_test", "FAILED"),
    Mutant(PASS, "pass->arena.budget = pass->ray_arena.budget = pass->memory;", "pass->arena.budget = pass->memory;", "ctl_pass_ray_test", ""),
    Mutant(PASS_READ, "pods->arena.budget = pass->memory;", "", "ctl_pass_decide_test", ""),
    Mutant(PASS_READ, "pods->page.budget = pass->memory;", "", "ctl_pass_decide_test", ""),
    Mutant(PASS_DECIDE, "work->arena.budget = memory_of_decision(pass);", "work->arena.budget = memory_of_decision(pass) ? NULL : NULL;", "ctl_pass_decide_test", ""),
    Mutant(PAGE, "page->arena.budget = page->budget;", "", "ctl_list_page_test", ""),
    Mutant(PAGE, "list->arena.budget = page->budget;", "", "ctl_list_page_test", ""),
    Mutant(SERVE, "request->body_size = request->unread_bytes = size;", "request->body_size = size;", "net_serve_test", ""),
    Mutant(SERVE, "if (!budget_charge(budget_of(request), size)) {", "if (false) {", "net_serve_test", ""),
    Mutant(SERVE, "stream->piece.budget = stream->budget;", "", "net_serve_test", ""),
    Mutant("src/gcs/gcs_client.c", "if (!budget_charge(arena->budget, size * TREE_FACTOR))", "if (size == 0)", "gcs_client_test", ""),
    Mutant("src/base/words.c", "count == WORDS_MAX || ", "", "base_words_test", "FAILED"),
    Mutant("src/codec/objects/ray_cluster_json.c", "if (json_count(member) > GROUPS_MAX)", "if (false)", "codec_ray_cluster_json_test", "FAILED"),
    Mutant(STORE, "(void)budget_take(content->arena.budget, content->beside_bytes);", "", "kube_store_budget_test", ""),
    Mutant(STORE, "refused_bytes > 0 && budget_fits(content->budget, content->refused_bytes);", "refused_bytes > 0;", "kube_store_budget_test", "FAILED"),
    Mutant(TRY, "\t\tif (is_cut(try))\n\t\t\tbreak;\n", "", PACKINGS, "FAILED"),
    # ---- large objects, decoded beside the loop and after their list
    Mutant(DECODE, "LIST_MEMBER(decoder->waiting.first,", "LIST_MEMBER(decoder->waiting.last,", "kube_informer_large_test", "FAILED"),
    Mutant(INFORMER, "if (size > KUBE_DECODE_INLINE_BYTES && informer->options.large_later) {", "if (false) {", "kube_informer_late_test", "FAILED"),
    Mutant(LATE, "if (!kube_store_unread(&informer->store, late->key))\n\t\treturn;", "", "kube_informer_late_test", "FAILED"),
    Mutant(LATE, "if (!informer->late.version ||", "if (true ||", "kube_informer_late_test", "FAILED"),
    Mutant(STORE, "if (!next || entry->turn < next->turn)", "if (!next)", "kube_informer_late_test", "FAILED"),
    Mutant(STORE, "(version->unread || !entry->unread.list)", "!version->unread && !entry->unread.list", "kube_informer_late_test", ""),
    # ---- budgets: a loop without its count
    Mutant(COUNTED, "for (__VA_ARGS__, bounded_count(1))", "for (__VA_ARGS__)", "base_bounded_test", "FAILED"),
    Mutant(COUNTED, "while (bounded_count(1), (__VA_ARGS__))", "while (__VA_ARGS__)", "base_bounded_test", "FAILED"),
    Mutant(GATE, "for (", "UNCOUNTED_FOR(", "make lint-banned", "uncounted loop"),
    Mutant(GATE, "for (", "for BOUNDED_NOTHING(", "make lint-banned", "uncounted loop"),
    Mutant(GATE, "for (", "again: goto again;\n\tfor (", "make lint-banned", "uncounted loop"),
    Mutant(GATE, "for (", "\n#undef\tfor\n\tfor (", "make lint-banned", "uncounted loop"),
    # ---- reports of others (docs/internals/reports.md), in its order
    Mutant("src/feature/repair/core/node_failures.c", "2 * failures.most <= failures.count", "failures.most > failures.count", GOLDEN, "FAILED"),
    Mutant("src/feature/repair/core/node_failures.c", "worker->registered && worker->pod", "worker->pod", GOLDEN, "FAILED"),
    Mutant("src/feature/device_claims/core/device_free.c", "key < 8 &&", "key < 7 &&", GOLDEN, "FAILED"),
    Mutant("src/feature/repair/core/repair.c", "node->granted && !node->begun &&", "node->granted &&", GOLDEN, "FAILED"),
    Mutant("src/core/decide/disruption_replace.c", "in_use + drained);", "in_use + 0 * drained);", GOLDEN, "FAILED"),
    Mutant("src/core/report/possible.c", ".reason = REASON_WAITS_FOR_PLACEMENT_GROUP,", ".reason = REASON_NONE,", GOLDEN, "FAILED"),
    Mutant(START, "if (resource->amount % RESOURCE_UNIT == 0)", "if (resource->amount >= 0)", GOLDEN, "FAILED"),
    Mutant(START, '{ "GPU", "num-gpus" },', '{ "gpu", "num-gpus" },', GOLDEN, "FAILED"),
    Mutant(STATUS, "look(pod, status, true, &found);", "", PODS, "FAILED"),
    Mutant(STATUS, '{ "CrashLoopBackOff", WAITING_IS_COUNTED },', '{ "CrashLoopBackOff", WAITING_IS_USUAL },', PODS, "FAILED"),
    Mutant(STATUS, "bool has_cause = meaning_of(waits) > WAITING_IS_COUNTED;", "bool has_cause = false;", PODS, "FAILED"),
    Mutant(LINTED + "lint_refused.c", 'GROUPS, "idleTimeoutSeconds", IS_GIVEN', 'GROUPS, "idleTimeoutSeconds", IS_NEGATIVE', LINT, "FAILED"),
    Mutant(LINTED + "lint_refused.c", '{ "RayCluster", 53 }', '{ "RayCluster", 253 }', LINT, "FAILED"),
    Mutant(LINTED + "lint_refused.c", "*name >= 'a' && *name <= 'z' && strspn", "strspn", LINT, "FAILED"),
    Mutant(LINTED + "lint_deletion.c", "later > earlier : later < earlier", "later < earlier : later > earlier", LINT, "FAILED"),
    Mutant(LINTED + "lint_cron.c", "last <= form->most &&", "last <= 60 &&", LINT, "FAILED"),
    Mutant(LINTED + "lint_row.c", "star + 1 + (star[1] == ' ')", "star + 1", LINT, "FAILED"),
    Mutant(LINTED + "lint_together.c", "if (huge ? request != limit :", "if (huge ? request > limit :", LINT, "FAILED"),
    Mutant(LINTED + "lint_together.c", "*text != '\\0' ? text : keys->otherwise;", "*text != '\\0' ? text : \"\";", LINT, "FAILED"),
    Mutant("src/feature/lint/core/lint_key.c", "nearest_distance(key, keys[i].key) <= NEAR_ERRORS", "nearest_distance(key, keys[i].key) > NEAR_ERRORS", LINT, "FAILED"),
    Mutant(LINTED + "lint_template.c", 'strstr(text, "$" START_VARIABLE);', "NULL;", LINT, "FAILED"),
    Mutant(LINTED + "lint_misplaced.c", "return places[i].place;", "return NULL;", LINT, "FAILED"),
    Mutant("src/core/model/device.c", '{ "gpu-fraction", DEVICE_GPU,', '{ "gpu-part", DEVICE_GPU,', GOLDEN, "FAILED"),
    Mutant(SERVED, "if (whole && left > 0)", "if (whole && left > maximum)", GOLDEN, "FAILED"),
    Mutant(GANGS, "if (is_placed(search, result)) {", "if (!search) {", GOLDEN, "FAILED"),
    Mutant(GANGS, "types[group->index + 1].launch_held = true;", "types[group->index + 1].launch_held = false;", GOLDEN, "FAILED"),
    Mutant("src/core/decide/backoff.c", "(2 * failed - 1) * group", "(2 * failed - 2) * group", GOLDEN, "FAILED"),
    Mutant(MEMORY, "drained.launches.count = 0;", "drained.templates.count = 0;", "codec_memory_json_test", "FAILED"),
    Mutant(QUEUE, "strcmp(own->refusal->reason, about) == 0)", "strcmp(own->refusal->reason, owner->name) == 0)", GOLDEN, "FAILED"),
    Mutant(QUEUE, "step.gang_since != TIME_NONE && is_gang_refused(&step);", "step.gang_since != TIME_NONE && !is_gang_refused(&step);", GOLDEN, "FAILED"),
    Mutant(QUEUE, "if (entry->cause == REASON_QUOTA_GATE)", "if (entry->cause == REASON_NONE)", GOLDEN, "FAILED"),
    Mutant(QUEUE, "refused[worker->replica] = worker;", ";", GOLDEN, "FAILED"),
    Mutant(QUEUE, "|| !group->template_capacity.accelerator)", ")", GOLDEN, "FAILED"),
    Mutant("src/core/model/event_meaning.c", '"InvalidRayClusterSpec|', '"InvalidSpec|', GOLDEN, "FAILED"),
    Mutant("src/core/decide/backoff.c", "#define NO_PODS_MS (180 *", "#define NO_PODS_MS (1800000 *", GOLDEN, "FAILED"),
    Mutant("src/feature/lint/core/lint_autoscaler.c", 'reserves(options, "cpu", PARKED_CPU_MOST) ||', "", LINT, "FAILED"),
    Mutant("src/codec/text/yaml.c", 'scalar.value, "<<") == 0;', 'scalar.value, "<") == 0;', "codec_yaml_test", "FAILED"),
    Mutant(LINTED + "lint_shape.c", "if (written && (json_type(at)", "if (!written && (json_type(at)", "codec_lint_document_test", "FAILED"),
    Mutant("src/codec/objects/cluster_set.c", "if (*start == '\\0' ||", "if (*start != '\\0' ||", "codec_cluster_set_test", "FAILED"),
    Mutant("src/core/capacity/accelerator_type.c", '"NVIDIA", "AMD" };', '"Nvidia", "AMD" };', GOLDEN, "FAILED"),
    Mutant("src/core/decide/worker.c", "worker->overdue = pod->deleting &&", "worker->overdue = !pod->deleting &&", GOLDEN, "FAILED"),
    Mutant(CLASS, "return first < second;", "return first > second;", "core_schedule_test", "FAILED"),
    Mutant(TRY, "return c->alone || try->run->apart", "return c || try->run->apart", PACKINGS, ""),
    Mutant(TRY, "if (classes->at.at[state].apart != classes->tries)", "if (classes->tries)", PACKINGS, ""),
    Mutant(ALIKE, "if (run->classes.rare[amount->name]) {", "if (!run->classes.rare[amount->name]) {", GOLDEN, ""),
    Mutant(CELL, "(uint64_t)cell->taken[i];", "(uint64_t)cell->taken[i] + 1;", PACKINGS, "FAILED"),
    Mutant(CELL, "if (run->room.bounded && count < try->left[first.shape])", "if (run->room.bounded && !count)", PACKINGS, "FAILED"),
    Mutant(CELL, "if (cells->choice != try->choices) {", "if (false) {", PACKINGS, ""),
    Mutant(REQUESTS, "if (bounded)\n\t\t\tnote_lack", "if (bounded && at >= tree->leaves)\n\t\t\tnote_lack", PACKINGS, "FAILED"),
    Mutant(SERVED, "resources_amount(&node->total, bound->resource, 0) > 0))", "resources_amount(&node->total, bound->resource, 0) < 0))", GOLDEN, "FAILED"),
    Mutant(STATUS, "ret.text = and_message(arena, pod->reason, pod->message);", 'ret.text = "";', PODS, "FAILED"),
    Mutant("src/feature/lint/core/lint_amount.c", "request->amount <= limit->amount)", "request->amount >= 0)", LINT, "FAILED"),
]


def copy_tree(tree: Path) -> None:
    """Sources and objects with their times, so that only what a mutant changes is built again."""
    keep = {".": {"src", "mk", "build", "Makefile", "crd", "charts", "docs"}, "./build": {"asan", "gen", "flags", "test", "obj", "tools"}}

    def ignore(folder: str, names: List[str]) -> List[str]:
        return [name for name in names if folder in keep and name not in keep[folder]]

    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(".", tree, symlinks=True, ignore=ignore)


def build_and_run(tree: Path, program: str) -> "subprocess.CompletedProcess[str]":
    if program.startswith("make "):
        return subprocess.run(program.split(), cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    words = program.split() if program.startswith("tools/") else [f"test/{program}"]
    make = subprocess.run(["make", "BUILD=build", f"build/{words[0]}"], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if make.returncode:
        return subprocess.CompletedProcess([], 0, f"law 0: it does not build: {make.stdout[-1000:]}")
    env = {**os.environ, **FEW}
    return subprocess.run([f"build/{words[0]}", *words[1:]], cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)


def run(tree: Path, number: int, mutant: Mutant) -> bool:
    path = tree / mutant.file
    source = path.read_text()
    if source.count(mutant.old) != 1:
        print(f"{number:2} {mutant.file}: {source.count(mutant.old)} times instead of once: {mutant.old!r}")
        return False
    path.write_text(source.replace(mutant.old, mutant.new))
    try:
        result = build_and_run(tree, mutant.program)
        noticed = result.returncode != 0 and mutant.law in result.stdout
        output = result.stdout
    except subprocess.TimeoutExpired:
        noticed, output = True, "[  FAILED  ] a loop without an end"
    finally:
        path.write_text(source)
    found = re.search(r"(law \d+: .*|seed \d+: .*|\[  FAILED  \] .*|ABOVE .*)", output)
    print(f"{number:2} {'noticed' if noticed else 'MISSED '} {mutant.file}: {mutant.old.strip()!r}: {found.group(1) if found else mutant.law}", flush=True)
    return noticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=Path("build/mutants"))
    parser.add_argument("--only", default="", help="a regular expression of number and file")
    options = parser.parse_args()
    chosen: List[tuple] = [(n, one) for n, one in enumerate(MUTANTS, 1) if re.search(options.only, f"{n} {one.file}")]
    copy_tree(options.tree)
    for program in sorted({one.program for _, one in chosen}):
        result = build_and_run(options.tree, program)
        if result.returncode or "does not build" in result.stdout:
            print(f"{program} fails without a mutant:\n{result.stdout[-3000:]}")
            return 1
    noticed = sum([run(options.tree, number, one) for number, one in chosen])
    print(f"{noticed} of {len(chosen)} mutants are noticed")
    return 0 if noticed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
