//! Where a copy of this library is told what it stands for: two texts in its table of names, which are replaced.

/// How a text begins that is replaced, and how long it is.
pub(crate) struct Place {
    begin: &'static str,
    length: usize,
}

/// The library's own name (DT_SONAME). A copy has that of the library for which it stands, so that who asks for it by name gets the copy.
pub(crate) const NAME: Place = Place { begin: "libsoftcuda_compilers.so.stands.for.", length: 160 };

/// The library for which a copy stands, which it needs (DT_NEEDED). Before, it is a folder that does not exist (DT_RUNPATH).
pub(crate) const REAL: Place = Place { begin: "/proc/self/softcuda-compilers/stands/for/", length: 1024 };

/// The text as the linker gets it.
pub(crate) fn filled(place: Place) -> String {
    place.begin.chars().chain(std::iter::repeat('x')).take(place.length).collect()
}
