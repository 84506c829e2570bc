//! The engine on what compilers make of CUDA C++, against the same algorithms on the host.
#![allow(clippy::print_stdout)] // which compiler it was, when a test fails

use crate::device::{self, Arg, Device, Loaded, load};
use std::path::{Path, PathBuf};

/// Every compiler's PTX of a source file, with its name.
fn texts(source: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut all: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the kernels are there")
        .map(|entry| entry.expect("a folder can be read").path().join(format!("{source}.ptx")))
        .filter(|path| path.exists())
        .collect();
    all.sort();
    assert!(all.len() >= 3, "{source} is compiled by three compilers");
    all.into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a kernel can be read");
            (path.display().to_string(), text)
        })
        .collect()
}

#[test]
fn every_text_compiles() {
    for source in ["vector", "reduce", "atomics", "numeric", "language", "warps", "halves"] {
        for (name, text) in texts(source) {
            if let Err(error) = device::compile(&text) {
                panic!("{name}: {error}");
            }
        }
    }
}

/// Runs a test with the module of each compiler.
fn with_each(source: &str, test: impl Fn(&Device, &Loaded)) {
    for (name, text) in texts(source) {
        let device = Device::default();
        let loaded = load(&device, &text);
        println!("{name}");
        test(&device, &loaded);
    }
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 17) as u32
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.next() as i32) as f32 / 2e8).collect()
    }

    fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn bits64(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn element_wise() {
    with_each("vector", |device, loaded| {
        let n = 1000;
        let mut random = Random(1);
        let (a, b) = (random.floats(4 * n), random.floats(4 * n));
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.zeroed(16 * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(dc), Arg::I32(n as i32)];
        loaded.run(device, "add", 8, 128, &args).unwrap();
        let expected: Vec<f32> = (0..n).map(|i| a[i] + b[i]).collect();
        assert_eq!(bits(&device.read(dc, n)), bits(&expected));

        loaded.run(device, "add4", 8, 128, &args).unwrap();
        let four = |i: usize| {
            let (x, y) = (&a[4 * i..], &b[4 * i..]);
            [x[0] + y[0], x[1] - y[1], x[2] * y[2], x[3] / y[3]]
        };
        let expected: Vec<f32> = (0..n).flat_map(four).collect();
        assert_eq!(bits(&device.read(dc, 4 * n)), bits(&expected));

        let args = [Arg::F32(0.3), Arg::U64(da), Arg::U64(db), Arg::I32(4 * n as i32)];
        loaded.run(device, "saxpy", 3, 96, &args).unwrap();
        let expected: Vec<f32> = (0..4 * n).map(|i| 0.3f32.mul_add(a[i], b[i])).collect();
        assert_eq!(bits(&device.read(db, 4 * n)), bits(&expected));
    });
}

#[test]
fn two_dimensions() {
    with_each("vector", |device, loaded| {
        let (width, height) = (50usize, 37usize);
        let mut random = Random(2);
        let field: Vec<f64> = random.floats(width * height).into_iter().map(f64::from).collect();
        let (input, output) = (device.upload(&field), device.zeroed(8 * width * height));
        let sizes = [Arg::I32(width as i32), Arg::I32(height as i32)];
        let shape = |launch: &mut softcuda::ptx::Launch<'_>| {
            launch.grid = [4, 3, 1];
            launch.block = [16, 16, 1];
        };
        loaded
            .run_with(device, "stencil", &[Arg::U64(input), Arg::U64(output), sizes[0], sizes[1]], shape)
            .unwrap();
        let mut expected = vec![0f64; width * height];
        for y in 1..height - 1 {
            for x in 1..width - 1 {
                let at = y * width + x;
                let around = field[at - 1] + field[at + 1] + field[at - width] + field[at + width];
                expected[at] = 0.25 * around - field[at];
            }
        }
        assert_eq!(bits64(&device.read(output, width * height)), bits64(&expected));

        let words = random.words(width * height);
        let (input, output) = (device.upload(&words), device.zeroed(4 * width * height));
        loaded
            .run_with(device, "transpose", &[Arg::U64(input), Arg::U64(output), sizes[0], sizes[1]], shape)
            .unwrap();
        let expected: Vec<u32> =
            (0..width * height).map(|at| words[at % height * width + at / height]).collect();
        assert_eq!(device.read::<u32>(output, width * height), expected);
    });
}

