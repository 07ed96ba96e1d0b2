// The guarded accesses of guarded_copy.h for x86-64: all instructions that may access a missing
// page.
//
// Each range of such instructions has a row in the recovery table at the end, and the signal
// handler only moves the program counter from the range to the recovery label of the row. So an
// access that succeeds has no extra cost, and one that fails has its whole state in registers: no
// thread-local state, no jump buffer.
//
// Vector moves with aligned stores instead of `rep movsb`: on some processors the latter is 25
// times slower for some combinations of the low address bits, and no faster for the others.

#if defined(__x86_64__)

.macro FUNCTION name
  .p2align 6
  .globl \name
  .hidden \name
  .type \name, @function
\name:
  .cfi_startproc
.endm

.macro END_FUNCTION name
  .cfi_endproc
  .size \name, . - \name
.endm

// Copies four vectors of `step` bytes at `index`. All loads come before all stores.
.macro COPY_FOUR move, vector, step, index
  \move 0*\step(%rsi,\index), %\vector\()0
  \move 1*\step(%rsi,\index), %\vector\()1
  \move 2*\step(%rsi,\index), %\vector\()2
  \move 3*\step(%rsi,\index), %\vector\()3
  \move %\vector\()0, 0*\step(%rdi,\index)
  \move %\vector\()1, 1*\step(%rdi,\index)
  \move %\vector\()2, 2*\step(%rdi,\index)
  \move %\vector\()3, 3*\step(%rdi,\index)
.endm

// Copies more than 4 * step bytes: one unaligned vector, then blocks of four with aligned stores,
// then the last four, which overlap the previous ones.
.macro COPY_LONG move, vector, step
  \move (%rsi), %\vector\()0
  \move %\vector\()0, (%rdi)
  movl %edi, %ecx
  negl %ecx
  andl $(\step - 1), %ecx
  movl %ecx, %eax
  leaq -4*\step(%rdx), %rcx
  jmp 1f
  .p2align 5
0:
  COPY_FOUR \move, \vector, \step, %rax
  addq $(4*\step), %rax
1:
  cmpq %rcx, %rax
  jb 0b
  COPY_FOUR \move, \vector, \step, %rcx
  movq %rdx, %rax
.endm

  .text

// RawCopy Copy(void* to, const void* from, size_t size)
//
//   rdi, rsi, rdx   to, from, size: never changed, so recovery can rely on them
//   rax             bytes surely copied, at every instruction: an interrupt can occur at any
//   result          rax: bytes copied; rdx: the address that is missing when rax < size
FUNCTION verbena_guarded_copy
  xorl %eax, %eax
.Lplain:
  cmpq $16, %rdx
  jb .Lunder_16
  cmpq $32, %rdx
  ja .Lover_32
  movups (%rsi), %xmm0
  movups -16(%rsi,%rdx), %xmm1
  movups %xmm0, (%rdi)
  movups %xmm1, -16(%rdi,%rdx)
  movq %rdx, %rax
  ret

.Lunder_16:
  cmpl $8, %edx
  jb .Lunder_8
  movq (%rsi), %rcx
  movq -8(%rsi,%rdx), %r8
  movq %rcx, (%rdi)
  movq %r8, -8(%rdi,%rdx)
  movq %rdx, %rax
  ret

.Lunder_8:
  cmpl $4, %edx
  jb .Lstep
  movl (%rsi), %ecx
  movl -4(%rsi,%rdx), %r8d
  movl %ecx, (%rdi)
  movl %r8d, -4(%rdi,%rdx)
  movq %rdx, %rax
  ret

.Lover_32:
  cmpq $64, %rdx
  ja .Lover_64
  movups (%rsi), %xmm0
  movups 16(%rsi), %xmm1
  movups -32(%rsi,%rdx), %xmm2
  movups -16(%rsi,%rdx), %xmm3
  movups %xmm0, (%rdi)
  movups %xmm1, 16(%rdi)
  movups %xmm2, -32(%rdi,%rdx)
  movups %xmm3, -16(%rdi,%rdx)
  movq %rdx, %rax
  ret

