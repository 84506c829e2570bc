//! Resolving symbols, against drivers that behave as real ones do.
#![cfg(target_os = "linux")]

mod fakes;

use cushim::driver::catalogue::ROWS;
use cushim::driver::{Choice, Driver, GetterKind, Kind, OpenOptions, Status, Symbol, Table, Version, Via};
use fakes::{Child, Fake};
use libloading::os::unix::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

fn open(path: &Path) -> Driver {
    OpenOptions::new().path(path).open().unwrap_or_else(|error| panic!("{error}"))
}

fn exported(path: &Path, name: &str) -> *const c_void {
    // SAFETY: the library is one of the fakes, and stays loaded as the driver that it is.
    let address = unsafe {
        Library::new(path).and_then(|library| library.get::<*const c_void>(name).map(|s| s.as_raw_ptr()))
    };
    address.unwrap_or_else(|error| panic!("{name} in {}: {error}", path.display())).cast_const()
}

/// What the fake's getter was asked: names, numbers, flags.
fn asked(path: &Path) -> Vec<(String, u32, u64)> {
    type Asked = unsafe extern "C" fn(c_int, *mut *const c_char, *mut c_int, *mut u64) -> c_int;
    // SAFETY: the fake declares it so.
    let get = unsafe { std::mem::transmute::<*const c_void, Asked>(exported(path, "fake_asked")) };
    let (mut name, mut number, mut flags) = (std::ptr::null(), 0, 0);
    let mut list = Vec::new();
    // SAFETY: every out-pointer is valid, and the names are strings.
    while unsafe { get(list.len() as c_int, &raw mut name, &raw mut number, &raw mut flags) } != 0 {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(name) }.to_str().expect("names are ASCII").to_owned();
        list.push((text, number as u32, flags));
    }
    list
}

fn null_out_pointers(path: &Path) -> c_int {
    // SAFETY: the fake exports an int of this name.
    unsafe { *exported(path, "fake_null_out_pointers").cast::<c_int>() }
}

fn entries(table: &Table) -> &[*const c_void] {
    assert_eq!(table.struct_size, size_of::<Table>());
    // SAFETY: after its size a table holds as many function pointers, of which null is one.
    unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(table).cast::<*const c_void>().add(1), Table::LEN)
    }
}

/// Every ABI up to the driver's version is found under its own number and name, and nothing else is.
fn assert_complete(driver: &Driver, path: &Path, via: Via) {
    let version = driver.version().expect("a driver has a version").number();
    let table = entries(driver.table());
    for (i, (symbol, row)) in driver.symbols().iter().zip(&ROWS).enumerate() {
        assert_eq!((symbol.row, symbol.abi, symbol.exported), (row, row.abi, row.exported));
        assert_eq!(symbol.address, table[i], "{} {}", row.base, row.abi);
        assert_symbol(symbol, version, path, via);
    }
    let per_thread = entries(driver.per_thread_table());
    for (i, row) in ROWS.iter().enumerate() {
        match driver.per_thread_symbol(row.base, row.abi) {
            Some(symbol) => {
                assert_eq!(Some((symbol.exported, symbol.abi)), row.per_thread);
                assert_eq!(symbol.address, per_thread[i], "{} {}", row.base, row.abi);
                assert_symbol(symbol, version, path, via);
            }
            None => assert_eq!(table[i], per_thread[i], "{} {}", row.base, row.abi),
        }
    }
    assert_eq!(driver.per_thread_symbols().len(), 107);
}

fn assert_symbol(symbol: &Symbol, version: u32, path: &Path, via: Via) {
    let what = format!("{} {} ({})", symbol.row.base, symbol.abi, symbol.exported);
    if symbol.abi > version {
        assert_eq!((symbol.status, symbol.via), (Status::NewerThanDriver, None), "{what}");
        assert!(symbol.address.is_null(), "{what}");
    } else {
        assert_eq!((symbol.status, symbol.via), (Status::Found, Some(via)), "{what}");
        assert_eq!(symbol.address, exported(path, symbol.exported), "{what}");
    }
}

#[test]
fn a_getter_with_five_arguments() {
    let folder = fakes::folder();
    // The last is of no CUDA that there is yet.
    for version in [12000, 12020, 12080, 13000, 13050, 15000] {
        let path = Fake::new(version).build(folder.path().join(format!("libcuda-{version}.so")));
        let driver = open(&path);
        assert_eq!(driver.version(), Some(Version::from_number(version)));
        assert_eq!((driver.kind(), driver.getter()), (Kind::Native, GetterKind::V2));
        assert!(!driver.is_older_than_supported());
        assert_complete(&driver, &path, Via::Getter);
        assert_eq!(null_out_pointers(&path), 0);
    }
}

