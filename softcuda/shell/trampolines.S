/* The exports of a shell. Each jumps to the `target` of its slot, with registers and stack as the caller left them. */

#if defined(__x86_64__)
#define NAME(index, name, otherwise)                        \
    .globl name;                                            \
    .type name, @function;                                  \
    .p2align 4;                                             \
    name:                                                   \
    endbr64;                                                \
    jmp *(softcuda_slots + 24 * index + 16)(%rip);          \
    .size name, . - name;
#elif defined(__aarch64__)
#define NAME(index, name, otherwise)                        \
    .globl name;                                            \
    .type name, %function;                                  \
    .p2align 4;                                             \
    name:                                                   \
    bti c;                                                  \
    adrp x16, softcuda_slots + 24 * index + 16;             \
    ldr x16, [x16, :lo12:softcuda_slots + 24 * index + 16]; \
    br x16;                                                 \
    .size name, . - name;
#else
#error "the shells know x86-64 and aarch64 only"
#endif

    .text
    .hidden softcuda_slots
#include NAMES
    .section .note.GNU-stack, "", %progbits
