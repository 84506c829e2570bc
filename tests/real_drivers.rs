//! Holds what cushim resolves against five real drivers, CUDA 11.4 to 12.5, row by row.
//!
//! The libraries are fetched by `scripts/fetch-drivers.sh` into the target folder; the expected answers are
//! `data/real_drivers.csv`. Run it by hand with `cargo test --test real_drivers`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod oracle {
    pub(crate) mod drivers;
    pub(crate) mod fetch;
}

use cushim::driver::{Driver, GetterKind, Kind, OpenOptions, Status, Symbol, Via};
use oracle::drivers::{RealDriver, real_drivers};
use oracle::fetch::say;
use std::ffi::{CString, c_char, c_int, c_void};

/// Both forms of the getter: a fifth argument is one that the four-argument form never looks at.
type Getter = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> c_int;

/// A library asked directly, without cushim.
struct Direct {
    library: libloading::Library,
    getter: Getter,
}

impl Direct {
    fn open(driver: &RealDriver) -> Self {
        // SAFETY: the initialisers of a libcuda may run in any process.
        let library = unsafe { libloading::Library::new(&driver.path) }.expect("a real driver loads");
        let name = if driver.cuda < 12000 { "cuGetProcAddress" } else { "cuGetProcAddress_v2" };
        // SAFETY: that is the type of both, see above.
        let getter = unsafe { *library.get::<Getter>(name).expect("drivers since 11.3 have a getter") };
        Self { library, getter }
    }

    /// The address of an export, null where there is none.
    fn export(&self, name: &str) -> *const c_void {
        // SAFETY: the address is only compared.
        unsafe { self.library.get::<*const c_void>(name) }.map_or(std::ptr::null(), |symbol| *symbol)
    }

    /// What the driver's getter returns for an ABI.
    fn answer(&self, base: &str, abi: u32) -> *const c_void {
        let base = CString::new(base).expect("a name holds no NUL");
        let (mut address, mut query) = (std::ptr::null_mut(), 0);
        // SAFETY: the name ends with NUL and both out-pointers are valid.
        let result =
            unsafe { (self.getter)(base.as_ptr(), &raw mut address, abi as c_int, 0, &raw mut query) };
        if result == 0 { address.cast_const() } else { std::ptr::null() }
    }
}

/// The column of a driver: for each ABI the exported symbol that it answers with, empty where it has none.
fn expected(release: &str) -> Vec<(String, u32, String)> {
    let mut lines = include_str!("data/real_drivers.csv").lines();
    let mut header = lines.next().expect("a first line").split(',');
    let column = header.position(|name| name == release).unwrap_or_else(|| panic!("{release} has a column"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[1].parse().expect("a number"), cells[column].to_owned())
    };
    lines.map(row).collect()
}

#[test]
fn every_abi_resolves_as_measured() {
    let Some(drivers) = real_drivers() else { return };
    assert_eq!(drivers.len(), 5);
    for driver in &drivers {
        let opened = OpenOptions::new().path(&driver.path).open().expect("a real driver opens");
        describes_itself(driver, &opened);
        let direct = Direct::open(driver);
        let expected = expected(&driver.release);
        assert_eq!(opened.symbols().len(), expected.len());
        let (mut found, mut older) = (0, 0);
        for (symbol, (base, abi, answer)) in opened.symbols().iter().zip(&expected) {
            assert_eq!((symbol.row.base, symbol.abi), (base.as_str(), *abi));
            resolves(driver, &direct, symbol, answer);
            found += usize::from(symbol.status == Status::Found);
            older += usize::from(symbol.status != Status::Found && !answer.is_empty());
        }
        let per_thread =
            opened.per_thread_symbols().iter().filter(|s| resolves_per_thread(driver, &direct, s)).count();
        say(format_args!(
            "driver {}: {found} of {} ABIs and {per_thread} of {} per-thread variants found; \
             above its version it hands out {older} older ABIs",
            driver.release,
            expected.len(),
            opened.per_thread_symbols().len(),
        ));
    }
}

fn describes_itself(driver: &RealDriver, opened: &Driver) {
    assert_eq!(opened.version().map(|version| version.number()), Some(driver.cuda));
    assert_eq!(opened.kind(), Kind::Native);
    assert_eq!(opened.path(), Some(driver.path.as_path()));
    let getter = if driver.cuda < 12000 { GetterKind::V1 } else { GetterKind::V2 };
    assert_eq!(opened.getter(), getter);
    assert!(!opened.is_older_than_supported());
}

/// The driver still answers as it was measured, and cushim takes from it exactly the ABI that the row names.
fn resolves(driver: &RealDriver, direct: &Direct, symbol: &Symbol, answer: &str) {
    let what = format!("{} at {} on {}", symbol.row.base, symbol.abi, driver.release);
    let address = if answer.is_empty() { std::ptr::null() } else { direct.export(answer) };
    assert_eq!(address.is_null(), answer.is_empty(), "{what}: {answer} is exported");
    assert_eq!(
        direct.answer(symbol.row.base, symbol.abi),
        address,
        "{what}: the driver answers with {answer:?}"
    );
    assert_eq!(
        direct.export(symbol.exported).is_null(),
        symbol.status != Status::Found,
        "{what}: exported if found"
    );

    if symbol.abi > driver.cuda {
        assert_eq!(symbol.status, Status::NewerThanDriver, "{what}");
    } else if answer.is_empty() {
        assert_eq!(symbol.row.base, "cuEventCreateFromEGLSync", "{what}: the only one that a driver lacks");
        let (result, query) = if driver.cuda < 12000 { (500, None) } else { (0, Some(1)) };
        assert_eq!(symbol.status, Status::Denied { result, query }, "{what}");
    } else {
        assert_eq!((symbol.status, symbol.via), (Status::Found, Some(Via::Getter)), "{what}");
        assert_eq!((answer, symbol.address), (symbol.exported, address), "{what}");
        return;
    }
    assert_eq!((symbol.via, symbol.address), (None, std::ptr::null()), "{what}");
}

/// A per-thread variant is found exactly where the version covers it, and it is the export of that name.
fn resolves_per_thread(driver: &RealDriver, direct: &Direct, symbol: &Symbol) -> bool {
    let what = format!("{} on {}", symbol.exported, driver.release);
    assert_eq!(symbol.status == Status::Found, symbol.abi <= driver.cuda, "{what}: {}", symbol.status);
    assert_eq!(symbol.address, direct.export(symbol.exported), "{what}");
    symbol.status == Status::Found
}

#[test]
fn the_expected_answers_name_every_row_of_the_catalogue() {
    let names = |release| expected(release).into_iter().map(|(base, abi, _)| (base, abi)).collect::<Vec<_>>();
    let rows: Vec<_> =
        cushim::driver::catalogue::ROWS.iter().map(|row| (row.base.to_owned(), row.abi)).collect();
    assert_eq!(names("470.256.02"), rows);
}