#[test]
fn matrices() {
    with_each("vector", |device, loaded| {
        let n = 48usize;
        let mut random = Random(3);
        let (a, b) = (random.floats(n * n), random.floats(n * n));
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.zeroed(4 * n * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(dc), Arg::I32(n as i32)];
        loaded
            .run_with(device, "matmul", &args, |launch| {
                launch.grid = [3, 3, 1];
                launch.block = [16, 16, 1];
            })
            .unwrap();
        let element =
            |at: usize| (0..n).fold(0f32, |sum, k| a[at / n * n + k].mul_add(b[k * n + at % n], sum));
        let expected: Vec<f32> = (0..n * n).map(element).collect();
        assert_eq!(bits(&device.read(dc, n * n)), bits(&expected));
    });
}

#[test]
fn reductions() {
    with_each("reduce", |device, loaded| {
        let n = 5000usize;
        let words = Random(4).words(n);
        let (input, output) = (device.upload(&words), device.zeroed(4 * 64));
        let total = words.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        let args = [Arg::U64(input), Arg::U64(output), Arg::I32(n as i32)];
        loaded
            .run_with(device, "reduce_shared", &args, |launch| {
                launch.grid = [20, 1, 1];
                launch.block = [256, 1, 1];
                launch.shared = 1024;
            })
            .unwrap();
        let parts = device.read::<u32>(output, 20);
        assert_eq!(parts.iter().fold(0u32, |sum, word| sum.wrapping_add(*word)), total);
        assert_eq!(parts[3], words[768..1024].iter().fold(0u32, |sum, word| sum.wrapping_add(*word)));

        let output = device.zeroed(4);
        let args = [Arg::U64(input), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "reduce_shuffle", 20, 256, &args).unwrap();
        assert_eq!(device.read::<u32>(output, 1)[0], total);

        let doubles: Vec<f64> = words.iter().map(|word| f64::from(*word) / 7.0).collect();
        let (input, parts, output) = (device.upload(&doubles), device.zeroed(8 * 6), device.zeroed(8));
        let args = [Arg::U64(input), Arg::U64(parts), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "reduce_last", 6, 128, &args).unwrap();
        let block = |block: usize| {
            let mut sums: Vec<f64> = (0..128)
                .map(|thread| doubles[block * 128 + thread..].iter().step_by(768).fold(0.0, |s, x| s + x))
                .collect();
            for step in [64, 32, 16, 8, 4, 2, 1] {
                for i in 0..step {
                    sums[i] += sums[i + step];
                }
            }
            sums[0]
        };
        let expected = (0..6).map(block).fold(0.0, |sum, part| sum + part);
        assert_eq!(device.read::<f64>(output, 1)[0].to_bits(), f64::to_bits(expected));
    });
}

#[test]
fn histogram_scan_sort() {
    with_each("reduce", |device, loaded| {
        let mut random = Random(5);
        let bytes: Vec<u8> = (0..3000).map(|_| (random.next() >> 5) as u8).collect();
        let (input, output) = (device.upload(&bytes), device.zeroed(1024));
        let args = [Arg::U64(input), Arg::U64(output), Arg::I32(3000)];
        loaded.run(device, "histogram", 5, 192, &args).unwrap();
        let mut expected = vec![0u32; 256];
        bytes.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
        assert_eq!(device.read::<u32>(output, 256), expected);

        let words = random.words(700);
        let (input, output) = (device.upload(&words), device.zeroed(2800));
        let args = [Arg::U64(input), Arg::U64(output), Arg::I32(700)];
        loaded.run(device, "scan", 1, 1024, &args).unwrap();
        let mut sum = 0u32;
        let expected: Vec<u32> = words
            .iter()
            .map(|word| {
                sum = sum.wrapping_add(*word);
                sum
            })
            .collect();
        assert_eq!(device.read::<u32>(output, 700), expected);

        let mut keys = random.words(512);
        let data = device.upload(&keys);
        loaded
            .run_with(device, "sort", &[Arg::U64(data)], |launch| {
                launch.grid = [2, 1, 1];
                launch.block = [256, 1, 1];
                launch.shared = 1024;
            })
            .unwrap();
        keys.chunks_mut(256).for_each(<[u32]>::sort_unstable);
        assert_eq!(device.read::<u32>(data, 512), keys);
    });
}