#[test]
fn a_getter_with_four_arguments() {
    let folder = fakes::folder();
    for version in [11030, 11040, 11080] {
        let path = Fake::new(version).build(folder.path().join(format!("libcuda-{version}.so")));
        let driver = open(&path);
        assert_eq!(driver.getter(), GetterKind::V1);
        assert_eq!(driver.is_older_than_supported(), version < 11040);
        assert_complete(&driver, &path, Via::Getter);
        assert_eq!(null_out_pointers(&path), 0);
    }
}

#[test]
fn no_getter() {
    let folder = fakes::folder();
    // Two rows are the getter itself, which this driver is too old to have.
    let path = Fake::new(11020).build(folder.path().join("libcuda.so"));
    let driver = open(&path);
    assert_eq!(driver.getter(), GetterKind::Dlsym);
    assert!(driver.is_older_than_supported());
    assert_complete(&driver, &path, Via::Dlsym);
}

#[test]
fn without_a_getter_only_exports_count() {
    let folder = fakes::folder();
    let path = Fake::new(12020)
        .getter(0)
        .exports(|row| row.base != "cuMemAdvise")
        .build(folder.path().join("libcuda.so"));
    let driver = open(&path);
    let advise = driver.symbol("cuMemAdvise", 8000).expect("an ABI of the catalogue");
    assert_eq!((advise.status, advise.via), (Status::NotExported, None));
    assert!(driver.table().cuMemAdvise_8000.is_none());
    // A name that is exported in spite of the version is a different ABI as far as anybody knows.
    assert_eq!(
        driver.symbol("cuCtxCreate", 12050).expect("an ABI of the catalogue").status,
        Status::NewerThanDriver
    );
    assert!(driver.table().cuCtxCreate_12050.is_none());
    assert!(driver.table().cuCtxCreate_11040.is_some());
}

#[test]
fn each_abi_is_asked_by_its_own_number_and_none_above_the_version() {
    let folder = fakes::folder();
    for above in ["", "ABOVE_IS_INVALID"] {
        let fake = Fake::new(12020).define(if above.is_empty() { "ABOVE_IS_OLDER" } else { above }, 1);
        let path = fake.build(folder.path().join(format!("libcuda{above}.so")));
        let driver = open(&path);
        let expected = |flags, number: u32, base: &str| (base.to_owned(), number, flags);
        let plain = ROWS.iter().filter(|row| row.abi <= 12020).map(|row| expected(1, row.abi, row.base));
        let variants = ROWS.iter().filter_map(|row| Some((row.base, row.per_thread?.1)));
        let per_thread =
            variants.filter(|(_, number)| *number <= 12020).map(|(base, number)| expected(2, number, base));
        assert_eq!(asked(&path), plain.clone().collect::<Vec<_>>(), "opening asks for the plain forms only");
        let _ = driver.per_thread_table();
        let _ = driver.per_thread_symbols();
        assert_eq!(
            asked(&path),
            plain.chain(per_thread).collect::<Vec<_>>(),
            "the variants are asked for once"
        );
        // Asked above its version the first of the two would have handed out the 11040 form.
        assert!(driver.table().cuCtxCreate_12050.is_none());
        assert_eq!(
            driver.symbol("cuCtxCreate", 12050).expect("in the catalogue").status,
            Status::NewerThanDriver
        );
    }
}

#[test]
fn an_export_newer_than_the_version_is_not_taken() {
    let folder = fakes::folder();
    let path = Fake::new(12020).exports(|_| true).build(folder.path().join("libcuda.so"));
    let driver = open(&path);
    assert!(!exported(&path, "cuCtxCreate_v4").is_null());
    assert!(driver.table().cuCtxCreate_12050.is_none());
    assert_complete(&driver, &path, Via::Getter);
}

/// A getter that denies `cuMemPrefetchAsync` with `result`, in a library that exports it or not.
fn denying(folder: &Path, result: u32, exports: bool) -> Driver {
    let path = folder.join(format!("libcuda-{result}-{exports}.so"));
    let fake = Fake::new(12020).define("DENIED", "\"cuMemPrefetchAsync\"").define("DENIED_RESULT", result);
    let fake =
        if exports { fake } else { fake.exports(|row| row.abi <= 12020 && row.base != "cuMemPrefetchAsync") };
    open(&fake.build(path))
}

