//! The getter's answers, row by row against those of real drivers, through the core and through each shell.

use crate::common::{INVALID_VALUE, Library, NOT_FOUND, alone, at, core_path, rows, shell_path};
use std::ffi::CString;
use std::path::Path;

const UNWRITTEN: u64 = 0x5555;

/// What a getter answers: result, query status, pointer. What it does not write stays `UNWRITTEN`.
type Asked = (i32, u64, u64);

fn ask_v1(cu: &Library, name: &str, version: i32, flags: u64) -> Asked {
    let name = CString::new(name).unwrap();
    let mut pointer = UNWRITTEN;
    let result =
        cu.call("cuGetProcAddress", &[name.as_ptr() as u64, at(&mut pointer), version as u64, flags]);
    (result, UNWRITTEN, pointer)
}

fn ask_v2(cu: &Library, name: &str, version: i32, flags: u64) -> Asked {
    let name = CString::new(name).unwrap();
    let (mut pointer, mut status) = (UNWRITTEN, UNWRITTEN);
    let arguments = [name.as_ptr() as u64, at(&mut pointer), version as u64, flags, at(&mut status)];
    (cu.call("cuGetProcAddress_v2", &arguments), status & 0xffff, pointer)
}

/// The library that a program of this version would open: the core, told the version, or the version's shell.
fn open(version: &str, shell: bool) -> Library {
    Library::open(&if shell { shell_path(version) } else { core_path() })
}

/// Runs `check` for the core and for the shell, each in its own process.
fn both(name: &str, version: &str, check: impl Fn(&Library)) {
    for shell in ["", "1"] {
        alone(name, &[("SOFTCUDA_VERSION", version), ("TEST_THROUGH_SHELL", shell)], || {
            check(&open(version, std::env::var("TEST_THROUGH_SHELL").is_ok_and(|v| !v.is_empty())));
        });
    }
}

/// Every ABI of the catalogue asked for by its own number, against column `column` of the table.
fn like_the_real_driver(name: &str, version: &str, number: u32, column: usize) {
    both(name, version, |cu| {
        let exported: Vec<(String, String, String)> = rows("../catalogue/abis.csv")
            .into_iter()
            .map(|row| (row[0].clone(), row[1].clone(), row[2].clone()))
            .collect();
        let table = rows("tests/data/resolve.csv");
        let shell = std::env::var("TEST_THROUGH_SHELL").is_ok_and(|v| !v.is_empty());
        let mut compared = 0;
        for row in &table {
            let own =
                &exported.iter().find(|e| e.0 == row[0] && e.1 == row[1]).expect("the catalogue has it").2;
            let cell: Vec<&str> = row[column].split(':').collect();
            let [result, query, symbol, present] = cell[..] else { panic!("{cell:?}") };
            let abi: i32 = row[1].parse().unwrap();
            let asked =
                if number < 12000 { ask_v1(cu, &row[0], abi, 0) } else { ask_v2(cu, &row[0], abi, 0) };
            let symbol = if symbol == "=" { own } else { symbol };
            let pointer = match symbol {
                "-" if number < 12000 => UNWRITTEN,
                "-" => 0,
                name => cu.symbol(name) as u64,
            };
            let query = query.parse().unwrap_or(UNWRITTEN);
            assert_eq!(asked, (result.parse().unwrap(), query, pointer), "{}@{abi} on {version}", row[0]);
            if shell {
                assert_eq!(cu.symbol(own) != 0, present == "yes", "{own} is exported by {version}");
            }
            compared += 1;
        }
        assert_eq!(compared, 616);
    });
}

#[test]
fn version_11_4() {
    like_the_real_driver("version_11_4", "11.4", 11040, 2);
}

#[test]
fn version_12_0() {
    like_the_real_driver("version_12_0", "12.0", 12000, 3);
}

#[test]
fn version_12_2() {
    like_the_real_driver("version_12_2", "12.2", 12020, 4);
}

#[test]
fn version_12_4() {
    like_the_real_driver("version_12_4", "12.4", 12040, 5);
}

#[test]
fn version_12_5() {
    like_the_real_driver("version_12_5", "12.5", 12050, 6);
}

/// The versions that driver 580 was asked for.
const GRID: &[i32] = &[
    2000, 3020, 4000, 5000, 6000, 7000, 7050, 8000, 9000, 10000, 10020, 11000, 11010, 11020, 11030, 11040,
    11060, 11070, 11080, 12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080, 12090, 13000, 13010, 13020,
];

