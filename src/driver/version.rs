//! CUDA versions as the driver counts them.

use std::fmt;

/// A CUDA version, as `cuDriverGetVersion` answers it: 1000 × major + 10 × minor.
///
/// ```
/// use cushim::driver::Version;
/// let version = Version::from_number(12080);
/// assert_eq!((version.major(), version.minor()), (12, 8));
/// assert_eq!(version.to_string(), "12.8");
/// assert!(version < Version::from_number(13000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The oldest driver that everything here is tested with: 11.4.
    pub const OLDEST_SUPPORTED: Self = Self(11040);

    /// The version that the driver calls `number`: 12080 is 12.8.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The number that the driver uses for it: 12080 for 12.8.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The 12 of 12.8.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.0 / 1000
    }

    /// The 8 of 12.8.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.0 % 1000 / 10
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}
