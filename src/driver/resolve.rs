//! From a library to the address of every ABI in the catalogue.
//!
//! Each ABI is asked for by its own number, so that a newer driver hands out the function with the parameters that the
//! table declares, and numbers above the driver's version are never asked: drivers 11.4 to 12.5 answer some of them with
//! an older ABI's function and success.

use super::catalogue::{ROWS, Row};
use super::getter::{Getter, LEGACY_STREAM, PER_THREAD_STREAM};
use super::library::Library;
use super::table::Table;
use super::version::Version;
use std::ffi::{CStr, c_void};
use std::fmt;

/// Whether a driver has an ABI, and if not why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// It has.
    Found,
    /// The ABI is newer than the driver, which was therefore not asked.
    NewerThanDriver,
    /// The driver's version covers the ABI, but its getter denies it, and no export of that name stands in.
    Denied {
        /// The `CUresult` that the getter returned; 0 if it reported success and gave no address.
        result: i32,
        /// The `CUdriverProcAddressQueryResult` that came with it; `None` if the getter wrote none.
        query: Option<i32>,
    },
    /// The driver has no getter and exports no such name.
    NotExported,
    /// There is no driver to ask.
    NoDriver,
}

impl Status {
    /// The word that reports use: `found`, `newer-than-driver`, `denied`, `not-exported` or `no-driver`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::NewerThanDriver => "newer-than-driver",
            Self::Denied { .. } => "denied",
            Self::NotExported => "not-exported",
            Self::NoDriver => "no-driver",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found => f.write_str("found"),
            Self::NewerThanDriver => f.write_str("newer than the driver"),
            Self::Denied { result: 0, query: None } => f.write_str("its getter gives no address"),
            Self::Denied { result: 0, query: Some(query) } => {
                write!(f, "its getter gives no address, with query status {query}")
            }
            Self::Denied { result, .. } => write!(f, "its getter answers with error {result}"),
            Self::NotExported => f.write_str("the library exports no such name"),
            Self::NoDriver => f.write_str("there is no driver"),
        }
    }
}

/// Where an address came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Via {
    /// The driver's getter.
    Getter,
    /// The name that the library exports.
    Dlsym,
    /// The caller's getter.
    Custom,
}

impl Via {
    /// The word that reports use: `cuGetProcAddress`, `dlsym` or `custom`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Getter => "cuGetProcAddress",
            Self::Dlsym => "dlsym",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One ABI, and what a driver has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// The ABI.
    pub row: &'static Row,
    /// The number that stands for it; for the per-thread variant it may differ from the row's.
    pub abi: u32,
    /// The name under which libraries export it; for the per-thread variant its own.
    pub exported: &'static str,
    /// Whether the driver has it.
    pub status: Status,
    /// Where the address came from; `None` unless found.
    pub via: Option<Via>,
    /// The address; null unless found.
    pub address: *const c_void,
}

// SAFETY: the address is that of code, which any thread may look at, and calling it is `unsafe` anyway.
unsafe impl Send for Symbol {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Symbol {}

/// Which default stream a symbol's null stream stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NullStream {
    Legacy,
    PerThread,
}

/// What there is to ask.
pub(super) struct Resolver {
    pub(super) library: Option<Library>,
    pub(super) getter: Option<Getter>,
    pub(super) version: Option<Version>,
}

impl Resolver {
    /// Every ABI, in the order of the catalogue.
    pub(super) fn symbols(&self) -> Vec<Symbol> {
        ROWS.iter().map(|row| self.symbol(row, row.abi, row.exported, NullStream::Legacy)).collect()
    }

    /// Every ABI that has a variant for the per-thread default stream, in the order of the catalogue.
    pub(super) fn per_thread_symbols(&self) -> Vec<Symbol> {
        let variants = ROWS.iter().filter_map(|row| Some((row, row.per_thread?)));
        variants
            .map(|(row, (exported, abi))| self.symbol(row, abi, exported, NullStream::PerThread))
            .collect()
    }

    fn symbol(&self, row: &'static Row, abi: u32, exported: &'static str, stream: NullStream) -> Symbol {
        let (status, via, address) = match self.find(row.base, abi, exported, stream) {
            Ok((address, via)) => (Status::Found, Some(via), address),
            Err(status) => (status, None, std::ptr::null()),
        };
        Symbol { row, abi, exported, status, via, address }
    }

    fn find(
        &self,
        base: &str,
        abi: u32,
        exported: &str,
        stream: NullStream,
    ) -> Result<(*const c_void, Via), Status> {
        let version = self.version.ok_or(Status::NoDriver)?;
        if abi > version.number() {
            return Err(Status::NewerThanDriver);
        }
        let denied = match &self.getter {
            Some(getter) => match ask(getter, base, abi, stream) {
                Ok(found) => return Ok(found),
                Err(denied) => denied,
            },
            None => Status::NotExported,
        };
        // A library that stands between us and the driver may lack the symbol in its getter and still export it.
        let library = self.library.ok_or(denied)?;
        let address = with_c_name(exported, |name| library.symbol(name));
        if address.is_null() { Err(denied) } else { Ok((address, Via::Dlsym)) }
    }
}

fn ask(getter: &Getter, base: &str, abi: u32, stream: NullStream) -> Result<(*const c_void, Via), Status> {
    let flags = match stream {
        NullStream::Legacy => LEGACY_STREAM,
        NullStream::PerThread => PER_THREAD_STREAM,
    };
    let answer = with_c_name(base, |name| getter.ask(name, abi, flags));
    if answer.address.is_null() {
        return Err(Status::Denied { result: answer.result, query: answer.query });
    }
    let via = if matches!(getter, Getter::Custom(_)) { Via::Custom } else { Via::Getter };
    Ok((answer.address, via))
}

/// The room for a name of the catalogue with its NUL, on the stack: resolving allocates nothing for a name.
const NAME_ROOM: usize = 64;

const _: () = {
    let mut i = 0;
    while i < ROWS.len() {
        assert!(ROWS[i].base.len() < NAME_ROOM && ROWS[i].exported.len() < NAME_ROOM);
        if let Some((exported, _)) = ROWS[i].per_thread {
            assert!(exported.len() < NAME_ROOM);
        }
        i += 1;
    }
};

fn with_c_name<T>(name: &str, use_it: impl FnOnce(&CStr) -> T) -> T {
    let mut room = [0; NAME_ROOM];
    room[..name.len()].copy_from_slice(name.as_bytes());
    use_it(CStr::from_bytes_until_nul(&room).expect("names of the catalogue are shorter than the room"))
}

/// The table of the symbols found.
pub(super) fn table(symbols: &[Symbol]) -> Table {
    Table::from_addresses(&addresses(symbols))
}

/// The same table with the per-thread variants in the places of their plain forms. Where a driver lacks a variant the
/// entry is empty: the plain form would work on another stream.
pub(super) fn per_thread_table(symbols: &[Symbol], variants: &[Symbol]) -> Table {
    let mut addresses = addresses(symbols);
    let places = ROWS.iter().enumerate().filter(|(_, row)| row.per_thread.is_some());
    for ((place, _), variant) in places.zip(variants) {
        addresses[place] = variant.address;
    }
    Table::from_addresses(&addresses)
}

fn addresses(symbols: &[Symbol]) -> [*const c_void; Table::LEN] {
    std::array::from_fn(|i| symbols[i].address)
}
