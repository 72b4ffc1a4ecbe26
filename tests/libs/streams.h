/* A library beside its functions: order in streams, graphs, threads, and that nothing is left behind. A library gives a step:
 * all that it takes, from a handle of its own to the handle's end, to make *x four times as much as work of a stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_LIBS_STREAMS_H
#define AW_TEST_LIBS_STREAMS_H

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>

#include "check.h"

typedef void *test_stream;
int cudaLaunchHostFunc(test_stream stream, void (*fn)(void *), void *user);

typedef void (*test_step)(test_stream stream, float *x);

static inline float *float_on_device(float value)
{
    void *p = NULL;
    cudaMalloc(&p, sizeof value);
    cudaMemcpy(p, &value, sizeof value, 1);
    return p;
}

static inline float float_of_device(const float *at)
{
    float value = 0;
    cudaMemcpy(&value, at, sizeof value, 2);
    return value;
}

static inline void wait_for_flag(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE))
        ;
}

/* Work queued behind a host function that waits must itself wait. HIP 5.2 waits for earlier work when it takes a callback: not
 * on a card. */
static inline void test_order(test_step step, int on_card)
{
    test_stream stream;
    int flag = on_card;
    float *x = float_on_device(1);
    cudaStreamCreateWithFlags(&stream, 1);
    cudaLaunchHostFunc(stream, wait_for_flag, &flag);
    for (int i = 0; i < 3; i++)
        step(stream, x);
    if (!on_card) {
        float early = 0;
        memcpy(&early, x, sizeof early); /* the host device's memory is the host's */
        check(early == 1, "it did not wait: %g", early);
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    cudaStreamSynchronize(stream);
    check(float_of_device(x) == 64, "order: %g", float_of_device(x));
    cudaStreamDestroy(stream);
    cudaFree(x);
}

static inline void test_graph(test_step step)
{
    test_stream stream;
    float *x = float_on_device(1);
    cudaStreamCreateWithFlags(&stream, 1);
    check(cudaStreamBeginCapture(stream, 0) == 0, "begin");
    step(stream, x);
    void *exec = test_captured(stream);
    check(float_of_device(x) == 1, "capturing computes nothing");
    for (int i = 0; i < 3; i++)
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
    cudaStreamSynchronize(stream);
    check(float_of_device(x) == 64, "graph: %g", float_of_device(x));
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(stream);
    cudaFree(x);
}

struct test_thread {
    test_step step;
    int rounds;
};

static inline void *test_one_thread(void *arg)
{
    const struct test_thread *t = arg;
    test_stream stream;
    float *x = float_on_device(1);
    cudaStreamCreateWithFlags(&stream, 1);
    for (int i = 0; i < t->rounds; i++) {
        float one = 1;
        for (int k = 0; k < 5; k++)
            t->step(stream, x);
        cudaStreamSynchronize(stream);
        check(float_of_device(x) == 1024, "thread: %g", float_of_device(x));
        cudaMemcpy(x, &one, sizeof one, 1);
    }
    cudaStreamDestroy(stream);
    cudaFree(x);
    return NULL;
}

static inline void test_threads(test_step step, int rounds)
{
    test_in_threads(test_one_thread, &(struct test_thread){ step, rounds });
}

/* Handles, queued calls and captured graphs without growth. */
static inline void test_leaks(test_step step, int rounds)
{
    size_t before = 0;
    test_stream stream;
    float *x = float_on_device(0);
    cudaStreamCreateWithFlags(&stream, 1);
    for (int i = 0; i < rounds; i++) {
        void *graph = NULL;
        if (i == rounds / 100) {
            cudaDeviceSynchronize();
            before = mallinfo2().uordblks;
        }
        step(stream, x);
        if (i % 10 == 0) {
            cudaStreamBeginCapture(stream, 0);
            step(stream, x);
            cudaStreamEndCapture(stream, &graph);
            cudaGraphDestroy(graph);
        }
    }
    cudaDeviceSynchronize();
    size_t after = mallinfo2().uordblks;
    check(after < before + 65536, "%d rounds: %zu bytes, then %zu", rounds, before, after);
    cudaStreamDestroy(stream);
    cudaFree(x);
}

#endif
