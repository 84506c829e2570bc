//! `mma` with all sorts of operands, bit by bit as an H100 gave it: 39,936 sums.

use crate::mma::Form;

const LANES: usize = 32;

/// Forms, how often each was run with each sort of operands, and a checksum of what it gave with each sort.
const CARD: [(&str, u64, [u64; 6]); 18] = [
    (
        "m16n8k16.row.col.f16.f16.f16.f16",
        8,
        [
            0x7b7d_73d7_fb6b_9e39,
            0x4c92_dbe7_26c1_6621,
            0xf2e2_38e0_64f6_62fd,
            0x7b6c_8944_6e91_a17f,
            0x6134_2ebd_6c44_fec4,
            0xc70c_be48_6d41_d1ad,
        ],
    ),
    (
        "m16n8k8.row.col.f16.f16.f16.f16",
        6,
        [
            0x5258_0ca0_7cb4_4bdb,
            0xdf6d_b346_2d20_08f6,
            0xbc5b_3e29_79d2_d815,
            0x9771_5c71_9aaa_394d,
            0x92c2_da4f_3d29_b993,
            0x704b_9b76_e21b_5565,
        ],
    ),
    (
        "m16n8k32.row.col.f16.e4m3.e4m3.f16",
        4,
        [
            0x382e_1393_4e95_0f61,
            0x8de6_db00_66d9_e55c,
            0x6734_ea41_0f19_3554,
            0xd9e8_4cb0_6425_fcf7,
            0x5ed8_8a8d_8a2a_8a20,
            0x9efe_a1a6_2137_9505,
        ],
    ),
    (
        "m16n8k32.row.col.f16.e5m2.e4m3.f16",
        4,
        [
            0x2b7c_9649_4c46_da44,
            0xae0a_4eb8_23f5_70eb,
            0x4ada_e81d_96cb_5f63,
            0xbe3b_e1e9_034b_c08f,
            0x0a4d_6a6d_960f_95b5,
            0xb09e_46a7_7c71_a2ca,
        ],
    ),
    (
        "m16n8k16.row.col.f16.e5m2.e5m2.f16",
        4,
        [
            0x144e_23b6_9fde_d604,
            0xc817_c986_740f_6ce6,
            0x20a1_1333_b55d_8e47,
            0xb735_c2d0_b448_9198,
            0x2db9_0851_452d_1977,
            0x32a7_48b1_52ce_00a1,
        ],
    ),
    (
        "m16n8k16.row.col.f32.f16.f16.f32",
        3,
        [
            0x6d93_7b0f_fc15_77f5,
            0x4d02_7d16_10e6_b6fc,
            0x5cf1_5f22_9829_ef8e,
            0x5e4a_1f82_9fd6_18eb,
            0x1160_1574_ffa3_ff68,
            0xaf6b_b909_15ee_cf4e,
        ],
    ),
    (
        "m16n8k8.row.col.f32.f16.f16.f32",
        2,
        [
            0x395d_0605_c2db_789b,
            0x6d32_97ba_548f_84c8,
            0xe024_faea_325e_bd76,
            0x10ac_d3b7_b639_444b,
            0x557e_cb2c_e113_654d,
            0xf4eb_be8c_443e_273e,
        ],
    ),
    (
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        3,
        [
            0x4bcc_1ed0_18a9_c07a,
            0x37f0_6deb_3e71_ec31,
            0x287f_1850_0a37_0ae9,
            0xc352_7a5c_66ab_fd99,
            0x5053_2107_e62f_309e,
            0x3d15_56f4_1d44_c8de,
        ],
    ),
    (
        "m16n8k8.row.col.f32.bf16.bf16.f32",
        2,
        [
            0x1c8d_bbbe_96e7_f269,
            0x6e41_0c23_9483_ab6d,
            0x7b87_c420_3ed4_ac0b,
            0xce78_3b64_d8c3_3c33,
            0x7e17_0283_8463_c2cc,
            0x02f2_2f88_063e_3683,
        ],
    ),
    (
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        3,
        [
            0x198a_ba1e_ed41_e439,
            0x3081_9462_213b_99b4,
            0xccf6_f6b2_52d5_cc4d,
            0x8354_44c6_bc62_635a,
            0x4205_da2e_65a9_d49f,
            0x4c20_0a77_390d_26a9,
        ],
    ),
    (
        "m16n8k4.row.col.f32.tf32.tf32.f32",
        2,
        [
            0xd332_920b_de7d_a077,
            0x81b2_7fe8_7f1e_3ef8,
            0xc94b_afb2_fb51_0776,
            0xbaa6_8ca9_42ed_eb76,
            0xfab8_b3a1_cef4_af38,
            0xb7d7_018d_63f0_75b8,
        ],
    ),
    (
        "m16n8k32.row.col.f32.e4m3.e4m3.f32",
        3,
        [
            0x9234_751f_8c55_02c6,
            0x59d9_f880_8535_3384,
            0x6dc6_da0b_1336_fdba,
            0x0d1f_c521_75c9_75b5,
            0x8d81_99cf_d2fe_a35b,
            0x76c6_e593_c33c_246a,
        ],
    ),
    (
        "m16n8k32.row.col.f32.e5m2.e4m3.f32",
        2,
        [
            0xd0b4_b339_a118_95f2,
            0xd5bf_bfee_a7a5_dbba,
            0xcd01_c7ba_6ed5_c81b,
            0x74e4_e9c9_477d_aaf4,
            0xa494_d696_0233_db1c,
            0x6155_ac74_1605_2545,
        ],
    ),
    (
        "m16n8k16.row.col.f32.e5m2.e5m2.f32",
        2,
        [
            0x9849_9d6d_02e3_6290,
            0xc40f_3b77_1c6a_a861,
            0xcfbf_3bbf_a1bb_de05,
            0xa408_a12e_5f58_7ff8,
            0x4c32_8760_0a3a_8791,
            0x54fb_0207_34be_5669,
        ],
    ),
    (
        "m8n8k4.row.col.f64.f64.f64.f64",
        2,
        [
            0x537c_b82f_84b2_d420,
            0xdefb_3688_2130_46df,
            0xb6f1_96ac_a34c_ec98,
            0xb8ee_2093_ed0b_b398,
            0xc90c_7886_c022_36a2,
            0x623d_95ba_464f_0a0c,
        ],
    ),
    (
        "m16n8k4.row.col.f64.f64.f64.f64",
        1,
        [
            0x5e1b_5245_d315_be55,
            0x8d21_3260_8855_b8a9,
            0x3992_cefd_999b_8b7c,
            0xb31c_b136_583d_a93c,
            0xbbb8_2082_15c1_572d,
            0xef9b_d292_d468_579c,
        ],
    ),
    (
        "m16n8k8.row.col.f64.f64.f64.f64",
        1,
        [
            0x9392_35cf_67f3_f613,
            0x3b27_8fba_e7bd_6008,
            0xe0b0_8892_9162_b812,
            0x0a0a_c4b7_d45a_7036,
            0x0c5c_a344_683e_49c1,
            0x221f_d7aa_dd16_4439,
        ],
    ),
    (
        "m16n8k16.row.col.f64.f64.f64.f64",
        1,
        [
            0x5cdf_61de_4f61_12fc,
            0xb5df_59f5_ffda_ae2f,
            0x5e53_c670_53a0_7a64,
            0x37dd_e894_c453_f81e,
            0xec65_70c4_cffb_237e,
            0x121d_ba08_e49d_b9d8,
        ],
    ),
];

