/* GemmEx and its kin: every combination of types against plain loops in double.  Usage: gemmex_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "types.h"

static cublasHandle_t handle;
static int quick;

static void scalar(int type, void *out, double v)
{
    if (type == CUDA_R_64F)
        *(double *)out = v;
    else if (type == CUDA_R_32I)
        *(int *)out = (int)v;
    else if (type == CUDA_R_16F)
        *(unsigned short *)out = v == 0 ? 0 : v == 1 ? 0x3c00 : v == 2 ? 0x4000 : 0x3800; /* 0.5 */
    else
        *(float *)out = (float)v;
}

struct combination {
    int a, c, compute, scale;
};

/* way: 0 plain, 1 strided, 2 arrays of pointers */
static void product(const struct combination *t, int opa, int opb, int m, int n, int k, double alpha, double beta, int way,
                    int on_device)
{
    char what[160];
    int lda = (opa ? k : m) + 1, ldb = (opb ? n : k) + 2, ldc = m + 3, batch = way ? 3 : 1, size = type_bytes(t->c);
    long sa = (long)lda * (opa ? m : k), sb = (long)ldb * (opb ? k : n), sc = (long)ldc * n + 1;
    struct typed a = typed_make(t->a, sa * batch), b = typed_make(t->a, sb * batch), c = typed_make(t->c, sc * batch);
    void *old = malloc((size_t)(sc * batch * size)), *lists[3], *host[3][3], *da = NULL, *db = NULL;
    double va[2], vb[2];
    scalar(t->scale, va, alpha), scalar(t->scale, vb, beta);
    memcpy(old, c.host, (size_t)(sc * batch * size));
    if (alpha == 0) { /* not to be read: NaN in all types but bytes */
        memset(a.host, 0xff, (size_t)(sa * batch * type_bytes(t->a)));
        cudaMemcpy(a.device, a.host, (size_t)(sa * batch * type_bytes(t->a)), 1);
    }
    cudaMalloc(&da, 16), cudaMalloc(&db, 16);
    cudaMemcpy(da, va, 16, 1), cudaMemcpy(db, vb, 16, 1);
    const void *pa = on_device ? da : (void *)va, *pb = on_device ? db : (void *)vb;
    for (int i = 0; i < batch; i++) {
        host[0][i] = (char *)a.device + sa * i * type_bytes(t->a);
        host[1][i] = (char *)b.device + sb * i * type_bytes(t->a);
        host[2][i] = (char *)c.device + sc * i * size;
    }
    for (int l = 0; l < 3; l++) {
        cudaMalloc(&lists[l], sizeof host[l]);
        cudaMemcpy(lists[l], host[l], sizeof host[l], 1);
    }
    cublasSetPointerMode_v2(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    snprintf(what, sizeof what, "types %d %d compute %d op=%d,%d m=%d n=%d k=%d beta=%g way=%d", t->a, t->c, t->compute, opa, opb,
             m, n, k, beta, way);
    int status = way == 0   ? cublasGemmEx(handle, opa, opb, m, n, k, pa, a.device, t->a, lda, b.device, t->a, ldb, pb, c.device,
                                           t->c, ldc, t->compute, -1)
                 : way == 1 ? cublasGemmStridedBatchedEx(handle, opa, opb, m, n, k, pa, a.device, t->a, lda, sa, b.device, t->a,
                                                         ldb, sb, pb, c.device, t->c, ldc, sc, batch, t->compute, -1)
                            : cublasGemmBatchedEx(handle, opa, opb, m, n, k, pa, (const void **)lists[0], t->a, lda,
                                                  (const void **)lists[1], t->a, ldb, pb, (void **)lists[2], t->c, ldc, batch,
                                                  t->compute, -1);
    check(status == 0, "%s: status %d", what, status);
    cudaMemcpy(c.host, c.device, (size_t)(sc * batch * size), 2);
    for (long x = 0; x < sc * batch; x++) {
        long item = x / sc, i = x % sc % ldc, j = x % sc / ldc;
        double want = type_get(t->c, old, x), sum = 0, total = 0;
        if (i < m && j < n) {
            for (int l = 0; l < k && alpha != 0; l++) {
                double term = type_get(t->a, a.host, item * sa + (opa ? l + i * lda : i + l * (long)lda)) *
                              type_get(t->a, b.host, item * sb + (opb ? j + l * (long)ldb : l + j * ldb));
                sum += term;
                total += fabs(term);
            }
            want = alpha * sum + (beta == 0 ? 0 : beta * want);
        }
        double got = type_get(t->c, c.host, x), error = type_error(t->c, want) + total * 1e-6;
        if (!check(fabs(got - want) <= error, "%s: [%ld, %ld] of %ld is %.9g, not %.9g", what, i, j, item, got, want))
            break;
    }
    for (int l = 0; l < 3; l++)
        cudaFree(lists[l]);
    cudaFree(da), cudaFree(db);
    free(old);
    typed_drop(&a), typed_drop(&b), typed_drop(&c);
}

static void statuses(void)
{
    float one = 1, *x = NULL;
    cudaMalloc((void **)&x, 64);
    cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
    check(cublasGemmEx(handle, 0, 0, 1, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_16F, 1, &one, x, CUDA_R_32F, 1,
                       CUBLAS_COMPUTE_32F, 0) == CUBLAS_STATUS_NOT_SUPPORTED,
          "mixed types");
    check(cublasGemmEx(handle, 0, 0, 1, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &one, x, CUDA_R_32F, 1,
                       CUBLAS_COMPUTE_64F, 0) == CUBLAS_STATUS_NOT_SUPPORTED,
          "sums in double");
    check(cublasGemmEx(handle, 0, 0, 2, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &one, x, CUDA_R_32F, 2,
                       CUBLAS_COMPUTE_32F, 0) == CUBLAS_STATUS_INVALID_VALUE,
          "lda");
    check(cublasGemmEx(NULL, 0, 0, 1, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &one, x, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F,
                       0) == CUBLAS_STATUS_NOT_INITIALIZED,
          "no handle");
    cudaFree(x);
}

/* Half vectors: y = A x, strides of elements. */
static void vectors(void)
{
    struct typed a = typed_make(CUDA_R_16F, 35), x = typed_make(CUDA_R_16F, 20), y = typed_make(CUDA_R_32F, 20);
    float alpha = 2, beta = 1, got[20];
    cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
    check(cublasHSSgemvStridedBatched(handle, CUBLAS_OP_T, 5, 7, &alpha, a.device, 5, 35, x.device, 3, 20, &beta, y.device, 2, 20,
                                      1) == 0,
          "gemv");
    cudaMemcpy(got, y.device, sizeof got, 2);
    for (int i = 0; i < 20; i++) {
        double want = type_get(CUDA_R_32F, y.host, i);
        for (int l = 0; l < 5 && i % 2 == 0 && i < 14; l++)
            want += 2 * type_get(CUDA_R_16F, a.host, i / 2 * 5 + l) * type_get(CUDA_R_16F, x.host, 3 * l);
        check(fabs(got[i] - want) < 1e-4, "gemv [%d]: %g, not %g", i, got[i], want);
    }
    typed_drop(&a), typed_drop(&x), typed_drop(&y);
}

int main(int argc, char **argv)
{
    static const struct combination all[] = {
        { CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F },
        { CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F },
        { CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F }, { CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F },
        { CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F }, { CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F },
        { CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F }, { CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I },
        { CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F }, { CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F },
    };
    quick = argc > 1 && !strcmp(argv[1], "quick");
    if (cublasCreate_v2(&handle))
        return 2;
    for (size_t i = 0; i < sizeof all / sizeof *all; i += quick ? 3 : 1)
        for (int way = 0; way < 3; way++)
            for (int op = 0; op < 4; op++) {
                product(&all[i], op & 1, op >> 1, 5, 7, 9, 2, op & 1, way, way == 1);
                if (quick)
                    break;
                product(&all[i], op & 1, op >> 1, 33, 1, 50, 1, 2, way, op == 2);
                product(&all[i], op & 1, op >> 1, 3, 2, 4, 0, 2, way, op == 2);
                product(&all[i], op & 1, op >> 1, 70, 65, 4, 0, 0, way, 0);
                product(&all[i], op & 1, op >> 1, 0, 4, 3, 1, 1, way, 0);
                product(&all[i], op & 1, op >> 1, 3, 4, 0, 1, 1, way, 0);
            }
    if (!quick)
        product(&all[7], 1, 0, 9, 8, 3000, 1, 0, 0, 0); /* more bytes than float sums exactly */
    statuses();
    vectors();
    cublasDestroy_v2(handle);
    return test_end("gemmex");
}
