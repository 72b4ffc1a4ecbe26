/* How NVIDIA's assembler speaks: see ptxas.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ptxas.h"

#include <stdlib.h>

#include "base/setting.h"

enum { AW_CUDA_VERSION = 13000 };

int aw_cuda_version(void)
{
    return (int)aw_setting_number("ANYWARP_DRIVER_VERSION", 2000, 99990, AW_CUDA_VERSION);
}

/* Where ":LINE:COLUMN" begins at the end of `at` (n bytes), or n. */
static size_t place_begin(const char *at, size_t n)
{
    size_t begin = n;
    for (int part = 0; part < 2; part++) {
        size_t digits = begin;
        while (digits > 0 && at[digits - 1] >= '0' && at[digits - 1] <= '9')
            digits--;
        if (digits == begin || digits == 0 || at[digits - 1] != ':')
            return n;
        begin = digits - 1;
    }
    return begin;
}

size_t aw_ptxas_words(const char *diags, const char *file, struct aw_buf *out)
{
    size_t errors = 0;
    for (const char *line = diags; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        const char *error = memmem(line, n, ": error: ", 9), *warning = memmem(line, n, ": warning: ", 11),
                   *mark = error ? error : warning;
        if (!mark) {
            if (!memmem(line, n, ": note: ", 8)) /* names the kernel of the error behind it, as ptxas does not */
                aw_buf_printf(out, "ptxas info    : %.*s\n", (int)n, line);
            continue;
        }
        const char *text = mark + (error ? 9 : 11), *kind = error ? "error   " : "warning ";
        size_t head = (size_t)(mark - line), place = place_begin(line, head);
        int number = place < head ? atoi(line + place + 1) : 0;
        errors += error != NULL;
        if (number)
            aw_buf_printf(out, "ptxas %.*s, line %d; %s: ", file ? (int)strlen(file) : (int)place, file ? file : line, number,
                          kind);
        else
            aw_buf_printf(out, "ptxas %s: ", kind);
        aw_buf_add(out, text, n - (size_t)(text - line));
        aw_buf_add(out, "\n", 1);
    }
    return errors;
}
