/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CUDA_PRIVATE_H
#define MOEPLAN_CUDA_PRIVATE_H

/*
 * What the rooms of the cuda backend share: cuda_device.c (runtime: device, memory, streams,
 * marks), cuda_memory.c (values to and from bf16), cuda_comm.c (NCCL), cuda_gemm.c (cuBLAS),
 * cuda_entries.c (kernels), backend_cuda.c (the table). Each library's header is included by one of
 * them, so that its handles are opaque here; they are what cudaStream_t and so on are names of.
 */
#include "probe/probe.h"

enum { CUDA_MAX_COMMS = 64, CUDA_MAX_GROUPED = 2048, CUDA_SIDE_STREAMS = 4 };

struct CUstream_st;
struct CUevent_st;
struct cublasContext;
struct ncclComm;

struct comm {
	struct ncclComm *nccl;
	int size;
};

struct cuda {
	int device, rank, world;
	struct CUstream_st *streams[STREAMS];
	struct CUevent_st *marks[PROBE_EVENTS], *order[STREAMS];
	struct cublasContext *cublas;
	/* products that need not wait for each other, each stream with a handle of its own */
	struct CUstream_st *side[CUDA_SIDE_STREAMS];
	struct CUevent_st *side_done[CUDA_SIDE_STREAMS];
	struct cublasContext *side_cublas[CUDA_SIDE_STREAMS];
	struct comm comms[CUDA_MAX_COMMS];
	int n_comms;
	struct comm *last[STREAMS]; /* whose operation was posted last; its state is the stream's */
	struct comm *child;	    /* of a split that is going on */
	const void **pointers;	    /* on the device, 3 * CUDA_MAX_GROUPED */
	char remark[256]; /* see device_facts */
	char error[PROBE_TEXT_MAX];
};

/* Into c->error; -1 unless the code is success. `code` is a cudaError_t. */
int cuda_failed(struct cuda *c, int code, const char *what);

/* cuda_device.c */
int cuda_devices(struct backend *b);
int cuda_open(struct backend *b, int rank, int world, int local_rank);
void cuda_close(struct backend *b);
void cuda_describe(struct backend *b, struct device_facts *facts);
const char *cuda_error(struct backend *b);
void *cuda_alloc(struct backend *b, size_t bytes);
void cuda_release(struct backend *b, void *memory);
uint64_t cuda_free_bytes(struct backend *b);
int cuda_fill(struct backend *b, void *to, int byte, size_t bytes);
enum op_state cuda_sync(struct backend *b, enum stream stream);
enum op_state cuda_depend(struct backend *b, enum stream later, enum stream earlier);
bool cuda_passed(struct backend *b, int event);
int cuda_mark(struct backend *b, int event, enum stream stream);
double cuda_elapsed(struct backend *b, int from, int to);
/* Side streams begin behind the computation; the computation goes on behind them. */
int cuda_fork(struct cuda *c, int n);
int cuda_join(struct cuda *c, int n);
/* In order with the computation; what is on the host may be used again when it returns. */
int cuda_upload(struct cuda *c, void *to, const void *from, size_t bytes);
int cuda_download(struct cuda *c, void *to, const void *from, size_t bytes);

/* cuda_memory.c */
int cuda_put(struct backend *b, enum element element, void *to, const void *from, int64_t n);
int cuda_get(struct backend *b, enum element element, void *to, const void *from, int64_t n);

/* cuda_comm.c */
int cuda_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES]);
enum op_state cuda_world(
    struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm);
enum op_state cuda_split(
    struct backend *b, struct comm *parent, int color, int key, struct comm **comm);
enum op_state cuda_collective(struct backend *b, enum stream stream, const struct collective *o);
enum op_state cuda_progress(struct backend *b, enum stream stream);
/* Of all communicators: the first that has failed. */
enum op_state cuda_comms_state(struct cuda *c);
void cuda_abort(struct backend *b);
int cuda_nccl_version(void);

/* cuda_gemm.c */
int cuda_make_cublas(struct backend *b);
void cuda_free_cublas(struct backend *b);
int cuda_gemm(struct backend *b, const struct gemm *g);
int cuda_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine);

#endif
