//! Constant expressions of integers.

use super::Parser;
use crate::ptx::error::JitError;
use crate::ptx::lexer::Token;

/// The operators by rising precedence.
const LEVELS: [&[char]; 6] = [&['|'], &['^'], &['&'], &['<', '>'], &['+', '-'], &['*', '/', '%']];

impl Parser<'_> {
    /// An integer, worked out in 64 bits.
    pub(super) fn integer(&mut self) -> Result<u64, JitError> {
        self.level(0)
    }

    fn level(&mut self, level: usize) -> Result<u64, JitError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Token::Mark(mark) = self.peek() {
            let shift = matches!(mark, '<' | '>');
            if !operators.contains(&mark) || shift && self.peek_second() != Token::Mark(mark) {
                break;
            }
            self.take();
            if shift {
                self.expect(mark)?;
            }
            let right = self.level(level + 1)?;
            left = self.apply(mark, left, right)?;
        }
        Ok(left)
    }

    fn apply(&self, mark: char, left: u64, right: u64) -> Result<u64, JitError> {
        let result = match mark {
            '|' => Some(left | right),
            '^' => Some(left ^ right),
            '&' => Some(left & right),
            '<' => left.checked_shl(right as u32),
            '>' => left.checked_shr(right as u32),
            '+' => Some(left.wrapping_add(right)),
            '-' => Some(left.wrapping_sub(right)),
            '*' => Some(left.wrapping_mul(right)),
            '/' => left.checked_div(right),
            _ => left.checked_rem(right),
        };
        result.ok_or_else(|| self.unexpected("a constant expression with a value"))
    }

    fn unary(&mut self) -> Result<u64, JitError> {
        self.deeper()?;
        let value = self.atom();
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Result<u64, JitError> {
        match self.take() {
            Token::Integer(value) => Ok(value),
            Token::Name("WARP_SZ") => Ok(32),
            Token::Mark('-') => Ok(self.unary()?.wrapping_neg()),
            Token::Mark('+') => self.unary(),
            Token::Mark('~') => Ok(!self.unary()?),
            Token::Mark('!') => Ok(u64::from(self.unary()? == 0)),
            Token::Mark('(') => {
                if let Token::Dot("s64" | "u64") = self.peek() {
                    self.take();
                    self.expect(')')?;
                    return self.unary();
                }
                let value = self.integer()?;
                self.expect(')')?;
                Ok(value)
            }
            _ => {
                self.at = self.at.saturating_sub(1);
                Err(self.unexpected("an integer"))
            }
        }
    }
}