/// A format: bits of a number, of its exponent, and of its fraction.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    exponent: u32,
    fraction: u32,
}

fn format(name: &str) -> Format {
    let (bits, exponent, fraction) = match name {
        "f16" => (16, 5, 10),
        "bf16" => (16, 8, 7),
        "e4m3" => (8, 4, 3),
        "e5m2" => (8, 5, 2),
        "f64" => (64, 11, 52),
        // All bits of tf32, also those that it does not look at.
        _ => (32, 8, 23),
    };
    Format { bits, exponent, fraction }
}

/// What a number is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Second,
    Sum,
}

/// Operands, the same as on the card.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16 & 0xffff_ffff
    }

    /// A number of one of six sorts: near one, from far apart, small, subnormal, of any bits, and such that much cancels out.
    fn number(&mut self, format: Format, sort: usize, part: Part) -> u64 {
        let (bias, most) = ((1 << (format.exponent - 1)) - 1, (1 << format.exponent) - 2);
        let fraction_bits = (1 << format.fraction) - 1;
        let mut fraction = (self.next() << 32 | self.next()) & fraction_bits;
        let sign = (self.next() & 1) << (format.bits - 1);
        let mut exponent = match sort {
            0 => bias - 2 + self.next() % 4,
            1 => {
                let reach = if bias > 12 { 12 } else { bias - 1 };
                bias - reach + self.next() % (2 * reach)
            }
            2 => self.next() % 6,
            3 if part == Part::Second && self.next() & 3 != 0 => most - self.next() % 4,
            3 => 0,
            4 => {
                let exponent =
                    if !self.next().is_multiple_of(12) { self.next() % (most + 1) } else { most + 1 };
                if self.next().is_multiple_of(9) {
                    fraction = 0;
                }
                exponent
            }
            _ => {
                let exponent = bias + self.next() % 2;
                fraction &= fraction_bits << (format.fraction / 2);
                exponent
            }
        };
        if part == Part::Sum && sort == 3 && !self.next().is_multiple_of(2) {
            exponent = 1;
        }
        let mut bits = sign | exponent << format.fraction | fraction;
        if sort == 5 && part == Part::Sum {
            bits = if self.next().is_multiple_of(3) { bits } else { 0 };
        }
        if self.next().is_multiple_of(17) && sort != 5 { sign } else { bits }
    }

    /// A register full of them.
    fn word(&mut self, width: u32, format: Format, sort: usize, part: Part) -> u64 {
        let places = (0..width).step_by(format.bits as usize);
        places.fold(0, |word, at| word | self.number(format, sort, part) << at)
    }
}