/// What the six operations make of words that start as the kernels want them.
macro_rules! six {
    ($t:ty, $values:expr) => {{
        let mut words = [0 as $t, <$t>::MAX, <$t>::MIN, !0, 0, 0];
        for i in $values {
            words[0] = words[0].wrapping_add(i);
            words[1] = words[1].min(i);
            words[2] = words[2].max(i);
            // C's shift by a negative remainder is whatever the machine does: none is negative here.
            words[3] &= !(1 as $t).wrapping_shl((i % 31) as u32);
            words[4] |= (1 as $t).wrapping_shl((i % 31) as u32);
            words[5] ^= i.wrapping_mul(2_654_435_761u64 as $t);
        }
        words
    }};
}

#[test]
fn atomics() {
    with_each("atomics", |device, loaded| {
        let threads = 1024u32;
        let mut unsigned = vec![0u32; 16 + threads as usize];
        (unsigned[1], unsigned[3]) = (!0, !0);
        let mut signed = vec![0i32; 16];
        (signed[1], signed[2], signed[3]) = (i32::MAX, i32::MIN, -1);
        let mut wide = vec![0u64; 16];
        (wide[1], wide[3]) = (!0, !0);
        let long = vec![i64::MAX, i64::MIN];
        let (u, s, w) = (device.upload(&unsigned), device.upload(&signed), device.upload(&wide));
        let (l, f, d) = (device.upload(&long), device.zeroed(4), device.zeroed(8));
        let args = [u, s, w, l, f, d].map(Arg::U64);
        loaded.run(device, "global_atomics", 8, 128, &args).unwrap();
        let unsigned = device.read::<u32>(u, 16 + threads as usize);
        assert_eq!(unsigned[..6], six!(u32, (0..threads).map(|i| i + 1)));
        let signed = device.read::<i32>(s, 3);
        assert_eq!(signed, [(0..1024).map(|i| i - 500).sum::<i32>(), -500, 523]);
        let wide = device.read::<u64>(w, 7);
        assert_eq!(wide[..6], six!(u64, (0..u64::from(threads)).map(|i| i << 20 | i)));
        assert_eq!(wide[6], (0..1024).sum::<u64>());
        assert_eq!(device.read::<i64>(l, 2), [-12_345_678_901, 1023 * 12_345_678_901]);
        assert_eq!(unsigned[6], 0u32.wrapping_sub((0..1024).sum()));
        assert_eq!(unsigned[7], 1024 % 100);
        assert_eq!(unsigned[8], 100 - 1024 % 100);
        assert_eq!((device.read::<f32>(f, 1)[0], device.read::<f64>(d, 1)[0]), (1024.0, 512.0));
        // Each value that was put in comes out once, or stays.
        let mut exchanged = unsigned[16..].to_vec();
        exchanged.push(unsigned[9]);
        exchanged.sort_unstable();
        assert!(exchanged.into_iter().eq(0..=1024));

        let (u, s, w) = (device.zeroed(64), device.zeroed(64), device.zeroed(128));
        let args = [u, s, w, f, d].map(Arg::U64);
        loaded.run(device, "shared_atomics", 1, 100, &args).unwrap();
        let unsigned = device.read::<u32>(u, 12);
        let mut expected = six!(u32, (0..100u32).map(|i| i + 1));
        expected[2] = 100;
        assert_eq!(unsigned[..6], expected);
        assert_eq!(unsigned[7..12], [100 % 10, 0, 0, 1, 7]);
        assert_eq!(device.read::<i32>(s, 3), [(0..100).map(|i| i - 50).sum::<i32>(), -50, 49]);
        assert_eq!(device.read::<u64>(w, 6), six!(u64, (0..100u64).map(|i| i << 20 | i)));
        assert_eq!((device.read::<f32>(f, 1)[0], device.read::<f64>(d, 1)[0]), (50.0, 25.0));

        let (mutex, counter) = (device.zeroed(4), device.zeroed(4));
        loaded.run(device, "lock", 4, 64, &[Arg::U64(mutex), Arg::U64(counter)]).unwrap();
        assert_eq!(device.read::<u32>(counter, 1)[0], 256);
    });
}

