/* Vector code of one function: values, operations, accesses, calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_EMIT_EMIT_H
#define AW_PTX_SIMT_EMIT_EMIT_H

#include "simt/ir.h"

/* ---- value.c */
LLVMValueRef simt_scalar(struct simt_fn *f, LLVMValueRef v);
LLVMValueRef simt_vector(struct simt_fn *f, LLVMValueRef v);
LLVMValueRef simt_delta(struct simt_fn *f, LLVMValueRef v);     /* lanes' distances from the base; NULL = zero */
LLVMValueRef simt_ok(struct simt_fn *f, LLVMValueRef v);        /* NULL = true */
LLVMValueRef simt_splat(struct simt *u, LLVMValueRef s);
LLVMValueRef simt_offset_vec(struct simt *u, const int64_t *off, LLVMTypeRef int_type);
LLVMValueRef simt_const_i32v(struct simt *u, const int *at, int n);
LLVMValueRef simt_bits(struct simt *u, LLVMValueRef mask);      /* i32; 0 above the vector's lanes */
LLVMValueRef simt_all_on(struct simt *u, LLVMValueRef mask);    /* i1: every lane */
LLVMValueRef simt_full(struct simt *u, LLVMValueRef mask);      /* never NULL */
LLVMValueRef simt_mask_and(struct simt *u, LLVMValueRef mask, LLVMValueRef cond); /* inactive lanes' poison stops here */
LLVMValueRef simt_any(struct simt *u, LLVMValueRef mask);
LLVMBasicBlockRef simt_new_block(struct simt_fn *f, const char *name);
void simt_mark_likely(LLVMValueRef branch);
LLVMValueRef simt_phi2(struct simt *u, LLVMValueRef x[2], LLVMBasicBlockRef from[2]);
LLVMValueRef simt_variable(struct simt_fn *f, LLVMTypeRef type); /* in the entry block, so that it is a fixed part of the frame */
LLVMValueRef simt_scratch(struct simt_fn *f, int slot);         /* ptr to 512 bytes that no one holds on to */
LLVMValueRef simt_field(struct simt *u, LLVMValueRef base, size_t offset, LLVMTypeRef type, bool constant);
LLVMValueRef simt_first_lane(struct simt *u, LLVMValueRef mask, bool last); /* i64 */
/* A loop over the active lanes, in order: begin, body at the builder, end. */
struct simt_lanes {
    LLVMBasicBlockRef from, head;
    LLVMValueRef bits, left, lane; /* lane: i64 */
};
void simt_lanes_begin(struct simt_fn *f, LLVMValueRef mask, struct simt_lanes *it);
void simt_lanes_end(struct simt_fn *f, struct simt_lanes *it);
/* Vectors in scratch memory, read or written one lane at a time. */
void simt_spill(struct simt_fn *f, int slot, LLVMValueRef vec);
LLVMValueRef simt_lane_get(struct simt_fn *f, int slot, LLVMTypeRef elem, LLVMValueRef lane);
LLVMTypeRef simt_held_type(struct simt *u, LLVMTypeRef elem);   /* in memory */
void simt_lane_put(struct simt_fn *f, int slot, LLVMValueRef value, LLVMValueRef lane);
LLVMValueRef simt_reload(struct simt_fn *f, int slot, LLVMTypeRef vec_type);

/* ---- op.c */
void simt_op_emit(struct simt_fn *f, LLVMValueRef inst);
/* Builds the operation of `inst` (an instruction or constant expression) on bases or on vectors. */
LLVMValueRef simt_op_build(struct simt_fn *f, LLVMValueRef inst, bool vec);

/* ---- likely_row.c */
/* Neighbouring elements, one for each lane, and who is there. */
struct simt_row {
    LLVMValueRef base;  /* where the first lane's is, a plain pointer, if `ok` */
    LLVMValueRef lanes; /* a mask: may be set for lanes that do not run */
    LLVMValueRef ok;    /* i1: no index wraps; NULL = true */
};
/* Are lanes that run at neighbouring elements of that size, the first one's and those behind?  An i1; NULL: it cannot be asked.
 * *ret_same: does the first lane run, and all others at its element?  NULL: nobody asks. */
LLVMValueRef simt_ask_row(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, struct simt_row *ret, LLVMValueRef *ret_same);
/* The row of the first lane of the mask `rest`, where it could be asked before; some lane is on. */
void simt_ask_row_of(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, LLVMValueRef rest, struct simt_row *ret);

