//! The kinds of handles, in one list.

/// A marker of this module, which stands for one kind.
pub(crate) trait Listed: sealed::Sealed {
    /// The kind that the marker stands for.
    const KIND: Kind;
}

/// Which type stands behind handles of a kind. There is one implementation per marker, so no two types can share a
/// kind: that, and nothing at run time, makes the cast behind a look-up sound.
pub(crate) trait Holds: Listed {
    /// The type of the objects.
    type Object: super::Object<Kind = Self>;
}

/// The same where what handles name stands in pages.
pub(crate) trait Divided: Listed {
    /// The type of the pages.
    type Page: super::Page<Kind = Self>;
}

mod sealed {
    pub(crate) trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$attribute:meta])* $kind:ident = $number:literal, $name:literal;)*) => {
        /// What a handle names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum Kind {
            $($(#[$attribute])* #[doc = concat!("A handle of type `cushim_", $name, "`.")] $kind = $number,)*
        }

        impl Kind {
            /// The kind with this number, if there is one.
            pub(crate) const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($(#[$attribute])* $number => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// The kind in words: `event`. The C type is this with `cushim_` before it.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $($(#[$attribute])* Self::$kind => $name,)*
                }
            }
        }

        $(
            $(#[$attribute])*
            #[doc = concat!("Stands for [`Kind::", stringify!($kind), "`].")]
            #[allow(dead_code)] // a kind is listed before there is an object of it
            pub(crate) enum $kind {}

            $(#[$attribute])*
            impl sealed::Sealed for $kind {}

            $(#[$attribute])*
            impl Listed for $kind {
                const KIND: Kind = Kind::$kind;
            }
        )*
    };
}

// Numbers from 1 to 30, so that neither 0 nor a value of all ones is ever a token. They are part of no interface.
kinds! {
    Driver = 1, "driver";
    Device = 2, "device";
    Context = 3, "context";
    Stream = 4, "stream";
    Event = 5, "event";
    Resource = 6, "resource";
    Buffer = 7, "buffer";
    Library = 8, "library";
    Kernel = 9, "kernel";
    Graph = 10, "graph";
    Node = 11, "node";
    Exec = 12, "exec";
    Condition = 13, "condition";
    Builder = 14, "builder";
    Error = 15, "error";
    // 16, 22 and 25 stand for streams of contexts and builders (`token.rs`).
    Allocation = 17, "allocation";
    Reservation = 18, "reservation";
    Program = 19, "program";
    Graphics = 20, "graphics";
    // Kinds for the tests of this module, so that they need no real object.
    #[cfg(test)] Part = 26, "part";
    #[cfg(test)] Measured = 28, "measured";
    #[cfg(test)] Probe = 29, "probe";
    #[cfg(test)] Other = 30, "other";
}

impl Kind {
    /// One more than the greatest number.
    pub(super) const END: usize = 32;

    /// The kind whose owning handles keep an object of this one: itself, but for what belongs to a graph.
    pub(super) fn owned(self) -> Self {
        match self {
            Self::Node | Self::Condition => Self::Graph,
            own => own,
        }
    }

    /// What messages call it: its name, or more where that is no thing.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Graphics => "graphics resource",
            own => own.name(),
        }
    }

    /// `a` or `an`.
    pub(super) fn article(self) -> &'static str {
        if self.name().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
    }
}
