/* Changes a cubin's code: bits of an instruction, another one in its place, or one made of a row of ptx/tab/sass.def, which gets
 * past the decoder.  Changes anywhere else are mutate_once's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass_mutate.h"

#include <string.h>

#include "fuzz.h"
#include "sass/cubin.h"
#include "sass/form.h"

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool one_in(uint64_t *state, unsigned n)
{
    return next(state) % n == 0;
}

/* ---- An instruction of the table */

static void set(uint64_t words[2], unsigned at, unsigned n, uint64_t value)
{
    for (unsigned k = 0; k < n; k++, at++) {
        words[at / 64] &= ~(1ull << at % 64);
        words[at / 64] |= (value >> k & 1) << at % 64;
    }
}

static void set_runs(uint64_t words[2], const uint8_t at[2], const uint8_t n[2], uint64_t value)
{
    set(words, at[0], n[0], value);
    set(words, at[1], n[1], value >> n[0]);
}

static bool means_nothing(const struct sass_modifier_desc *m, uint64_t bits)
{
    return m->values ? m->values[bits] & 128 : bits == 0;
}

/* Mostly what means nothing, so that instructions with one modifier come up as well as such with many; never what the table does
 * not name, where it names anything. */
static void set_modifier(uint64_t words[2], const struct sass_modifier_desc *m, uint64_t *state)
{
    uint64_t bits = 0;
    bool plain = !one_in(state, 4);
    for (unsigned tries = 0; tries < 64; tries++) {
        bits = next(state) & ((1u << (m->n[0] + m->n[1])) - 1);
        if ((!m->values || m->values[bits]) && (!plain || means_nothing(m, bits)))
            break;
    }
    set_runs(words, m->at, m->n, bits);
}

/* Few registers, so that what one instruction writes others read. */
static uint64_t some_register(uint64_t *state)
{
    return one_in(state, 6) ? 255 : one_in(state, 16) ? next(state) : 2 * (next(state) % 8) + one_in(state, 8);
}

static void set_operand(uint64_t words[2], const struct sass_operand_desc *d, uint32_t index, uint32_t n, uint64_t *state)
{
    uint64_t bits = next(state);
    switch (d->kind) {
    case SASS_REG: case SASS_UREG: case SASS_MEM: bits = some_register(state); break;
    case SASS_PRED: case SASS_UPRED: bits = one_in(state, 2) ? SASS_PT : bits; break;
    case SASS_TARGET: bits = ((int64_t)(bits % n) - index - 1) * (SASS_INSN_SIZE / 4); break;
    case SASS_CONST: bits = one_in(state, 4) ? bits % 0x88 : 0x160 / 4 + bits % 3; break;
    case SASS_IMM: bits = one_in(state, 2) ? bits % 33 : bits << 32 | next(state); break;
    default: break;
    }
    set_runs(words, d->at, d->n, bits);
    if (d->kind == SASS_CONST)
        set(words, 54, 5, one_in(state, 4) ? 2 + next(state) % 3 : 0);
    if (d->kind == SASS_MEM)
        set(words, d->flags & SASS_FAR ? 32 : 40, d->flags & SASS_FAR ? 32 : 24, 4 * (next(state) % 16));
    if (d->kind == SASS_MEM && d->ureg_n)
        set(words, d->ureg_at, d->ureg_n, some_register(state));
    const uint8_t signs[] = { d->neg, d->abs };
    for (unsigned k = 0; k < 2; k++)
        if (signs[k])
            set(words, signs[k], 1, one_in(state, 6));
}

void sass_insn_make(uint8_t to[SASS_INSN_SIZE], unsigned arch, uint32_t index, uint32_t n, uint64_t *state)
{
    const struct sass_form *form;
    do
        form = &sass_forms[next(state) % sass_forms_n];
    while (arch < form->first || arch > form->last);
    uint64_t words[2] = { form->usual[0], form->usual[1] };
    set(words, 12, 4, one_in(state, 4) ? next(state) : SASS_PT);
    for (unsigned k = 0; k < form->n_operands; k++)
        if (!form->operands[k].text)
            set_operand(words, &form->operands[k], index, n, state);
    for (unsigned k = 0; k < form->n_modifiers; k++)
        if (!form->modifiers[k].text)
            set_modifier(words, &form->modifiers[k], state);
    for (unsigned k = 0; k < form->n_conds; k++)
        set(words, form->conds[k].at, form->conds[k].n, form->conds[k].value);
    set(words, 0, 12, form->key);
    set(words, 91, 1, form->key >> 12);
    memcpy(to, words, sizeof words);
}

/* ---- Cubins */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    uint64_t state = seed;
    struct sass_cubin *cubin;
    const char *why;
    if (one_in(&state, 8) || sass_open(data, size, &cubin, &why) != AW_OK) /* `data` may be damaged already */
        return LLVMFuzzerMutate(data, size, max);
    uint32_t n_codes = sass_kernel_count(cubin) + cubin->n_functions, i = n_codes ? (uint32_t)(next(&state) % n_codes) : 0;
    const struct sass_code *code = i < cubin->n_functions ? &cubin->functions[i] : &cubin->kernels[i - cubin->n_functions];
    uint32_t n = n_codes ? code->text.size / SASS_INSN_SIZE : 0;
    if (n) {
        uint8_t *text = data + (code->text.ptr - data);
        uint32_t index = (uint32_t)(next(&state) % n);
        uint8_t *to = text + index * SASS_INSN_SIZE, *from = text + next(&state) % n * SASS_INSN_SIZE;
        switch (next(&state) % 8) {
        case 0: memmove(to, from, SASS_INSN_SIZE); break;
        case 1: memmove(to, from, 2); break; /* an opcode with others' operands */
        case 2: to[next(&state) % SASS_INSN_SIZE] = (uint8_t)next(&state); break;
        case 3: to[next(&state) % SASS_INSN_SIZE] ^= (uint8_t)(1u << next(&state) % 8); break;
        default: sass_insn_make(to, cubin->arch, index, n, &state); break;
        }
    }
    sass_close(cubin);
    return size;
}
