//! The engine on C++ as compiled: functions, output, warps, barriers, and what goes wrong.
#![allow(clippy::print_stdout)] // which compiler it was, when a test fails

use crate::device::{Arg, Device, Loaded, load};
use softcuda::ptx::FaultKind;
use std::path::Path;

/// Runs a test with the module of each compiler.
fn with_each(source: &str, test: impl Fn(&Device, &Loaded)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    for compiler in ["nvrtc-12.2-sm_80", "nvrtc-12.8-sm_90", "nvrtc-13.0-sm_80"] {
        let path = folder.join(compiler).join(source).with_extension("ptx");
        let text = std::fs::read_to_string(&path).expect("a kernel can be read");
        let device = Device::default();
        let loaded = load(&device, &text);
        println!("{compiler}");
        test(&device, &loaded);
    }
}

#[test]
fn functions() {
    with_each("language", |device, loaded| {
        let out = device.zeroed(4 * 40);
        loaded
            .run_with(device, "recursion", &[Arg::U64(out)], |launch| {
                launch.block = [40, 1, 1];
                launch.stack = 4096;
            })
            .unwrap();
        let series = [0u32, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610];
        assert_eq!(device.read::<u32>(out, 40), (0..40).map(|i| series[i % 16]).collect::<Vec<_>>());
        let fault = loaded
            .run_with(device, "recursion", &[Arg::U64(out)], |launch| {
                launch.block = [16, 1, 1];
                launch.stack = 128;
            })
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::StackOverflow, "{fault}");

        let (a, b) = ((0..32).collect::<Vec<i32>>(), (0..32).map(|i| i * i - 50).collect::<Vec<i32>>());
        let out = device.zeroed(128);
        let args = [Arg::U64(device.upload(&a)), Arg::U64(device.upload(&b)), Arg::U64(out)];
        loaded.run(device, "pointers", 1, 32, &args).unwrap();
        let expected: Vec<i32> = (0..32usize)
            .map(|i| match i % 3 {
                0 => a[i] + b[i],
                1 => a[i] - b[i],
                _ => a[i] * b[i],
            })
            .collect();
        assert_eq!(device.read::<i32>(out, 32), expected);

        loaded.run(device, "classes", 1, 32, &[Arg::U64(out)]).unwrap();
        let expected: Vec<f32> = (0..32).map(|i| (i * i * if i % 2 == 1 { 1 } else { 3 }) as f32).collect();
        assert_eq!(device.read::<f32>(out, 32), expected);
    });
}

