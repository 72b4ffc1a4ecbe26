/* Programs that stand where the compiler should be and do not speak its protocol, or stop doing so: AW_TEST_BAD says
 * how. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "core/jit_protocol.h"

static void hello(uint32_t protocol)
{
    struct aw_jit_hello h = { AW_JIT_MAGIC, protocol, AW_COMPILER_ABI, 0 };
    (void)!write(AW_JIT_FD_SOCKET, &h, sizeof h);
}

/* Reads the request, answers with `reply` and as much garbage as `extra` says, and lingers. */
static void answer(struct aw_jit_reply reply, int extra)
{
    char bytes[4096];
    hello(AW_JIT_PROTOCOL);
    (void)!read(AW_JIT_FD_SOCKET, bytes, sizeof bytes);
    (void)!write(AW_JIT_FD_SOCKET, &reply, sizeof reply);
    memset(bytes, 'x', sizeof bytes);
    (void)!write(AW_JIT_FD_SOCKET, bytes, (size_t)extra);
}

int main(void)
{
    const char *how = getenv("AW_TEST_BAD");
    struct aw_jit_reply ok = { AW_JIT_MAGIC, AW_JIT_OPEN, 0, 0, 100, 0 };
    if (strcmp(how, "dies") == 0)
        return 7;
    if (strcmp(how, "garbage") == 0) {
        for (int i = 0; i < 1000; i++)
            (void)!write(AW_JIT_FD_SOCKET, "garbage ", 8);
    } else if (strcmp(how, "version") == 0) {
        hello(AW_JIT_PROTOCOL + 1);
    } else if (strcmp(how, "magic") == 0) {
        ok.magic++;
        answer(ok, 100);
    } else if (strcmp(how, "operation") == 0) {
        ok.op = AW_JIT_COMPILE;
        answer(ok, 100);
    } else if (strcmp(how, "status") == 0) {
        ok.status = 12345;
        answer(ok, 100);
    } else if (strcmp(how, "huge") == 0) {
        ok.size = UINT64_MAX;
        answer(ok, 100);
    } else if (strcmp(how, "empty") == 0) {
        ok.size = 0;
        answer(ok, 0);
    } else if (strcmp(how, "manifest") == 0) {
        answer(ok, 100); /* 100 bytes that are no manifest */
        pause();
    } else if (strcmp(how, "half") == 0) {
        answer(ok, 50);
        return 0;
    } else if (strcmp(how, "halfhang") == 0) {
        answer(ok, 50);
    } else if (strcmp(how, "mute") == 0) {
        hello(AW_JIT_PROTOCOL);
    }
    for (;;)
        pause();
}
