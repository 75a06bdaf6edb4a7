/* A function for each function in functions.h. It jumps to the function of the same name in the
   shared library, whose address it looks up when it is called for the first time. Arguments stay
   where they are, in registers and on the stack, so that their types and number do not matter. */

.hidden session_tools_load_function

#if defined(__x86_64__)

/* r10 and r11 are free between a caller and a function (System V ABI for AMD64, 3.2.3). */
.macro enter record
  leaq \record(%rip), %r11
  movq (%r11), %r10
  testq %r10, %r10
  jz look_up
  jmp *%r10
.endm

.text
look_up:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r11
  subq $128, %rsp
  movaps %xmm0, (%rsp)
  movaps %xmm1, 16(%rsp)
  movaps %xmm2, 32(%rsp)
  movaps %xmm3, 48(%rsp)
  movaps %xmm4, 64(%rsp)
  movaps %xmm5, 80(%rsp)
  movaps %xmm6, 96(%rsp)
  movaps %xmm7, 112(%rsp)
  movq %r11, %rdi
  call session_tools_load_function
  movq %rax, %r10
  movaps (%rsp), %xmm0
  movaps 16(%rsp), %xmm1
  movaps 32(%rsp), %xmm2
  movaps 48(%rsp), %xmm3
  movaps 64(%rsp), %xmm4
  movaps 80(%rsp), %xmm5
  movaps 96(%rsp), %xmm6
  movaps 112(%rsp), %xmm7
  addq $128, %rsp
  popq %r11
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  popq %rbp
  jmp *%r10

#elif defined(__aarch64__)

/* x16 and x17 are free between a caller and a function (Procedure Call Standard, 6.1.1). */
.macro enter record
  adrp x16, \record
  add x16, x16, :lo12:\record
  ldr x17, [x16]
  cbz x17, look_up
  br x17
.endm

.text
look_up:
  stp x29, x30, [sp, #-16]!
  mov x29, sp
  stp x0, x1, [sp, #-16]!
  stp x2, x3, [sp, #-16]!
  stp x4, x5, [sp, #-16]!
  stp x6, x7, [sp, #-16]!
  stp x8, x16, [sp, #-16]!
  stp q0, q1, [sp, #-32]!
  stp q2, q3, [sp, #-32]!
  stp q4, q5, [sp, #-32]!
  stp q6, q7, [sp, #-32]!
  mov x0, x16
  bl session_tools_load_function
  mov x17, x0
  ldp q6, q7, [sp], #32
  ldp q4, q5, [sp], #32
  ldp q2, q3, [sp], #32
  ldp q0, q1, [sp], #32
  ldp x8, x16, [sp], #16
  ldp x6, x7, [sp], #16
  ldp x4, x5, [sp], #16
  ldp x2, x3, [sp], #16
  ldp x0, x1, [sp], #16
  ldp x29, x30, [sp], #16
  br x17

#else
#error "Add the jump for this processor."
#endif

#define FUNCTION_IN_LIBRARY(library, function) define function, library
#define FUNCTION(library, function) FUNCTION_IN_LIBRARY(number_of_##library, function)
#define number_of_gio 0
#define number_of_secret 1
#define number_of_pam 2
#define number_of_curl 3
#define number_of_fido2 4
#define number_of_pq 5
#define number_of_gcrypt 6

.macro define name, library
  .text
  .globl \name
  .hidden \name
  .type \name, %function
  .balign 16
\name:
  enter record_\name
  .size \name, . - \name
  .section .rodata
text_\name:
  .asciz "\name"
  .data
  .balign 8
record_\name:
  .quad 0
  .quad text_\name
  .quad \library
.endm

#include "functions.h"

.section .note.GNU-stack, "", %progbits
