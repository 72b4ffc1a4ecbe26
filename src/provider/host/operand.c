/* Where an instruction's memory operand lies.  The processor says only that something was wrong (a general protection fault)
 * both of an address that is not aligned for the instruction and of one that cannot exist; CUDA has an error for each. Not a
 * disassembler: of an instruction only what leads to its operand is read.  For a signal handler: nothing here allocates or
 * locks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <string.h>
#include <ucontext.h>

struct place {
    const uint8_t *at;
    unsigned x, b;     /* 8 where the index's, the base's register is one of the upper eight */
    unsigned map, opcode;
    bool vex;
};

static int64_t reg(const ucontext_t *uc, unsigned n)
{
    static const int regs[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    return uc->uc_mcontext.gregs[regs[n & 15]];
}

static bool is_prefix(uint8_t c)
{
    return c == 0x66 || c == 0xf2 || c == 0xf3 || c == 0xf0 || c == 0x2e || c == 0x36 || c == 0x3e || c == 0x26;
}

/* From the first byte to the one after the opcode.  Intel's manual, volume 2, 2.1 to 2.3 and 2.7. */
static void opcode_read(struct place *p)
{
    const uint8_t *at = p->at;
    while (is_prefix(*at))
        at++;
    if (*at == 0xc5 || *at == 0xc4 || *at == 0x62) {
        bool two = *at == 0xc5;
        p->vex = true;
        p->x = two || at[1] & 0x40 ? 0 : 8;
        p->b = two || at[1] & 0x20 ? 0 : 8;
        p->map = two ? 1 : at[1] & 7;
        at += two ? 2 : *at == 0xc4 ? 3 : 4;
        p->opcode = *at;
        p->at = at + 1;
        return;
    }
    if ((*at & 0xf0) == 0x40) {
        p->x = *at & 2 ? 8 : 0;
        p->b = *at & 1 ? 8 : 0;
        at++;
    }
    if (*at == 0x0f) {
        at++;
        p->map = *at == 0x38 ? 2 : *at == 0x3a ? 3 : 1;
        at += p->map > 1;
    }
    p->opcode = *at;
    p->at = at + 1;
}

/* Gathers and scatters have many addresses. */
static bool has_vector_index(const struct place *p)
{
    return p->vex && p->map == 2 && ((p->opcode >= 0x90 && p->opcode <= 0x93) || (p->opcode >= 0xa0 && p->opcode <= 0xa3));
}

static int64_t displacement(const uint8_t *at, unsigned mode)
{
    int32_t wide;
    memcpy(&wide, at, mode == 2 ? sizeof wide : 0);
    /* EVEX has the short one in units of the operand, which make no difference here */
    return mode == 2 ? wide : mode == 1 ? (int8_t)*at : 0;
}

bool aw_host_operand_exists(const void *ucontext)
{
    const ucontext_t *uc = ucontext;
    struct place p = { .at = aw_host_context_pc((void *)(uintptr_t)ucontext) };
    opcode_read(&p);
    unsigned modrm = *p.at++, mode = modrm >> 6, rm = modrm & 7;
    int64_t address = 0;
    if (mode == 3 || has_vector_index(&p))
        return false;
    if (rm == 4) {
        unsigned sib = *p.at++, base = sib & 7, index = (sib >> 3 & 7) | p.x;
        if (index != 4)
            address = (int64_t)((uint64_t)reg(uc, index) << (sib >> 6));
        if (base == 5 && mode == 0)
            mode = 2;
        else
            address = (int64_t)((uint64_t)address + (uint64_t)reg(uc, base | p.b));
    } else if (rm == 5 && mode == 0) {
        return true; /* beside the code */
    } else {
        address = reg(uc, rm | p.b);
    }
    address = (int64_t)((uint64_t)address + (uint64_t)displacement(p.at, mode));
    return address >> 47 == 0 || address >> 47 == -1;
}
