//! Single sums of `mma` that tell how an H100 adds: where it brings what it adds, and what it leaves out.

use crate::mma::Form;

const LANES: usize = 32;
const SUMS: &str = include_str!("mma_sums.txt");

struct Sum {
    form: &'static str,
    result: u64,
    before: u64,
    factors: Vec<(u64, u64)>,
    /// Bits of what is summed, and of factors.
    sum_bits: usize,
    bits: usize,
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn read(line: &'static str) -> Sum {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("too short: {line}"));
    let (form, result, before) = (word(), word(), word());
    let pairs: Vec<_> = words.map(|pair| pair.split_once('*').expect("a product")).collect();
    Sum {
        form,
        result: number(result),
        before: number(before),
        sum_bits: result.len() * 4,
        bits: pairs[0].0.len() * 4,
        factors: pairs.into_iter().map(|(a, b)| (number(a), number(b))).collect(),
    }
}

/// Runs up to eight sums of one form: the one of number `n` in row and column `n`.
fn results(sums: &[Sum]) -> Vec<u64> {
    let Sum { form: name, bits, sum_bits, .. } = sums[0];
    let form = Form { name, rows: 16, inner: sums[0].factors.len(), bits, sum_bits };
    let mut words = vec![0u64; LANES * 16];
    let mut put = |(lane, register, at): (usize, usize, usize), from: usize, bits: usize, element: u64| {
        words[lane * 16 + from + register] |= element << (bits * at);
    };
    for (n, sum) in sums.iter().enumerate() {
        put(form.place_of_sum(n, n), 12, sum_bits, sum.before);
        for (k, (a, b)) in sum.factors.iter().enumerate() {
            put(form.place_of_first(n, k), 0, bits, *a);
            put(form.place_of_second(k, n), 8, bits, *b);
        }
    }
    let out = form.run(&words);
    let element = |n: usize| {
        let (lane, register, at) = form.place_of_sum(n, n);
        out[lane * 4 + register] >> (sum_bits * at) & ((1 << sum_bits) - 1)
    };
    (0..sums.len()).map(element).collect()
}

#[test]
fn each_is_as_a_card_gave_it() {
    let sums: Vec<Sum> = SUMS.lines().filter(|line| !line.starts_with('#')).map(read).collect();
    assert!(sums.len() > 80, "{}", sums.len());
    for of_a_form in sums.chunk_by(|a, b| a.form == b.form) {
        for some in of_a_form.chunks(8) {
            let wanted: Vec<u64> = some.iter().map(|sum| sum.result).collect();
            assert_eq!(results(some), wanted, "{}: {wanted:x?}", some[0].form);
        }
    }
}