#[test]
fn what_a_stand_in_for_the_driver_denies_is_taken_from_its_exports() {
    let folder = fakes::folder();
    // Success with a null address, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED: each is "absent" and no more.
    for result in [0, 1, 500, 801] {
        let driver = denying(folder.path(), result, true);
        let path = driver.path().expect("a library was loaded");
        for (base, abi, name) in [
            ("cuMemPrefetchAsync", 8000, "cuMemPrefetchAsync"),
            ("cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"),
        ] {
            let symbol = driver.symbol(base, abi).expect("an ABI of the catalogue");
            assert_eq!((symbol.status, symbol.via), (Status::Found, Some(Via::Dlsym)));
            assert_eq!(symbol.address, exported(path, name));
            let symbol = driver.per_thread_symbol(base, abi).expect("it has a variant");
            assert_eq!((symbol.status, symbol.via), (Status::Found, Some(Via::Dlsym)));
            assert_eq!(symbol.address, exported(path, &format!("{name}_ptsz")));
        }
        // The neighbours still come from the getter.
        assert_eq!(driver.symbol("cuMemAdvise", 8000).expect("in the catalogue").via, Some(Via::Getter));
    }
}

#[test]
fn an_absent_symbol_keeps_the_getters_answer() {
    let folder = fakes::folder();
    for result in [0, 1, 500, 801] {
        let driver = denying(folder.path(), result, false);
        let symbol = driver.symbol("cuMemPrefetchAsync", 12020).expect("an ABI of the catalogue");
        assert_eq!(symbol.status, Status::Denied { result: result as i32, query: Some(1) });
        assert_eq!((symbol.via, symbol.address), (None, std::ptr::null()));
        assert!(driver.table().cuMemPrefetchAsync_12020.is_none());
        assert!(driver.per_thread_table().cuMemPrefetchAsync_12020.is_none());
        assert!(driver.table().cuMemAdvise_8000.is_some());
    }
}

#[test]
fn a_getter_without_query_status_leaves_none() {
    let folder = fakes::folder();
    let fake = Fake::new(11080).exports(|row| row.abi <= 11080 && row.base != "cuMemAdvise");
    let driver = open(&fake.build(folder.path().join("libcuda.so")));
    let symbol = driver.symbol("cuMemAdvise", 8000).expect("an ABI of the catalogue");
    assert_eq!(symbol.status, Status::Denied { result: 500, query: None });
}

#[test]
fn the_explanation_names_everything() {
    let folder = fakes::folder();
    let driver = denying(folder.path(), 0, false);
    let path = driver.path().expect("a library was loaded").display().to_string();
    let explain = |base, abi| driver.explain(driver.symbol(base, abi).expect("in the catalogue")).to_string();
    let newer = explain("cuMemDiscardBatchAsync", 13000);
    for part in
        ["cuMemDiscardBatchAsync", "13000", "CUDA 13.0 or newer", "CUDA 12.2", &path, "update the driver"]
    {
        assert!(newer.contains(part), "{part:?} is not in: {newer}");
    }
    let denied = explain("cuMemPrefetchAsync", 12020);
    for part in ["cuMemPrefetchAsync", "12020", "CUDA 12.2", &path, "query status 1", "cuMemPrefetchAsync_v2"]
    {
        assert!(denied.contains(part), "{part:?} is not in: {denied}");
    }
}

/// What the driver at `path` says of `cuMemDiscardBatchAsync`, which is newer.
fn explain_newer(path: &Path) -> String {
    let driver = open(&Fake::new(12020).build(path));
    driver.explain(driver.symbol("cuMemDiscardBatchAsync", 13000).expect("in the catalogue")).to_string()
}

