//! From a library to the address of every ABI in the catalogue.
//!
//! Each ABI is asked for by its own number, so that a newer driver hands out the function with the parameters that the
//! table declares, and numbers above the driver's version are never asked: drivers 11.4 to 12.5 answer some of them with
//! an older ABI's function and success.

use super::catalogue::{ROWS, Row};
use super::getter::{Getter, LEGACY_STREAM, PER_THREAD_STREAM};
use super::kind::Kind;
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

impl Symbol {
    fn new(
        row: &'static Row,
        abi: u32,
        exported: &'static str,
        outcome: Result<(*const c_void, Via), Status>,
    ) -> Self {
        let (status, via, address) = match outcome {
            Ok((address, via)) => (Status::Found, Some(via), address),
            Err(status) => (status, None, std::ptr::null()),
        };
        Self { row, abi, exported, status, via, address }
    }
}

// SAFETY: the address is that of code, which any thread may look at, and calling it is `unsafe` anyway.
unsafe impl Send for Symbol {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Symbol {}

// SAFETY: addresses of code, as above.
unsafe impl Send for Resolved {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Resolved {}

/// Which default stream a symbol's null stream stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NullStream {
    Legacy,
    PerThread,
}

/// What there is to ask.
pub(super) struct Resolver {
    pub(super) kind: Kind,
    pub(super) library: Option<Library>,
    pub(super) getter: Option<Getter>,
    pub(super) version: Option<Version>,
}

/// What resolving found, small enough to make while a program waits for its driver.
pub(super) struct Resolved {
    /// By row of the catalogue; null where the driver has no such ABI.
    pub(super) addresses: Box<[*const c_void; Table::LEN]>,
    /// The symbols that there is more to say of than that, with their rows.
    exceptions: Vec<(usize, Symbol)>,
    version: Option<Version>,
    via: Via,
}

impl Resolved {
    /// Every ABI, in the order of the catalogue.
    pub(super) fn symbols(&self) -> Vec<Symbol> {
        let mut exceptions = self.exceptions.iter().peekable();
        let symbol = |(index, row)| match exceptions.next_if(|(exception, _)| *exception == index) {
            Some((_, symbol)) => *symbol,
            None => self.expected(index, row),
        };
        ROWS.iter().enumerate().map(symbol).collect()
    }

    fn expected(&self, index: usize, row: &'static Row) -> Symbol {
        let address = self.addresses[index];
        let (status, via) = match self.version {
            _ if !address.is_null() => (Status::Found, Some(self.via)),
            Some(_) => (Status::NewerThanDriver, None),
            None => (Status::NoDriver, None),
        };
        Symbol { row, abi: row.abi, exported: row.exported, status, via, address }
    }
}

impl Resolver {
    /// Every ABI of the catalogue.
    pub(super) fn resolve(&self) -> Resolved {
        let via = match &self.getter {
            Some(Getter::Custom(_)) => Via::Custom,
            Some(_) => Via::Getter,
            None => Via::Dlsym,
        };
        let mut addresses = Box::new([std::ptr::null(); Table::LEN]);
        let mut exceptions = Vec::new();
        for (index, row) in ROWS.iter().enumerate() {
            match self.find(row.c_base, row.abi, row.exported, NullStream::Legacy) {
                Ok((address, found)) if found == via => addresses[index] = address,
                Err(Status::NewerThanDriver | Status::NoDriver) => {}
                outcome => {
                    let symbol = Symbol::new(row, row.abi, row.exported, outcome);
                    addresses[index] = symbol.address;
                    exceptions.push((index, symbol));
                }
            }
        }
        Resolved { addresses, exceptions, version: self.version, via }
    }

    /// Every ABI that has a variant for the per-thread default stream, in the order of the catalogue.
    pub(super) fn per_thread_symbols(&self) -> Vec<Symbol> {
        let variants = ROWS.iter().filter_map(|row| Some((row, row.per_thread?)));
        variants
            .map(|(row, (exported, abi))| {
                Symbol::new(row, abi, exported, self.find(row.c_base, abi, exported, NullStream::PerThread))
            })
            .collect()
    }

    fn find(
        &self,
        base: &CStr,
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
        let library = self.library.filter(|_| self.exports_count()).ok_or(denied)?;
        let address = with_c_name(exported, |name| library.symbol(name));
        if address.is_null() { Err(denied) } else { Ok((address, Via::Dlsym)) }
    }

    /// A library that stands between us and the driver may lack a symbol in its getter and still export it. softcuda
    /// exports the names of all its versions, so there only the getter knows what the version at hand has.
    fn exports_count(&self) -> bool {
        self.getter.is_none() || self.kind != Kind::Software
    }
}

fn ask(getter: &Getter, base: &CStr, abi: u32, stream: NullStream) -> Result<(*const c_void, Via), Status> {
    let flags = match stream {
        NullStream::Legacy => LEGACY_STREAM,
        NullStream::PerThread => PER_THREAD_STREAM,
    };
    let answer = getter.ask(base, abi, flags);
    if answer.address.is_null() {
        return Err(Status::Denied { result: answer.result, query: answer.query });
    }
    let via = if matches!(getter, Getter::Custom(_)) { Via::Custom } else { Via::Getter };
    Ok((answer.address, via))
}

/// The room for an exported name with its NUL, on the stack: resolving allocates nothing for a name.
const NAME_ROOM: usize = 64;

const _: () = {
    let mut i = 0;
    while i < ROWS.len() {
        assert!(ROWS[i].exported.len() < NAME_ROOM);
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

/// The table of these addresses, made where it stays, since threads with small stacks open drivers, too.
pub(super) fn table(addresses: &[*const c_void; Table::LEN]) -> Box<Table> {
    const _: () = assert!(size_of::<Table>() == (1 + Table::LEN) * size_of::<*const c_void>());
    const _: () = assert!(align_of::<Table>() == align_of::<*const c_void>());
    let mut words = Vec::with_capacity(1 + addresses.len());
    words.push(std::ptr::without_provenance(size_of::<Table>()));
    words.extend_from_slice(addresses);
    // SAFETY: a table is its size and that many pointers to functions, of which a null pointer is the `None`.
    unsafe { Box::from_raw(Box::into_raw(words.into_boxed_slice()).cast()) }
}

/// The same table with the per-thread variants in the places of their plain forms. Where a driver lacks a variant the
/// entry is empty: the plain form would work on another stream.
pub(super) fn per_thread_table(plain: &[*const c_void; Table::LEN], variants: &[Symbol]) -> Box<Table> {
    let mut addresses = Box::new(*plain);
    let places = ROWS.iter().enumerate().filter(|(_, row)| row.per_thread.is_some());
    for ((place, _), variant) in places.zip(variants) {
        addresses[place] = variant.address;
    }
    table(&addresses)
}