fn add(checksum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(checksum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn as_a_card_sums() {
    for (name, rounds, card) in CARD {
        let parts: Vec<&str> = name.split('.').collect();
        let (sum, first, second) = (format(parts[3]), format(parts[4]), format(parts[5]));
        let (rows, inner) = parts[0][1..].split_once("n8k").expect("a shape");
        let (rows, inner) = (rows.parse().expect("a number"), inner.parse().expect("a number"));
        let form = Form { name, rows, inner, bits: first.bits as usize, sum_bits: sum.bits as usize };
        let width = form.word();
        let counts = [
            form.registers(rows * inner, form.bits),
            form.registers(inner * 8, form.bits),
            form.registers(rows * 8, form.sum_bits),
        ];
        for (sort, wanted) in card.into_iter().enumerate() {
            let mut checksum = 0xcbf2_9ce4_8422_2325;
            for round in 0..rounds {
                let mut numbers =
                    Numbers(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(1 + sort as u64 * 1000 + round));
                let mut words = vec![0; LANES * 16];
                for lane in words.chunks_mut(16) {
                    for (at, (part, format)) in
                        [(Part::First, first), (Part::Second, second), (Part::Sum, sum)]
                            .into_iter()
                            .enumerate()
                    {
                        let place = [0, 8, 12][at];
                        for word in &mut lane[place..place + counts[at]] {
                            *word = numbers.word(width as u32, format, sort, part);
                        }
                    }
                }
                for lane in form.run(&words).chunks(4) {
                    for word in &lane[..counts[2]] {
                        checksum = add(checksum, &word.to_le_bytes()[..width / 8]);
                    }
                }
            }
            assert_eq!(checksum, wanted, "{name}, sort {sort}");
        }
    }
}
