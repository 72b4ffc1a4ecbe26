/* A call of a BLAS-like function: from the arguments and the table's description to a job, or to AMD's library. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_CALL_H
#define AW_LIBS_CUBLAS_CALL_H

#include <string.h>

#include "common/queue.h"
#include "cublas_types.h"

enum aw_blas_kind {
    AW_BLAS_OP, AW_BLAS_OP_T, AW_BLAS_OP_C, AW_BLAS_UPLO, AW_BLAS_DIAG, AW_BLAS_SIDE, /* enumerations */
    AW_BLAS_SIZE, AW_BLAS_COUNT, AW_BLAS_LD, AW_BLAS_INC, AW_BLAS_INC_NOT_0, AW_BLAS_STRIDE, AW_BLAS_BATCH, /* integers */
    AW_BLAS_SCALAR, AW_BLAS_MEMORY, AW_BLAS_STRIDED, AW_BLAS_POINTERS, /* pointers */
};
/* Beside AW_LIB_IN: read where beta is not 0; or where the scalar before it is not, else any address will do. */
enum { AW_BLAS_BETA = 4, AW_BLAS_SCALED = 8 };

enum aw_blas_shape { AW_BLAS_MATRIX, AW_BLAS_VECTOR, AW_BLAS_PACKED };
enum aw_blas_style { AW_BLAS_SUBROUTINE, AW_BLAS_RETURNS, AW_BLAS_OWN };

enum { AW_BLAS_ARGS = 18, AW_BLAS_MEMORIES = 3, AW_BLAS_SCALARS = 5 };

union aw_blas_value {
    int64_t i;
    void *p;
};

/* Elements. */
struct aw_blas_extent {
    int64_t rows, cols;
    enum aw_blas_shape shape;
};

struct aw_blas_arg {
    uint8_t kind;
    uint8_t dir;   /* AW_LIB_IN, _OUT, AW_BLAS_BETA, _SCALED */
    char type;     /* of a scalar: T, R, i or l */
    int8_t n;      /* elements of a scalar; of memory: which argument is its leading dimension or increment, or -1 */
    int8_t stride; /* which argument is its stride, or -1 */
};

/* A line of blas.tab. */
struct aw_blas_row {
    uint8_t n_args;
    int8_t beta, batch; /* which argument, or -1 */
    uint8_t style;
    void (*shape)(const union aw_blas_value *v, struct aw_blas_extent *ret); /* of memory, in the order of the arguments */
    struct aw_blas_arg args[AW_BLAS_ARGS];
};

struct aw_blas_call;

/* A function of one. */
struct aw_blas_function {
    const struct aw_blas_row *row;
    const char *name;
    char type; /* s, d, c or z */
    const char *cpu;
    void (*own)(const struct aw_blas_call *call, const union aw_blas_value *v);
    const char *amd;
    void *cpu_at, *amd_at; /* found at the first call; atomic */
};

/* A job. */
struct aw_blas_call {
    struct aw_lib_job job;
    const struct aw_blas_function *f;
    union aw_blas_value v[AW_BLAS_ARGS]; /* as given; those of memory are in job.spans */
    bool device;              /* scalars are in the device's memory, and so among the spans */
    int64_t batch;
    double scalar[AW_BLAS_SCALARS][5]; /* values of scalars by the host's pointer, in the order of the arguments */
};

/* Checks the arguments (all but the handle), and does it in the handle's stream. */
cublasStatus_t aw_blas_call(struct aw_blas_function *f, cublasHandle_t handle, const union aw_blas_value v[]);

/* What the processor computes itself: `v` as in the table, with scalars and memory as addresses. */
void aw_blas_own_scasum(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_dotu(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_dotc(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_geam(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_dgmm(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_spmm(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_syr2(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_syrkx(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_tpttr(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_trttp(const struct aw_blas_call *call, const union aw_blas_value *v);
void aw_blas_own_trmm(const struct aw_blas_call *call, const union aw_blas_value *v);

#endif
