/* Just-in-time options: read from the user's arrays, logs and times written back. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/jit.h"
#include "base/clock.h"
#include "base/log.h"

#include <string.h>

enum aw_status aw_abi_jit_read(unsigned n, const CUjit_option *options, void **values, struct aw_jit_options *ret)
{
    *ret = (struct aw_jit_options){ .opt_level = 3 };
    ret->start = aw_clock_ns();
    if (n && (!options || !values))
        return AW_ERR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        unsigned number = (unsigned)(uintptr_t)values[i];
        switch (options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            ret->info.buffer = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            ret->info.size = number;
            ret->info.size_slot = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            ret->error.buffer = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            ret->error.size = number;
            ret->error.size_slot = &values[i];
            break;
        case CU_JIT_WALL_TIME:
            ret->wall_time = (float *)&values[i];
            break;
        case CU_JIT_OPTIMIZATION_LEVEL:
            if (number > 4)
                return AW_ERR_INVALID_VALUE;
            ret->opt_level = number > 3 ? 3 : number;
            break;
        case CU_JIT_GENERATE_DEBUG_INFO:
            if (number)
                ret->opt_level = 0;
            break;
        case CU_JIT_GLOBAL_SYMBOL_NAMES:
        case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
        case CU_JIT_GLOBAL_SYMBOL_COUNT:
            if (options[i] == CU_JIT_GLOBAL_SYMBOL_COUNT && number)
                aw_say(JIT_SYMBOLS);
            break;
        default: /* limits on registers, targets, caching, floating point: advice to another compiler */
            if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
                return AW_ERR_INVALID_VALUE;
            break;
        }
    }
    return AW_OK;
}

static void jit_log_write(struct aw_jit_log *log, const char *text)
{
    size_t length = strlen(text), used = 0;
    if (log->buffer && log->size) {
        used = length < log->size - 1 ? length : log->size - 1;
        memcpy(log->buffer, text, used);
        log->buffer[used] = 0;
    }
    if (log->size_slot)
        *log->size_slot = (void *)(uintptr_t)(used ? used + 1 : 0);
}

void aw_abi_jit_write(struct aw_jit_options *options, enum aw_status status, const char *text)
{
    if (status && !*text)
        text = aw_status_text(status);
    jit_log_write(&options->info, status ? "" : text);
    jit_log_write(&options->error, status ? text : "");
    if (options->wall_time) {
        options->spent += (float)(aw_clock_ns() - options->start) / 1e6f;
        memcpy(options->wall_time, &options->spent, sizeof options->spent);
    }
}

void aw_abi_jit_restart(struct aw_jit_options *options)
{
    options->start = aw_clock_ns();
}

bool aw_abi_jit_listens(const struct aw_jit_options *options)
{
    return options->info.buffer || options->error.buffer;
}
