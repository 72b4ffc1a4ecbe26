/* Inside the host finisher: what its files share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_HOST_HOST_H
#define AW_PTX_FINISH_HOST_HOST_H

#include "base/status.h"
#include "llvm_version.h"
#include "lower/intrinsic.h"
#include "lower/metadata.h"
#include "lower/simt.h"
#include "finish/target.h"

extern const struct ptx_target ptx_target_host;

/* ---- host/math.c */
/* Gives every approximation, memory intrinsic and awkward conversion a body in SIMT IR, but for what ptx_host_avx512 has where
 * that is to be used.  AW_OK, or an error with a line. */
int ptx_host_expand(LLVMModuleRef module, bool avx512, struct aw_buf *diags);
/* Bit casts of small vectors become shifts, so that the scalariser can take all vectors apart. */
void ptx_host_split_vectors(LLVMModuleRef module);

/* ---- host/avx512.c */
enum { PTX_HOST_AS_SET = 4 }; /* rounding argument of intrinsics: as the control register says, which is to nearest */
/* `operation` in struct simt_options, for machines with AVX-512. */
LLVMValueRef ptx_host_avx512(LLVMBuilderRef b, enum ptx_simt id, LLVMValueRef *args);
/* `width` lanes of `vector`, at most 32, from `at` on; those that it does not have are poison.  A scalar has one. */
LLVMValueRef ptx_host_piece(LLVMBuilderRef b, LLVMValueRef vector, unsigned at, unsigned width);
/* The inverse: n pieces, a power of two, one after the other; `pieces` is written over. */
LLVMValueRef ptx_host_join(LLVMBuilderRef b, LLVMValueRef *pieces, unsigned n);
/* One of LLVM's intrinsics on 64 bytes, for all lanes of scalars or vectors of a power of two of lanes; n <= 6 arguments, of
 * which all integers and vectors of 64 bytes go to every call as they are. */
LLVMValueRef ptx_host_in_pieces(LLVMBuilderRef b, const char *intrinsic, LLVMValueRef *args, unsigned n);

/* ---- host/permute.c */
/* `permute` in struct simt_options: by AVX-512's instructions for vectors of 16, AVX2's for vectors of 8. */
LLVMValueRef ptx_host_permute(LLVMBuilderRef b, LLVMValueRef *registers, int n, LLVMValueRef at);

/* ---- host/round.c */
/* Replaces each aw.round.fma.known.f32 by the short way where its operands are known to allow that, else by the result it was
 * given.  AW_OK or ptx_passes_run's. */
int ptx_host_round(LLVMModuleRef module, struct aw_buf *diags);
/* x * y + z, rounded once: scalars or vectors. */
LLVMValueRef ptx_host_fma(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);

/* ---- host/cut_blocks.c */
/* Moves the first `n` instructions of `bb` into a block of their own before it, to which all that came to `bb` comes from now on;
 * LLVM does not join the two again.  Leaves the builder at the end of the new block. */
void ptx_host_move_out(LLVMBuilderRef b, LLVMBasicBlockRef bb, size_t n);

/* ---- host/gather.c */
/* A vector of one constant, of at most 512 elements. */
LLVMValueRef ptx_host_splat(LLVMValueRef constant, unsigned elements);
/* What all elements of a vector are, if they are plainly the same; else NULL. */
LLVMValueRef ptx_host_splatted(LLVMValueRef vector);
/* Is it an integer constant of at most 64 bits?  Then *ret is its value, sign-extended.  `v` may be NULL. */
bool ptx_host_constant(LLVMValueRef v, int64_t *ret);
bool ptx_host_is_op(LLVMValueRef v, LLVMOpcode op);
/* Is `y` the instruction `x`, or in the same block and not far behind it? */
bool ptx_host_soon_after(LLVMValueRef x, LLVMValueRef y);
enum { PTX_HOST_READS = 0x55555555, PTX_HOST_WRITES = 0xaaaaaaaa }; /* bits of LLVM's memory attribute: two for each place */
/* May a call do such things to memory?  Of other functions than LLVM's intrinsics nothing is known. */
bool ptx_host_touches(LLVMValueRef call, uint64_t how);
/* A load that is neither volatile nor atomic. */
bool ptx_host_plain_load(LLVMValueRef instruction);
/* May an instruction write memory, or order what others write? */
bool ptx_host_writes(LLVMValueRef instruction);
/* Is a mask plainly all ones? */
bool ptx_host_all_on(LLVMValueRef mask);

/* ---- host/local.c */
/* Moves the variables that are marked SIMT_LOCAL from the stack to the warp's local memory; *ret_bytes is how many bytes they are
 * in all functions.  After everything else; false: out of memory. */
bool ptx_host_locals(LLVMModuleRef module, uint64_t *ret_bytes);

/* ---- host/checks.c */
/* Code for the vectoriser's checks of accesses (ptx/simt/emit/check.c), with the shadow of memory or without, and with that of
 * what was never written; a block has `static_shared` bytes of shared memory or more.  False: out of
 * memory. */
