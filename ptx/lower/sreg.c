/* Special registers (PTX ISA 10) as SIMT IR.  Clusters are always of one block. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static LLVMValueRef lane_bit(struct ptx_lower *l)
{
    return b_shl(l, b_i32(l, 1), b_and(l, b_simt(l, PTX_SIMT_LANEID, NULL), b_i32(l, 31)));
}

static LLVMValueRef lane_mask(struct ptx_lower *l, enum ptx_sreg sreg)
{
    LLVMValueRef bit = lane_bit(l), below = b_sub(l, bit, b_i32(l, 1));
    switch (sreg) {
    case PTX_SREG_LANEMASK_EQ: return bit;
    case PTX_SREG_LANEMASK_LT: return below;
    case PTX_SREG_LANEMASK_LE: return b_or(l, below, bit);
    case PTX_SREG_LANEMASK_GE: return b_not(l, below);
    default: return b_not(l, b_or(l, below, bit));
    }
}

/* Half of a 64-bit value. */
static LLVMValueRef word(struct ptx_lower *l, enum ptx_simt id, unsigned shift)
{
    LLVMValueRef v = b_simt(l, id, NULL);
    return b_trunc(l, b_lshr(l, v, b_i64(l, shift)), l->i32);
}

/* Shared memory that CUDA keeps for its own libraries: here it follows the kernel's own, where a kernel uses it. */
static LLVMValueRef reserved(struct ptx_lower *l, uint32_t offset)
{
    LLVMValueRef base = ptx_shared_base(l);
    return b_add(l, b_ptrtoint(l, base, l->i32), b_i32(l, l->reserved_shared + offset));
}

static const struct {
    enum ptx_sreg sreg;
    enum ptx_simt simt;
} direct[] = {
    { PTX_SREG_TID_X, PTX_SIMT_TID_X },       { PTX_SREG_TID_Y, PTX_SIMT_TID_Y },
    { PTX_SREG_TID_Z, PTX_SIMT_TID_Z },       { PTX_SREG_NTID_X, PTX_SIMT_NTID_X },
    { PTX_SREG_NTID_Y, PTX_SIMT_NTID_Y },     { PTX_SREG_NTID_Z, PTX_SIMT_NTID_Z },
    { PTX_SREG_CTAID_X, PTX_SIMT_CTAID_X },   { PTX_SREG_CTAID_Y, PTX_SIMT_CTAID_Y },
    { PTX_SREG_CTAID_Z, PTX_SIMT_CTAID_Z },   { PTX_SREG_NCTAID_X, PTX_SIMT_NCTAID_X },
    { PTX_SREG_NCTAID_Y, PTX_SIMT_NCTAID_Y }, { PTX_SREG_NCTAID_Z, PTX_SIMT_NCTAID_Z },
    { PTX_SREG_LANEID, PTX_SIMT_LANEID },     { PTX_SREG_WARPID, PTX_SIMT_WARPID },
    { PTX_SREG_NWARPID, PTX_SIMT_NWARPID },   { PTX_SREG_SMID, PTX_SIMT_SMID },
    { PTX_SREG_NSMID, PTX_SIMT_NSMID },       { PTX_SREG_GRIDID, PTX_SIMT_GRIDID },
    { PTX_SREG_CLOCK64, PTX_SIMT_CLOCK },     { PTX_SREG_GLOBALTIMER, PTX_SIMT_GLOBALTIMER },
    { PTX_SREG_DYNAMIC_SMEM_SIZE, PTX_SIMT_DYNAMIC_SHARED }, { PTX_SREG_TOTAL_SMEM_SIZE, PTX_SIMT_TOTAL_SHARED },
    { PTX_SREG_AGGR_SMEM_SIZE, PTX_SIMT_TOTAL_SHARED },
    /* With clusters of one block, clusters are numbered as blocks are. */
    { PTX_SREG_CLUSTERID_X, PTX_SIMT_CTAID_X },   { PTX_SREG_CLUSTERID_Y, PTX_SIMT_CTAID_Y },
    { PTX_SREG_CLUSTERID_Z, PTX_SIMT_CTAID_Z },   { PTX_SREG_NCLUSTERID_X, PTX_SIMT_NCTAID_X },
    { PTX_SREG_NCLUSTERID_Y, PTX_SIMT_NCTAID_Y }, { PTX_SREG_NCLUSTERID_Z, PTX_SIMT_NCTAID_Z },
};

