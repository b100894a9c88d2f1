/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does the step use a backend without ever hanging?
 *
 * Every operation that needs other ranks is announced to the watchdog (control.h), posted, and
 * asked about until it is done or the session has failed. Marks around each part give its time.
 */
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "probe/session.h"

const char *const collective_names[COLLECTIVES + 1] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send", "receive", NULL};
const char *const grouped_names[GROUPED_ENGINES + 1] = {"loop", "grouped", NULL};

const struct part_row part_rows[PARTS] = {
    [PART_EMBEDDING] = {"embedding", "memory_bound"},
    [PART_ATTENTION] = {"attention", "attention"},
    [PART_NORM] = {"norm", "memory_bound"},
    [PART_ROUTER] = {"router", "memory_bound"},
    [PART_PERMUTE] = {"permute", "memory_bound"},
    [PART_DISPATCH] = {"dispatch", "all_to_all"},
    [PART_EXPERTS] = {"experts", "experts"},
    [PART_COMBINE] = {"combine", "all_to_all"},
    [PART_MLP] = {"mlp", "mlp"},
    [PART_HEAD] = {"head_and_loss", "head"},
    [PART_MTP] = {"mtp", "head"},
    [PART_RECOMPUTE] = {"recompute", "recompute"},
    [PART_TENSOR_PARALLEL] = {"tensor_parallel", "tensor_parallel"},
    [PART_EXPERT_TENSOR] = {"expert_tensor_parallel", "tensor_parallel"},
    [PART_CONTEXT_PARALLEL] = {"context_parallel", "context_parallel"},
    [PART_HANDOFF] = {"hand_off", "pipeline"},
    [PART_GRADIENTS] = {"gradients", "data_parallel"},
    [PART_PARAMETERS] = {"parameters", "data_parallel"},
    [PART_OPTIMIZER] = {"optimizer", "optimizer"},
};

int
session_fail(struct session *s, const char *what)
{
	const char *why = s->backend.ops->error(&s->backend);

	return control_fail(
	    s->control, "%s failed: %s", what, why && why[0] ? why : "no reason given");
}

void *
session_alloc(struct session *s, size_t bytes)
{
	void *memory = s->backend.ops->alloc(&s->backend, bytes);

	if (!memory) {
		control_fail(s->control,
		    "no memory for %zu bytes after %llu: the plan does not fit here", bytes,
		    (unsigned long long)s->allocated_bytes);
		return NULL;
	}
	s->allocated_bytes += bytes;
	if (s->allocated_bytes > s->peak_bytes)
		s->peak_bytes = s->allocated_bytes;
	return memory;
}

void
session_release(struct session *s, void *memory, size_t bytes)
{
	if (!memory || control_failed(s->control))
		return;
	s->backend.ops->release(&s->backend, memory);
	s->allocated_bytes -= bytes;
}

static void
nap(int *times)
{
	struct timespec pause = {0, *times < 64 ? 5000 : 100000};

	++*times;
	nanosleep(&pause, NULL);
}

int
session_progress(struct session *s, enum op_state state, enum stream stream, const char *what)
{
	int times = 0;

	while (state == OP_BUSY && !control_failed(s->control)) {
		state = s->backend.ops->progress(&s->backend, stream);
		if (state == OP_BUSY)
			nap(&times);
	}
	if (state == OP_FAILED)
		return session_fail(s, what);
	return control_failed(s->control) ? -1 : 0;
}

static int
depend(struct session *s, enum stream later, enum stream earlier, const char *what)
{
	enum op_state state = s->backend.ops->depend(&s->backend, later, earlier);
	int times = 0;

	while (state == OP_BUSY && !control_failed(s->control)) {
		nap(&times);
		state = s->backend.ops->depend(&s->backend, later, earlier);
	}
	if (state == OP_FAILED)
		return session_fail(s, what);
	return control_failed(s->control) ? -1 : 0;
}

static int
post(struct session *s, enum stream stream, const struct collective *c, const char *what)
{
	enum op_state state = s->backend.ops->collective(&s->backend, stream, c);

	return session_progress(s, state, stream, what);
}

/* --- timing ------------------------------------------------------------------------------- */

static void
interval_begin(struct session *s, enum part part, enum stream stream, unsigned times)
{
	struct interval *interval = &s->intervals[s->n_intervals];

	if (s->replaying)
		part = PART_RECOMPUTE;
	s->parts[part][s->backward].ran += (times & TIMES_RUN) != 0;
	s->stalls[part][s->backward].ran += (times & TIMES_STALL) != 0;
	*interval = (struct interval){
	    .part = (int)part, .from = -1, .backward = s->backward, .times = times};
	if (s->events + 2 > PROBE_EVENTS - (part < PART_GRADIENTS ? ONCE_EVENTS : 0))
		return;
	interval->from = s->events++;
	s->backend.ops->mark(&s->backend, interval->from, stream);
}

