/* A call of cuSPARSE as work of a stream: copies of the descriptors, scalars, and the memory they name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_JOB_H
#define AW_LIBS_CUSPARSE_JOB_H

#include "desc.h"
#include "handle.h"

enum { AW_SPARSE_MATRICES = 3, AW_SPARSE_DENSES = 3, AW_SPARSE_SCALARS = 2, AW_SPARSE_ARRAYS = 7, AW_SPARSE_NUMBERS = 8 };

/* While it runs, addresses in the descriptors and `array` are where the host finds the memory. */
struct aw_sparse_job {
    struct aw_lib_job job;
    void (*run)(struct aw_sparse_job *j);
    const char *name; /* of the function, for messages */
    char t;           /* arithmetic: s d c z, or i for int32_t */
    cusparseOperation_t op[2];
    bool device; /* scalars are read on the device */
    bool narrow;              /* they are of this type, and become the arithmetic's */
    cudaDataType scalar_type;
    int8_t scalar_span[AW_SPARSE_SCALARS], matrix_span[AW_SPARSE_MATRICES], dense_span[AW_SPARSE_DENSES],
        array_span[AW_SPARSE_ARRAYS];
    double scalar[AW_SPARSE_SCALARS][2]; /* values of those by the host's pointer, and of narrow ones */
    struct cusparseSpMatDescr m[AW_SPARSE_MATRICES];
    struct cusparseDnMatDescr d[AW_SPARSE_DENSES];
    void *array[AW_SPARSE_ARRAYS];
    int64_t n[AW_SPARSE_NUMBERS]; /* the function's own */
    void *host;                   /* host memory that a call which waits writes its result to, or what the function keeps */
};

/* Begins a job of `name` for a checked handle. */
void aw_sparse_job_init(struct aw_sparse_job *j, cusparseHandle_t handle, const char *name, char t,
                        void (*run)(struct aw_sparse_job *j));
/* Copies a descriptor and names its memory; `pattern` and `values` are AW_LIB_IN, _OUT, both or 0: then it is not touched, nor
 * is what is NULL. */
void aw_sparse_job_matrix(struct aw_sparse_job *j, int k, const struct cusparseSpMatDescr *m, unsigned pattern, unsigned values);
void aw_sparse_job_vector(struct aw_sparse_job *j, int k, const struct cusparseSpVecDescr *v, unsigned values);
void aw_sparse_job_dense(struct aw_sparse_job *j, int k, const struct cusparseDnMatDescr *d, unsigned dir);
void aw_sparse_job_dense_vector(struct aw_sparse_job *j, int k, const struct cusparseDnVecDescr *v, unsigned dir);
/* Scalars that come after are of this type: the arithmetic's, or one that float holds. */
void aw_sparse_job_scalar_type(struct aw_sparse_job *j, cudaDataType type);
/* A scalar, by the handle's pointer mode. */
void aw_sparse_job_scalar(struct aw_sparse_job *j, int k, const void *at);
/* `size` bytes of the program's. */
void aw_sparse_job_array(struct aw_sparse_job *j, int k, const void *at, size_t size, unsigned dir);
/* The same for `rows` rows of `width` bytes, `pitch` apart. */
void aw_sparse_job_rows(struct aw_sparse_job *j, int k, const void *at, size_t width, size_t rows, size_t pitch, unsigned dir);
/* Is the scalar 0, as far as the host can tell? */
bool aw_sparse_job_zero(const struct aw_sparse_job *j, int k);
/* Gives it to the handle's stream; `waits`: the host needs its result, and gets the status that the job has set. What needed
 * memory that is not there has logged it. */
cusparseStatus_t aw_sparse_job_submit(struct aw_sparse_job *j, cusparseHandle_t handle, bool waits);

/* In the job: a scalar's value. */
const void *aw_sparse_job_value(const struct aw_sparse_job *j, int k);
/* Memory for the job's run is out: logged, and the call's status where somebody waits for it. */
void aw_sparse_job_no_memory(struct aw_sparse_job *j);

/* The letter for a type of arithmetic; 0: none is. */
char aw_sparse_letter(cudaDataType compute);
/* The same where half types may be named for it, and sums are in float. */
char aw_sparse_wide_letter(cudaDataType compute);
/* The arithmetic that values of a type are given where the function has no type for it: float for smaller ones. */
char aw_sparse_own_letter(cudaDataType type);
/* Can values of the type be read and written in this arithmetic? */
bool aw_sparse_readable(cudaDataType type, char t);
size_t aw_sparse_letter_size(char t);

#endif
