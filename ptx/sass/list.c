/* A kernel's code as a listing of our own, for `anywarp dump` and tests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/cubin.h"
#include "sass/insn.h"

uint32_t sass_list(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *ret_text)
{
    const struct sass_bytes *text = &cubin->kernels[index].text;
    uint32_t unknown = 0;
    for (uint32_t at = 0; at < text->size; at += SASS_INSN_SIZE) {
        struct sass_insn insn = { 0 };
        enum sass_decoded decoded = sass_decode(text->ptr + at, at, cubin->arch, &insn);
        aw_buf_printf(ret_text, "  0x%04" PRIx32 "  ", at);
        if (decoded != SASS_UNKNOWN_OPCODE)
            sass_print(&insn, ret_text);
        if (decoded != SASS_DECODED) {
            unknown++;
            aw_buf_printf(ret_text, "%sbytes", decoded == SASS_UNKNOWN_OPCODE ? "" : "  ");
            for (unsigned i = 0; i < SASS_INSN_SIZE; i++)
                aw_buf_printf(ret_text, " %02x", text->ptr[at + i]);
        }
        aw_buf_printf(ret_text, "\n");
    }
    return unknown;
}
