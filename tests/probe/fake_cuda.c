/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How does the CUDA runtime behave, as far as the probe can tell? Memory is the host's. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/probe/emulated.h"
#include "tests/probe/fake_cuda.h"

enum { MAX_STREAMS = 64, MAX_LIVE = 1 << 14 };

struct task {
	fake_step_fn *step;
	void *closure;
	struct task *next;
};

struct CUstream_st {
	struct task *first, **end;
};

/* Recordings are numbered, so that a later one does not hold up who waits for an earlier one. */
struct CUevent_st {
	long recorded, passed;
	double at_s;
};

static struct CUstream_st *streams[MAX_STREAMS];
static int n_streams;
static unsigned state = 1;
static const char *failing_function;
static int failing_from;
static char violation[256];

/* --- for tests ---------------------------------------------------------------------------- */

void
fake_fail(const char *function, int n)
{
	failing_function = function;
	failing_from = n;
}

bool
fake_failing(const char *function)
{
	if (!failing_function || strcmp(failing_function, function) != 0)
		return false;
	return --failing_from <= 0;
}

void
fake_violate(const char *what)
{
	if (!violation[0])
		snprintf(violation, sizeof(violation), "%s", what);
}

const char *
fake_violation(void)
{
	return violation;
}

unsigned
fake_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 16;
}

void
fake_seed(unsigned seed)
{
	state = seed * 2654435761u + 1;
}

/* --- streams ------------------------------------------------------------------------------ */

void
fake_enqueue(struct CUstream_st *stream, fake_step_fn *step, void *closure)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->step = step;
	task->closure = closure;
	*stream->end = task;
	stream->end = &task->next;
}

static bool
step_stream(struct CUstream_st *stream)
{
	struct task *task = stream->first;

	if (!task || task->step(task->closure) == FAKE_WAITING)
		return false;
	stream->first = task->next;
	if (!stream->first)
		stream->end = &stream->first;
	free(task->closure);
	free(task);
	return true;
}

/* A few steps of streams drawn by chance, so that none of them keeps pace with another. */
void
fake_advance(void)
{
	int i;

	fake_nccl_advance();
	for (i = 0; i < 8 && n_streams > 0; i++) {
		struct CUstream_st *stream = streams[fake_random() % (unsigned)n_streams];
		int steps = (int)(fake_random() % 16);

		while (steps-- > 0 && step_stream(stream))
			;
	}
}

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	if (fake_failing("cudaStreamCreateWithPriority") || n_streams == MAX_STREAMS)
		return cudaErrorMemoryAllocation;
	if (flags != cudaStreamNonBlocking || priority > 0 || priority < -5)
		return cudaErrorInvalidValue;
	*stream = calloc(1, sizeof(**stream));
	if (!*stream)
		return cudaErrorMemoryAllocation;
	(*stream)->end = &(*stream)->first;
	streams[n_streams++] = *stream;
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	int i;

	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (stream->first)
		fake_violate("a stream was destroyed with work on it");
	for (i = 0; i < n_streams; i++)
		if (streams[i] == stream)
			streams[i] = streams[--n_streams];
	free(stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	if (fake_failing("cudaStreamQuery"))
		return cudaErrorIllegalAddress;
	fake_advance();
	return stream->first ? cudaErrorNotReady : cudaSuccess;
}

/* --- events ------------------------------------------------------------------------------- */

struct moment {
	cudaEvent_t event;
	long number;
};

static enum fake_step
pass(void *closure)
{
	struct moment *m = closure;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	m->event->passed = m->number;
	m->event->at_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	return FAKE_DONE;
}

static enum fake_step
await(void *closure)
{
	struct moment *m = closure;

	return m->event->passed >= m->number ? FAKE_DONE : FAKE_WAITING;
}

static cudaError_t
post_moment(cudaStream_t stream, cudaEvent_t event, fake_step_fn *step)
{
	struct moment *m = calloc(1, sizeof(*m));

	if (!m || !event || !stream)
		abort();
	m->event = event;
	m->number = event->recorded;
	fake_enqueue(stream, step, m);
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	if (fake_failing("cudaEventCreateWithFlags"))
		return cudaErrorMemoryAllocation;
	*event = calloc(1, sizeof(**event));
	return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	if (fake_failing("cudaEventCreate"))
		return cudaErrorMemoryAllocation;
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	if (fake_failing("cudaEventRecord"))
		return cudaErrorInvalidResourceHandle;
	event->recorded++;
	return post_moment(stream, event, pass);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	if (fake_failing("cudaStreamWaitEvent") || flags != 0)
		return cudaErrorInvalidResourceHandle;
	return post_moment(stream, event, await);
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	if (fake_failing("cudaEventQuery"))
		return cudaErrorIllegalAddress;
	return event->passed == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	if (fake_failing("cudaEventElapsedTime") || from->recorded == 0 || to->recorded == 0)
		return cudaErrorInvalidResourceHandle;
	if (from->passed < from->recorded || to->passed < to->recorded)
		return cudaErrorNotReady;
	*ms = (float)(1e3 * (to->at_s - from->at_s));
	return cudaSuccess;
}

