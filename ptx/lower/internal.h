/* What the files of ptx/lower share: the state of one lowering, operand access, and short names for building IR.
 *
 * Every b_* helper appends to the current block and sets no poison-making flag.  Values are of the LLVM type that stands
 * for a PTX type (ptx_llvm_type): integers iN, f32 float, f64 double, f16 half; bf16, f16x2 and bf16x2 are i16 and i32. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_INTERNAL_H
#define AW_PTX_LOWER_INTERNAL_H

#include "base/map.h"
#include "lower/line_table.h"
#include "lower/lower.h"
#include "lower/metadata.h"
#include "lower/simt.h"
#include "tab/form.h"

struct ptx_lower;
#define PTX_LOWERING(id, name) bool ptx_lower_##name(struct ptx_lower *l, const struct ptx_instr *in);
#include "tab/lowerings.inc"
#undef PTX_LOWERING

enum { AS_GENERIC = 0, AS_GLOBAL = 1, AS_SHARED = 3, AS_CONST = 4, AS_LOCAL = 5 };

struct ptx_lower {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    const struct ptx_lower_target *target;
    struct ptx_module *ptx;
    const struct ptx_closure *closure;
    struct aw_arena *arena;       /* scratch until the end of this lowering */
    struct aw_buf *diags;
    uint32_t param_size;          /* of the kernel */
    bool out_of_memory;

    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, f32, f64, void_type;
    LLVMTypeRef ptr[6];           /* by address space */
    LLVMValueRef shared, dynamic; /* @aw.shared, @aw.shared.dynamic; NULL until used */
    uint32_t static_shared;       /* bytes of @aw.shared, with the reserved ones where they are used */
    bool flushing;                /* all f32 arithmetic of the kernel is .ftz, and the machine does it (flush.c) */
    uint32_t reserved_shared;     /* offset of CUDA's reserved shared memory; only where a kernel reads its registers */

    /* The function being lowered. */
    struct ptx_func *func;
    LLVMValueRef fn, kernarg;
    LLVMValueRef arena_int, arena_global, arena_const; /* the module's arena: as i64, ptr addrspace(1), (4) */
    LLVMBasicBlockRef entry;      /* allocas and what must dominate everything */
    LLVMValueRef *regs;           /* n_regs allocas */
    LLVMTypeRef *reg_types;
    struct ptx_fusible *products; /* of each register (fuse.c) */
    unsigned half;                /* of a pair of floats, which one is at hand (float.c) */
    LLVMValueRef carry;           /* the condition code register: alloca of i1; NULL until used */
    LLVMValueRef ret_alloca;      /* formal result; NULL when none */
    LLVMValueRef stack, stack_top; /* alloca's memory and how many bytes of it are taken (allocas); NULL until used */
    struct aw_ptrmap rolled;      /* headers of loops not to be unrolled, seen so far: block -> loop metadata */
    const struct ptx_stmt *labels; /* the first label since the last instruction */
    bool all_rolled;
    const struct ptx_instr *instr;
    struct ptx_lines *lines;      /* NULL = no line table */
    unsigned n_samples;           /* calls of texture samplers so far, in the whole kernel */
    bool members;                 /* the next instruction's operations of a warp get PTX_MEMBERS */
    LLVMValueRef select_guard;    /* registers are written only where this holds; NULL = everywhere */
    /* may matrix products be made by tiles here? (matrix.h) */
    enum ptx_tiles { PTX_TILES_ASK, PTX_TILES_YES, PTX_TILES_NO } tiles;
};

