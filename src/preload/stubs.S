/* The stubs that redirected runtime functions jump to: per runtime and name one of 16 bytes, in the order of the table of names.
 *
 *     jmp  *slot(%rip)     6 bytes; the slot holds our function, or at first the address of the next instruction
 *     push $number         5 bytes
 *     jmp  resolve         5 bytes
 *
 * resolve keeps every register that can carry an argument, asks aw_redirect_resolve for the address, which also fills the slot,
 * and goes on there with the caller's arguments and return address. */
/* SPDX-License-Identifier: Apache-2.0 */
        .section .note.GNU-stack, "", @progbits

        .text
        .globl  aw_redirect_stubs
        .hidden aw_redirect_stubs
        .p2align 4
aw_redirect_stubs:
        .set    number, 0
.macro AW_STUB
        jmp     *(aw_redirect_slots + 8 * number)(%rip)
        .byte   0x68                    /* push imm32, never the short form */
        .long   number
        .byte   0xe9                    /* jmp rel32, never the short form */
        .long   aw_redirect_enter - . - 4
        .set    number, number + 1
.endm
/* Not the names themselves: only as many stubs as there are rows. */
#define AW_REDIRECT(index, name, mask) AW_STUB;
        .rept   3
#include "redirect_names.inc"
        .endr

        .p2align 4
aw_redirect_enter:
        pushq   %rax
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %r10
        subq    $128, %rsp              /* entry: 8 bytes of return address and 8 of number, so this is 16-byte aligned */
        movups  %xmm0, 0(%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        movl    192(%rsp), %edi
        call    aw_redirect_resolve
        movq    %rax, %r11
        movups  0(%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        addq    $128, %rsp
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %rax
        addq    $8, %rsp
        jmp     *%r11

        .section .rodata
        .globl  aw_redirect_stub_count
        .hidden aw_redirect_stub_count
        .p2align 2
aw_redirect_stub_count:
        .long   number

        .bss
        .globl  aw_redirect_slots
        .hidden aw_redirect_slots
        .p2align 3
aw_redirect_slots:
        .skip   8 * number
