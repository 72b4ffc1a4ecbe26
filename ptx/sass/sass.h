/* NVIDIA's machine code in, PTX text out: the room's only public interface.
 *
 * A cubin (ELF for the GPU) of sm_70 to sm_90 is opened where it lies in memory, its kernels are listed, and one kernel at a time
 * is lifted to PTX text that the compiler takes like any other.  Knows nothing of LLVM, CUDA or the machine it runs on.  A cubin
 * that was opened is
 * immutable: any number of threads may use it at once.  docs/architecture.md says where the room stands; ptx/tab/sass.def is the
 * truth about instructions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_SASS_H
#define AW_PTX_SASS_SASS_H

#include "base/status.h"
#include "base/str.h"

struct sass_cubin;

/* Opens `size` bytes, which are borrowed until sass_close and never written; only headers and tables are read here, no code.
 * AW_OK; AW_ERR_INVALID_IMAGE (no cubin, or damaged: *ret_why, static text, says what); AW_ERR_NO_BINARY (an architecture that
 * this room does not know; *ret_why); AW_ERR_OUT_OF_MEMORY.  On failure *ret_cubin is NULL. */
enum aw_status sass_open(const void *image, size_t size, struct sass_cubin **ret_cubin, const char **ret_why);
void sass_close(struct sass_cubin *cubin); /* NULL is fine */

/* 75, 80, 86 … */
unsigned sass_arch(const struct sass_cubin *cubin);

/* What a cubin says of a kernel.  Strings point into the image. */
struct sass_kernel_info {
    struct aw_str name;
    uint32_t code_size;    /* bytes; 16 an instruction */
    uint32_t registers;    /* 32-bit registers of a thread */
    uint32_t shared_size;  /* bytes of static shared memory */
    uint32_t local_size;   /* bytes of a thread's frame */
    uint32_t param_size;   /* bytes of the packed parameter buffer */
    uint32_t n_params;
    uint32_t max_ntid[3];  /* 0 = not stated */
    uint32_t req_ntid[3];  /* 0 = not stated */
    uint32_t n_barriers;
};

uint32_t sass_kernel_count(const struct sass_cubin *cubin);
/* `index` below sass_kernel_count; kernels are in the order of the file's symbols. */
void sass_kernel_info(const struct sass_cubin *cubin, uint32_t index, struct sass_kernel_info *ret_info);
/* UINT32_MAX when there is no such kernel. */
uint32_t sass_kernel_find(const struct sass_cubin *cubin, struct aw_str name);

/* Has the cubin functions of CUDA's device runtime by which kernels start kernels?  And may this kernel call them: then its text
 * is for a module of this cubin alone, and calls functions of these names. */
bool sass_starts(const struct sass_cubin *cubin);
bool sass_kernel_starts(const struct sass_cubin *cubin, uint32_t index);

/* Appends a whole PTX module (.version, .target, .address_size; declarations of the variables and functions that the kernel uses;
 * one .entry) to *ret_ptx, with .loc where the cubin has a line table; with `places` everywhere: else places in the code
 * (AW_LINES_OF_CODE).  Variables are `.extern`: sass_lift_variables defines them, once for all kernels of a cubin.  AW_OK;
 * AW_ERR_NOT_SUPPORTED (an instruction or construct that the room does not know), AW_ERR_INVALID_IMAGE (damaged code or tables):
 * then one line of "KERNEL+0xOFFSET: OPCODE: what", or "KERNEL: FUNCTION+0xOFFSET: …" of a function's code, without newline is
 * appended to *ret_error, and nothing to *ret_ptx; AW_ERR_OUT_OF_MEMORY.  A failure is this kernel's alone. */
enum aw_status sass_lift(const struct sass_cubin *cubin, uint32_t index, bool places, struct aw_buf *ret_ptx,
                         struct aw_buf *ret_error);

/* The same, but that the variables are in the text, with their bytes, and so are those whose addresses are in them: it can be
 * compiled by itself.  Who compiles several kernels so has variables of each apart. */
enum aw_status sass_lift_whole(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *ret_ptx, struct aw_buf *ret_error);

/* Appends a PTX module with an .entry for each kernel: parameters, limits and static shared memory, and no code but a return.  It
 * takes no look at code.  AW_OK; AW_ERR_OUT_OF_MEMORY. */
enum aw_status sass_lift_entries(const struct sass_cubin *cubin, struct aw_buf *ret_ptx);

/* Appends a PTX module with that kernel's .entry, of which the first statement is a pragma that says why there is no code: who
 * compiles the kernel refuses it with that line, and others beside it are not touched.  AW_OK; AW_ERR_OUT_OF_MEMORY. */
enum aw_status sass_lift_refused(const struct sass_cubin *cubin, uint32_t index, struct aw_str why, struct aw_buf *ret_ptx);

/* Appends a PTX module that defines the cubin's .global and .const variables, with their initial bytes and addresses, and as a
 * .global variable each kernel's own constants (bank 2). */
enum aw_status sass_lift_variables(const struct sass_cubin *cubin, struct aw_buf *ret_ptx, struct aw_buf *ret_error);

/* Appends a readable listing of the kernel's code, a line an instruction: " 0x0010 @!P0 IADD3 R2, R4, 0x10, RZ".  What the table
 * does not know is listed as bytes.  Returns how many instructions that were. */
uint32_t sass_list(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *ret_text);

#endif