#[test]
fn fractal_and_bodies() {
    with_each("numeric", |device, loaded| {
        let (width, height, most) = (60i32, 40i32, 300);
        let output = device.zeroed((4 * width * height) as usize);
        let args = [Arg::U64(output), Arg::I32(width), Arg::I32(height), Arg::I32(most)];
        loaded
            .run_with(device, "mandelbrot", &args, |launch| {
                launch.grid = [4, 5, 1];
                launch.block = [16, 8, 1];
            })
            .unwrap();
        let steps = |at: i32| {
            let cr = 3.0 / f64::from(width) * f64::from(at % width) - 2.0;
            let ci = 2.0 / f64::from(height) * f64::from(at / width) - 1.0;
            let (mut zr, mut zi, mut n) = (0f64, 0f64, 0);
            while n < most && zr * zr + zi * zi < 4.0 {
                (zr, zi) = (zr * zr - zi * zi + cr, 2.0 * zr * zi + ci);
                n += 1;
            }
            n
        };
        let expected: Vec<i32> = (0..width * height).map(steps).collect();
        assert_eq!(device.read::<i32>(output, (width * height) as usize), expected);

        let n = 128usize;
        let bodies = Random(6).floats(4 * n);
        let (input, output) = (device.upload(&bodies), device.zeroed(16 * n));
        loaded.run(device, "bodies", 2, 64, &[Arg::U64(input), Arg::U64(output), Arg::I32(128)]).unwrap();
        let force = |i: usize| {
            let mut f = [0f32; 4];
            for other in bodies.chunks(4) {
                let d: [f32; 3] = std::array::from_fn(|k| other[k] - bodies[4 * i + k]);
                let square = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul_add(d[2], 0.01)));
                let inverse = 1.0 / square.sqrt();
                let pull = other[3] * inverse * inverse * inverse;
                (0..3).for_each(|k| f[k] = d[k].mul_add(pull, f[k]));
            }
            f
        };
        let expected: Vec<f32> = (0..n).flat_map(force).collect();
        assert_eq!(bits(&device.read(output, 4 * n)), bits(&expected));
    });
}

#[test]
fn options_are_near_the_exact_price() {
    with_each("numeric", |device, loaded| {
        let n = 200usize;
        let mut random = Random(7);
        let mut between = |low: f32, high: f32| -> Vec<f32> {
            (0..n).map(|_| low + (high - low) * (random.next() as f32 / u32::MAX as f32)).collect()
        };
        let (price, strike, years) = (between(5.0, 30.0), between(1.0, 100.0), between(0.25, 10.0));
        let inputs = [device.upload(&price), device.upload(&strike), device.upload(&years)];
        let (call, put) = (device.zeroed(4 * n), device.zeroed(4 * n));
        let mut args: Vec<Arg> = inputs.into_iter().chain([call, put]).map(Arg::U64).collect();
        args.push(Arg::I32(n as i32));
        loaded.run(device, "options", 2, 128, &args).unwrap();
        let (call, put) = (device.read::<f32>(call, n), device.read::<f32>(put, n));
        for i in 0..n {
            let (price, strike, years) = (f64::from(price[i]), f64::from(strike[i]), f64::from(years[i]));
            let root = 0.3 * years.sqrt();
            let d1 = ((price / strike).ln() + (0.02 + 0.045) * years) / root;
            let discounted = strike * (-0.02 * years).exp();
            let expected = price * normal(d1) - discounted * normal(d1 - root);
            assert!((f64::from(call[i]) - expected).abs() < 2e-4, "{i}: {} {expected}", call[i]);
            let expected = discounted * normal(root - d1) - price * normal(-d1);
            assert!((f64::from(put[i]) - expected).abs() < 2e-4, "{i}: {} {expected}", put[i]);
        }
    });
}