#[test]
fn each_kind_of_driver_is_updated_in_its_own_way() {
    let folder = fakes::folder();
    for (path, advice) in [
        ("libcuda.so.535.1", "; update the driver"),
        ("wsl/libcuda.so.1", "; update the NVIDIA driver on Windows"),
        ("tegra/libcuda.so.1", "; update JetPack"),
        ("libsoftcuda-12.2.so", "; open \"software\" with SOFTCUDA_VERSION=13.0 in the environment"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        let text = explain_newer(&path);
        assert!(text.ends_with(advice), "{advice:?} does not end: {text}");
    }
}

#[test]
fn softcuda_can_be_the_versions_that_it_says() {
    let versions: Vec<u32> = Version::OF_SOFTCUDA.iter().map(|version| version.number()).collect();
    assert_eq!(versions, softcuda::VERSIONS.iter().map(|(_, number)| *number).collect::<Vec<_>>());
    assert_eq!(Version::from_number(13030).in_softcuda(), Some(Version::from_number(13050)));
    assert_eq!(Version::from_number(13060).in_softcuda(), None);
}

/// Its library exports the names of all versions; the getter has those of the one at hand.
#[test]
fn softcuda_has_what_its_version_has() {
    Child::new("softcuda_has_what_its_version_has").run(|| {
        let driver = OpenOptions::new().choice(Choice::Software).open().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((driver.kind(), driver.version()), (Kind::Software, Some(Version::from_number(13000))));
        let found = driver.symbols().iter().filter(|symbol| symbol.status == Status::Found);
        assert!(found.clone().all(|symbol| symbol.via == Some(Via::Getter)));
        assert_eq!(found.count(), 572);
        let absent = driver.symbol("cuEventCreateFromEGLSync", 9000).expect("in the catalogue");
        assert_eq!(absent.status, Status::Denied { result: 0, query: Some(1) });
        let path = driver.path().expect("a library was loaded");
        assert!(!exported(path, absent.exported).is_null(), "the name alone proves nothing");
        let text = driver.explain(absent).to_string();
        assert!(text.contains("softcuda leaves out"), "{text}");
    });
}

/// What a caller's getter works on.
struct Lender {
    library: Library,
    version: c_int,
    asked: u32,
    above: u32,
}

unsafe extern "C" fn lend(
    user: *mut c_void,
    symbol: *const c_char,
    address: *mut *mut c_void,
    number: c_int,
    flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the test hands in a lender.
    let lender = unsafe { &mut *user.cast::<Lender>() };
    lender.asked += 1;
    lender.above += u32::from(number > lender.version);
    type Inner = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> c_int;
    // SAFETY: the fake exports the getter with this type.
    unsafe {
        (lender.library.get::<Inner>("cuGetProcAddress_v2").expect("the fake has it"))(
            symbol, address, number, flags, status,
        )
    }
}

fn lender(path: &Path, version: c_int) -> Lender {
    // SAFETY: the library is one of the fakes.
    Lender { library: unsafe { Library::new(path) }.expect("the fake loads"), version, asked: 0, above: 0 }
}

#[test]
fn a_callers_getter() {
    let folder = fakes::folder();
    let fake = Fake::new(12020).exports(|row| row.abi <= 12020 && row.base != "cuMemAdvise");
    let path = fake.build(folder.path().join("lent.so"));
    let mut lender = lender(&path, 12020);
    // SAFETY: the getter hands out what the fake has under that name and number.
    let getter = unsafe { cushim::driver::CustomGetter::new(lend, (&raw mut lender).cast()) };
    let driver = OpenOptions::new().getter(getter).open().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((driver.kind(), driver.getter(), driver.path()), (Kind::Custom, GetterKind::Custom, None));
    assert_eq!(driver.version(), Some(Version::from_number(12020)));
    assert!(lender.asked > 400);
    assert_eq!(lender.above, 0);
    assert_eq!(null_out_pointers(&path), 0);
    let found = driver.symbol("cuMemAlloc", 3020).expect("in the catalogue");
    assert_eq!((found.status, found.via), (Status::Found, Some(Via::Custom)));
    assert_eq!(found.address, exported(&path, "cuMemAlloc_v2"));
    let variant = driver.per_thread_symbol("cuMemcpy", 4000).expect("it has a variant");
    assert_eq!(variant.address, exported(&path, "cuMemcpy_ptds"));
    let absent = driver.symbol("cuMemAdvise", 8000).expect("in the catalogue");
    assert_eq!(absent.status, Status::Denied { result: 0, query: Some(1) });
    assert!(driver.explain(absent).to_string().ends_with("the getter that was handed in withholds it"));
    let newer = driver.symbol("cuCtxCreate", 12050).expect("in the catalogue");
    assert_eq!(newer.status, Status::NewerThanDriver);
    let text = driver.explain(newer).to_string();
    assert!(text.ends_with("; have the getter that was handed in stand for a newer driver"), "{text}");
    // The getter is asked while the driver is being opened, and never again.
    let asked = lender.asked;
    drop(driver.symbols().to_vec());
    let _ = (driver.table(), driver.per_thread_table());
    assert_eq!(lender.asked, asked);
}

/// Behaves as drivers before 12.0: an absent symbol is NOT_FOUND, and the status is left as it is.
unsafe extern "C" fn lend_v1(
    user: *mut c_void,
    symbol: *const c_char,
    address: *mut *mut c_void,
    number: c_int,
    flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: as for `lend`.
    let lender = unsafe { &*user.cast::<Lender>() };
    // SAFETY: any number may be written there; none means anything.
    unsafe { *status = 77 };
    type Inner = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> c_int;
    // SAFETY: the fake exports the getter with this type.
    unsafe {
        (lender.library.get::<Inner>("cuGetProcAddress").expect("the fake has it"))(
            symbol, address, number, flags,
        )
    }
}

#[test]
fn a_callers_getter_of_the_older_form() {
    let folder = fakes::folder();
    let fake = Fake::new(11040).exports(|row| row.abi <= 11040 && row.base != "cuMemAdvise");
    let path = fake.build(folder.path().join("lent.so"));
    let mut lender = lender(&path, 11040);
    // SAFETY: the getter hands out what the fake has under that name and number.
    let getter = unsafe { cushim::driver::CustomGetter::new(lend_v1, (&raw mut lender).cast()) }.v1();
    let driver = OpenOptions::new().getter(getter).open().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        driver.symbol("cuMemAlloc", 3020).expect("in the catalogue").address,
        exported(&path, "cuMemAlloc_v2")
    );
    let absent = driver.symbol("cuMemAdvise", 8000).expect("in the catalogue");
    assert_eq!(absent.status, Status::Denied { result: 500, query: None });
}