/* --- memory ------------------------------------------------------------------------------- */

cudaError_t
cudaMalloc(void **memory, size_t bytes)
{
	if (fake_failing("cudaMalloc"))
		return cudaErrorMemoryAllocation;
	*memory = malloc(bytes);
	if (!*memory)
		return cudaErrorMemoryAllocation;
	memset(*memory, 0xa5, bytes);
	return cudaSuccess;
}

/* The real one waits for the device. */
cudaError_t
cudaFree(void *memory)
{
	int i;

	for (i = 0; memory && i < n_streams; i++)
		if (streams[i]->first)
			fake_violate("memory was freed while work was on a stream");
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *available, size_t *total)
{
	if (fake_failing("cudaMemGetInfo"))
		return cudaErrorIllegalAddress;
	*available = (size_t)70 << 30;
	*total = (size_t)80 << 30;
	return cudaSuccess;
}

struct copy {
	void *to, *staged;
	size_t bytes;
	int byte;
};

static enum fake_step
arrive(void *closure)
{
	struct copy *c = closure;

	if (c->staged)
		memcpy(c->to, c->staged, c->bytes);
	else
		memset(c->to, c->byte, c->bytes);
	free(c->staged);
	return FAKE_DONE;
}

/* Pageable memory: to the device it is staged at once, to the host the caller waits. */
cudaError_t
cudaMemcpyAsync(
    void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c || fake_failing("cudaMemcpyAsync")) {
		free(c);
		return cudaErrorInvalidValue;
	}
	if (kind == cudaMemcpyDeviceToHost) {
		if (stream->first)
			fake_violate("a copy to the host would wait for its stream");
		memcpy(to, from, bytes);
		free(c);
		return cudaSuccess;
	}
	c->to = to;
	c->bytes = bytes;
	c->staged = malloc(bytes);
	if (!c->staged)
		abort();
	memcpy(c->staged, from, bytes);
	fake_enqueue(stream, arrive, c);
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c || fake_failing("cudaMemsetAsync")) {
		free(c);
		return cudaErrorInvalidValue;
	}
	*c = (struct copy){.to = to, .bytes = bytes, .byte = byte};
	fake_enqueue(stream, arrive, c);
	return cudaSuccess;
}

/* --- launches ----------------------------------------------------------------------------- */

struct launch {
	unsigned blocks, threads;
	emulated_fn *run, *drop;
	void *closure;
};

static bool launch_failed;

static enum fake_step
run_launch(void *closure)
{
	struct launch *l = closure;

	emulated_run(l->blocks, l->threads, l->run, l->closure);
	l->drop(l->closure);
	return FAKE_DONE;
}

void
emulated_post(void *stream, unsigned blocks, unsigned threads, emulated_fn *run, emulated_fn *drop,
    void *closure)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	*l = (struct launch){blocks, threads, run, drop, closure};
	launch_failed = fake_failing("a launch");
	fake_enqueue(stream, run_launch, l);
}

cudaError_t
cudaGetLastError(void)
{
	bool failed = launch_failed;

	launch_failed = false;
	return failed ? cudaErrorInvalidConfiguration : cudaSuccess;
}

/* --- the device --------------------------------------------------------------------------- */

const char *
cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "fake: out of memory" : "fake: an error";
}

cudaError_t
cudaGetDeviceCount(int *n)
{
	*n = 1;
	return fake_failing("cudaGetDeviceCount") ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
	return fake_failing("cudaSetDevice") || device != 0 ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return fake_failing("cudaDeviceGetStreamPriorityRange") ? cudaErrorInvalidDevice
								: cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	(void)device;
	memset(properties, 0, sizeof(*properties));
	snprintf(properties->name, sizeof(properties->name), "a GPU that is not there");
	return fake_failing("cudaGetDeviceProperties") ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t
cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	(void)device;
	snprintf(text, (size_t)size, "0000:%02x:00.0", fake_own_rank + 1);
	return fake_failing("cudaDeviceGetPCIBusId") ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

int fake_driver_version = 13000;

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = fake_driver_version;
	return fake_failing("cudaDriverGetVersion") ? cudaErrorInitializationError : cudaSuccess;
}

const struct backend_ops *moeplan_backend(void);

const struct backend_ops *
fake_backend(void)
{
	static struct backend_ops ops;

	ops = *moeplan_backend();
	ops.times_count = false;
	return &ops;
}
