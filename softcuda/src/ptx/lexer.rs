//! PTX text as tokens.

use super::error::JitError;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name, `%` and `$` included.
    Name(&'a str),
    /// `.global`, `.L2::128B`: without the dot.
    Dot(&'a str),
    /// A number that is signed, unless only an unsigned one can hold it.
    Integer(u64),
    /// `12U`
    Unsigned(u64),
    /// `0f3F800000`: the bits.
    Single(u32),
    /// `0d…` or a decimal number with a point: the bits.
    Double(u64),
    Text(&'a str),
    Mark(char),
    /// An operator of two characters.
    Operator(&'static str),
    End,
}

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
}

/// The operators of two characters.
const OPERATORS: [&str; 8] = ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||"];

/// Splits a text; the last token is `End`. Lines that only a debugger reads are left out.
pub(super) fn tokens(text: &str) -> Result<Vec<Spot<'_>>, JitError> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut all = Vec::with_capacity(text.len() / 4);
    loop {
        let spot = lexer.next()?;
        match spot.token {
            Token::Dot("loc" | "file") => lexer.skip_line(),
            Token::Mark('@') if lexer.rest().starts_with('@') => lexer.skip_line(),
            Token::Mark('#') => lexer.line_marker()?,
            _ => all.push(spot),
        }
        if spot.token == Token::End {
            return Ok(all);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// What a preprocessor leaves to say where a line came from: `# 7 "a.cu" 2`, `#line 7 "a.cu"`. Its other lines are for
    /// a preprocessor, which a driver has not, and are refused.
    fn line_marker(&mut self) -> Result<(), JitError> {
        let rest = self.rest();
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        let numbers = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c.is_ascii_whitespace());
        let words = line.trim_start();
        let is_marker = match words.strip_prefix("line").unwrap_or(words).split('"').collect::<Vec<_>>()[..] {
            [number, _, flags] => !number.trim().is_empty() && numbers(number) && numbers(flags),
            _ => false,
        };
        if is_marker {
            return Ok(());
        }
        let what = format!("`#{}`: a driver has no preprocessor", line.trim_end());
        Err(JitError::syntax(self.line, &what))
    }

    /// Takes characters while they fit.
    fn while_fits(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_space(&mut self) -> Result<(), JitError> {
        loop {
            let space = self.while_fits(|c| c.is_ascii_whitespace() || c == '\0');
            self.line += space.matches('\n').count() as u32;
            if self.rest().starts_with("//") {
                self.skip_line();
            } else if self.rest().starts_with("/*") {
                let length = self
                    .rest()
                    .find("*/")
                    .ok_or_else(|| JitError::syntax(self.line, "a comment that does not end"))?;
                self.line += self.rest()[..length].matches('\n').count() as u32;
                self.at += length + 2;
            } else if space.is_empty() {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Spot<'a>, JitError> {
        self.skip_space()?;
        let line = self.line;
        let rest = self.rest();
        let token = match rest.chars().next() {
            None => Token::End,
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if in_name(c) => Token::Name(self.while_fits(in_name)),
            Some('%') => {
                let start = self.at;
                self.at += 1;
                self.while_fits(in_name);
                Token::Name(&self.text[start..self.at]).plain_percent()
            }
            Some('.') if self.begins_number() => self.number()?,
            Some('.') if rest[1..].starts_with(|c: char| in_name(c)) => {
                self.at += 1;
                Token::Dot(self.while_fits(|c| in_name(c) || c == ':'))
            }
            Some('"') => {
                let length = rest[1..]
                    .find('"')
                    .ok_or_else(|| JitError::syntax(line, "a text in quotes that does not end"))?;
                self.at += length + 2;
                self.line += rest[1..=length].matches('\n').count() as u32;
                Token::Text(&rest[1..=length])
            }
            Some(c) if c.is_ascii_punctuation() => {
                let operator = OPERATORS.into_iter().find(|operator| rest.starts_with(operator));
                self.at += operator.map_or(1, str::len);
                operator.map_or(Token::Mark(c), Token::Operator)
            }
            Some(c) => return Err(JitError::syntax(line, &format!("the character {c:?}"))),
        };
        Ok(Spot { token, line })
    }

    /// Whether `.5` stands here and not a modifier, as in `tex.2d`.
    fn begins_number(&self) -> bool {
        let rest = &self.rest()[1..];
        let word = &rest[..rest.find(|c| !in_name(c)).unwrap_or(rest.len())];
        let (digits, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
        let are_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        !digits.is_empty() && are_digits(digits) && are_digits(exponent)
    }

    fn number(&mut self) -> Result<Token<'a>, JitError> {
        let word = self.while_fits(in_name);
        let bad = |lexer: &Self| JitError::syntax(lexer.line, &format!("{word} is not a number"));
        let (head, tail) = word.split_at(word.len().min(2));
        let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
        match head {
            "0f" | "0F" if tail.len() == 8 => {
                return hex(tail).map(|bits| Token::Single(bits as u32)).ok_or_else(|| bad(self));
            }
            "0d" | "0D" if tail.len() == 16 => return hex(tail).map(Token::Double).ok_or_else(|| bad(self)),
            _ => {}
        }
        let exponent = word.contains(['e', 'E']) && !head.eq_ignore_ascii_case("0x");
        if exponent || self.rest().starts_with('.') {
            return self.decimal(word).ok_or_else(|| bad(self));
        }
        let unsigned = word.strip_suffix(['u', 'U']);
        let digits = unsigned.unwrap_or(word);
        let value = match head {
            "0x" | "0X" => hex(digits.get(2..).unwrap_or("")),
            "0b" | "0B" => u64::from_str_radix(digits.get(2..).unwrap_or(""), 2).ok(),
            _ if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
            _ => digits.parse().ok(),
        };
        let token = if unsigned.is_some() { Token::Unsigned } else { Token::Integer };
        value.map(token).ok_or_else(|| bad(self))
    }

    /// `1.5`, `2.e10`, `1e-3`, of which `whole` has been taken.
    fn decimal(&mut self, whole: &str) -> Option<Token<'a>> {
        let start = self.at - whole.len();
        if self.rest().starts_with('.') {
            self.at += 1;
            self.while_fits(in_name);
        }
        if self.text[start..self.at].ends_with(['e', 'E']) && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.while_fits(|c| c.is_ascii_digit());
        }
        self.text[start..self.at].parse::<f64>().ok().map(|value| Token::Double(value.to_bits()))
    }
}

impl Token<'_> {
    /// A `%` that begins no name is the operator.
    fn plain_percent(self) -> Self {
        if self == Token::Name("%") { Token::Mark('%') } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[test]
    fn numbers_and_names() {
        let text =
            "ld.global.L2::128B %r1, [x+0x10]; // c\n 0f3F800000 0d3FF0000000000000 1.5 1e3 017 12U \"a\"
            # 7 \"b.cu\" 2\n.5e-1 tex.2d<<=";
        let all: Vec<Token<'_>> = tokens(text).unwrap().into_iter().map(|spot| spot.token).collect();
        use Token::{Dot, Double, End, Integer, Mark, Name, Operator, Single, Text, Unsigned};
        let expected = [
            Name("ld"),
            Dot("global"),
            Dot("L2::128B"),
            Name("%r1"),
            Mark(','),
            Mark('['),
            Name("x"),
            Mark('+'),
            Integer(16),
            Mark(']'),
            Mark(';'),
            Single(0x3f80_0000),
            Double(1f64.to_bits()),
            Double(1.5f64.to_bits()),
            Double(1e3f64.to_bits()),
            Integer(15),
            Unsigned(12),
            Text("a"),
            Double(0.05f64.to_bits()),
            Name("tex"),
            Dot("2d"),
            Operator("<<"),
            Mark('='),
            End,
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_not_ptx() {
        let preprocessor =
            ["#define N 4", "#include \"a\"", "#", "#line 3", "# \"a\"", "# 1 \"a\" b", "# 1 \"a"];
        for bad in ["\u{e9}", "/* x", "\"x", "0xg", "09", "0f12"].into_iter().chain(preprocessor) {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}
