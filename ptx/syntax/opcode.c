/* The table of instruction spellings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/opcode.h"

#include <stdlib.h>

/* Short keys, and a table of some hundreds of entries: multiply-and-fold over 8 bytes at a time is enough. */
static uint64_t hash_text(struct aw_str s)
{
    uint64_t h = s.len * 0x9e3779b97f4a7c15u, w;
    size_t i = 0;

    for (; i + 8 <= s.len; i += 8) {
        memcpy(&w, s.ptr + i, 8);
        h = (h ^ w) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    for (w = 0; i < s.len; i++)
        w = w << 8 | (unsigned char)s.ptr[i];
    h = (h ^ w) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

void ptx_opcodes_fini(struct ptx_opcodes *table)
{
    free(table->slots);
    *table = (struct ptx_opcodes){ 0 };
}

static bool grow(struct ptx_opcodes *table)
{
    uint32_t cap = table->cap ? table->cap * 2 : 512;
    struct ptx_opcode **slots = calloc(cap, sizeof *slots);

    if (!slots)
        return false;
    for (uint32_t i = 0; i < table->cap; i++) {
        if (!table->slots[i])
            continue;
        uint32_t at = (uint32_t)table->slots[i]->hash & (cap - 1);
        while (slots[at])
            at = (at + 1) & (cap - 1);
        slots[at] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->cap = cap;
    return true;
}

/* "ld.shared::cta.u32" -> "ld" and ".shared::cta", ".u32". */
static struct ptx_opcode *make_opcode(struct aw_arena *arena, struct aw_str text, uint64_t hash)
{
    struct ptx_opcode *op = AW_NEW(arena, struct ptx_opcode);
    const char *p = text.ptr, *end = text.ptr + text.len;
    uint32_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '.';
    struct aw_str *mods = AW_NEW_ARRAY(arena, struct aw_str, n + 1);
    if (!op || !mods)
        return NULL;
    while (p < end && *p != '.')
        p++;
    *op = (struct ptx_opcode){ .hash = hash, .text = text, .mnemonic = { text.ptr, (size_t)(p - text.ptr) }, .mods = mods,
                               .n_mods = n };
    for (uint32_t i = 0; i < n; i++) {
        const char *dot = p++;
        while (p < end && *p != '.')
            p++;
        mods[i] = (struct aw_str){ dot, (size_t)(p - dot) };
    }
    return op;
}

struct ptx_opcode *ptx_opcode_intern(struct ptx_opcodes *table, struct aw_arena *arena, struct aw_str text)
{
    if (table->n * 2 >= table->cap && !grow(table))
        return NULL;
    uint64_t hash = hash_text(text);
    uint32_t at = (uint32_t)hash & (table->cap - 1);
    for (struct ptx_opcode *op; (op = table->slots[at]); at = (at + 1) & (table->cap - 1))
        if (op->hash == hash && aw_str_eq(op->text, text))
            return op;
    struct ptx_opcode *op = make_opcode(arena, text, hash);
    if (!op)
        return NULL;
    table->slots[at] = op;
    table->n++;
    return op;
}
