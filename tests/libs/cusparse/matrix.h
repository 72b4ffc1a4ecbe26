/* Sparse matrices for the tests of cuSPARSE: made as dense ones in double, written to the device in any format and type.
 * References are loops over the dense form. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_CUSPARSE_MATRIX_H
#define AW_TEST_CUSPARSE_MATRIX_H

#include <stdint.h>

#include "../check.h"
#include "cusparse.h"

static inline int type_size(cudaDataType t)
{
    return t == CUDA_R_8I                                          ? 1
           : t == CUDA_R_16F || t == CUDA_R_16BF                   ? 2
           : t == CUDA_R_32F || t == CUDA_R_32I || t == CUDA_C_16F ? 4
           : t == CUDA_C_64F                                       ? 16
                                                                   : 8;
}

static inline int type_complex(cudaDataType t)
{
    return t == CUDA_C_16F || t == CUDA_C_32F || t == CUDA_C_64F;
}

/* Numbers as these tests have them, which halves hold exactly, or the nearest below. */
static inline unsigned short half_bits(double v)
{
    int e;
    double m = frexp(fabs(v), &e);
    return v == 0 ? 0 : (unsigned short)((v < 0 ? 0x8000 : 0) | ((e + 14) << 10) | ((int)(m * 2048) & 1023));
}

static inline double half_value(unsigned short h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static inline void value_put(cudaDataType t, void *p, long i, cplx v)
{
    float f = (float)creal(v);
    unsigned bits;
    switch (t) {
    case CUDA_R_8I: ((signed char *)p)[i] = (signed char)creal(v); break;
    case CUDA_R_32I: ((int *)p)[i] = (int)creal(v); break;
    case CUDA_R_16F: ((unsigned short *)p)[i] = half_bits(creal(v)); break;
    case CUDA_C_16F:
        ((unsigned short *)p)[2 * i] = half_bits(creal(v)), ((unsigned short *)p)[2 * i + 1] = half_bits(cimag(v));
        break;
    case CUDA_R_16BF: memcpy(&bits, &f, 4), ((unsigned short *)p)[i] = (unsigned short)(bits >> 16); break;
    default: put(t == CUDA_R_32F ? 's' : t == CUDA_R_64F ? 'd' : t == CUDA_C_32F ? 'c' : 'z', p, i, v);
    }
}

static inline cplx value_get(cudaDataType t, const void *p, long i)
{
    float f;
    unsigned bits;
    switch (t) {
    case CUDA_R_8I: return ((const signed char *)p)[i];
    case CUDA_R_32I: return ((const int *)p)[i];
    case CUDA_R_16F: return half_value(((const unsigned short *)p)[i]);
    case CUDA_C_16F:
        return CMPLX(half_value(((const unsigned short *)p)[2 * i]), half_value(((const unsigned short *)p)[2 * i + 1]));
    case CUDA_R_16BF: bits = (unsigned)((const unsigned short *)p)[i] << 16, memcpy(&f, &bits, 4); return f;
    default: return get(t == CUDA_R_32F ? 's' : t == CUDA_R_64F ? 'd' : t == CUDA_C_32F ? 'c' : 'z', p, i);
    }
}

static inline double type_tolerance(cudaDataType t)
{
    return t == CUDA_R_16F || t == CUDA_C_16F   ? 2e-3
           : t == CUDA_R_16BF                   ? 2e-2
           : t == CUDA_R_32F || t == CUDA_C_32F ? 1e-4
           : t == CUDA_R_8I || t == CUDA_R_32I  ? 0.5
                                                : 1e-11;
}

/* A number that the type has: integers for integers. */
static inline cplx value_any(cudaDataType t)
{
    double re = any();
    return t == CUDA_R_8I || t == CUDA_R_32I ? rint(re * 3) : type_complex(t) ? CMPLX(re, any()) : re;
}

static inline void *upload(const void *from, size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size ? size : 1);
    cudaMemcpy(p, from, size, 1);
    return p;
}

static inline void *index_upload(int wide, const long *v, long n)
{
    void *host = malloc((size_t)(n + 1) * 8);
    for (long i = 0; i < n; i++)
        if (wide)
            ((int64_t *)host)[i] = v[i];
        else
            ((int32_t *)host)[i] = (int32_t)v[i];
    void *p = upload(host, (size_t)n * (wide ? 8 : 4));
    free(host);
    return p;
}

static inline void *values_upload(cudaDataType t, const cplx *v, long n)
{
    void *host = malloc((size_t)(n + 1) * 16);
    for (long i = 0; i < n; i++)
        value_put(t, host, i, v[i]);
    void *p = upload(host, (size_t)n * (size_t)type_size(t));
    free(host);
    return p;
}

static inline cplx *values_download(cudaDataType t, const void *p, long n)
{
    void *host = malloc((size_t)(n + 1) * 16);
    cplx *v = malloc((size_t)(n + 1) * sizeof *v);
    cudaMemcpy(host, p, (size_t)n * (size_t)type_size(t), 2);
    for (long i = 0; i < n; i++)
        v[i] = value_get(t, host, i);
    free(host);
    return v;
}

