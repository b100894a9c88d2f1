/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PROBE_H
#define MOEPLAN_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a backend is: memory, matrix products, a few kernels and collectives,
 * each posted on a stream. The step is written once over this table. A backend
 * is a shared object that exports moeplan_backend(); nothing else crosses.
 *
 * Three element types: activations and weights ("act": the backend's own type),
 * float for gradients, optimizer state and gates, int32_t for row numbers.
 */
enum { PROBE_ABI = 5, PROBE_ID_BYTES = 128, PROBE_TEXT_MAX = 512 };

enum stream {
	STREAM_COMPUTE,
	STREAM_COMM,	 /* tensor, context and expert groups, and gradients */
	STREAM_FORWARD,	 /* pipeline hand-off, one stream a direction and end, */
	STREAM_BACKWARD, /* so that no send waits behind a receive; */
	STREAM_FORWARD_IN,
	STREAM_BACKWARD_IN,
	STREAM_FORWARD_2, /* once more for forwards from the last rank to the first */
	STREAM_BACKWARD_2,
	STREAM_FORWARD_IN_2,
	STREAM_BACKWARD_IN_2,
	STREAM_BESIDE, /* gradients and weights, beside the computation */
	STREAM_ROWS,   /* rows on their way to experts and back */
	STREAMS
};

enum element { ELEMENT_ACT, ELEMENT_FLOAT, ELEMENT_INT32, ELEMENTS };

/* BUSY: not yet; ask again. FAILED: error() says why. */
enum op_state { OP_DONE, OP_BUSY, OP_FAILED };

struct comm; /* the backend's */

enum collective_kind {
	COLLECTIVE_ALL_REDUCE,	   /* count elements in place in `recv` */
	COLLECTIVE_REDUCE_SCATTER, /* send: count * size elements, recv: count */
	COLLECTIVE_ALL_GATHER,	   /* send: count elements, recv: count * size */
	COLLECTIVE_ALL_TO_ALL,	   /* counts and displacements by peer, elements */
	COLLECTIVE_SEND,	   /* count elements to `peer` */
	COLLECTIVE_RECV,
	COLLECTIVES
};
extern const char *const collective_names[COLLECTIVES + 1];

struct collective {
	enum collective_kind kind;
	enum element element;
	struct comm *comm;
	const void *send;
	void *recv;
	int64_t count;
	int peer;
	const int64_t *send_counts, *send_offsets, *recv_counts, *recv_offsets;
};

/*
 * C[m x n] = alpha op(A) op(B) + beta C, row-major with row strides lda, ldb, ldc.
 * op(A) is m x k. A and B are activations; C is an activation or, when
 * `float_out`, a gradient that is summed in float.
 */
struct gemm {
	bool transpose_a, transpose_b, float_out;
	int64_t m, n, k;
	const void *a, *b;
	void *c;
	int64_t lda, ldb, ldc;
	float alpha, beta;
};

enum grouped_engine { GROUPED_LOOP, GROUPED_API, GROUPED_ENGINES };
extern const char *const grouped_names[GROUPED_ENGINES + 1];

struct adam {
	float rate, beta1, beta2, epsilon;
	float correction1, correction2; /* 1 - beta^step */
};

struct device_facts {
	char name[96];
	char bus_id[32]; /* which device on this host; two ranks must not share one */
	char host[64];
	uint64_t total_bytes, free_bytes;
	int visible;	  /* devices this process sees */
	bool partitioned; /* MIG */
	bool pretended;	  /* `host` is NCCL_HOSTID: ranks that share a GPU on purpose */
	char library[96]; /* versions, for the report */
	char remark[256]; /* what may make the step wait for ever here, or "" */
};

struct backend;
struct backend_ops {
	int abi;
	const char *name;
	size_t act_bytes;
	bool times_count;	  /* false: timings say nothing about the planned machine */
	const char *devices_word; /* "GPU", "slot" */

	/* -1 and error(): no driver, no MPI. Devices that one process per device could use. */
	int (*devices)(struct backend *b);
	int (*open)(struct backend *b, int rank, int world, int local_rank);
	void (*close)(struct backend *b);
	/* Gives up everything in flight; may be called once, by the thread that posts. */
	void (*abort)(struct backend *b);
	void (*describe)(struct backend *b, struct device_facts *facts);
	const char *(*error)(struct backend *b);

	void *(*alloc)(struct backend *b, size_t bytes); /* NULL: no memory */
	void (*release)(struct backend *b, void *memory);
	uint64_t (*free_bytes)(struct backend *b);
	/* Host floats or integers to and from the device; after sync() of all streams. */
	int (*put)(struct backend *b, enum element element, void *to, const void *from, int64_t n);
	int (*get)(struct backend *b, enum element element, void *to, const void *from, int64_t n);
	int (*fill)(struct backend *b, void *to, int byte, size_t bytes);

	/* Collectives. unique_id on rank 0 only; world() and split() post, progress() finishes. */
	int (*unique_id)(struct backend *b, unsigned char id[PROBE_ID_BYTES]);
	enum op_state (*world)(
	    struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm);
	/* Collective over `parent`; color < 0: this rank is in no group, *comm is NULL. */
	enum op_state (*split)(
	    struct backend *b, struct comm *parent, int color, int key, struct comm **comm);
	enum op_state (*collective)(
	    struct backend *b, enum stream stream, const struct collective *c);
	/* DONE: all that was posted on the stream is on its way, so that events may be recorded. */
	enum op_state (*progress)(struct backend *b, enum stream stream);
	/* DONE: all that was posted on the stream is finished. */
	enum op_state (*sync)(struct backend *b, enum stream stream);
	/* Work posted on `later` from now on waits for what is on `earlier`. */
	enum op_state (*depend)(struct backend *b, enum stream later, enum stream earlier);

	/* Computation, on STREAM_COMPUTE. Row counts of 0 are allowed. */
	int (*gemm)(struct backend *b, const struct gemm *gemm);
	int (*grouped)(
	    struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine);
	int (*gather)(struct backend *b, void *out, const void *in, const int32_t *rows, int64_t n,
	    int64_t width); /* out[i] = in[rows[i]]; zero where rows[i] < 0 */
	int (*combine)(struct backend *b, void *out, const void *in, const int32_t *slots,
	    const float *gates, int64_t tokens, int top_k, int64_t width);
	int (*combine_back)(struct backend *b, void *din, float *dgates, const void *dout,
	    const void *in, const int32_t *slots, const float *gates, int64_t tokens, int top_k,
	    int64_t width);
	/* din[t] = sum of the k rows of dout that slots[t] names */
	int (*gather_back)(struct backend *b, void *din, const void *dout, const int32_t *slots,
	    int64_t tokens, int top_k, int64_t width);
	/* pairs (gate, up) of a row of 2*width: silu(gate) * up; din may be `in` */
	int (*swiglu)(struct backend *b, void *out, const void *in, int64_t rows, int64_t width);
	int (*swiglu_back)(struct backend *b, void *din, const void *dout, const void *in,
	    int64_t rows, int64_t width);
	int (*relu2)(struct backend *b, void *out, const void *in, int64_t n);
	int (*relu2_back)(
	    struct backend *b, void *din, const void *dout, const void *in, int64_t n);
	/* The first `width` elements of rows that are `stride` apart; `out` may be `in`. */
	int (*norm)(struct backend *b, void *out, const void *in, const void *scale, int64_t rows,
	    int64_t width, int64_t stride);
	/* din is overwritten and may be dout or `in`; dscale (float) is added to */
	int (*norm_back)(struct backend *b, void *din, float *dscale, const void *dout,
	    const void *in, const void *scale, int64_t rows, int64_t width, int64_t stride);
	/* to[r] += bias[which[r]]: rows `stride` apart; which NULL: the one bias */
	int (*bias)(struct backend *b, void *to, const void *bias, const int32_t *which,
	    int64_t rows, int64_t width, int64_t stride);
	/* dbias[which[r]] += dy[r], in float */
	int (*bias_back)(struct backend *b, float *dbias, const void *dy, const int32_t *which,
	    int64_t rows, int64_t width, int64_t stride);
	/* out[i] = in[i] * sigmoid(gates[i / span]); `out` may be `in` */
	int (*gate)(struct backend *b, void *out, const void *in, const void *gates, int64_t n,
	    int64_t span);
	/* din may be dout; n is a multiple of span */
	int (*gate_back)(struct backend *b, void *din, void *dgates, const void *dout,
	    const void *in, const void *gates, int64_t n, int64_t span);
	/* Rows of `width` elements between rows of other strides. */
	int (*copy)(struct backend *b, void *to, int64_t to_stride, const void *from,
	    int64_t from_stride, int64_t rows, int64_t width);
	int (*add)(struct backend *b, void *to, const void *from, int64_t n);
	/* gates[t][j] = softmax over the chosen experts of the token's logits */
	int (*gates)(struct backend *b, float *gates, const void *logits, const int32_t *chosen,
	    int64_t tokens, int top_k, int64_t experts);
	int (*gates_back)(struct backend *b, void *dlogits, const float *dgates, const float *gates,
	    const int32_t *chosen, int64_t tokens, int top_k, int64_t experts);
	/* to += from, in float */
	int (*sum)(struct backend *b, float *to, const float *from, int64_t n);
	/* to[rows[i]] += in[i] in float; nothing where rows[i] < 0, rows may repeat */
	int (*scatter_add)(struct backend *b, float *to, const void *in, const int32_t *rows,
	    int64_t n, int64_t width);
	/*
	 * Cross entropy of logits whose columns are shared out over ranks. Of each row's own
	 * columns: the largest, the sum of exp(logit - largest), the target's logit (0 where
	 * targets[i] < 0, which is: another rank has it).
	 */
	int (*loss_stats)(struct backend *b, float *stats, const void *logits,
	    const int32_t *targets, int64_t rows, int64_t cols);
	/* stats: [ranks][rows][3]. Losses by row; the logits become their gradient. */
	int (*loss)(struct backend *b, float *losses, void *logits, const float *stats, int ranks,
	    const int32_t *targets, int64_t rows, int64_t cols);
	int (*adam)(struct backend *b, void *weights, float *master, float *m, float *v,
	    const float *gradient, int64_t n, const struct adam *adam);

	/* Marks a moment on a stream; elapsed() after sync() of that stream, < 0: no time. */
	int (*mark)(struct backend *b, int event, enum stream stream);
	/* Whether the stream has come as far as the mark. */
	bool (*passed)(struct backend *b, int event);
	double (*elapsed)(struct backend *b, int from, int to);
};
enum { PROBE_EVENTS = 4096 };

/* Whether the launcher started the ranks as MPI's. */
enum mpi_ranks { MPI_NONE, MPI_PERHAPS, MPI_RANKS };

struct backend {
	const struct backend_ops *ops; /* open() may put another table of the backend here */
	void *state;		       /* the backend's */
	/* Known when open() is called: */
	enum mpi_ranks mpi;
	const char *master; /* rank 0's address as this rank sees it; NULL on rank 0 */
};

/* The one symbol of a backend's shared object. */
typedef const struct backend_ops *probe_entry_fn(void);
#define PROBE_ENTRY "moeplan_backend"

#endif
