/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which communicators does a rank need, and is each made of whom the plan says?
 *
 * All are split off the world in one fixed order, before memory is filled. Every group is used
 * once: each member sends its rank and its group's number, and what arrives must be the plan's
 * list, in order. Pipeline neighbours get pairs: a boundary between two stages has one pair for
 * each leg and direction, so that a send never waits behind another direction's receive.
 * Boundaries are split in up to three phases, since a rank is at two boundaries at once.
 */
#include "base/arena.h"
#include "probe/locate.h"

const char *const group_names[GROUPS + 1] = {
    "tp", "cp", "dp_cp", "ep", "expert_tp", "expert_dp", "embedding", NULL};

static int
make_split(struct session *s, int color, int key, const char *name, struct comm **comm)
{
	int result;

	control_enter(s->control, "split", name);
	*comm = NULL;
	s->communicators += color >= 0;
	result = session_progress(s,
	    s->backend.ops->split(&s->backend, s->world_comm, color, key, comm), STREAM_COMM, name);
	control_leave(s->control);
	return result;
}

static int
check_member(struct session *s, const char *name, const int32_t got[2], int wanted_rank, int id)
{
	if (got[0] == wanted_rank && got[1] == id)
		return 0;
	return control_fail(s->control,
	    "group %s %d is not the plan's: where rank %d belongs, rank %d of "
	    "group %d answers",
	    name, id, wanted_rank, got[0], got[1]);
}

/* First use: an all-gather of (rank, group number). */
static int
check_group(struct session *s, const char *name, struct group_comm *group)
{
	int32_t mine[2] = {s->rank, group->id};
	size_t bytes = (size_t)group->size * sizeof(mine);
	int32_t *all = arena_alloc(s->arena, bytes);
	void *send = session_alloc(s, sizeof(mine)), *recv = session_alloc(s, bytes);
	struct collective c = {.kind = COLLECTIVE_ALL_GATHER,
	    .element = ELEMENT_INT32,
	    .comm = group->comm,
	    .send = send,
	    .recv = recv,
	    .count = 2};
	int i, result = -1;

	if (send && recv && s->backend.ops->put(&s->backend, ELEMENT_INT32, send, mine, 2) == 0 &&
	    session_collective(s, PART_HANDOFF, name, &c) == 0 && session_sync_all(s, name) == 0)
		result =
		    s->backend.ops->get(&s->backend, ELEMENT_INT32, all, recv, 2 * group->size);
	for (i = 0; i < group->size && result == 0; i++)
		result = check_member(s, name, &all[2 * i], group->ranks[i], group->id);
	session_release(s, send, sizeof(mine));
	session_release(s, recv, bytes);
	return result;
}

static int
open_group(struct session *s, enum group which)
{
	const char *name = group_names[which];
	struct group_comm *group = &s->groups[which];

	if (make_split(s, group->size > 1 ? group->id : -1, group->index, name, &group->comm) != 0)
		return -1;
	return group->size > 1 ? check_group(s, name, group) : 0;
}

static int
make_group(struct session *s, enum group which)
{
	struct group_comm *group = &s->groups[which];

	if (session_locate(s, (int)which, group) != 0)
		return -1;
	return group->size == 1 ? 0 : open_group(s, which);
}

/* First and last stage, where both hold the embedding; the stages between are alone. */
static int
make_embedding(struct session *s, const struct group_comm *pp)
{
	const struct model *model = s->plan->model;
	struct group_comm *group = &s->groups[GROUP_EMBEDDING];
	int32_t *ranks = arena_array(s->arena, 2, sizeof(*ranks));

	group->ranks = ranks;
	if (!(model->tied || model->mtp_layers > 0) || ends_meet(&s->plan->strategy))
		return 0;
	ranks[0] = pp->ranks[0];
	ranks[1] = pp->ranks[pp->size - 1];
	if (s->rank == ranks[0] || s->rank == ranks[1]) {
		group->id = pp->id;
		group->index = s->rank == ranks[1];
		group->size = 2;
	}
	return open_group(s, GROUP_EMBEDDING);
}

/* --- the pipeline ------------------------------------------------------------------------- */

/* Who is at the other end, and that both mean the same boundary: one message each way it will go.
 */
static int
check_pair(
    struct session *s, struct comm *comm, bool sender, int other, int boundary, bool backward)
{
	int32_t text[2] = {s->rank, boundary};
	void *memory = session_alloc(s, sizeof(text));
	struct collective c = {.kind = sender ? COLLECTIVE_SEND : COLLECTIVE_RECV,
	    .element = ELEMENT_INT32,
	    .comm = comm,
	    .send = memory,
	    .recv = memory,
	    .count = 2,
	    .peer = sender ? 1 : 0};
	int result = -1;