#[test]
fn structures_by_value() {
    with_each("language", |device, loaded| {
        let out = device.zeroed(8 * 9 * 4);
        let function = loaded.module.function("structures").unwrap();
        let matrix: Vec<f64> = (0..9).map(|i| f64::from(i) * 0.3 - 1.0).collect();
        let mut block = vec![0; function.param_bytes];
        for (i, x) in matrix.iter().enumerate() {
            block[8 * i..8 * i + 8].copy_from_slice(&x.to_le_bytes());
        }
        block[72..76].copy_from_slice(&3i32.to_le_bytes());
        block[80..88].copy_from_slice(&out.to_le_bytes());
        let mut launch = softcuda::ptx::Launch::new(device);
        launch.block = [4, 1, 1];
        launch.args = &block;
        launch.globals = &loaded.globals;
        function.launch(&launch).unwrap();
        let mut expected = Vec::new();
        for thread in 0..4 {
            let mut a = matrix.clone();
            a[0] += f64::from(thread);
            let mut r = vec![1.0f64, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
            for _ in 0..3 {
                let element = |at: usize| {
                    (0..3).fold(0.0f64, |sum, k| r[at / 3 * 3 + k].mul_add(a[k * 3 + at % 3], sum))
                };
                r = (0..9).map(element).collect();
            }
            expected.extend(r);
        }
        assert_eq!(device.read::<f64>(out, 36), expected);
    });
}

#[test]
fn switches_constants_locals() {
    with_each("language", |device, loaded| {
        let n = 100usize;
        let input: Vec<i32> = (0..n).map(|i| (i * 7 % 10) as i32).collect();
        let (din, out) = (device.upload(&input), device.zeroed(4 * n));
        let args = [Arg::U64(din), Arg::U64(out), Arg::I32(n as i32)];
        loaded.run(device, "switches", 1, 128, &args).unwrap();
        let expected: Vec<i32> = (0..n)
            .map(|i| match input[i] {
                0 => 17,
                1 => input[(i + 1) % n] * 3,
                2 => (2 - 9) ^ 0x55,
                3 => 3 ^ 0x55,
                4 => 64,
                5 => -5,
                6 => 6 + (0..i as i32 % 7).map(|k| k * k).sum::<i32>(),
                7 => 1 << (i % 20),
                _ => 999,
            })
            .collect();
        assert_eq!(device.read::<i32>(out, n), expected);

        let values: Vec<f32> = (0..n).map(|i| (i * i % 37) as f32).collect();
        device.write(din, &values);
        let at = loaded.module.globals().iter().position(|global| global.name == "shifted").unwrap();
        device.write(loaded.globals[at], &[5i32]);
        loaded.run(device, "constants", 1, 128, &args).unwrap();
        let expected: Vec<f32> = (0..n as i32)
            .map(|i| {
                let near = |k: i32| values[(i + k).clamp(0, n as i32 - 1) as usize];
                let sum = near(-2) + 4.0 * near(-1) + 6.0 * near(0) + 4.0 * near(1) + near(2);
                sum / 16.0 + 5.0 + f32::from([b'e', b'n', b'w'][i as usize % 3])
            })
            .collect();
        assert_eq!(device.read::<f32>(out, n), expected);

        loaded.run(device, "locals", 1, 50, &[Arg::U64(out), Arg::I32(3)]).unwrap();
        let expected: Vec<i32> = (0..50)
            .map(|thread| {
                let mut table: [i32; 32] = std::array::from_fn(|i| i as i32 * thread);
                let (mut at, mut sum) = (3usize, 0i32);
                for _ in 0..32 {
                    at = (at * 5 + 7) % 32;
                    sum = sum.wrapping_mul(3).wrapping_add(table[at]);
                    table[(at + 3) % 32] ^= sum;
                }
                sum
            })
            .collect();
        assert_eq!(device.read::<i32>(out, 50), expected);
    });
}

#[test]
fn output_and_conditions() {
    with_each("language", |device, loaded| {
        loaded.run(device, "print", 1, 8, &[Arg::I32(3)]).unwrap();
        let expected = "thread 0 of 8:  0.00 even  | a 0 0x00000000 0.000000e+00 %\n\
                        thread 1 of 8:  1.50 odd   | b -1000000007000 0x01234567 3.333333e-01 %\n\
                        thread 2 of 8:  3.00 even  | c -2000000014000 0x02468ace 6.666667e-01 %\n";
        assert_eq!(device.text(), expected);
        let counter = device.upload(&[2u32]);
        for _ in 0..2 {
            loaded.run(device, "count_down", 1, 1, &[Arg::U64(99), Arg::U64(counter)]).unwrap();
        }
        assert_eq!(*device.conditions.lock(), [(99, 1), (99, 0)]);
    });
}

#[test]
fn assertions_and_traps() {
    with_each("language", |device, loaded| {
        let mut input = vec![1i32; 64];
        let din = device.upload(&input);
        loaded.run(device, "check", 1, 64, &[Arg::U64(din), Arg::I32(64)]).unwrap();
        input[37] = -1;
        device.write(din, &input);
        let fault = loaded.run(device, "check", 1, 64, &[Arg::U64(din), Arg::I32(64)]).unwrap_err();
        assert_eq!((fault.kind, fault.thread), (FaultKind::Assert, [37, 0, 0]));
        assert_eq!(fault.message, "language.cu:120: check: assertion `in[i] >= 0` failed");
        let fault = loaded.run(device, "trap", 2, 64, &[Arg::I32(40)]).unwrap_err();
        assert_eq!((fault.kind, fault.thread, fault.kernel.as_str()), (FaultKind::Trap, [40, 0, 0], "trap"));
        loaded.run(device, "trap", 2, 64, &[Arg::I32(64)]).unwrap();
    });
}

#[test]
fn lanes_exchange() {
    with_each("warps", |device, loaded| {
        let input: Vec<i32> = (0..32).map(|i| (i * 37 % 64) - 20).collect();
        let out = device.zeroed(4 * 12 * 32);
        loaded.run(device, "votes", 1, 32, &[Arg::U64(device.upload(&input)), Arg::U64(out)]).unwrap();
        let result = device.read::<u32>(out, 12 * 32);
        let mask =
            |test: &dyn Fn(i32) -> bool| (0..32).fold(0u32, |bits, i| bits | u32::from(test(input[i])) << i);
        for i in 0..32usize {
            let x = input[i];
            let segment8 = i / 8 * 8;
            let expected = [
                mask(&|y| y > 0),
                u32::from(input.iter().any(|y| *y > 30)) | u32::from(input.iter().all(|y| *y > -100)) << 1,
                mask(&|y| y % 5 == x % 5),
                !0,
                1,
                input.iter().sum::<i32>() as u32,
                *input.iter().max().unwrap() as u32,
                input.iter().fold(0, |a, b| a ^ b) as u32,
                input[segment8 + (i * 7 + 3) % 8] as u32,
                input[if i % 16 >= 3 { i - 3 } else { i }] as u32,
                input[if i % 16 + 5 < 16 { i + 5 } else { i }] as u32,
                input[i ^ 21] as u32,
            ];
            assert_eq!(result[12 * i..12 * i + 12], expected, "lane {i}");
        }

        let out = device.zeroed(4 * 64);
        loaded.run(device, "diverged", 1, 64, &[Arg::U64(out)]).unwrap();
        let result = device.read::<u32>(out, 64);
        for i in 0..64u32 {
            let (lane, base) = (i % 32, i / 32 * 32);
            let odd = (base + 31) * 10;
            let even: u32 = (0..32).step_by(2).map(|lane| base + lane).sum();
            let value = if lane % 2 == 1 { odd } else { even } + 1;
            let expected = if lane < 7 { 0 } else { value.wrapping_add(0xaaaa_aaaa & 0xffff_ff80) };
            assert_eq!(result[i as usize], expected, "thread {i}");
        }

        let (turn, order) = (device.zeroed(4), device.zeroed(4 * 64));
        loaded.run(device, "hand_over", 1, 64, &[Arg::U64(turn), Arg::U64(order)]).unwrap();
        assert_eq!(device.read::<i32>(order, 64), (0..64).map(|i| i * i).collect::<Vec<_>>());
    });
}

#[test]
fn barriers() {
    with_each("warps", |device, loaded| {
        let out = device.zeroed(4 * 128);
        loaded.run(device, "barriers", 1, 128, &[Arg::U64(out)]).unwrap();
        let result = device.read::<i32>(out, 128);
        for i in 0..64 {
            assert_eq!(result[64 + i], 2 * i as i32 + 43 * 1000 + 100_000 + 1_000_000);
            assert_eq!(result[i], 127 - i as i32);
        }
        let fault = loaded.run(device, "never", 1, 64, &[Arg::U64(out)]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Deadlock);
        assert!(fault.message.contains("32 of 64 threads are at barrier 1"), "{fault}");
        assert!(fault.message.contains("32 of 64 threads are at barrier 2"), "{fault}");

        let flag = device.zeroed(4);
        let fault = loaded
            .run_with(device, "forever", &[Arg::U64(flag)], |launch| launch.budget = Some(100_000))
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Timeout);

        let (arrived, out) = (device.zeroed(4), device.zeroed(4 * 32 * 100));
        loaded
            .run_with(device, "meet", &[Arg::U64(arrived), Arg::U64(out)], |launch| {
                launch.grid = [100, 1, 1];
                launch.block = [32, 1, 1];
                launch.cooperative = true;
            })
            .unwrap();
        assert_eq!(device.read::<u32>(out, 3200), vec![100; 3200]);
    });
}