.Lover_64:
  cmpq $128, %rdx
  jbe .Llong_narrow
  cmpb $0, verbena_guarded_copy_wide(%rip)
  jne .Lwide
.Llong_narrow:
  COPY_LONG movups, xmm, 16
  ret
.Lplain_end:

.Lwide:
  COPY_LONG vmovdqu, ymm, 32
.Lwide_end:
  vzeroupper
  ret

// A fast path met a missing page. rax has the number of bytes that are surely copied. Continuing
// from there in small steps finds the exact missing byte and its side; if the page is mapped again
// meanwhile, the copy completes. Words of the target are stored atomically, as in the fast paths,
// because programs poll words that a peer writes.
.Lrecover_wide:
  vzeroupper
.Lstep:
  cmpq %rdx, %rax
  jae .Lbytes_done
  leaq (%rdi,%rax), %rcx
  testb $7, %cl
  jne .Lbyte
  leaq 8(%rax), %rcx
  cmpq %rdx, %rcx
  ja .Lbyte
.Lword:
  movq (%rsi,%rax), %r8
  movq %r8, (%rdi,%rax)
.Lword_end:
  movq %rcx, %rax
  jmp .Lstep
.Lbyte:
  movzbl (%rsi,%rax), %ecx
.Lstore:
  movb %cl, (%rdi,%rax)
  incq %rax
  jmp .Lstep
.Lbytes_done:
  ret

.Lmissing_from:
  leaq (%rsi,%rax), %rdx
  ret
.Lmissing_to:
  leaq (%rdi,%rax), %rdx
  ret
END_FUNCTION verbena_guarded_copy

// Word accesses. Aligned 8-byte moves are atomic on this architecture, and a locked instruction is
// a full fence. Results: rax: the previous value; rdx: 1 if the page is missing.

.macro WORD_FUNCTION name
  FUNCTION \name
  xorl %edx, %edx
.endm

.Lwords:
// RawWord Load(const void* word)
WORD_FUNCTION verbena_guarded_load
  movq (%rdi), %rax
  ret
END_FUNCTION verbena_guarded_load

// RawWord Exchange(void* word, uint64_t value)
WORD_FUNCTION verbena_guarded_exchange
  movq %rsi, %rax
  xchgq %rax, (%rdi)
  ret
END_FUNCTION verbena_guarded_exchange

// RawWord FetchAdd(void* word, uint64_t addend)
WORD_FUNCTION verbena_guarded_fetch_add
  movq %rsi, %rax
  lock xaddq %rax, (%rdi)
  ret
END_FUNCTION verbena_guarded_fetch_add

// RawWord CompareAndSwap(void* word, uint64_t expected, uint64_t desired)
FUNCTION verbena_guarded_compare_and_swap
  movq %rsi, %rax
  movq %rdx, %rcx
  xorl %edx, %edx
  lock cmpxchgq %rcx, (%rdi)
  ret
.Lwords_end:
.Lmissing_word:
  movl $1, %edx
  ret
END_FUNCTION verbena_guarded_compare_and_swap

// struct Recovery { uintptr_t begin, end, resume; }
//
// The ranges include the branches between the accesses, because valgrind sometimes reports the
// branch to an instruction instead of the instruction.
  .section .data.rel.ro, "aw", @progbits
  .p2align 3
  .globl verbena_guarded_recoveries, verbena_guarded_recoveries_end
  .hidden verbena_guarded_recoveries, verbena_guarded_recoveries_end
verbena_guarded_recoveries:
  .quad .Lplain, .Lplain_end, .Lstep
  .quad .Lwide, .Lwide_end, .Lrecover_wide
  .quad .Lstep, .Lword_end, .Lbyte
  .quad .Lbyte, .Lstore, .Lmissing_from
  .quad .Lstore, .Lbytes_done, .Lmissing_to
  .quad .Lwords, .Lwords_end, .Lmissing_word
verbena_guarded_recoveries_end:

#endif

  .section .note.GNU-stack, "", @progbits