static void
interval_end(struct session *s, enum stream stream)
{
	struct interval *interval = &s->intervals[s->n_intervals];

	if (interval->from < 0)
		return;
	interval->to = s->events++;
	s->backend.ops->mark(&s->backend, interval->to, stream);
	s->n_intervals++;
}

void
part_begin(struct session *s, enum part part, enum stream stream)
{
	if (stream == STREAM_COMPUTE)
		s->open_part = (int)(s->replaying ? PART_RECOMPUTE : part);
	interval_begin(s, part, stream, TIMES_RUN);
}

/* The part that was begun last and not ended yet is an operation among ranks. */
static void
name_part(struct session *s, const char *what, const char *group)
{
	s->intervals[s->n_intervals].what = what;
	s->intervals[s->n_intervals].group = group;
}

void
part_end(struct session *s, enum stream stream)
{
	if (stream == STREAM_COMPUTE)
		s->open_part = -1;
	interval_end(s, stream);
}

/* What is timed at a place of its own ends what is open on the computation's stream for a while. */
static int
interrupt(struct session *s)
{
	int interrupted = s->open_part;

	if (interrupted >= 0)
		part_end(s, STREAM_COMPUTE);
	return interrupted;
}

static void
resume(struct session *s, int interrupted)
{
	if (interrupted >= 0)
		part_begin(s, (enum part)interrupted, STREAM_COMPUTE);
}

void
timing_reset(struct session *s)
{
	s->events = 0;
	s->open_part = -1;
	s->n_intervals = 0;
	s->oldest = 0;
	memset(s->parts, 0, sizeof(s->parts));
	memset(s->stalls, 0, sizeof(s->stalls));
}

static void
add_time(struct part_time *time, double seconds)
{
	time->seconds += seconds;
	time->timed++;
}

void
timing_collect(struct session *s)
{
	int i;

	for (i = 0; i < s->n_intervals; i++) {
		const struct interval *interval = &s->intervals[i];
		double seconds = s->backend.ops->elapsed(&s->backend, interval->from, interval->to);

		if (seconds < 0)
			continue;
		if (interval->times & TIMES_RUN)
			add_time(&s->parts[interval->part][interval->backward], seconds);
		if (interval->times & TIMES_STALL)
			add_time(&s->stalls[interval->part][interval->backward], seconds);
	}
}

/* --- operations --------------------------------------------------------------------------- */

int
session_collective(struct session *s, enum part part, const char *group, const struct collective *c)
{
	const char *what = collective_names[c->kind];
	int interrupted, result;

	if (!c->comm || control_failed(s->control))
		return c->comm ? -1 : 0;
	interrupted = interrupt(s);
	control_enter(s->control, what, group);
	result = depend(s, STREAM_COMM, STREAM_COMPUTE, what);
	interval_begin(s, part, STREAM_COMM, TIMES_RUN | TIMES_STALL);
	name_part(s, what, group);
	if (result == 0)
		result = post(s, STREAM_COMM, c, what);
	interval_end(s, STREAM_COMM);
	if (result == 0)
		result = depend(s, STREAM_COMPUTE, STREAM_COMM, what);
	control_leave(s->control);
	resume(s, interrupted);
	return result;
}

int
session_beside(struct session *s, enum stream stream, enum part part, const char *group,
    const struct collective *c, unsigned behind)
{
	const char *what = collective_names[c->kind];
	int interrupted = interrupt(s), result = 0;

	control_enter(s->control, what, group);
	if (behind & BEHIND_COMPUTE)
		result = depend(s, stream, STREAM_COMPUTE, what);
	if (result == 0 && behind & BEHIND_STREAM)
		result = depend(s, stream, stream, what);
	interval_begin(s, part, stream, TIMES_RUN);
	name_part(s, what, group);
	if (result == 0)
		result = post(s, stream, c, what);
	interval_end(s, stream);
	control_leave(s->control);
	resume(s, interrupted);
	return result;
}

/* What waits for a stream is timed on the computation's: there it stands still. */
static int
await(struct session *s, enum stream stream, enum part part, const char *what, const char *whom)
{
	int interrupted = interrupt(s), result;

	control_enter(s->control, what, whom);
	interval_begin(s, part, STREAM_COMPUTE, TIMES_STALL);
	name_part(s, what, whom);
	result = depend(s, STREAM_COMPUTE, stream, what);
	interval_end(s, STREAM_COMPUTE);
	control_leave(s->control);
	resume(s, interrupted);
	return result;
}

int
session_joined(struct session *s, enum stream stream, enum part part, const char *what)
{
	return await(s, stream, part, "wait", what);
}

int
session_post(struct session *s, const char *group, const struct collective *c)
{
	const char *what = collective_names[c->kind];
	int result;

	control_enter(s->control, what, group);
	result = s->backend.ops->collective(&s->backend, STREAM_COMM, c) == OP_FAILED
		     ? session_fail(s, what)
		     : 0;
	control_leave(s->control);
	return result;
}