/* ---- Errors: one line in diags with function, place and instruction; returns false. */
bool ptx_lower_error(struct ptx_lower *l, struct ptx_loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "this form is not supported": for combinations that a row's syntax admits but the lowering does not know. */
bool ptx_lower_unsupported(struct ptx_lower *l, const struct ptx_instr *in, const char *what);

/* ---- Types */
/* Fills the type fields from l->context: all that the b_* helpers need beside module and builder. */
void ptx_types_make(struct ptx_lower *l);
LLVMTypeRef ptx_llvm_type(struct ptx_lower *l, enum ptx_type type);
LLVMTypeRef ptx_int_type(struct ptx_lower *l, unsigned bits);
static inline bool ptx_is_float(enum ptx_type t) { return ptx_type_class(t) == 'F'; }
static inline bool ptx_is_signed(enum ptx_type t) { return ptx_type_class(t) == 'S'; }
unsigned ptx_address_space(enum ptx_space space);

/* ---- Operands (operand.c) */
/* Reads as `type`; a wider register is cut.  For PRED, `negate` is applied. */
LLVMValueRef ptx_src(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type);
/* Writes a value of `type`; a wider register gets it sign-extended for signed types, else zero-extended.  Sinks swallow. */
void ptx_dst(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, LLVMValueRef value);
/* Writes `value` and the i1 `pred` into d|p, or `value` into d alone. */
void ptx_dst_pair(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, LLVMValueRef value, LLVMValueRef pred);
/* Bits of any value as iN, and back. */
LLVMValueRef ptx_to_bits(struct ptx_lower *l, LLVMValueRef value);
LLVMValueRef ptx_from_bits(struct ptx_lower *l, LLVMValueRef bits, LLVMTypeRef type);
/* Register or {vector} as `n` elements; n is 1 for a plain operand. */
unsigned ptx_elements(const struct ptx_operand *op, const struct ptx_operand **ret_items);
/* The address of a [mem] operand as a pointer in the address space of `space` (NONE = generic). */
LLVMValueRef ptx_address(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_space space);
/* A variable's address, as a pointer in its own space, and as PTX's 64-bit integer in that space. */
LLVMValueRef ptx_var_pointer(struct ptx_lower *l, const struct ptx_var *var, int64_t offset);
LLVMValueRef ptx_var_integer(struct ptx_lower *l, const struct ptx_var *var, int64_t offset);
/* An exchange of 16 bytes, compared first where `expected` is not NULL, on machines that have no such instruction.  The old
 * value. */
LLVMValueRef ptx_swap_128(struct ptx_lower *l, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef value);
/* @aw.shared, made at first use. */
LLVMValueRef ptx_shared_base(struct ptx_lower *l);
enum { PTX_RESERVED_SHARED = 1024 }; /* bytes, as CUDA has */
/* True when some function of the closure reads a %reserved_smem_ register. */
bool ptx_uses_reserved_shared(const struct ptx_closure *closure);
LLVMValueRef ptx_sreg_value(struct ptx_lower *l, enum ptx_sreg sreg);
/* An alloca of `bytes` (or of `type`) at the head of the function. */
LLVMValueRef ptx_entry_alloca(struct ptx_lower *l, LLVMTypeRef type, unsigned align, const char *name);

/* ---- Control */
/* ---- Loops that are not to be unrolled (loop.c): around a function, before each of its statements in order, for each branch
 * built */
void ptx_loop_begin(struct ptx_lower *l, const struct ptx_func *f);
void ptx_loop_statement(struct ptx_lower *l, const struct ptx_stmt *s);
void ptx_loop_branch(struct ptx_lower *l, LLVMValueRef branch, LLVMBasicBlockRef target);
void ptx_loop_end(struct ptx_lower *l);

/* ---- Registers (registers.c) */
/* Variables in local memory for the function's registers, which start as zero: PTX leaves them unspecified, and LLVM's undef
 * would be worse. */
bool ptx_registers_make(struct ptx_lower *l, struct ptx_func *f);
/* Behind the body: without that zero those that one block uses alone, and writes before it reads them, as nearly all of lifted
 * machine code are.  LLVM makes values of these at once, where any other costs it a walk over the function's blocks. */
bool ptx_registers_trim(struct ptx_lower *l, struct ptx_func *f);

/* ---- Products that are not rounded, as PTX leaves open (fuse.c) */
/* Before the body: finds them.  False: memory is out. */
bool ptx_fuse_find(struct ptx_lower *l, const struct ptx_func *f);
/* An instruction that multiplies two values, which its sum may take. */
void ptx_fuse_product(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef *factors);
/* The sum or difference of an instruction's operands `v`, fused with the product that one of them is; NULL: none is one. */
LLVMValueRef ptx_fuse_sum(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v);

/* True when the current block still lacks a terminator. */
bool ptx_block_open(struct ptx_lower *l);
LLVMBasicBlockRef ptx_block_new(struct ptx_lower *l, const char *name);
void ptx_block_enter(struct ptx_lower *l, LLVMBasicBlockRef block);
bool ptx_lower_instr(struct ptx_lower *l, const struct ptx_instr *in);
LLVMTypeRef ptx_func_type(struct ptx_lower *l, const struct ptx_func *f);
/* What every function of SIMT IR says of itself: for those that the lowering makes of its own. */
void ptx_function_attributes(struct ptx_lower *l, LLVMValueRef fn);
bool ptx_param_is_array(const struct ptx_var *var);
/* Results that the function stores where the caller says: of byte arrays, and where there are several, all. */
bool ptx_results_in_memory(const struct ptx_func *f);

/* ---- Atomics (atom.c) */
/* LLVM's number for a scope: "workgroup", "agent", or "" for the whole system. */
unsigned ptx_scope(struct ptx_lower *l, const char *name);
struct ptx_atomic {
    const struct ptx_instr *in; /* its modifiers name the operation: .add, .min, ... */
    enum ptx_type type;
    LLVMAtomicOrdering order;
    unsigned scope;
};
/* Makes what is at `p`, of that type, the operation's result with `by`, in one step; the old value. */
LLVMValueRef ptx_atomic_update(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef p, LLVMValueRef by);

/* Ends the kernel, and the block of code; or only where `ok` (i1) does not hold. */
void ptx_trap(struct ptx_lower *l, enum aw_status why);
void ptx_trap_unless(struct ptx_lower *l, LLVMValueRef ok, enum aw_status why);
/* ---- Who comes to what waits for others (check.c): before each barrier; before each operation with a member mask */
void ptx_check_barrier(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef id, LLVMValueRef threads);
void ptx_check_members(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef mask);

/* ---- Rounding (round.c): exact results of f32 and f64 arithmetic in PTX's directed modes */
enum ptx_round { PTX_RN, PTX_RZ, PTX_RM, PTX_RP };
enum ptx_round ptx_round_of(const struct ptx_instr *in);
/* `r` is the nearest value to an exact result that is r + t: moves it by one place where the mode asks. */
LLVMValueRef ptx_round_fix(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef r, LLVMValueRef t);
LLVMValueRef ptx_round_add(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ptx_round_mul(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ptx_round_fma(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef ptx_round_div(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ptx_round_sqrt(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a);
/* double to float; double to float rounding to odd, so that a second rounding is exact; hi + lo as one odd double. */
LLVMValueRef ptx_round_f64_f32(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef d);
LLVMValueRef ptx_round_f64_f32_odd(struct ptx_lower *l, LLVMValueRef d);
LLVMValueRef ptx_round_sum_odd(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b);
/* Integer to f32 or f64. */
LLVMValueRef ptx_round_int(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef i, bool is_signed, LLVMTypeRef to);
/* float to half and bfloat (as i16); half and bfloat bits to float. */
LLVMValueRef ptx_f32_to_f16(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef f);
LLVMValueRef ptx_f32_to_bf16(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef f);
LLVMValueRef ptx_bf16_to_f32(struct ptx_lower *l, LLVMValueRef bits);
/* fma in f16 and bf16 with one rounding. */
LLVMValueRef ptx_fma_f16(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef ptx_fma_bf16(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
/* ---- Flushing (flush.c) */
/* Can the machine's flushing mode stand for every .ftz of the kernel? */
bool ptx_flushing_mode(const struct ptx_lower *l);
/* An operation that flushes operands and result without being told: all arithmetic in that mode, some approximations anywhere. */
bool ptx_flushes_itself(const struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type);
/* Such a one whose result may be one of its operands, as x * 1 is. */
bool ptx_flushes_as_operand(const struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type);

/* Subnormals to zero of the same sign; [0,1] with NaN to +0; negative to +0. */
LLVMValueRef ptx_flush(struct ptx_lower *l, LLVMValueRef v);
LLVMValueRef ptx_saturate(struct ptx_lower *l, LLVMValueRef v);
LLVMValueRef ptx_is_nan(struct ptx_lower *l, LLVMValueRef v);
/* min or max with PTX's NaN rules; results NaN are canonical. */
LLVMValueRef ptx_minmax(struct ptx_lower *l, bool max, bool nan, LLVMValueRef a, LLVMValueRef b);

/* ---- Building */
static inline LLVMValueRef b_int(LLVMTypeRef t, uint64_t v) { return LLVMConstInt(t, v, 0); }
static inline LLVMValueRef b_i32(struct ptx_lower *l, uint32_t v) { return LLVMConstInt(l->i32, v, 0); }
static inline LLVMValueRef b_i64(struct ptx_lower *l, uint64_t v) { return LLVMConstInt(l->i64, v, 0); }
static inline LLVMValueRef b_bool(struct ptx_lower *l, bool v) { return LLVMConstInt(l->i1, v, 0); }
/* A constant of the type of `like`. */
static inline LLVMValueRef b_like(LLVMValueRef like, uint64_t v) { return LLVMConstInt(LLVMTypeOf(like), v, 1); }
static inline unsigned b_bits(LLVMValueRef v) { return LLVMGetIntTypeWidth(LLVMTypeOf(v)); }

#define B_BINARY(name, op) \
    static inline LLVMValueRef b_##name(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b) \
    { return LLVMBuild##op(l->builder, a, b, ""); }
B_BINARY(add, Add) B_BINARY(sub, Sub) B_BINARY(mul, Mul) B_BINARY(and, And) B_BINARY(or, Or) B_BINARY(xor, Xor)
B_BINARY(shl, Shl) B_BINARY(lshr, LShr) B_BINARY(ashr, AShr) B_BINARY(udiv, UDiv) B_BINARY(sdiv, SDiv)
B_BINARY(urem, URem) B_BINARY(srem, SRem) B_BINARY(fadd, FAdd) B_BINARY(fsub, FSub) B_BINARY(fmul, FMul)
B_BINARY(fdiv, FDiv)
#undef B_BINARY
#define B_CAST(name, op) \
    static inline LLVMValueRef b_##name(struct ptx_lower *l, LLVMValueRef v, LLVMTypeRef t) \
    { return LLVMBuild##op(l->builder, v, t, ""); }
B_CAST(trunc, Trunc) B_CAST(zext, ZExt) B_CAST(sext, SExt) B_CAST(bitcast, BitCast) B_CAST(fptrunc, FPTrunc)
B_CAST(fpext, FPExt) B_CAST(sitofp, SIToFP) B_CAST(uitofp, UIToFP) B_CAST(inttoptr, IntToPtr)
B_CAST(ptrtoint, PtrToInt) B_CAST(spacecast, AddrSpaceCast)
#undef B_CAST
static inline LLVMValueRef b_not(struct ptx_lower *l, LLVMValueRef v) { return LLVMBuildNot(l->builder, v, ""); }
static inline LLVMValueRef b_neg(struct ptx_lower *l, LLVMValueRef v) { return LLVMBuildNeg(l->builder, v, ""); }
static inline LLVMValueRef b_fneg(struct ptx_lower *l, LLVMValueRef v) { return LLVMBuildFNeg(l->builder, v, ""); }
static inline LLVMValueRef b_icmp(struct ptx_lower *l, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{ return LLVMBuildICmp(l->builder, p, a, b, ""); }
static inline LLVMValueRef b_eq(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b) { return b_icmp(l, LLVMIntEQ, a, b); }
static inline LLVMValueRef b_ne(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b) { return b_icmp(l, LLVMIntNE, a, b); }
static inline LLVMValueRef b_ult(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b) { return b_icmp(l, LLVMIntULT, a, b); }
static inline LLVMValueRef b_slt(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b) { return b_icmp(l, LLVMIntSLT, a, b); }
static inline LLVMValueRef b_fcmp(struct ptx_lower *l, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b)
{ return LLVMBuildFCmp(l->builder, p, a, b, ""); }
static inline LLVMValueRef b_select(struct ptx_lower *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{ return LLVMBuildSelect(l->builder, c, a, b, ""); }
static inline LLVMValueRef b_field(struct ptx_lower *l, LLVMValueRef v, unsigned i)
{ return LLVMBuildExtractValue(l->builder, v, i, ""); }
/* Unsigned integers to a width: zero-extends or cuts.  Signed likewise. */
static inline LLVMValueRef b_resize(struct ptx_lower *l, LLVMValueRef v, LLVMTypeRef t)
{ return LLVMBuildIntCast2(l->builder, v, t, 0, ""); }
static inline LLVMValueRef b_sresize(struct ptx_lower *l, LLVMValueRef v, LLVMTypeRef t)
{ return LLVMBuildIntCast2(l->builder, v, t, 1, ""); }
/* Pointer plus a byte offset. */
LLVMValueRef b_gep(struct ptx_lower *l, LLVMValueRef ptr, LLVMValueRef bytes);
/* An LLVM intrinsic overloaded on `types`: b_intrinsic(l, "llvm.fma", &type, 1, args, 3). */
LLVMValueRef b_intrinsic(struct ptx_lower *l, const char *name, LLVMTypeRef *types, size_t n_types, LLVMValueRef *args,
                         size_t n_args);
LLVMValueRef b_unary(struct ptx_lower *l, const char *intrinsic, LLVMValueRef v);   /* overloaded on its type */
LLVMValueRef b_binary(struct ptx_lower *l, const char *intrinsic, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef b_simt(struct ptx_lower *l, enum ptx_simt id, LLVMValueRef *args);
/* c plus the products of four bytes of a and b; only for targets with PTX_TARGET_DOT4. */
LLVMValueRef ptx_dot4(struct ptx_lower *l, bool a_signed, bool b_signed, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef b_real(LLVMTypeRef t, double v);
LLVMValueRef b_umin(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef b_fma(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);   /* f32 or f64, to nearest */

#endif