unsafe extern "C" fn lend_nothing(
    _: *mut c_void,
    _: *const c_char,
    _: *mut *mut c_void,
    _: c_int,
    _: u64,
    _: *mut c_int,
) -> c_int {
    0
}

#[test]
fn a_callers_getter_that_gives_nothing() {
    // SAFETY: a getter that gives no address cannot give a wrong one.
    let getter = unsafe { cushim::driver::CustomGetter::new(lend_nothing, std::ptr::null_mut()) };
    let error = OpenOptions::new().getter(getter).open().expect_err("there is no version to be had");
    assert!(matches!(error, cushim::driver::OpenError::Unusable(_)), "{error:?}");
    assert!(error.to_string().contains("cuDriverGetVersion"), "{error}");
}

#[test]
fn a_getter_and_a_path_exclude_each_other() {
    // SAFETY: a getter that gives no address cannot give a wrong one.
    let getter = unsafe { cushim::driver::CustomGetter::new(lend_nothing, std::ptr::null_mut()) };
    let error = OpenOptions::new().getter(getter).path("libcuda.so.1").open().expect_err("a contradiction");
    assert!(matches!(error, cushim::driver::OpenError::InvalidOption(_)), "{error:?}");
}

#[test]
fn none_has_no_entry() {
    let driver = OpenOptions::new().choice(cushim::driver::Choice::None).open().expect("nothing can fail");
    assert_eq!((driver.kind(), driver.version(), driver.path()), (Kind::None, None, None));
    assert_eq!(driver.getter(), GetterKind::None);
    assert!(!driver.is_older_than_supported());
    for table in [driver.table(), driver.per_thread_table()] {
        assert!(entries(table).iter().all(|entry| entry.is_null()));
    }
    assert_eq!(driver.symbols().len(), ROWS.len());
    assert!(driver.symbols().iter().all(|symbol| symbol.status == Status::NoDriver && symbol.via.is_none()));
    let text = driver.explain(driver.symbol("cuMemAlloc", 3020).expect("in the catalogue")).to_string();
    assert!(text.contains("cuMemAlloc") && text.contains("none"), "{text}");
    assert!(text.ends_with("unset CUSHIM_DRIVER or name a driver"), "{text}");
    assert!(driver.report().candidates.is_empty());
}

#[test]
fn names_of_the_catalogue_end_where_they_end() {
    // The resolver copies names into room on its stack; a NUL in one would cut it short.
    for row in &ROWS {
        assert!(CString::new(row.base).is_ok() && CString::new(row.exported).is_ok());
    }
}