	if (memory && s->backend.ops->put(&s->backend, ELEMENT_INT32, memory, text, 2) == 0 &&
	    session_collective(s, PART_HANDOFF, backward ? "pp backward" : "pp forward", &c) == 0 &&
	    session_sync_all(s, "pp") == 0)
		result = s->backend.ops->get(&s->backend, ELEMENT_INT32, text, memory, 2);
	session_release(s, memory, sizeof(text));
	if (result != 0 || sender)
		return result;
	return check_member(s, "pp", text, other, boundary);
}

struct boundary {
	int number; /* between stage `number` and the next */
	bool first; /* this rank is before it */
	int other;
};

/* The boundary of this phase that the rank is at, if any. */
static bool
boundary_of(const struct session *s, const struct group_comm *pp, int phase, struct boundary *b)
{
	const struct strategy *st = &s->plan->strategy;
	bool loops = st->vpp > 1 && pass_legs(st) == 1;
	int stages = pp->size, side;

	for (side = 0; side < 2; side++) {
		int number = (pp->index - side + stages) % stages;
		bool wraps = number == stages - 1;
		int own = wraps && stages % 2 ? 2 : number % 2;

		if (own != phase || (wraps && !loops))
			continue;
		b->number = number;
		b->first = side == 0;
		b->other = pp->ranks[b->first ? (number + 1) % stages : number];
		return true;
	}
	return false;
}

static int
make_pair(struct session *s, const struct group_comm *pp, int phase, struct hand_off what)
{
	struct boundary b = {0};
	bool there = boundary_of(s, pp, phase, &b), down = what.backward == (what.leg == LEG_ON);
	bool sends = there && b.first != down;
	int color = there ? pp->id * pp->size + b.number : -1;
	const char *name = what.backward ? "pp backward" : "pp forward";
	struct comm *comm;

	if (make_split(s, color, sends ? 0 : 1, name, &comm) != 0)
		return -1;
	if (!there)
		return 0;
	s->channels[what.leg][what.backward][!sends] =
	    (struct channel){.comm = comm, .peer = sends ? 1 : 0};
	return check_pair(s, comm, sends, b.other, b.number, what.backward);
}

static int
make_pairs(struct session *s, const struct group_comm *pp, int phase)
{
	int legs = pass_legs(&s->plan->strategy), i;

	for (i = 0; i < 2 * legs; i++) {
		struct hand_off what = {.leg = i / 2 ? LEG_BACK : LEG_ON, .backward = i % 2};

		if (make_pair(s, pp, phase, what) != 0)
			return -1;
	}
	return 0;
}

static int
make_pipeline(struct session *s)
{
	struct group_comm pp = {0};
	int phase;

	if (session_locate(s, LOCATE_PP, &pp) != 0)
		return -1;
	s->pp = pp.index;
	s->groups[GROUP_EMBEDDING].size = 1;
	if (pp.size == 1)
		return 0;
	for (phase = 0; phase < PHASES; phase++)
		if (make_pairs(s, &pp, phase) != 0)
			return -1;
	return make_embedding(s, &pp);
}

static int
make_world(struct session *s)
{
	unsigned char id[PROBE_ID_BYTES] = {0};
	int result;

	if (s->rank == 0 && s->backend.ops->unique_id(&s->backend, id) != 0)
		return session_fail(s, "the id of the world");
	if (control_share(s->control, id, sizeof(id)) != 0)
		return -1;
	control_enter(s->control, "init", "world");
	s->communicators++;
	result = session_progress(
	    s, s->backend.ops->world(&s->backend, id, &s->world_comm), STREAM_COMM, "the world");
	control_leave(s->control);
	return result;
}

static int
make_all(struct session *s)
{
	struct group_comm dp = {0};
	int which;

	if (make_world(s) != 0)
		return -1;
	for (which = 0; which < GROUP_EMBEDDING; which++)
		if (make_group(s, (enum group)which) != 0)
			return -1;
	s->tp = s->groups[GROUP_TP].index;
	s->cp = s->groups[GROUP_CP].index;
	s->ep = s->groups[GROUP_EP].index;
	s->etp = s->groups[GROUP_EXPERT_TP].index;
	s->edp = s->groups[GROUP_EXPERT_DP].index;
	if (session_locate(s, LOCATE_DP, &dp) != 0)
		return -1;
	s->dp = dp.index;
	return make_pipeline(s);
}

/* All ranks begin and end together, so that ranks that share a device measure the same. */
int
session_groups(struct session *s)
{
	uint64_t before, after;

	control_phase(s->control, "groups");
	before = s->backend.ops->free_bytes(&s->backend);
	if (control_barrier(s->control) != 0 || make_all(s) != 0 ||
	    control_barrier(s->control) != 0)
		return -1;
	after = s->backend.ops->free_bytes(&s->backend);
	s->communicator_bytes = before > after ? before - after : 0;
	return control_barrier(s->control);
}
