/* Functions whose control flow is too tangled, or which are too large, to be nested and kept in registers in bounded time: which
 * they are, and the form that they get instead (docs/architecture.md, "Compile time").  For every target, on SIMT IR. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_TANGLE_H
#define AW_PTX_FINISH_TANGLE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "llvm_version.h"

/* Finds them in a module as lowering leaves it, registers in memory, and takes them from LLVM's passes (`optnone`) with each
 * register's values marked as such.  `card`: what LLVM's AMDGPU backend gets wrong or cannot do, too: those with a loop that has
 * several entries, however small, and those of many thousands of blocks, however neat.  AW_OK, with *ret_any set where there are
 * some, or what ptx_passes_run answers. */
int ptx_tangle_find(LLVMModuleRef module, bool card, bool *ret_any, struct aw_buf *diags);
bool ptx_tangle_is(LLVMValueRef fn);
/* LLVM's passes may (not) work on those functions again. */
void ptx_tangle_hold(LLVMModuleRef module, bool hold);
/* `fn` will be inlined into the kernel, which is then such a function, if `fn` is. */
void ptx_tangle_inline(LLVMValueRef fn);
/* Values of registers that more than one block uses go to memory, those of one register to one place.  AW_OK or
 * AW_ERR_OUT_OF_MEMORY. */
int ptx_tangle_demote(LLVMValueRef fn);
/* Puts all their values in memory and gives them their form: a loop that runs one block at a time, for the lanes that are there.
 * `size`: those of more blocks are taken apart into functions of so many each, where that can be; 0: none is.  AW_OK,
 * AW_ERR_OUT_OF_MEMORY or what ptx_passes_run answers. */
int ptx_tangle_take_apart(LLVMModuleRef module, int size, struct aw_buf *diags);
/* The last step of that (dispatch.c): values are in memory, and there are no switches. */
int ptx_tangle_dispatch(LLVMModuleRef module, int size);

/* ---- Parts of theirs as functions (outline.c) */
struct tangle_variable {
    LLVMValueRef variable;
    uint64_t offset;
    LLVMValueRef part, here; /* the part that was looked at last, and the variable's address there */
};

struct tangle_outline {
    struct aw_arena arena;
    bool ok;
    LLVMValueRef fn;
    LLVMTypeRef type;        /* of parts: the function's parameters and its variables' address */
    LLVMValueRef *params;    /* what they are called with */
    unsigned n_params, align;
    AW_VEC(struct tangle_variable) variables;
    struct aw_ptrmap number; /* of a variable, from 1 */
    AW_VEC(LLVMValueRef) parts;
};

bool tangle_outline_is(LLVMValueRef fn);  /* a part? */
bool tangle_outline_can(LLVMValueRef fn); /* no variable is made while it runs */
/* Before any block of `fn` goes to a part, with all its variables there.  False: memory.  tangle_outline_fini in any case. */
bool tangle_outline_begin(struct tangle_outline *o, LLVMValueRef fn);
LLVMValueRef tangle_outline_part(struct tangle_outline *o); /* a new part, without blocks */
void tangle_outline_call(struct tangle_outline *o, LLVMBuilderRef b, LLVMValueRef part);
/* With all blocks where they belong: variables and parameters become those of the part that uses them.  False: memory. */
bool tangle_outline_end(struct tangle_outline *o);
void tangle_outline_fini(struct tangle_outline *o);

/* ---- Their graphs (tangle_order.c) */
struct tangle_graph {
    struct aw_arena arena;
    int n;
    LLVMBasicBlockRef *bb;  /* reverse postorder; 0 is the entry */
    int *first, *succ;      /* successors of i, each once: succ[first[i]] .. succ[first[i + 1] - 1] */
};

/* Each block has a place in an order in which every loop is in one piece, begins with its head and ends with a latch that has a
 * place, but no block.  Loops with several entries have one head as well: ways to the others lead forwards. */
struct tangle_order {
    int n;                  /* places; each is a block's, or a latch's */
    int *block, *head;      /* of a place: the block there, or -1; the block that the latch there leads to, or -1 */
    int *place, *latch;     /* of a block: its place; that of its loop's latch, or -1 where it is no head */
    int *depth;             /* of a place: loops that it is in */
};

bool tangle_graph_make(struct tangle_graph *g, LLVMValueRef fn); /* false: memory.  tangle_graph_fini in any case */
void tangle_graph_fini(struct tangle_graph *g);
bool tangle_order_make(struct tangle_graph *g, struct tangle_order *ret); /* in the graph's arena; false: memory */
/* Where a lane has to go that leaves block `from` for block `to`. */
int tangle_order_next(const struct tangle_order *o, int from, int to);
/* How much there is to take apart: 0 for what is nested, and quickly more the more ways cross. */
uint64_t tangle_cost(struct tangle_graph *g, bool *ret_entries, bool *ret_ok); /* entries: there is a loop with several */

#endif