/* ---- quotient.c */
/* A division or remainder of vectors, by floating point; NULL: it is better left to the machine. */
LLVMValueRef simt_quotient_build(struct simt_fn *f, LLVMValueRef inst, LLVMOpcode op);

/* ---- access_way.c */
void simt_load_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_store_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_update_emit(struct simt_fn *f, LLVMValueRef inst); /* an atomicrmw */

/* The ways of access_way.def, wherever they are written; false: it does not fit, and nothing was emitted. */
#define AW_WAY_NONE(name)
#define AW_WAY_OWN(name) bool simt_##name(struct simt_fn *f, LLVMValueRef inst);
#define AW_ACCESS(name, load, store, update, pass, what) \
    AW_WAY_##load(name##_load) AW_WAY_##store(name##_store) AW_WAY_##update(name##_update)
#include "simt/emit/access_way.def"
#undef AW_ACCESS
#undef AW_WAY_NONE
#undef AW_WAY_OWN

/* ---- rmw.c */
void simt_cmpxchg_emit(struct simt_fn *f, LLVMValueRef inst);
/* What an atomic operation makes of `old`, which may be a vector; NULL: it has no plain form. */
LLVMValueRef simt_rmw_value(struct simt *u, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef x);
LLVMValueRef simt_rmw_lane(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef p, LLVMValueRef x); /* one update, as `inst` is */

/* ---- memory.c */
LLVMValueRef simt_address(struct simt_fn *f, LLVMValueRef ptr);   /* of a uniform pointer */
LLVMValueRef simt_addresses(struct simt_fn *f, LLVMValueRef ptr); /* the lanes', a vector */
LLVMValueRef simt_window(struct simt_fn *f, LLVMValueRef at);     /* `at` bytes (i32) into the shared window */
/* What the lanes read as `type` at a load's address and `by` bytes; and writes x to a store's. */
LLVMValueRef simt_gather(struct simt_fn *f, LLVMValueRef inst, LLVMTypeRef type, int64_t by);
LLVMValueRef simt_gather_at(struct simt_fn *f, LLVMValueRef inst, LLVMTypeRef type, LLVMValueRef ptrs); /* bytes at `ptrs` */
void simt_scatter(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x);
/* The same in small code, for what is rare: of the load `inst` at another one's address and `by` bytes, of the store `inst`. */
LLVMValueRef simt_gather_some(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef other, int64_t by);
void simt_scatter_some(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x);
/* May the `bytes` from `first` on be read, between whose first and last one there is nothing but what lanes ask for?  An i1. */
LLVMValueRef simt_may_read_all(struct simt_fn *f, LLVMValueRef first, int64_t bytes);
/* Tells LLVM in which state space a load or store is, whose source address is `ptr`. */
void simt_mark_space(struct simt *u, LLVMValueRef access, LLVMValueRef ptr);
/* A masked load, store, gather or scatter (llvm_version.h); `align` in bytes. */
LLVMValueRef simt_masked(struct simt *u, enum ptx_intrinsic id, LLVMTypeRef types[2], LLVMValueRef args[PTX_MASKED_OPERANDS],
                         unsigned align);
void simt_mark_own(struct simt *u, LLVMValueRef access); /* in neither: in what the runtime says of the block */
LLVMValueRef simt_slice(struct simt *u, LLVMValueRef vec, int first, int n);
LLVMValueRef simt_join(struct simt *u, LLVMValueRef *part, int n, int width); /* `n` vectors of `width`, overwritten */

/* ---- atomic.c */
bool simt_block_scope(struct simt *u, LLVMValueRef inst);        /* of an atomic operation or a fence */
/* no other block's business: may be plain operations */
bool simt_block_owned(struct simt *u, LLVMValueRef inst, LLVMValueRef ptr);

/* ---- check.c */
void simt_check_emit(struct simt_fn *f, LLVMValueRef inst); /* looks at the access of `inst`, if it is one and that is asked
                                                             * for */
/* Which argument of a call says whose access is looked at; -1: it is no such call. */
int simt_check_thread(const struct simt *u, LLVMValueRef x);
/* Where races are looked for: events before and behind an instruction that orders accesses, if it is one. */
void simt_order_before(struct simt_fn *f, LLVMValueRef inst);
void simt_order_behind(struct simt_fn *f, LLVMValueRef inst);

/* ---- debug.c: of code for a debugger, else nothing */
void simt_debug_lanes(struct simt_fn *f);                       /* a block begins */
void simt_debug_line(struct simt_fn *f);                        /* a line does */
void simt_debug_after(struct simt_fn *f, LLVMValueRef inst);    /* that was emitted */
void simt_debug_variable(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef area); /* of a stack variable: its lanes' place */
void simt_debug_lanes_set(struct simt *u, LLVMValueRef block, LLVMValueRef lanes);

