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

    /// The versions that softcuda can be, oldest first.
    pub const OF_SOFTCUDA: &[Self] = &[
        Self(11040),
        Self(11080),
        Self(12000),
        Self(12020),
        Self(12030),
        Self(12040),
        Self(12050),
        Self(12080),
        Self(12090),
        Self(13000),
        Self(13010),
        Self(13020),
        Self(13050),
    ];

    /// The oldest version that softcuda can be and that has all that this one has; `None` if it can be none so new.
    ///
    /// ```
    /// use cushim::driver::Version;
    /// let softcuda = Version::from_number(12060).in_softcuda();
    /// assert_eq!(softcuda, Some(Version::from_number(12080)));
    /// ```
    #[must_use]
    pub fn in_softcuda(self) -> Option<Self> {
        Self::OF_SOFTCUDA.iter().copied().find(|version| *version >= self)
    }

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
