/* Any bytes as what a client sends to a compiler process: it answers or ends, and does neither beyond the request's bytes.  Seeds
 * are a module and two of its kernels, one module of two texts, and a request for what was never opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "compiler/serve.h"
#include "core/jit_protocol.h"
#include "fuzz.h"

struct client {
    int socket;
    const uint8_t *data;
    size_t size;
};

/* Sends all and then reads what comes, so that neither side waits for the other. */
static void *client_main(void *arg)
{
    const struct client *client = arg;
    char dropped[1 << 16];
    aw_fd_write_all(client->socket, client->data, client->size);
    shutdown(client->socket, SHUT_WR);
    while (read(client->socket, dropped, sizeof dropped) > 0)
        ;
    return NULL;
}

/* Sizes that would have the server wait for bytes by the gigabyte: it takes the memory first. */
static bool modest(const uint8_t *data, size_t size)
{
    struct aw_jit_request head;
    for (size_t at = 0; at + sizeof head <= size; at += sizeof head + head.size) {
        memcpy(&head, data + at, sizeof head);
        if (head.size > size)
            return head.size > AW_JIT_MAX_REQUEST || head.size < (64 << 20);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    pthread_t thread;
    static FILE *quiet;
    if (!quiet && (quiet = fopen("/dev/null", "w")))
        stderr = quiet; /* a line for every broken request; a sanitizer's report goes to the descriptor */
    if (!modest(data, size))
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    struct client client = { ends[0], data, size };
    if (pthread_create(&thread, NULL, client_main, &client) != 0)
        abort();
    aw_compiler_serve(ends[1]);
    shutdown(ends[1], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* ---- Seeds ---- */

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 v = 3;\n"
    ".visible .entry a(.param .u64 p) { .reg .b64 %l; ld.param.u64 %l, [p]; st.global.u32 [%l], 7; ret; }\n"
    ".visible .entry b() { bar.sync 0; ret; }\n";

static void add_open(struct aw_buf *out, uint64_t module, uint32_t n)
{
    struct aw_jit_text head = { sizeof text - 1, 5, 0 };
    struct aw_jit_request request = {
        AW_JIT_MAGIC, AW_JIT_OPEN, { module, 1 }, n * (sizeof head + head.name_len + head.len), n, 0
    };
    aw_buf_add(out, &request, sizeof request);
    for (uint32_t i = 0; i < n; i++) {
        aw_buf_add(out, &head, sizeof head);
        aw_buf_add(out, "a.ptx", head.name_len);
        aw_buf_add(out, text, head.len);
    }
}

static void add_compile(struct aw_buf *out, uint64_t module, const char *target, const char *kernel)
{
    struct aw_jit_options options = {
        .target_len = (uint32_t)strlen(target), .kernel_len = (uint32_t)strlen(kernel), .opt_level = 2, .block = { 32, 0, 0 }
    };
    struct aw_jit_request request = {
        AW_JIT_MAGIC, AW_JIT_COMPILE, { module, 1 }, sizeof options + options.target_len + options.kernel_len, 0, 0
    };
    aw_buf_add(out, &request, sizeof request);
    aw_buf_add(out, &options, sizeof options);
    aw_buf_add(out, target, options.target_len);
    aw_buf_add(out, kernel, options.kernel_len);
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    struct aw_buf out[4] = { 0 };
    unsigned n = 0;
    add_open(&out[0], 5, 1);
    add_compile(&out[0], 5, "x86-64-v3", "a");
    add_open(&out[1], 5, 1);
    add_compile(&out[1], 5, "gfx1030", "b");
    add_compile(&out[1], 5, "x86-64", "none");
    add_open(&out[2], 6, 2);
    add_open(&out[2], 7, 1);
    add_compile(&out[3], 9, "x86-64", "a");
    add_open(&out[3], 9, 1);
    for (; n < 4 && n < max; n++)
        ret_seeds[n] = (struct aw_fuzz_seed){ out[n].ptr, out[n].len };
    return n;
}
