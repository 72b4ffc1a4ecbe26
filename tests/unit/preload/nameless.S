/* Stands for a program with a runtime linked in whose symbols are to be stripped: functions that call `ready` first and take the
 * address of their name, as those of the API do, and what nvcc's host code calls, of the sizes that the runtime of CUDA 13 has.
 * -DTWICE: a name that two functions have.  -DOTHER: one of the sizes is another.  -DPOINTER: names by way of a word that
 * points to them.  -DMESSAGE: functions of the program's that have such a name in a message, or the
 * text of a call. */
/* SPDX-License-Identifier: Apache-2.0 */
.macro begin
    .balign 16, 0xcc
9:
    .cfi_startproc
.endm

.macro end
    .cfi_endproc
.endm

.macro api name, before=ready
    begin
    call \before
#ifdef POINTER
    movq 2f(%rip), %xmm0
#else
    lea 1f(%rip), %rdi
#endif
    .skip 24, 0x90
    ret
    end
    .pushsection .rodata.str1.1, "aMS", @progbits, 1
1:  .asciz "\name"
    .popsection
#ifdef POINTER
    .pushsection .data.rel.ro, "aw"
    .balign 8
2:  .quad 1b
    .popsection
#endif
.endm

/* `size` bytes that call a function first. */
.macro place size, before=ready
    begin
    call \before
    .skip \size - 6, 0x90
    ret
    end
.endm

    .text
begin
ready:
    ret
end
begin
own:
    ret
end

    api cudaMalloc
    api cudaFree
    api cudaMemcpy
    api cudaDeviceSynchronize
    api cudaGetErrorString
    api cudaGraphInstantiate
#ifdef TWICE
    api cudaFree
#endif
#ifdef MESSAGE
    api cudaMemset, own
    api cudaFree, own
    .rept 9
    api "cudaGetLastError()", own
    .endr
    .rept 40 /* more of them than of the API's */
    api cudaMemset, own
    .endr
#endif

    place 74, own
    .globl first_place
first_place:
    place 43
    place 34
    place 55
    place 123
#ifdef OTHER
    place 124
#else
    place 123
#endif
    place 56
    place 105
    place 215
    place 150, own
    place 162, own
    place 103, own
    place 10, own
    place 10, own
    place 74
    begin
    ret
    end

    .globl main
    begin
main:
    xor %eax, %eax
    ret
    end

#ifdef HOST_ALONE /* a runtime in a library without device code, as bindings for a language are */
    .section .tbss, "awT", @nobits
    .balign 4096
    .zero 4096
#else
    .section .nv_fatbin, "a"
    .balign 8
    .long 0xba55ed50, 0x00100001, 0, 0
#endif
    .section .note.GNU-stack, "", @progbits