bool ptx_host_checks(LLVMModuleRef m, bool shadow, bool init, uint32_t static_shared);
/* Parts a block before `x`: what follows goes to the block that is returned.  The builder is left at the first one's end, which
 * has none, with the line it had. */
LLVMBasicBlockRef ptx_host_part(LLVMBuilderRef b, LLVMValueRef x);

/* ---- host/races.c */
/* Likewise, code for who looks for races in shared memory, whose variables `named` names.  After ptx_host_checks. */
bool ptx_host_races(LLVMModuleRef m, LLVMModuleRef named);
/* Optimising passes are to read nothing that the program would not. */
void ptx_host_races_prepare(LLVMModuleRef m);

/* ---- host/lane_ends.c */
/* Calls of aw.check.end where lanes of the kernel go to its end; and what is said of loops in those of aw.check.sync. */
void ptx_host_lane_ends(LLVMValueRef kernel);

/* ---- host/in_place.c */
/* Puts aw.meet before writes of the kernel that other warps' reads may be behind, on cards; `block` is its shape, 0s: any.
 * AW_OK or AW_ERR_OUT_OF_MEMORY. */
int ptx_host_in_place(LLVMValueRef kernel, const uint32_t *block);
/* Do threads of several warps update a place in global memory, all of them, where cards' would do so once? */
bool ptx_host_updates_common(LLVMValueRef kernel, const uint32_t *block);

/* ---- host/grid_init.c */
/* Where blocks set together what they update behind a barrier, the kernel yields there, and has the attribute SIMT_GRID_MEETS.
 * AW_OK or AW_ERR_OUT_OF_MEMORY. */
int ptx_host_grid_init(LLVMValueRef kernel);
/* Is it such a kernel? */
bool ptx_host_sets_together(LLVMValueRef kernel);

/* ---- host/machine.c */
struct ptx_host_machine {
    char cpu[64];
    char *features;    /* LLVM's form; owned, LLVMDisposeMessage */
    bool avx2, avx512; /* avx512: F, BW, DQ and VL */
    bool bmi2;         /* operations on bits of general registers */
    bool byte_shuffles, byte_permutes; /* bytes of a register of 16 (SSSE3) or of 64 (AVX-512 VBMI) come into any order */
    bool gathers;      /* of 32- and 64-bit elements are quicker by the machine's instructions */
    bool slow_masked_stores; /* AVX2's take many times as long as a plain one */
    bool ask_rows;           /* it does not follow rows of a picture by itself: simt_options */
    bool checks;       /* accesses are to be looked at: alignment, and the ends of shared memory */
    bool shadow;       /* and those of other memory by its shadow */
    bool init;         /* and whether what is read was written */
    bool sync;         /* and who comes to barriers: PTX_TARGET_CHECK_SYNC */
    bool race;         /* and those of shared memory for races */
    bool count;        /* blocks of code count their warps and lanes */
    bool debug;        /* code is for a debugger: docs/debugging.md */
    bool quick;        /* it is to be made quickly: quick.c */
};
/* Reads "host" or "host:cpu[,+feature,-feature ...]": LLVM's features, slow-masked-stores, debug, count, quick, and
 * check-accesses and check-memory, which is check-accesses and more, as check-init, check-sync and check-race are more than
 * that.  False: not one of ours or an unknown CPU; *ret then untouched. */
bool ptx_host_machine_parse(const char *target, struct ptx_host_machine *ret);
void ptx_host_machine_fini(struct ptx_host_machine *machine);

/* ---- host/quick.c */
/* Makes a whole module of host code of one lane's view, but for local memory.  *ret_lanes: lanes have stacks of their own;
 * *ret_local: bytes of stack variables of a thread.  AW_OK, an error of LLVM's passes, or AW_ERR_NOT_SUPPORTED with a line that
 * says why there is no such form. */
int ptx_host_quick(LLVMModuleRef module, const struct ptx_finish *finish, bool avx512, LLVMTargetMachineRef machine,
                   bool *ret_lanes, uint32_t *ret_local, struct aw_buf *diags);

/* ---- host/object.c */
/* Reads a relocatable x86-64 ELF object: *ret_soft tells whether it calls functions of ptx_host_soft(); any other undefined
 * symbol is an error that names it.  `stack_bytes` and `local_stack` are written into the object table.  AW_OK or
 * AW_ERR_NOT_SUPPORTED with a line. */
int ptx_host_object_finish(char *bytes, size_t size, uint32_t stack_bytes, uint32_t local_stack, const char *kernel,
                           bool *ret_soft, struct aw_buf *diags);

/* ---- host/soft/bytes.c, host/soft/soft.c */
/* A relocatable object for any x86-64: what LLVM calls where the processor has no instruction (host/soft/soft.c).  Static. */
struct ptx_bytes ptx_host_soft(void);

#endif