LLVMValueRef ptx_sreg_value(struct ptx_lower *l, enum ptx_sreg sreg)
{
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        if (direct[i].sreg == sreg)
            return b_simt(l, direct[i].simt, NULL);
    switch (sreg) {
    case PTX_SREG_LANEMASK_EQ:
    case PTX_SREG_LANEMASK_LE:
    case PTX_SREG_LANEMASK_LT:
    case PTX_SREG_LANEMASK_GE:
    case PTX_SREG_LANEMASK_GT: return lane_mask(l, sreg);
    case PTX_SREG_CLOCK: return word(l, PTX_SIMT_CLOCK, 0);
    case PTX_SREG_CLOCK_HI: return word(l, PTX_SIMT_CLOCK, 32);
    case PTX_SREG_GLOBALTIMER_LO: return word(l, PTX_SIMT_GLOBALTIMER, 0);
    case PTX_SREG_GLOBALTIMER_HI: return word(l, PTX_SIMT_GLOBALTIMER, 32);
    case PTX_SREG_RESERVED_SMEM_BEGIN:
    case PTX_SREG_RESERVED_SMEM_0: return reserved(l, 0);
    case PTX_SREG_RESERVED_SMEM_1: return reserved(l, PTX_RESERVED_SHARED / 2);
    case PTX_SREG_RESERVED_SMEM_END:
    case PTX_SREG_RESERVED_SMEM_CAP: return reserved(l, PTX_RESERVED_SHARED);
    case PTX_SREG_IS_EXPLICIT_CLUSTER: return b_bool(l, false);
    case PTX_SREG_CLUSTER_CTAID_X:
    case PTX_SREG_CLUSTER_CTAID_Y:
    case PTX_SREG_CLUSTER_CTAID_Z:
    case PTX_SREG_CLUSTER_CTARANK: return b_i32(l, 0);
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z:
    case PTX_SREG_CLUSTER_NCTARANK: return b_i32(l, 1);
    /* Where CUDA's grid groups look for the memory of their barrier. */
    case PTX_SREG_ENVREG1: return word(l, PTX_SIMT_GRID_WORKSPACE, 32);
    case PTX_SREG_ENVREG2: return word(l, PTX_SIMT_GRID_WORKSPACE, 0);
    /* Fourth components are zero.  Other environment registers are the driver's, counters a profiler's: nobody has set them.  A
     * graph's handle is known in graphs that the device launches, which are none here. */
    case PTX_SREG_TID_W: case PTX_SREG_NTID_W: case PTX_SREG_CTAID_W: case PTX_SREG_NCTAID_W: case PTX_SREG_CLUSTERID_W:
    case PTX_SREG_NCLUSTERID_W: case PTX_SREG_CLUSTER_CTAID_W: case PTX_SREG_CLUSTER_NCTAID_W:
    case PTX_SREG_ENVREG0: case PTX_SREG_ENVREG3 ... PTX_SREG_ENVREG31:
    case PTX_SREG_PM0 ... PTX_SREG_PM7: return b_i32(l, 0);
    case PTX_SREG_PM0_64 ... PTX_SREG_PM7_64:
    case PTX_SREG_CURRENT_GRAPH_EXEC: return b_i64(l, 0);
    default:
        ptx_lower_error(l, l->instr->loc, "special register %s is not supported", ptx_sreg_name(sreg));
        return b_i32(l, 0);
    }
}

static bool operand_reads_reserved(const struct ptx_operand *op)
{
    if (op->kind == PTX_OP_SREG)
        return op->sreg >= PTX_SREG_RESERVED_SMEM_BEGIN && op->sreg <= PTX_SREG_RESERVED_SMEM_1;
    for (uint32_t i = 0; i < op->n_items; i++)
        if (operand_reads_reserved(&op->items[i]))
            return true;
    return false;
}

bool ptx_uses_reserved_shared(const struct ptx_closure *closure)
{
    for (uint32_t f = 0; f < closure->n_funcs; f++)
        for (const struct ptx_stmt *s = closure->funcs[f]->body; s; s = s->next)
            for (uint32_t i = 0; s->kind == PTX_STMT_INSTR && i < s->instr->n_ops; i++)
                if (operand_reads_reserved(&s->instr->ops[i]))
                    return true;
    return false;
}
