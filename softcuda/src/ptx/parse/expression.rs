//! Constant expressions: C's operators on integers of 64 bits, signed or not, and on doubles.
//!
//! Where the ISA's text and table differ, it is as ptxas has it: `&`, `|` and `^` of signed integers are signed, `?:` has the
//! type of what it chose, and a shift looks at the lowest six bits of its count.

use super::Parser;
use crate::ptx::error::JitError;
use crate::ptx::lexer::Token;

/// A constant, with the type that decides how it is divided, shifted and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

use Constant::{Float, Signed, Unsigned};

/// How tightly `+` binds, for places where `<` and `>` are brackets.
const SUM: u32 = 9;

/// An operator between two operands, and how tightly it binds.
fn operator(token: Token<'_>) -> Option<(u32, &'static str)> {
    Some(match token {
        Token::Operator("||") => (1, "||"),
        Token::Operator("&&") => (2, "&&"),
        Token::Mark('|') => (3, "|"),
        Token::Mark('^') => (4, "^"),
        Token::Mark('&') => (5, "&"),
        Token::Operator("==") => (6, "=="),
        Token::Operator("!=") => (6, "!="),
        Token::Mark('<') => (7, "<"),
        Token::Mark('>') => (7, ">"),
        Token::Operator("<=") => (7, "<="),
        Token::Operator(">=") => (7, ">="),
        Token::Operator("<<") => (8, "<<"),
        Token::Operator(">>") => (8, ">>"),
        Token::Mark('+') => (SUM, "+"),
        Token::Mark('-') => (SUM, "-"),
        Token::Mark('*') => (10, "*"),
        Token::Mark('/') => (10, "/"),
        Token::Mark('%') => (10, "%"),
        _ => return None,
    })
}

impl Constant {
    /// The integer's bits.
    fn bits(self) -> Option<u64> {
        match self {
            Signed(value) => Some(value as u64),
            Unsigned(value) => Some(value),
            Float(_) => None,
        }
    }

    fn truth(value: bool) -> Self {
        Signed(value.into())
    }
}