#[test]
fn version_13_0() {
    both("version_13_0", "13.0", |cu| {
        let mut asked = 0;
        for row in rows("tests/data/proc_address_580.csv") {
            let number = |i: usize| row[i].parse::<u64>().unwrap();
            let (first, last) = (number(2) as i32, number(3) as i32);
            let pointer = match (&*row[6], number(5)) {
                ("-", 9) => UNWRITTEN,
                ("-", _) => 0,
                (symbol, _) => cu.symbol(symbol) as u64,
            };
            let query = if number(5) == 9 { UNWRITTEN } else { number(5) };
            for &version in GRID.iter().filter(|v| (first..=last).contains(v)) {
                let expected = (number(4) as i32, query, pointer);
                assert_eq!(
                    ask_v2(cu, &row[0], version, number(1)),
                    expected,
                    "{}@{version} flags {}",
                    row[0],
                    row[1]
                );
                asked += 1;
            }
        }
        assert!(asked > 30_000, "{asked}");
    });
}

#[test]
fn odd_requests() {
    both("odd_requests", "13.0", |cu| {
        let newest = cu.symbol("cuMemAlloc_v2") as u64;
        // Measured on 580.
        assert_eq!(ask_v2(cu, "cuMemAlloc_v2", 12000, 0), (0, 1, 0), "a suffixed name is no base name");
        assert_eq!(ask_v2(cu, "cuNoSuch", 12000, 0), (0, 1, 0));
        assert_eq!(ask_v2(cu, "", 12000, 0), (0, 1, 0));
        assert_eq!(ask_v2(cu, "cuMemAlloc", 0, 0), (0, 2, 0));
        assert_eq!(ask_v2(cu, "cuMemAlloc", 13000, 4), (INVALID_VALUE, UNWRITTEN, UNWRITTEN));
        assert_eq!(ask_v2(cu, "cuMemAlloc", 99000, 0), (INVALID_VALUE, UNWRITTEN, UNWRITTEN));
        assert_eq!(ask_v2(cu, "cuMemAlloc", 3020, 3), (0, 0, newest));
        assert_eq!(ask_v2(cu, "cuMemAlloc", -1, 0), (0, 0, newest));
        let absent = (NOT_FOUND, UNWRITTEN, UNWRITTEN);
        assert_eq!(ask_v1(cu, "cuNoSuch", 12000, 0), absent);
        assert_eq!(ask_v1(cu, "cuMemAlloc", 1000, 0), absent);
        assert_eq!(ask_v1(cu, "cuMemAlloc", 13010, 0), (INVALID_VALUE, UNWRITTEN, UNWRITTEN));
        assert_eq!(ask_v1(cu, "cuMemAlloc", 2000, 0), (0, UNWRITTEN, cu.symbol("cuMemAlloc") as u64));
        assert_eq!(
            ask_v1(cu, "cuGetProcAddress", 13000, 0),
            (0, UNWRITTEN, cu.symbol("cuGetProcAddress_v2") as u64)
        );
        // The measured driver crashes here.
        let name = CString::new("cuInit").unwrap();
        assert_eq!(cu.call("cuGetProcAddress_v2", &[name.as_ptr() as u64, 0, 12000, 0, 0]), INVALID_VALUE);
        let mut pointer = UNWRITTEN;
        assert_eq!(cu.call("cuGetProcAddress_v2", &[0, at(&mut pointer), 12000, 0, 0]), INVALID_VALUE);
        // The query status is optional.
        assert_eq!(cu.call("cuGetProcAddress_v2", &[name.as_ptr() as u64, at(&mut pointer), 12000, 0, 0]), 0);
        assert_eq!(pointer, cu.symbol("cuInit") as u64);
    });
}

/// Above the driver's version: an older ABI up to 12.5, an error from 12.8 on.
#[test]
fn above_the_version() {
    for (version, number) in softcuda::VERSIONS {
        both("above_the_version", version, |cu| {
            let asked = if *number < 12000 {
                ask_v1(cu, "cuMemAlloc", 99000, 0)
            } else {
                ask_v2(cu, "cuMemAlloc", 99000, 0)
            };
            match number {
                11040 | 11080 => assert_eq!(asked, (0, UNWRITTEN, cu.symbol("cuMemAlloc_v2") as u64)),
                12000..=12050 => assert_eq!(asked, (0, 0, cu.symbol("cuMemAlloc_v2") as u64)),
                _ => assert_eq!(asked, (INVALID_VALUE, UNWRITTEN, UNWRITTEN)),
            }
        });
    }
}

/// What the getter answers through a shell is the shell's own symbol, as a driver's is its own.
#[test]
fn a_shell_answers_its_own_symbols() {
    alone("a_shell_answers_its_own_symbols", &[], || {
        let shell = Library::open(&shell_path("12.2"));
        let core = Library::open(Path::new(&core_path()));
        let (_, _, pointer) = ask_v2(&shell, "cuMemAlloc", 12000, 0);
        assert_eq!(pointer, shell.symbol("cuMemAlloc_v2") as u64);
        assert_ne!(pointer, core.symbol("cuMemAlloc_v2") as u64);
        assert_eq!(ask_v2(&core, "cuMemAlloc", 12000, 0).2, core.symbol("cuMemAlloc_v2") as u64);
    });
}