static inline long *index_download(int wide, const void *p, long n)
{
    void *host = malloc((size_t)(n + 1) * 8);
    long *v = malloc((size_t)(n + 1) * sizeof *v);
    cudaMemcpy(host, p, (size_t)n * (wide ? 8 : 4), 2);
    for (long i = 0; i < n; i++)
        v[i] = wide ? (long)((int64_t *)host)[i] : (long)((int32_t *)host)[i];
    free(host);
    return v;
}

/* Compares n values on the device. */
static inline int values_check(cudaDataType t, const void *p, const cplx *want, long n, const char *what)
{
    cplx *got = values_download(t, p, n);
    int good = 1;
    for (long i = 0; i < n && good; i++)
        good = check(cabs(got[i] - want[i]) <= type_tolerance(t) * (1 + cabs(want[i])), "%s: [%ld] is %g%+gi, not %g%+gi", what,
                     i, creal(got[i]), cimag(got[i]), creal(want[i]), cimag(want[i]));
    free(got);
    return good;
}

/* A sparse matrix: dense[i + j * rows], 0 where nothing is stored. */
struct matrix {
    long rows, cols, nnz; /* elements stored, in blocks and padding too */
    cudaDataType type;
    cusparseFormat_t format;
    int wide, base;
    cplx *dense;
    void *ptr, *ind, *val;
    cusparseSpMatDescr_t descr;
};

enum { BLOCK_ROWS = 2, BLOCK_COLS = 3, SLICE = 4 };

static inline cplx *dense_make(cudaDataType t, long rows, long cols, int percent)
{
    cplx *d = calloc((size_t)(rows * cols + 1), sizeof *d);
    for (long i = 0; i < rows * cols; i++)
        if (any() * 16 + 32 < percent * 65 / 100.0)
            while (d[i] == 0)
                d[i] = value_any(t);
    return d;
}

/* Lists that grow: what a format's arrays hold. */
struct lists {
    long ptr[4096], ind[65536], n_ptr, n_ind, n_val;
    cplx val[65536];
};

static inline void lists_lines(struct lists *l, const struct matrix *m, int columns)
{
    for (long i = 0; i < (columns ? m->cols : m->rows); i++) {
        l->ptr[l->n_ptr++] = l->n_ind + m->base;
        for (long k = 0; k < (columns ? m->rows : m->cols); k++) {
            cplx v = columns ? m->dense[k + i * m->rows] : m->dense[i + k * m->rows];
            if (v != 0)
                l->ind[l->n_ind++] = k + m->base, l->val[l->n_val++] = v;
        }
    }
    l->ptr[l->n_ptr++] = l->n_ind + m->base;
}

/* Elements by columns, so that rows are not in order. */
static inline void lists_coordinates(struct lists *l, const struct matrix *m)
{
    for (long j = 0; j < m->cols; j++)
        for (long i = 0; i < m->rows; i++)
            if (m->dense[i + j * m->rows] != 0) {
                l->ptr[l->n_ptr++] = i + m->base, l->ind[l->n_ind++] = j + m->base;
                l->val[l->n_val++] = m->dense[i + j * m->rows];
            }
}

static inline void lists_blocks(struct lists *l, const struct matrix *m)
{
    for (long bi = 0; bi < m->rows / BLOCK_ROWS; bi++) {
        l->ptr[l->n_ptr++] = l->n_ind + m->base;
        for (long bj = 0; bj < m->cols / BLOCK_COLS; bj++) {
            int any_here = 0;
            for (long k = 0; k < BLOCK_ROWS * BLOCK_COLS; k++)
                any_here |= m->dense[bi * BLOCK_ROWS + k / BLOCK_COLS + (bj * BLOCK_COLS + k % BLOCK_COLS) * m->rows] != 0;
            for (long k = 0; any_here && k < BLOCK_ROWS * BLOCK_COLS; k++)
                l->val[l->n_val++] = m->dense[bi * BLOCK_ROWS + k / BLOCK_COLS + (bj * BLOCK_COLS + k % BLOCK_COLS) * m->rows];
            if (any_here)
                l->ind[l->n_ind++] = bj + m->base;
        }
    }
    l->ptr[l->n_ptr++] = l->n_ind + m->base;
}

static inline void lists_slices(struct lists *l, const struct matrix *m)
{
    for (long s = 0; s * SLICE < m->rows; s++) {
        long found[SLICE] = { 0 }, at[SLICE] = { 0 }, width = 0;
        l->ptr[l->n_ptr++] = l->n_ind + m->base;
        for (long r = 0; r < SLICE && s * SLICE + r < m->rows; r++) {
            for (long j = 0; j < m->cols; j++)
                found[r] += m->dense[s * SLICE + r + j * m->rows] != 0;
            width = found[r] > width ? found[r] : width;
        }
        for (long w = 0; w < width; w++)
            for (long r = 0; r < SLICE; r++) {
                long i = s * SLICE + r;
                while (i < m->rows && at[r] < m->cols && m->dense[i + at[r] * m->rows] == 0)
                    at[r]++;
                int here = i < m->rows && at[r] < m->cols;
                l->ind[l->n_ind++] = here ? at[r] + m->base : -1;
                l->val[l->n_val++] = here ? m->dense[i + at[r] * m->rows] : 0;
                at[r] += here;
            }
    }
    l->ptr[l->n_ptr++] = l->n_ind + m->base;
}