impl Parser<'_> {
    /// An integer's bits.
    pub(super) fn integer(&mut self) -> Result<u64, JitError> {
        let constant = self.constant()?;
        self.bits_of(constant)
    }

    /// An integer before a `>` that closes a bracket.
    pub(super) fn bracketed_integer(&mut self) -> Result<u64, JitError> {
        let constant = self.binary(SUM)?;
        self.bits_of(constant)
    }

    fn bits_of(&self, constant: Constant) -> Result<u64, JitError> {
        constant
            .bits()
            .ok_or_else(|| JitError::invalid(self.line(), "an integer is wanted, not a number with a point"))
    }

    pub(super) fn constant(&mut self) -> Result<Constant, JitError> {
        let condition = self.binary(1)?;
        if !self.mark('?') {
            return Ok(condition);
        }
        self.deeper()?;
        let condition = self.bits_of(condition)? != 0;
        let first = self.constant()?;
        self.expect(':')?;
        let second = self.constant()?;
        self.depth -= 1;
        if matches!(first, Float(_)) != matches!(second, Float(_)) {
            return Err(self.mixed());
        }
        Ok(if condition { first } else { second })
    }

    fn mixed(&self) -> JitError {
        JitError::invalid(self.line(), "a constant expression has an integer beside a number with a point")
    }

    /// Operators that bind at least so tightly.
    fn binary(&mut self, least: u32) -> Result<Constant, JitError> {
        let mut left = self.unary()?;
        while let Some((binds, operator)) = operator(self.peek()).filter(|(binds, _)| *binds >= least) {
            self.take();
            let right = self.binary(binds + 1)?;
            left = self.apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn apply(&self, operator: &str, left: Constant, right: Constant) -> Result<Constant, JitError> {
        let result = match (left, right) {
            (Float(left), Float(right)) => of_floats(operator, left, right),
            (Float(_), _) | (_, Float(_)) => return Err(self.mixed()),
            (Signed(left), Signed(right)) => of_signed(operator, left, right),
            _ => of_unsigned(operator, left, right),
        };
        result.ok_or_else(|| {
            let by_zero = operator == "/" || !matches!(left, Float(_));
            let why = if by_zero { "by zero" } else { "between numbers with a point" };
            JitError::invalid(self.line(), format!("a constant expression has `{operator}` {why}"))
        })
    }

    fn unary(&mut self) -> Result<Constant, JitError> {
        self.deeper()?;
        let value = self.atom();
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Result<Constant, JitError> {
        Ok(match self.take() {
            Token::Integer(value) => i64::try_from(value).map_or(Unsigned(value), Signed),
            Token::Unsigned(value) => Unsigned(value),
            Token::Double(bits) => Float(f64::from_bits(bits)),
            Token::Name("WARP_SZ") => Signed(32),
            Token::Mark('-') => match self.unary()? {
                Signed(value) => Signed(value.wrapping_neg()),
                Unsigned(value) => Unsigned(value.wrapping_neg()),
                Float(value) => Float(-value),
            },
            Token::Mark('+') => self.unary()?,
            Token::Mark('~') => {
                let operand = self.unary()?;
                Unsigned(!self.bits_of(operand)?)
            }
            Token::Mark('!') => {
                let operand = self.unary()?;
                Constant::truth(self.bits_of(operand)? == 0)
            }
            Token::Mark('(') => return self.in_parentheses(),
            _ => {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("a constant"));
            }
        })
    }

    /// `(1 + 2)`, or what a cast such as `(.u64)` is of.
    fn in_parentheses(&mut self) -> Result<Constant, JitError> {
        let Token::Dot(to @ ("s64" | "u64")) = self.peek() else {
            let value = self.constant()?;
            self.expect(')')?;
            return Ok(value);
        };
        self.take();
        self.expect(')')?;
        let operand = self.unary()?;
        let bits = self.bits_of(operand)?;
        Ok(if to == "s64" { Signed(bits as i64) } else { Unsigned(bits) })
    }
}

/// `None` if the operator is not for them.
fn of_floats(operator: &str, left: f64, right: f64) -> Option<Constant> {
    Some(match operator {
        "+" => Float(left + right),
        "-" => Float(left - right),
        "*" => Float(left * right),
        "/" if right != 0.0 => Float(left / right),
        "<" => Constant::truth(left < right),
        ">" => Constant::truth(left > right),
        "<=" => Constant::truth(left <= right),
        ">=" => Constant::truth(left >= right),
        "==" => Constant::truth(left == right),
        "!=" => Constant::truth(left != right),
        _ => return None,
    })
}

fn of_signed(operator: &str, left: i64, right: i64) -> Option<Constant> {
    Some(match operator {
        "+" => Signed(left.wrapping_add(right)),
        "-" => Signed(left.wrapping_sub(right)),
        "*" => Signed(left.wrapping_mul(right)),
        "/" if right != 0 => Signed(left.wrapping_div(right)),
        "&" => Signed(left & right),
        "|" => Signed(left | right),
        "^" => Signed(left ^ right),
        "<" => Constant::truth(left < right),
        ">" => Constant::truth(left > right),
        "<=" => Constant::truth(left <= right),
        ">=" => Constant::truth(left >= right),
        _ => return of_unsigned(operator, Signed(left), Signed(right)),
    })
}

/// Operators that look at bits, or at integers one of which has no sign.
fn of_unsigned(operator: &str, left: Constant, right: Constant) -> Option<Constant> {
    let (a, b) = (left.bits()?, right.bits()?);
    Some(match operator {
        "<<" | ">>" => shifted(operator == "<<", left, b as u32),
        "&&" => Constant::truth(a != 0 && b != 0),
        "||" => Constant::truth(a != 0 || b != 0),
        "==" => Constant::truth(a == b),
        "!=" => Constant::truth(a != b),
        "<" => Constant::truth(a < b),
        ">" => Constant::truth(a > b),
        "<=" => Constant::truth(a <= b),
        ">=" => Constant::truth(a >= b),
        "+" => Unsigned(a.wrapping_add(b)),
        "-" => Unsigned(a.wrapping_sub(b)),
        "*" => Unsigned(a.wrapping_mul(b)),
        "/" => Unsigned(a.checked_div(b)?),
        "%" => Unsigned(a.checked_rem(b)?),
        "&" => Unsigned(a & b),
        "|" => Unsigned(a | b),
        "^" => Unsigned(a ^ b),
        _ => return None,
    })
}

fn shifted(left: bool, value: Constant, by: u32) -> Constant {
    match value {
        Signed(value) if left => Signed(value.wrapping_shl(by)),
        Signed(value) => Signed(value.wrapping_shr(by)),
        Unsigned(value) if left => Unsigned(value.wrapping_shl(by)),
        Unsigned(value) => Unsigned(value.wrapping_shr(by)),
        Float(_) => value,
    }
}
