//! What the 64 bits of a token mean.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | 1 in every token; 0 in a slot's own record of a token that was destroyed |
//! | 1–24 | index of the slot |
//! | 25–48 | generation: how often the slot was used before, plus a random number of this copy of the library |
//! | 49 | borrowed |
//! | 50–54 | kind; in a context's borrowed token perhaps one of its default streams, in a builder's its stream |
//! | 55 | 1 |
//! | 56–62 | random tag of this copy of the library |
//! | 63 | 1 |
//!
//! Bits 55 and 63 make the value an address that no user program can own (the kernel's half on x86-64 and, with or
//! without tagged addresses, on AArch64), so a token that is dereferenced by mistake faults at once and a garbage
//! collector that comes across one (Go's, a conservative one) finds it in no heap. An odd value never equals a pointer
//! that a runtime aligned, and OCaml takes it for an integer.
//!
//! A token uses all 64 bits, more than the 47 that LuaJIT keeps in a light userdata directly. Later LuaJITs store the
//! upper 25 bits in a table of 255 entries; here those are the tag, the kind and the upper ten bits of the generation,
//! so a program gets along with few entries until slots were reused tens of thousands of times. Programs for LuaJIT
//! keep handles as FFI pointers or in a full userdata, which hold 64 bits; PUC Lua's light userdata does too. More
//! generations, and with them certainty that no token is ever issued twice, are worth more than that table.

use super::Kind;

const LIVE: u64 = 1;
const INDEX_SHIFT: u32 = 1;
const GENERATION_SHIFT: u32 = 25;
const BORROWED: u64 = 1 << 49;
const KIND_SHIFT: u32 = 50;

/// Numbers in place of a kind's, in a context's borrowed token: its legacy default stream, and its per-thread one. So these
/// are borrowed handles of streams that live as long as the context, and nothing has to be kept for them. No one of these numbers
/// and that of a context differs from another in one bit, so a wrong bit makes no other handle.
const LEGACY_STREAM: u64 = 16;
const PER_THREAD_STREAM: u64 = 22;
/// The same in a builder's borrowed token: the stream that it captures, good as long as it does.
const BUILDER_STREAM: u64 = 25;
const TAG_SHIFT: u32 = 56;
const FIXED: u64 = 1 << 63 | 1 << 55 | LIVE;

/// 24 bits: of the index and of the generation.
const FIELD: u64 = (1 << 24) - 1;
const KIND_MASK: u64 = (Kind::END as u64 - 1) << KIND_SHIFT;
const TAG_MASK: u64 = 0x7f << TAG_SHIFT;

const _: () = assert!(Kind::END == 32, "a kind has five bits");

/// Number of slots that an index can name.
pub(super) const SLOTS: usize = 1 << 24;

/// The last use of a slot; it is retired afterwards. Tests shorten a slot's life to see its end.
pub(super) const LAST_USE: u64 = if cfg!(test) { 255 } else { FIELD };

/// A default stream of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultStream {
    Legacy,
    PerThread,
}

/// The value of a handle. Any value can be one that a caller passed; only a look-up tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Token(pub(super) u64);

impl Token {
    /// No handle.
    #[cfg(feature = "capi")]
    pub(crate) const NULL: Self = Self(0);

    /// The value of a C handle.
    #[inline]
    pub(crate) fn from_pointer<S>(handle: *mut S) -> Self {
        Self(handle.addr() as u64)
    }

    /// The C handle with this value.
    #[inline]
    pub(crate) fn to_pointer<S>(self) -> *mut S {
        std::ptr::without_provenance_mut(self.0 as usize)
    }

    /// Whether the value is NULL.
    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether the value, if it is a token, is an object's borrowed one.
    #[inline]
    pub(crate) fn is_borrowed(self) -> bool {
        self.0 & BORROWED != 0
    }