/* Takes `dense` over. */
static inline struct matrix matrix_of(cusparseFormat_t format, cudaDataType type, int wide, int base, long rows, long cols,
                                      cplx *dense)
{
    struct matrix m = { rows, cols, 0, type, format, wide, base, dense, NULL, NULL, NULL, NULL };
    static struct lists l;
    cusparseIndexType_t index = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    long stored = 0;
    int status = 0;
    l.n_ptr = l.n_ind = l.n_val = 0;
    switch (format) {
    case CUSPARSE_FORMAT_COO: lists_coordinates(&l, &m); break;
    case CUSPARSE_FORMAT_BSR: lists_blocks(&l, &m); break;
    case CUSPARSE_FORMAT_SLICED_ELLPACK: lists_slices(&l, &m); break;
    default: lists_lines(&l, &m, format == CUSPARSE_FORMAT_CSC);
    }
    m.ptr = index_upload(wide, l.ptr, l.n_ptr);
    m.ind = index_upload(wide, l.ind, l.n_ind);
    m.val = values_upload(type, l.val, l.n_val);
    m.nnz = l.n_val;
    for (long i = 0; i < rows * cols; i++)
        stored += dense[i] != 0;
    switch (format) {
    case CUSPARSE_FORMAT_CSR:
        status = cusparseCreateCsr(&m.descr, rows, cols, m.nnz, m.ptr, m.ind, m.val, index, index, base, type);
        break;
    case CUSPARSE_FORMAT_CSC:
        status = cusparseCreateCsc(&m.descr, rows, cols, m.nnz, m.ptr, m.ind, m.val, index, index, base, type);
        break;
    case CUSPARSE_FORMAT_COO:
        status = cusparseCreateCoo(&m.descr, rows, cols, m.nnz, m.ptr, m.ind, m.val, index, base, type);
        break;
    case CUSPARSE_FORMAT_BSR:
        status = cusparseCreateBsr(&m.descr, rows / BLOCK_ROWS, cols / BLOCK_COLS, l.n_ind, BLOCK_ROWS, BLOCK_COLS, m.ptr, m.ind,
                                   m.val, index, index, base, type, CUSPARSE_ORDER_ROW);
        break;
    default:
        status = cusparseCreateSlicedEll(&m.descr, rows, cols, stored, m.nnz, SLICE, m.ptr, m.ind, m.val, index, index, base,
                                         type);
    }
    check(status == 0, "create format %d: %d", format, status);
    return m;
}

static inline struct matrix matrix_make(cusparseFormat_t format, cudaDataType type, int wide, int base, long rows, long cols,
                                        int percent)
{
    return matrix_of(format, type, wide, base, rows, cols, dense_make(type, rows, cols, percent));
}

static inline void matrix_drop(struct matrix *m)
{
    check(cusparseDestroySpMat(m->descr) == 0, "destroy");
    cudaFree(m->ptr);
    cudaFree(m->ind);
    cudaFree(m->val);
    free(m->dense);
}

/* Is (i, j) stored?  Of a block, all elements are. */
static inline int matrix_has(const struct matrix *m, long i, long j)
{
    int any_here = m->dense[i + j * m->rows] != 0;
    for (long k = 0; m->format == CUSPARSE_FORMAT_BSR && k < BLOCK_ROWS * BLOCK_COLS; k++)
        any_here |=
            m->dense[i / BLOCK_ROWS * BLOCK_ROWS + k / BLOCK_COLS + (j / BLOCK_COLS * BLOCK_COLS + k % BLOCK_COLS) * m->rows] !=
            0;
    return any_here;
}

/* Element (i, j) of op(dense), which has `rows` rows as stored. */
static inline cplx op_element(const cplx *dense, long rows, int op, long i, long j)
{
    cplx v = op == 0 ? dense[i + j * rows] : dense[j + i * rows];
    return op == 2 ? conj(v) : v;
}

/* The arithmetic for a type, and what a scalar of it is on either side. */
static inline cudaDataType compute_of(cudaDataType t)
{
    return t == CUDA_R_16F || t == CUDA_R_16BF ? CUDA_R_32F : t == CUDA_C_16F ? CUDA_C_32F : t == CUDA_R_8I ? CUDA_R_32I : t;
}

/* A scalar by the handle's pointer mode: on the host, or the device. */
struct scalar {
    char host[16];
    void *device;
};

static inline void *scalar_set(struct scalar *s, cusparseHandle_t handle, cudaDataType compute, cplx v)
{
    cusparsePointerMode_t mode;
    cusparseGetPointerMode(handle, &mode);
    value_put(compute, s->host, 0, v);
    s->device = upload(s->host, 16);
    return mode == CUSPARSE_POINTER_MODE_DEVICE ? s->device : (void *)s->host;
}

#endif