/// The normal distribution, by its series and its continued fraction.
fn normal(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[test]
fn random_numbers() {
    with_each("numeric", |device, loaded| {
        let inside = device.zeroed(8);
        loaded.run(device, "monte_carlo", 3, 100, &[Arg::U64(inside), Arg::U32(77), Arg::I32(5)]).unwrap();
        let mut expected = 0u64;
        for (i, round) in (0..300u32).flat_map(|i| (0..5u32).map(move |round| (i, round))) {
            let mut c = [i, round, 0, 0];
            let (mut k0, mut k1) = (77u32, 0x1234_5678u32);
            for _ in 0..10 {
                let (p0, p1) = (0xD251_1F53 * u64::from(c[0]), 0xCD9E_8D57 * u64::from(c[2]));
                c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
                (k0, k1) = (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85));
            }
            for pair in c.chunks(2) {
                let (x, y) = (u64::from(pair[0] >> 8), u64::from(pair[1] >> 8));
                expected += u64::from(x * x + y * y < 1 << 48);
            }
        }
        assert_eq!(device.read::<u64>(inside, 1)[0], expected);
    });
}

#[test]
fn integer_operators() {
    with_each("numeric", |device, loaded| {
        let n = 300usize;
        let mut random = Random(8);
        let mut numbers = |special: &[i32]| -> Vec<i32> {
            let mut all = special.to_vec();
            all.extend((special.len()..n).map(|_| (random.next() >> (random.next() % 31)) as i32));
            all
        };
        let a = numbers(&[0, 1, -1, i32::MAX, i32::MIN, i32::MIN, 7, -7, 255]);
        let b = numbers(&[0, -1, 1, i32::MIN, -1, i32::MIN, -2, 2, 32]);
        let (da, db, output) = (device.upload(&a), device.upload(&b), device.zeroed(64 * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "integers", 3, 128, &args).unwrap();
        let result = device.read::<i32>(output, 16 * n);
        for i in 0..n {
            assert_eq!(result[16 * i..16 * i + 16], integers(a[i], b[i]), "{} {}", a[i], b[i]);
        }
    });
}

fn integers(x: i32, y: i32) -> [i32; 16] {
    let (ux, uy) = (x as u32, y as u32);
    let w = i64::from(x) << 32 | i64::from(uy);
    let divisor = if y == -1 { 1 } else { y };
    let bytes = [x.to_le_bytes(), y.to_le_bytes()].concat();
    let shift = uy & 31;
    let find_first = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    let joined = u64::from(uy) << 32 | u64::from(ux);
    let sad = (i64::from(x) - i64::from(y)).unsigned_abs() as u32;
    [
        if y == 0 { 0 } else { x.wrapping_div(divisor) },
        if y == 0 { 0 } else { x.wrapping_rem(divisor) },
        ux.checked_div(uy).unwrap_or(0) as i32,
        ux.checked_rem(uy).unwrap_or(0) as i32,
        x.count_ones() as i32 + 100 * x.leading_zeros() as i32 + 10000 * find_first,
        x.reverse_bits(),
        i32::from_le_bytes([bytes[1], bytes[3], bytes[5], bytes[7]]),
        ((joined << (ux & 31)) >> 32) as i32,
        ((i64::from(x) * i64::from(y)) >> 32) as i32,
        (w % 1_000_003) as i32,
        (w as u64 / 12345) as i32,
        sad.wrapping_add(ux).wrapping_add(x.unsigned_abs()) as i32,
        (x >> shift).wrapping_add((ux >> shift) as i32).wrapping_add(x << shift),
        w.count_ones() as i32 + 100 * w.leading_zeros() as i32,
        (x & y) | ((!ux & ux >> 3) as i32 ^ (y & 0x0f0f_0f0f)),
        i32::from(x as i16) * i32::from(y as i8) + i32::from((x >> 8) as u8),
    ]
}

#[test]
fn half_precision() {
    with_each("halves", |device, loaded| {
        let n = 200usize;
        let mut random = Random(9);
        let (a, b) = (random.floats(n), random.floats(n));
        let (da, db, output) = (device.upload(&a), device.upload(&b), device.zeroed(48 * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "halves", 2, 128, &args).unwrap();
        let result = device.read::<f32>(output, 12 * n);
        // The numbers are below 16, so that eleven bits end at 2^-24 or higher.
        let half = |x: f64| narrowed(x, 11, false);
        for i in 0..n {
            let (x, y) = (half(a[i].into()), half(b[i].into()));
            let expected = [
                half(x + y),
                half(x - y),
                half(x * y),
                half(x * y + x),
                narrowed(a[i].into(), 11, true),
                f64::from(u8::from(x < y)) + 2.0 * f64::from(u8::from(x >= y)) + 4.0,
                x.abs(),
                half(f64::from(a[i] as i32)),
                f64::from(x as i32),
                half(x * x + y),
                half(y * y + y),
                x.max(y) + x.min(y),
            ];
            for k in 0..12 {
                assert_eq!(f64::from(result[12 * i + k]), expected[k], "{} {}, {k}", a[i], b[i]);
            }
        }
        loaded.run(device, "brains", 2, 128, &args).unwrap();
        let result = device.read::<f32>(output, 6 * n);
        let brain = |x: f64| narrowed(x, 8, false);
        for i in 0..n {
            let (x, y) = (brain(a[i].into()), brain(b[i].into()));
            let zero = narrowed(a[i].into(), 8, true);
            let sum = f64::from((x + y) as f32);
            let expected = [brain(x + y), brain(x * y), brain(x * y + y), x.max(y), zero, sum];
            for k in 0..6 {
                assert_eq!(f64::from(result[6 * i + k]), expected[k], "{} {}, {k}", a[i], b[i]);
            }
        }
    });
}

/// Whether `result` is the exact value rounded in a direction, where `error(x)` has the sign of the exact value less `x`.
fn is_rounded(result: f64, up: f64, down: f64, way: i32, error: impl Fn(f64) -> f64) -> bool {
    match (way, error(result)) {
        (_, 0.0) => true,
        // Upwards: the result is above, and the number below it is not.
        (1, e) => e < 0.0 && error(down) > 0.0,
        (-1, e) => e > 0.0 && error(up) < 0.0,
        (_, e) if result > 0.0 => e > 0.0 && error(up) < 0.0,
        (_, e) => e < 0.0 && error(down) > 0.0,
    }
}

#[test]
fn single_precision_rounds_as_told() {
    with_each("numeric", |device, loaded| {
        let n = 500usize;
        let mut random = Random(10);
        let (a, b) = (random.floats(n), random.floats(n));
        let (da, db, output) = (device.upload(&a), device.upload(&b), device.zeroed(64 * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "floats", 4, 128, &args).unwrap();
        let result = device.read::<f32>(output, 16 * n);
        for i in 0..n {
            let (x, y, r) = (a[i], b[i], &result[16 * i..16 * i + 16]);
            let (wx, wy) = (f64::from(x), f64::from(y));
            let near = [
                (0, x + y),
                (6, x / y),
                (8, x.abs().sqrt()),
                (10, x.mul_add(y, x)),
                (12, x.min(y)),
                (13, x.max(y)),
                (15, x.round_ties_even() + y.floor()),
            ];
            for (k, expected) in near {
                assert_eq!(r[k].to_bits(), expected.to_bits(), "{x} {y}, {k}");
            }
            let check = |k: usize, way: i32, error: &dyn Fn(f64) -> f64| {
                let (up, down) = (r[k].next_up().into(), r[k].next_down().into());
                assert!(is_rounded(r[k].into(), up, down, way, error), "{x} {y}, {k}: {}", r[k]);
            };
            // Double precision holds these sums and products of single precision, and the residuals' signs.
            check(1, 0, &|r| wx + wy - r);
            check(2, 1, &|r| wx + wy - r);
            check(3, -1, &|r| wx + wy - r);
            check(4, 0, &|r| wx * wy - r);
            check(5, 1, &|r| wx * wy - r);
            check(7, 0, &|r| (-r).mul_add(wy, wx) * wy.signum());
            check(9, 1, &|r| (-r).mul_add(r, wx.abs()));
            check(11, -1, &|r| (wx * wy - r) + wx);
            check(14, 0, &|r| (-r).mul_add(wx, 1.0) * wx.signum());
        }
    });
}

#[test]
fn double_precision_rounds_as_told() {
    with_each("numeric", |device, loaded| {
        let n = 500usize;
        let mut random = Random(11);
        let mut numbers = || -> Vec<f64> {
            (0..n).map(|_| f64::from(random.next() as i32) / 7e6 + f64::from(random.next()) / 3e18).collect()
        };
        let (a, b) = (numbers(), numbers());
        let (da, db, output) = (device.upload(&a), device.upload(&b), device.zeroed(128 * n));
        let args = [Arg::U64(da), Arg::U64(db), Arg::U64(output), Arg::I32(n as i32)];
        loaded.run(device, "doubles", 4, 128, &args).unwrap();
        let result = device.read::<f64>(output, 16 * n);
        for i in 0..n {
            let (x, y, r) = (a[i], b[i], &result[16 * i..16 * i + 16]);
            let near = [
                (4, x / y),
                (6, x.abs().sqrt()),
                (8, x.mul_add(y, x)),
                (12, f64::from(x.round_ties_even() as i32) + y.floor()),
                (13, (x as i64 * 3) as f64),
                (15, x.trunc() + y.ceil()),
            ];
            for (k, expected) in near {
                assert_eq!(r[k].to_bits(), expected.to_bits(), "{x} {y}, {k}");
            }
            let check = |k: usize, way: i32, error: &dyn Fn(f64) -> f64| {
                let (up, down) = (r[k].next_up(), r[k].next_down());
                assert!(is_rounded(r[k], up, down, way, error), "{x} {y}, {k}: {}", r[k]);
            };
            // The sum and its error, of which one is nothing to the other: what is left of both decides.
            let sum = x + y;
            let other = sum - x;
            let lost = (x - (sum - other)) + (y - other);
            check(0, 0, &|r| (sum - r) + lost);
            check(1, 1, &|r| (sum - r) + lost);
            check(2, -1, &|r| x.mul_add(y, -r));
            check(3, 1, &|r| x.mul_add(y, -r));
            check(5, 0, &|r| (-r).mul_add(y, x) * y.signum());
            check(7, -1, &|r| (-r).mul_add(r, x.abs()));
            assert!(r[9] == r[8] || r[9] == r[8].next_up() || r[9] == r[8].next_down());
            assert!(r[9].abs() <= r[8].abs(), "towards zero");
            let single = |k: usize, way: i32, exact: f64| {
                let (up, down) = ((r[k] as f32).next_up().into(), (r[k] as f32).next_down().into());
                assert!(is_rounded(r[k], up, down, way, |r| exact - r), "{x} {y}, {k}: {}", r[k]);
            };
            single(10, 0, x);
            single(11, 1, x);
            single(14, 1, (y as i64 * 7) as f64);
        }
    });
}

/// Rounds to so many significant bits, to even or towards zero.
fn narrowed(x: f64, digits: i32, towards_zero: bool) -> f64 {
    if x == 0.0 {
        return x;
    }
    let unit = 2f64.powi(x.abs().log2().floor() as i32 + 1 - digits);
    let scaled = x / unit;
    unit * if towards_zero { scaled.trunc() } else { scaled.round_ties_even() }
}
