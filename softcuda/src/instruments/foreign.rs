//! Functions of the program, and threads that they end: by `pthread_exit`, as those of an interpreter do that has ended, or when they
//! are cancelled. The C library would unwind the thread's stack, and cannot unwind what is written in Rust. So each is called through one
//! frame, in assembler, that has a handler registered with the C library. The handler is called before anything here is unwound, and
//! parks the thread for ever: nothing on its stack is used again, or dropped.

use super::cancellation::Deferred;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most arguments.
const MOST: usize = 4;

/// Calls a function of the program's with these words, which are its arguments; what it returns is the first word of its result.
///
/// # Safety
/// `function` is the address of a function that may be called so: each argument and the result are an integer, a pointer or nothing. No
/// lock is held.
pub(crate) unsafe fn call<const COUNT: usize>(function: *const c_void, arguments: [usize; COUNT]) -> usize {
    const { assert!(COUNT <= MOST) };
    let mut words = [0; MOST];
    words[..COUNT].copy_from_slice(&arguments);
    // SAFETY: the caller vouches for it; arguments of these kinds stand in registers, the first in the first.
    unsafe { frame(function, &raw const words) }
}

// GNU's C library and musl export these for `pthread_cleanup_push` of their headers. The place is theirs between the two; 32 bytes.
unsafe extern "C" {
    fn _pthread_cleanup_push(place: *mut c_void, routine: extern "C" fn(*mut c_void), argument: *mut c_void);
    fn _pthread_cleanup_pop(place: *mut c_void, execute: c_int);
}

/// # Safety
/// As for [`call`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn frame(function: *const c_void, words: *const [usize; MOST]) -> usize {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        "push r12",
        ".cfi_offset rbx, -24",
        ".cfi_offset r12, -32",
        "sub rsp, 32",
        "mov rbx, rdi",
        "mov r12, rsi",
        "mov rdi, rsp",
        "lea rsi, [rip + {ended}]",
        "xor edx, edx",
        "call {push}@PLT",
        "mov rdi, [r12]",
        "mov rsi, [r12 + 8]",
        "mov rdx, [r12 + 16]",
        "mov rcx, [r12 + 24]",
        "call rbx",
        "mov rbx, rax",
        "mov rdi, rsp",
        "xor esi, esi",
        "call {pop}@PLT",
        "mov rax, rbx",
        "add rsp, 32",
        "pop r12",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        ended = sym ended,
        push = sym _pthread_cleanup_push,
        pop = sym _pthread_cleanup_pop,
    )
}

/// # Safety
/// As for [`call`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn frame(function: *const c_void, words: *const [usize; MOST]) -> usize {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-64]!",
        ".cfi_def_cfa_offset 64",
        ".cfi_offset w29, -64",
        ".cfi_offset w30, -56",
        "mov x29, sp",
        ".cfi_def_cfa w29, 64",
        "stp x19, x20, [sp, #16]",
        ".cfi_offset w19, -48",
        ".cfi_offset w20, -40",
        "mov x19, x0",
        "mov x20, x1",
        "add x0, sp, #32",
        "adrp x1, {ended}",
        "add x1, x1, :lo12:{ended}",
        "mov x2, xzr",
        "bl {push}",
        "ldp x0, x1, [x20]",
        "ldp x2, x3, [x20, #16]",
        "blr x19",
        "mov x19, x0",
        "add x0, sp, #32",
        "mov w1, wzr",
        "bl {pop}",
        "mov x0, x19",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #64",
        ".cfi_def_cfa wsp, 0",
        "ret",
        ".cfi_endproc",
        ended = sym ended,
        push = sym _pthread_cleanup_push,
        pop = sym _pthread_cleanup_pop,
    )
}

/// What is to be done if the thread is parked: a link of a list in the frames of the thread, the innermost first.
struct Link {
    action: *mut dyn FnMut(),
    outer: *const Link,
}

thread_local! {
    static INNERMOST: Cell<*const Link> = const { Cell::new(std::ptr::null()) };
}

/// Runs `body`; if a function of the program that it calls ends the thread, `parked` is run instead of what would follow.
pub(crate) fn unless_parked<R>(body: impl FnOnce() -> R, parked: impl FnOnce()) -> R {
    let mut parked = Some(parked);
    let mut action = || parked.take().into_iter().for_each(|parked| parked());
    let action: *mut (dyn FnMut() + '_) = &raw mut action;
    // SAFETY: only the lifetime changes; the link is taken off the list before the frame ends.
    let action =
        unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), *mut (dyn FnMut() + 'static)>(action) };
    let link = Link { action, outer: INNERMOST.get() };
    INNERMOST.set(&raw const link);
    let _unlinked = Unlinked(link.outer);
    body()
}

/// Takes a link off the list, also if the body panics.
struct Unlinked(*const Link);

impl Drop for Unlinked {
    fn drop(&mut self) {
        INNERMOST.set(self.0);
    }
}

extern "C" fn ended(_: *mut c_void) {
    std::mem::forget(Deferred::new());
    block_all_signals();
    while let Some(link) = std::ptr::NonNull::new(INNERMOST.get().cast_mut()) {
        // SAFETY: links are in frames that have not ended, and never will.
        let Link { action, outer } = *unsafe { link.as_ref() };
        INNERMOST.set(outer);
        // SAFETY: as above; the frame that made it waits for its body. A panic has been told of when it was caught.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe { (*action)() }));
    }
    loop {
        // SAFETY: waits for a signal, of which none comes.
        unsafe { libc::pause() };
    }
}

fn block_all_signals() {
    // SAFETY: a signal set is plain data; both calls write or read one that is ours.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}
