/* Any bytes as a fatbin container: walking, choosing, describing and extracting must stay inside them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <anywarp/fatbin.h>

#include "fuzz.h"
#include "unit/fatbin/make_fatbin.h"

static volatile unsigned sink;

/* Reads all that an entry points to. */
static void touch(const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sink += ((const unsigned char *)bytes)[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry e;
    int error;
    size_t whole = aw_fatbin_size(data, size);
    if (whole > size)
        abort();
    while (aw_fatbin_next(data, size, &iter, &e, &error)) {
        if ((const uint8_t *)e.payload < data || e.payload_size > size)
            abort();
        touch(e.payload, e.payload_size);
        touch(e.options, e.options ? e.options_len : 0);
        touch(e.identifier, e.identifier ? e.identifier_len : 0);
        char *bytes;
        size_t len;
        /* sizes beyond this are for the unit test of bombs: here they only cost time */
        if (e.size <= (1 << 20) && aw_fatbin_extract(&e, &bytes, &len) == AW_FATBIN_OK) {
            if (len > e.size || bytes[len] != '\0')
                abort();
            touch(bytes, len);
            free(bytes);
        }
    }
    if (error > 0 || (error == AW_FATBIN_OK && whole == 0))
        abort();
    char text[80];
    aw_fatbin_describe(data, size, text, sizeof text);
    if (strlen(text) >= sizeof text || text[0] == '\0')
        abort();
    if (aw_fatbin_choose_ptx(data, size, 80, &e, &error) && e.kind != AW_FATBIN_PTX)
        abort();
    return 0;
}

static const char ptx[] = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    static const unsigned compressions[] = { MAKE_RAW, MAKE_LZ4, MAKE_ZSTD };
    unsigned n = 0;
    for (; n < 3 && n < max; n++) {
        struct aw_buf out = { 0 };
        make_begin(&out);
        make_add(&out,
                 &(struct make_entry){ .kind = 2, .sm = 80, .text = ptx, .len = sizeof ptx, .compression = compressions[n] });
        make_add(&out, &(struct make_entry){ .kind = 1, .sm = 90, .text = ptx, .len = sizeof ptx, .options = " -g ",
                                             .identifier = "a.cu", .compression = compressions[(n + 1) % 3], .header = 112 });
        make_end(&out, 0);
        ret_seeds[n] = (struct aw_fuzz_seed){ out.ptr, out.len };
    }
    return n;
}