/* --- hand-offs ---------------------------------------------------------------------------- */

static const char *const hand_off_names[LEGS][2] = {
    [LEG_ON] = {"pp forward", "pp backward"}, [LEG_BACK] = {"pp forward 2", "pp backward 2"}};

static const char *
name_of(struct hand_off what)
{
	return hand_off_names[what.leg][what.backward];
}

static enum stream
stream_of(struct hand_off what, bool in)
{
	static const enum stream streams[LEGS][2][2] = {
	    [LEG_ON] = {{STREAM_FORWARD, STREAM_FORWARD_IN}, {STREAM_BACKWARD, STREAM_BACKWARD_IN}},
	    [LEG_BACK] = {{STREAM_FORWARD_2, STREAM_FORWARD_IN_2},
		{STREAM_BACKWARD_2, STREAM_BACKWARD_IN_2}},
	};

	return streams[what.leg][what.backward][in];
}

int
session_send(struct session *s, struct hand_off what, const void *from, int64_t elements)
{
	const struct channel *channel = &s->channels[what.leg][what.backward][false];
	enum stream stream = stream_of(what, false);
	struct collective c = {.kind = COLLECTIVE_SEND,
	    .element = ELEMENT_ACT,
	    .send = from,
	    .count = elements,
	    .comm = channel->comm,
	    .peer = channel->peer};
	int result;

	control_enter(s->control, "send", name_of(what));
	result = depend(s, stream, STREAM_COMPUTE, "send");
	if (result == 0)
		result = post(s, stream, &c, "send");
	control_leave(s->control);
	return result;
}

/* An interval is begun, and to be ended by the caller. */
static int
post_receive(
    struct session *s, struct hand_off what, void *to, int64_t elements, unsigned times)
{
	const struct channel *channel = &s->channels[what.leg][what.backward][true];
	enum stream stream = stream_of(what, true);
	struct collective c = {.kind = COLLECTIVE_RECV,
	    .element = ELEMENT_ACT,
	    .recv = to,
	    .count = elements,
	    .comm = channel->comm,
	    .peer = channel->peer};
	int result = depend(s, stream, STREAM_COMPUTE, "receive");

	interval_begin(s, PART_HANDOFF, stream, times);
	name_part(s, "receive", name_of(what));
	return result == 0 ? post(s, stream, &c, "receive") : result;
}

int
session_receive(struct session *s, struct hand_off what, void *to, int64_t elements)
{
	enum stream stream = stream_of(what, true);
	int result;

	control_enter(s->control, "receive", name_of(what));
	result = post_receive(s, what, to, elements, TIMES_RUN | TIMES_STALL);
	if (result == 0)
		result = depend(s, STREAM_COMPUTE, stream, "receive");
	interval_end(s, stream);
	control_leave(s->control);
	return result;
}

int
session_fetch(struct session *s, struct hand_off what, void *to, int64_t elements)
{
	int result;

	control_enter(s->control, "receive", name_of(what));
	result = post_receive(s, what, to, elements, TIMES_RUN);
	interval_end(s, stream_of(what, true));
	control_leave(s->control);
	return result;
}

int
session_fetched(struct session *s, struct hand_off what)
{
	return await(s, stream_of(what, true), PART_HANDOFF, "receive", name_of(what));
}

/* Tells the watchdog where the device is, as soon as it is somewhere else. */
static void
say_oldest(struct session *s, const char *what, int *told)
{
	const struct interval *interval;

	while (s->oldest < s->n_intervals &&
	       s->backend.ops->passed(&s->backend, s->intervals[s->oldest].to))
		s->oldest++;
	if (s->oldest == *told)
		return;
	*told = s->oldest;
	interval = &s->intervals[s->oldest];
	if (s->oldest == s->n_intervals)
		control_enter(s->control, "wait", what);
	else if (interval->what)
		control_enter(s->control, interval->what, interval->group);
	else
		control_enter(s->control, part_rows[interval->part].name, "the device");
}

int
session_sync(struct session *s, enum stream stream, const char *what)
{
	enum op_state state;
	int times = 0, told = -1;

	control_enter(s->control, "wait", what);
	while ((state = s->backend.ops->sync(&s->backend, stream)) == OP_BUSY &&
	       !control_failed(s->control)) {
		say_oldest(s, what, &told);
		nap(&times);
	}
	control_leave(s->control);
	if (state == OP_FAILED)
		return session_fail(s, what);
	return control_failed(s->control) ? -1 : 0;
}

int
session_sync_all(struct session *s, const char *what)
{
	int stream;

	for (stream = 0; stream < STREAMS; stream++)
		if (session_sync(s, (enum stream)stream, what) != 0)
			return -1;
	return 0;
}