/* ---- count.c: of code that counts, else nothing */
void simt_count_warp(struct simt_fn *f);                              /* a function begins */
void simt_count_block(struct simt_fn *f);                             /* a block does */
void simt_count_instruction(struct simt_fn *f, LLVMValueRef inst);    /* that is about to be emitted */
void simt_count_table(struct simt *u);                                /* all has been */

/* ---- alloca.c */
void simt_alloca_emit(struct simt_fn *f, LLVMValueRef inst);

/* ---- prefetch.c */
/* Asks for what a load or store uses in a loop's next round, or a load in the next block, where that pays. */
void simt_prefetch_emit(struct simt_fn *f, LLVMValueRef access);
/* A load of `bytes` at `base` was found to be a row: asks for the row behind it, where a block's warps come to it one after the
 * other. */
void simt_prefetch_row(struct simt_fn *f, LLVMValueRef load, LLVMValueRef base, int64_t bytes);
/* Asks for what a store to the lanes' addresses `ptrs` writes, where that is a column. */
void simt_prefetch_column(struct simt_fn *f, LLVMValueRef store, LLVMValueRef ptrs);

/* ---- lookup_table.c */
/* Of an atomic operation: do lanes only count in a small table of the block?  Then simt_table_count emits it. */
bool simt_table_counts(struct simt_fn *f, LLVMValueRef inst, struct simt_lookup_table *ret);
void simt_table_count(struct simt_fn *f, LLVMValueRef inst, const struct simt_lookup_table *t);
/* Takes addresses in tables that advance in a loop of a source function apart, as `form` would be analysed.  False: u->status
 * says why. */
bool simt_table_split(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- warp_op.c */
bool simt_warpop_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id); /* false: not a warp operation */

/* ---- call.c */
void simt_call_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_set_scalar(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef s);
void simt_set_vector(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef v);
void simt_set_field(struct simt_fn *f, LLVMValueRef inst, unsigned at, LLVMValueRef s, LLVMValueRef v);
void simt_yield_emit(struct simt_fn *f);
void simt_order_emit(struct simt_fn *f, uint32_t what); /* tells the host device: enum aw_host_order */
/* A call of the service at that offset (struct aw_host_services); at most 8 arguments. */
LLVMValueRef simt_service(struct simt_fn *f, size_t offset, LLVMTypeRef result, LLVMValueRef *args, unsigned n);

/* ---- serialised.c */
LLVMTypeRef simt_serialised_type(struct simt *u, LLVMValueRef src);
void simt_serialised_emit(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef out); /* a call of what became `out` */

/* ---- host_call.c */
void simt_first_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_all_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_nowrap_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_same_emit(struct simt_fn *f, LLVMValueRef inst); /* what is its argument */

/* ---- function.c */
/* `finish`, where it is not NULL, has a look at the function once it is whole. */
bool simt_function_emit(struct simt *u, LLVMValueRef src, LLVMValueRef out, enum simt_form form,
                        bool (*finish)(struct simt_fn *f));

/* ---- line_table.c */
bool simt_line_tables_begin(struct simt *u);
void simt_line_tables_end(struct simt *u);
void simt_line_tables_function(struct simt *u, LLVMValueRef src, LLVMValueRef out); /* src NULL: none; before `out` has code */
bool simt_line_tables_is_of(struct simt *u, struct aw_str function); /* is it that, by its mangled name, that is emitted? */
void simt_line_tables_at(struct simt *u, LLVMValueRef inst); /* what is built now stands for this instruction */

/* ---- meet.c */
/* May a barrier of these operands become an end of a loop over the block's warps? */
bool simt_meet_fits(struct simt_fn *f, LLVMValueRef id, LLVMValueRef threads);
/* Stands for a barrier (2 arguments: id, threads) or one that reduces (5: op, active, predicate besides), until all bodies are
 * there. */
LLVMValueRef simt_meet_emit(struct simt *u, LLVMValueRef *args, unsigned n);
/* A place at which warps of the block may meet, if they can: the program does not ask for it. */
void simt_meet_if_can_emit(struct simt *u);
/* Stands for `cond`, or for whether it is true for all warps of the block. */
LLVMValueRef simt_together_emit(struct simt *u, LLVMValueRef cond);
enum simt_private simt_meet_kind(LLVMValueRef x); /* one that is a MEET; NONE (0): no meeting of warps */

#endif
