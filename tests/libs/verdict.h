/* What the tests of libs/ share: a check that says what failed and counts, and the runtime's functions that they call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_LIBS_VERDICT_H
#define AW_TEST_LIBS_VERDICT_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaDeviceSynchronize(void);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
int cudaGraphExecDestroy(void *exec);
int cudaGraphDestroy(void *graph);

static int failures, checks;

/* Thread-safe.  What failed is printed up to the twentieth; all of it where the environment has CHECK_ALL. */
__attribute__((format(printf, 2, 3))) static inline int check(int good, const char *fmt, ...)
{
    va_list ap;
    __atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
    if (good)
        return 1;
    if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) <= 20 || getenv("CHECK_ALL")) {
        printf("FAIL ");
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        printf("\n");
    }
    return 0;
}

/* Ends a stream's capture: what can be launched of it. */
static inline void *test_captured(void *stream)
{
    void *graph = NULL, *exec = NULL;
    check(cudaStreamEndCapture(stream, &graph) == 0 && graph, "end");
    check(cudaGraphInstantiate(&exec, graph, 0) == 0 && cudaGraphDestroy(graph) == 0, "instantiate");
    return exec;
}

/* Four threads at once, each with `of`, or with its number where that is NULL. */
static inline void test_in_threads(void *(*work)(void *), void *of)
{
    pthread_t thread[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, of ? of : (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

static inline int test_end(const char *name)
{
    printf("%s: %d checks, %d failed\n", name, checks, failures);
    return failures != 0;
}

#endif