    /// What the value, if it is a token, says that it names.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self.is_derived() {
            true => Some(Kind::Stream),
            false => Kind::from_number(self.kind_number() as u8),
        }
    }

    fn kind_number(self) -> u64 {
        (self.0 & KIND_MASK) >> KIND_SHIFT
    }

    /// The default stream that the value names, if it is one.
    #[inline]
    pub(crate) fn default_stream(self) -> Option<DefaultStream> {
        match self.kind_number() {
            LEGACY_STREAM => Some(DefaultStream::Legacy),
            PER_THREAD_STREAM => Some(DefaultStream::PerThread),
            _ => None,
        }
    }

    /// Whether the value names the stream of a builder.
    #[inline]
    pub(crate) fn is_builder_stream(self) -> bool {
        self.kind_number() == BUILDER_STREAM
    }

    /// Whether the value names a stream by another object's borrowed token.
    #[inline]
    pub(crate) fn is_derived(self) -> bool {
        self.default_stream().is_some() || self.is_builder_stream()
    }

    /// The token of the stream of the builder that this borrowed token names.
    pub(crate) fn of_builder_stream(self) -> Self {
        Self(self.0 & !KIND_MASK | BUILDER_STREAM << KIND_SHIFT)
    }

    /// The token of a default stream of the context that this borrowed token names.
    pub(crate) fn of_default_stream(self, stream: DefaultStream) -> Self {
        let number = match stream {
            DefaultStream::Legacy => LEGACY_STREAM,
            DefaultStream::PerThread => PER_THREAD_STREAM,
        };
        Self(self.0 & !KIND_MASK | number << KIND_SHIFT)
    }

    /// The token in a slot by which this one is good: that of the context for its default streams, of the builder for its stream.
    #[inline]
    pub(crate) fn in_slot(self) -> Self {
        let of = |kind: Kind| Self(self.0 & !KIND_MASK | (kind as u64) << KIND_SHIFT);
        match self.default_stream() {
            Some(_) => of(Kind::Context),
            None if self.is_builder_stream() => of(Kind::Builder),
            None => self,
        }
    }

    /// Whether the value says that it is a token of this kind, and not a slot's record of a destroyed one.
    #[inline]
    pub(super) fn is_said_to_be(self, kind: Kind) -> bool {
        self.0 & (KIND_MASK | LIVE) == (kind as u64) << KIND_SHIFT | LIVE
    }

    /// Whether the bits that all tokens share are right.
    pub(super) fn is_well_formed(self) -> bool {
        self.0 & FIXED == FIXED && self.kind().is_some()
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 >> INDEX_SHIFT & FIELD) as usize
    }

    /// The same token, as the slot records that it was destroyed.
    pub(super) fn destroyed(self) -> Self {
        Self(self.0 & !LIVE)
    }

    pub(super) fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }
}

/// What marks the tokens of one copy of the library: the random tag and the number added to generations.
#[derive(Clone, Copy)]
pub(super) struct Brand(u64);

impl Brand {
    /// Makes a brand of random bits; it is not 0.
    pub(super) fn from_random(bits: u64) -> Self {
        // The bit that marks a borrowed token keeps the number from being 0; it is in neither part.
        Self(bits & (TAG_MASK | FIELD << GENERATION_SHIFT) | BORROWED)
    }

    pub(super) fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self(bits))
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// Whether this copy of the library may have made the token.
    pub(super) fn is_on(self, token: Token) -> bool {
        token.0 & TAG_MASK == self.0 & TAG_MASK
    }

    /// The token for a slot that was used `uses` times before.
    pub(super) fn token(self, index: usize, uses: u64, kind: Kind, borrowed: bool) -> Token {
        let generation = uses.wrapping_add(self.0 >> GENERATION_SHIFT) & FIELD;
        let borrowed = if borrowed { BORROWED } else { 0 };
        Token(
            FIXED
                | (index as u64) << INDEX_SHIFT
                | generation << GENERATION_SHIFT
                | borrowed
                | (kind as u64) << KIND_SHIFT
                | self.0 & TAG_MASK,
        )
    }

    /// How often the token's slot was used before the token was made.
    pub(super) fn uses(self, token: Token) -> u64 {
        (token.0 >> GENERATION_SHIFT).wrapping_sub(self.0 >> GENERATION_SHIFT) & FIELD
    }
}
