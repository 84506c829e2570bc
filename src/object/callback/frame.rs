//! The one frame through which functions of the program are called.
//!
//! Such a function may end its thread: by `pthread_exit`, as interpreters do that have ended (Python before 3.14), or because it
//! was cancelled. The C library then unwinds the thread's stack, and what is written in Rust cannot be unwound so. Hence the frame
//! registers a handler with the C library before it calls the function. The handler is called when the unwinding comes to this
//! frame, before it touches any in Rust, and [parks](super::parked) the thread; for Rust, the function never returns. The frame
//! itself is written in assembler, since one in Rust might be unwound first. Where it is not written (`build.rs` says where it is), and
//! on Windows, where no thread ends so, functions are called directly.

#[cfg(framed)]
use std::ffi::c_void;

/// What a function takes and returns: a pointer, or an integer, which fits into a register.
#[cfg_attr(not(framed), allow(dead_code))]
pub(crate) trait Word: Copy {
    fn to_word(self) -> usize;
    fn from_word(word: usize) -> Self;
}

impl Word for () {
    fn to_word(self) -> usize {
        0
    }

    fn from_word(_: usize) {}
}

impl<T> Word for *mut T {
    fn to_word(self) -> usize {
        self.expose_provenance()
    }

    fn from_word(word: usize) -> Self {
        std::ptr::with_exposed_provenance_mut(word)
    }
}

impl<T> Word for *const T {
    fn to_word(self) -> usize {
        self.expose_provenance()
    }

    fn from_word(word: usize) -> Self {
        std::ptr::with_exposed_provenance(word)
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Word for $type {
            fn to_word(self) -> usize {
                self as usize
            }

            fn from_word(word: usize) -> Self {
                word as Self
            }
        }
    )*};
}

integers! { i32 u32 i64 u64 usize }

/// A function of the program's.
pub(crate) trait Foreign<Arguments> {
    type Output;

    /// Calls it, through the frame.
    ///
    /// # Safety
    /// The function may be called with these arguments. If it ends the thread, this never returns: the caller holds no lock then.
    unsafe fn call(self, arguments: Arguments) -> Self::Output;
}

macro_rules! functions {
    ($(($($name:ident: $type:ident),*);)*) => {$(
        impl<$($type: Word,)* R: Word> Foreign<($($type,)*)> for unsafe extern "C" fn($($type),*) -> R {
            type Output = R;

            #[cfg(framed)]
            unsafe fn call(self, ($($name,)*): ($($type,)*)) -> R {
                let mut words = [0; registered::MOST];
                words.iter_mut().zip([$($name.to_word()),*]).for_each(|(place, word)| *place = word);
                // SAFETY: so are such arguments and results passed: each in a register, the first ones in the first.
                R::from_word(unsafe { registered::call(self as *const c_void, &raw const words) })
            }

            #[cfg(not(framed))]
            unsafe fn call(self, ($($name,)*): ($($type,)*)) -> R {
                // SAFETY: the caller vouches for it.
                unsafe { self($($name),*) }
            }
        }
    )*};
}

functions! {
    (a: A);
    (a: A, b: B);
    (a: A, b: B, c: C);
    (a: A, b: B, c: C, d: D);
    (a: A, b: B, c: C, d: D, e: E, f: F);
}

#[cfg(framed)]
mod registered {
    use super::c_void;
    use crate::object::callback::parked;
    use std::ffi::c_int;

    /// The most arguments: as many as registers take on both machines.
    pub(super) const MOST: usize = 6;

    // Both C libraries, GNU's and musl, export these for `pthread_cleanup_push` of their headers. The place belongs to them between
    // the two calls; in both it has 32 bytes.
    unsafe extern "C" {
        fn _pthread_cleanup_push(
            place: *mut c_void,
            routine: extern "C" fn(*mut c_void),
            argument: *mut c_void,
        );
        fn _pthread_cleanup_pop(place: *mut c_void, execute: c_int);
    }

    extern "C" fn ended(_: *mut c_void) {
        parked::park();
    }

    /// Calls the function with the arguments, with `ended` registered meanwhile.
    ///
    /// # Safety
    /// The function may be called with the first of these words, as many as it has arguments, each an integer or a pointer.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn call(function: *const c_void, words: *const [usize; MOST]) -> usize {
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
            "mov r8, [r12 + 32]",
            "mov r9, [r12 + 40]",
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

    /// Calls the function with the arguments, with `ended` registered meanwhile.
    ///
    /// # Safety
    /// The function may be called with the first of these words, as many as it has arguments, each an integer or a pointer.
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn call(function: *const c_void, words: *const [usize; MOST]) -> usize {
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
            "ldp x4, x5, [x20, #32]",
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
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn six(a: i32, b: u32, c: i64, d: u64, e: *mut u8, f: usize) -> i32 {
        assert_eq!((a, b, c, d, e.addr(), f), (-1, u32::MAX, i64::MIN, u64::MAX, 1, 2));
        -7
    }

    unsafe extern "C" fn one(a: *mut u32) {
        // SAFETY: the test passes a valid place.
        unsafe { *a += 1 };
    }

    #[test]
    fn arguments_and_results_arrive() {
        let six: unsafe extern "C" fn(i32, u32, i64, u64, *mut u8, usize) -> i32 = six;
        let pointer = std::ptr::without_provenance_mut(1);
        // SAFETY: the function is safe to call.
        assert_eq!(unsafe { six.call((-1, u32::MAX, i64::MIN, u64::MAX, pointer, 2)) }, -7);
        let (mut count, one): (_, unsafe extern "C" fn(*mut u32)) = (0, one);
        // SAFETY: the place is valid.
        unsafe { one.call((&raw mut count,)) };
        assert_eq!(count, 1);
    }
}
