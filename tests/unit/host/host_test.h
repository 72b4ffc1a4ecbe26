/* The host device's tests: a table of tests run in one process, and what they share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TEST_H
#define HOST_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anywarp/provider.h>

#include "base/status.h"

struct test {
    const char *name;
    void (*run)(void);
};

extern const struct test block_tests[], stream_tests[], fault_tests[], limit_tests[]; /* name NULL ends */

#define P (&aw_provider_host)

/* Records a failure and goes on. */
#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))
/* Compares integers, and prints both. */
#define EQ(a, b) check_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)
void check_failed(const char *file, int line, const char *text);
void check_equal(long long a, long long b, const char *file, int line, const char *text);

/* The body of the chain test's fresh process: opens the device and then faults itself. */
_Noreturn void chain_process(bool handler);

/* A kernel by name; loaded once, kept for the process. */
struct aw_function *kernel(const char *name);
/* The whole file of the kernel's object; owned by the caller. */
unsigned char *kernel_bytes(const char *name, size_t *ret_size);

/* Launches grid x 1 x 1 blocks of `threads` threads with 64-bit arguments. */
extern const void *launch_owner; /* whose the launches are */
int launch(const char *name, uint32_t grid, uint32_t threads, struct aw_stream *stream, unsigned n_args, ...);
int launch_cooperative(const char *name, uint32_t grid, uint32_t threads, struct aw_stream *stream, unsigned n_args, ...);

void *device_alloc(size_t size); /* zeroed */
void device_free(void *p);
uint64_t now_ns(void);
void sleep_ms(unsigned ms);

/* Everything written to a stream (1 or 2) between begin and end; owned by the caller. */
void capture_begin(int fd);
char *capture_end(int fd);

#endif