/// A function that calls itself has as many calls as the stack holds: its parameters and results are in registers on a GPU, and count only
/// if they are large.
#[test]
fn small_parameters_take_nothing_of_the_stack() {
    let deep = |parameter: &str, local: &str| {
        format!(
            ".version 8.0
.target sm_80
.address_size 64
.func (.param .b64 sum) down(.param .b64 n, .param .align 8 .b8 extra[{parameter}]) {{
  {local}
  .reg .pred %p; .reg .b64 %n, %s, %m;
  ld.param.b64 %n, [n];
  mov.b64 %s, 0;
  setp.eq.s64 %p, %n, 0;
  @%p bra done;
  sub.s64 %m, %n, 1;
  {{ .param .b64 to; .param .align 8 .b8 more[{parameter}]; .param .b64 from; st.param.b64 [to], %m; st.param.b64 [more], %m;
    call.uni (from), down, (to, more); ld.param.b64 %s, [from]; }}
  add.s64 %s, %s, %n;
done:
  st.param.b64 [sum], %s;
  ret;
}}
.visible .entry all(.param .u64 out, .param .u64 n) {{
  .reg .b64 %o, %n, %s;
  ld.param.u64 %o, [out]; ld.param.u64 %n, [n];
  {{ .param .b64 to; .param .align 8 .b8 more[{parameter}]; .param .b64 from; st.param.b64 [to], %n; st.param.b64 [more], %n;
    call.uni (from), down, (to, more); ld.param.b64 %s, [from]; }}
  st.global.u64 [%o], %s;
  ret;
}}"
        )
    };
    // A call takes 16 bytes, and what it keeps in memory.
    for (parameter, local, most) in [("8", "", 63), ("64", "", 6), ("8", ".local .b8 depot[112];", 7)] {
        let device = Device::default();
        let loaded = load(&device, &deep(parameter, local));
        let out = device.zeroed(8);
        let run = |depth: u64| {
            loaded.run_with(&device, "all", &[Arg::U64(out), Arg::U64(depth)], |launch| launch.stack = 1024)
        };
        run(most).unwrap();
        assert_eq!(device.read::<u64>(out, 1)[0], most * (most + 1) / 2);
        let fault = run(most + 1).unwrap_err();
        assert_eq!(fault.kind, FaultKind::StackOverflow, "{fault}");
    }
}
