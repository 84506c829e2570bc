//! `vprintf` and `__assertfail`.

use super::core::Core;
use super::fault::FaultKind;

/// Arguments as C's variable ones: each aligned to its size.
struct Arguments<'a, 'c> {
    core: &'a mut Core<'c>,
    lane: usize,
    at: u64,
}

type Failed = (u64, FaultKind);

impl Arguments<'_, '_> {
    fn next(&mut self, size: u64) -> Result<u64, Failed> {
        self.at = self.at.next_multiple_of(size);
        let at = self.at;
        let place = self.core.generic_bytes(self.lane, at, size as usize).map_err(|kind| (at, kind))?;
        self.at += size;
        // SAFETY: `generic_bytes` gave `size` bytes.
        Ok(unsafe {
            if size == 4 {
                u64::from(place.cast::<u32>().read_unaligned())
            } else {
                place.cast::<u64>().read_unaligned()
            }
        })
    }
}

/// The largest width and precision that are obeyed.
const MOST: usize = 4096;

/// One conversion: `%-08.3lld`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    wide: bool,
    /// `h` and `hh`: bits that count.
    narrow: Option<u32>,
    kind: u8,
}

impl Conversion {
    /// Reads what stands after `%`; gives what is left of the format.
    fn read<'f>(
        &mut self,
        mut format: &'f [u8],
        arguments: &mut Arguments<'_, '_>,
    ) -> Result<&'f [u8], Failed> {
        while let [flag @ (b'-' | b'+' | b' ' | b'#' | b'0'), rest @ ..] = format {
            match flag {
                b'-' => self.left = true,
                b'+' => self.plus = true,
                b' ' => self.space = true,
                b'#' => self.alternate = true,
                _ => self.zero = true,
            }
            format = rest;
        }
        let (width, rest) = number(format, arguments)?;
        let width = width.unwrap_or(0);
        self.left |= width < 0;
        self.width = (width.unsigned_abs() as usize).min(MOST);
        format = rest;
        if let [b'.', rest @ ..] = format {
            let (precision, rest) = number(rest, arguments)?;
            self.precision = Some((precision.unwrap_or(0).max(0) as usize).min(MOST));
            format = rest;
        }
        while let [length @ (b'h' | b'l' | b'j' | b'z' | b't' | b'L'), rest @ ..] = format {
            match length {
                b'h' => self.narrow = Some(if self.narrow.is_some() { 8 } else { 16 }),
                b'L' => {}
                _ => self.wide = true,
            }
            format = rest;
        }
        if let [kind, rest @ ..] = format {
            self.kind = *kind;
            format = rest;
        }
        Ok(format)
    }

    fn integer(&self, bits: u64, signed: bool) -> u64 {
        let width = self.narrow.unwrap_or(if self.wide { 64 } else { 32 });
        let shift = 64 - width;
        if signed { (((bits << shift) as i64) >> shift) as u64 } else { bits << shift >> shift }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// Sign or prefix, digits, and padding.
    fn pad(&self, out: &mut Vec<u8>, prefix: &str, body: &[u8], zeros_allowed: bool) {
        let missing = self.width.saturating_sub(prefix.len() + body.len());
        let zeros = self.zero && !self.left && zeros_allowed;
        if !self.left && !zeros {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
        out.extend(prefix.as_bytes());
        if zeros {
            out.extend(std::iter::repeat_n(b'0', missing));
        }
        out.extend(body);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
    }

    fn digits(&self, digits: String) -> Vec<u8> {
        let least = self.precision.unwrap_or(1);
        let mut all = if digits == "0" { Vec::new() } else { digits.into_bytes() };
        while all.len() < least {
            all.insert(0, b'0');
        }
        all
    }

    fn write(&self, out: &mut Vec<u8>, arguments: &mut Arguments<'_, '_>) -> Result<(), Failed> {
        let size = if self.wide { 8 } else { 4 };
        match self.kind {
            b'd' | b'i' => {
                let value = self.integer(arguments.next(size)?, true) as i64;
                let digits = self.digits(value.unsigned_abs().to_string());
                self.pad(out, self.sign(value < 0), &digits, self.precision.is_none());
            }
            b'u' | b'x' | b'X' | b'o' => {
                let value = self.integer(arguments.next(size)?, false);
                let (prefix, digits) = match self.kind {
                    b'u' => ("", value.to_string()),
                    b'x' => ("0x", format!("{value:x}")),
                    b'X' => ("0X", format!("{value:X}")),
                    _ => ("0", format!("{value:o}")),
                };
                let prefix = if self.alternate && value != 0 { prefix } else { "" };
                self.pad(out, prefix, &self.digits(digits), self.precision.is_none());
            }
            b'c' => {
                let value = arguments.next(4)? as u8;
                self.pad(out, "", &[value], false);
            }
            b'p' => match arguments.next(8)? {
                0 => self.pad(out, "", b"(nil)", false),
                value => self.pad(out, "0x", format!("{value:x}").as_bytes(), true),
            },
            b's' => {
                let address = arguments.next(8)?;
                let mut text = match address {
                    0 => b"(null)".to_vec(),
                    _ => arguments.core.generic_text(arguments.lane, address)?,
                };
                text.truncate(self.precision.unwrap_or(usize::MAX));
                self.pad(out, "", &text, false);
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.next(8)?);
                let text = self.float(value.abs());
                let text = if self.kind.is_ascii_uppercase() { text.to_uppercase() } else { text };
                self.pad(out, self.sign(value.is_sign_negative()), text.as_bytes(), value.is_finite());
            }
            b'%' => out.push(b'%'),
            other => out.extend([b'%', other]),
        }
        Ok(())
    }

    fn float(&self, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return "inf".to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match self.kind.to_ascii_lowercase() {
            b'f' => format!("{value:.precision$}"),
            b'e' => scientific(value, precision),
            b'g' => self.shortest(value, precision.max(1)),
            _ => hexadecimal(value, self.precision),
        }
    }

    fn shortest(&self, value: f64, precision: usize) -> String {
        let rounded = scientific(value, precision - 1);
        let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
        let plain = (-4..precision as i32).contains(&exponent);
        let text =
            if plain { format!("{value:.*}", (precision as i32 - 1 - exponent) as usize) } else { rounded };
        if self.alternate {
            return text;
        }
        let (body, tail) =
            text.split_once('e').map_or((text.as_str(), ""), |(body, _)| (body, &text[body.len()..]));
        let body = if body.contains('.') { body.trim_end_matches('0').trim_end_matches('.') } else { body };
        format!("{body}{tail}")
    }
}

fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (body, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{body}e{sign}{:02}", exponent.abs())
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (exponent, mut fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mut lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1u64, exponent - 1023),
    };
    let digits = match precision {
        Some(digits) if digits < 13 => {
            let drop = 52 - 4 * digits as u32;
            let whole = lead << 52 | fraction;
            let half = 1u64 << (drop - 1);
            let rest = whole & ((1 << drop) - 1);
            let up = rest > half || rest == half && whole >> drop & 1 == 1;
            let whole = ((whole >> drop) + u64::from(up)) << drop;
            (lead, fraction) = (whole >> 52, whole & ((1 << 52) - 1));
            digits
        }
        Some(digits) => digits,
        None => 13 - (fraction.trailing_zeros().min(52) / 4) as usize,
    };
    let mut text = format!("{fraction:013x}");
    while text.len() < digits {
        text.push('0');
    }
    text.truncate(digits);
    let point = if digits > 0 { "." } else { "" };
    format!("0x{lead}{point}{text}p{exponent:+}")
}

/// A number in the format, or the argument that `*` stands for.
fn number<'f>(
    format: &'f [u8],
    arguments: &mut Arguments<'_, '_>,
) -> Result<(Option<i32>, &'f [u8]), Failed> {
    if let [b'*', rest @ ..] = format {
        return Ok((Some(arguments.next(4)? as i32), rest));
    }
    let length = format.iter().take_while(|c| c.is_ascii_digit()).count();
    let text = std::str::from_utf8(&format[..length]).unwrap_or("");
    Ok((text.parse().ok(), &format[length..]))
}

impl Core<'_> {
    /// What the lane prints, and how many conversions it had.
    pub(in crate::ptx) fn formatted(
        &mut self,
        lane: usize,
        format: u64,
        arguments: u64,
    ) -> Result<(Vec<u8>, u32), Failed> {
        let text = self.generic_text(lane, format)?;
        let mut arguments = Arguments { core: self, lane, at: arguments };
        let (mut out, mut count, mut rest) = (Vec::new(), 0, text.as_slice());
        while let [first, tail @ ..] = rest {
            if *first != b'%' {
                out.push(*first);
                rest = tail;
                continue;
            }
            let mut conversion = Conversion::default();
            rest = conversion.read(tail, &mut arguments)?;
            conversion.write(&mut out, &mut arguments)?;
            count += u32::from(conversion.kind != b'%');
        }
        Ok((out, count))
    }

    /// A text for a message; what cannot be read is left out.
    pub(in crate::ptx) fn text_or_nothing(&mut self, lane: usize, address: u64) -> String {
        let text = self.generic_text(lane, address).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }
}
