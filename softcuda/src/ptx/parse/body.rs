//! The body of a function: statements and operands.

use super::Parser;
use crate::ptx::ast::{Instruction, Linkage, Operand, Prototype, Statement};
use crate::ptx::error::JitError;
use crate::ptx::lexer::Token;

/// Instructions with operands that no other has: coordinates beside an address.
const TEXTURES: [&str; 7] = ["tex", "tld4", "txq", "suld", "sust", "sured", "suq"];

impl<'a> Parser<'a> {
    /// Statements up to and with the closing brace.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement<'a>>, JitError> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                Token::Mark('}') => {
                    self.take();
                    return Ok(all);
                }
                Token::Mark('{') => {
                    self.take();
                    self.deeper()?;
                    let inner = self.statements()?;
                    self.depth -= 1;
                    all.push(Statement::Scope(inner));
                }
                Token::Mark(';') => {
                    self.take();
                }
                Token::Dot("pragma") => self.until_semicolon(),
                Token::Dot(_) => {
                    let mut variables = Vec::new();
                    self.variables(Linkage::Private, &mut variables)?;
                    all.extend(variables.into_iter().map(Statement::Variable));
                }
                Token::Name(name) if self.peek_second() == Token::Mark(':') => {
                    self.take();
                    self.take();
                    let statement = self.labelled(name)?;
                    all.push(statement);
                }
                Token::Name(_) | Token::Mark('@') => {
                    let instruction = self.instruction()?;
                    all.push(Statement::Instruction(instruction));
                }
                _ => return Err(self.unexpected("a statement")),
            }
        }
    }

    fn labelled(&mut self, label: &'a str) -> Result<Statement<'a>, JitError> {
        match self.peek() {
            Token::Dot("branchtargets") => {
                self.take();
                Ok(Statement::BranchTargets(label, self.names()?))
            }
            Token::Dot("calltargets") => {
                self.take();
                self.names()?;
                Ok(Statement::CallTargets(label))
            }
            Token::Dot("callprototype") => {
                self.take();
                let results = if self.peek() == Token::Mark('(') { self.parameters()? } else { Vec::new() };
                self.name()?;
                let params = if self.peek() == Token::Mark('(') { self.parameters()? } else { Vec::new() };
                self.until_semicolon();
                Ok(Statement::Prototype(label, Prototype { results, params }))
            }
            _ => Ok(Statement::Label(label)),
        }
    }

    fn names(&mut self) -> Result<Vec<&'a str>, JitError> {
        let mut all = vec![self.name()?];
        while self.mark(',') {
            all.push(self.name()?);
        }
        self.expect(';')?;
        Ok(all)
    }

    fn instruction(&mut self) -> Result<Instruction<'a>, JitError> {
        let guard = if self.mark('@') {
            let negated = self.mark('!');
            Some((self.name()?, negated))
        } else {
            None
        };
        let line = self.line();
        let opcode = self.name()?;
        let mut modifiers = Vec::new();
        while let Token::Dot(word) = self.peek() {
            self.take();
            modifiers.push(word);
        }
        if TEXTURES.contains(&opcode) || modifiers.contains(&"tensor") {
            let what = format!("the instruction `{opcode}.{}` is not supported", modifiers.join("."));
            return Err(JitError::uncovered(line, what));
        }
        let mut operands = Vec::new();
        if !self.mark(';') {
            loop {
                operands.push(self.operand()?);
                if !self.mark(',') {
                    self.expect(';')?;
                    break;
                }
            }
        }
        Ok(Instruction { line, guard, opcode, modifiers, operands })
    }

    fn operand(&mut self) -> Result<Operand<'a>, JitError> {
        self.deeper()?;
        let first = self.single()?;
        self.depth -= 1;
        if !self.mark('|') {
            return Ok(first);
        }
        let second = self.single()?;
        Ok(Operand::Pair(Box::new(first), Box::new(second)))
    }

    fn single(&mut self) -> Result<Operand<'a>, JitError> {
        match self.peek() {
            Token::Mark('[') => self.address(),
            Token::Mark('{') => {
                self.take();
                Ok(Operand::Vector(self.operands_until('}')?))
            }
            Token::Mark('(') if self.opens_list() => {
                self.take();
                Ok(Operand::List(self.operands_until(')')?))
            }
            Token::Mark('!') if matches!(self.peek_second(), Token::Name(_)) => {
                self.take();
                Ok(Operand::Not(self.name()?))
            }
            Token::Single(bits) => {
                self.take();
                Ok(Operand::Single(bits))
            }
            Token::Double(bits) => {
                self.take();
                Ok(Operand::Double(bits))
            }
            Token::Mark('-') if matches!(self.peek_second(), Token::Single(_) | Token::Double(_)) => {
                self.take();
                Ok(match self.take() {
                    Token::Single(bits) => Operand::Single(bits ^ 1 << 31),
                    Token::Double(bits) => Operand::Double(bits ^ 1 << 63),
                    _ => return Err(self.unexpected("a number")),
                })
            }
            Token::Name("_") => {
                self.take();
                Ok(Operand::Sink)
            }
            Token::Name(name) if name != "WARP_SZ" => {
                self.take();
                match self.peek() {
                    Token::Dot(part) => {
                        self.take();
                        Ok(Operand::Name(name, Some(part)))
                    }
                    Token::Mark('+' | '-') => Ok(Operand::Sum(name, self.integer()? as i64)),
                    _ => Ok(Operand::Name(name, None)),
                }
            }
            _ => Ok(Operand::Integer(self.integer_operand()?)),
        }
    }

    /// An expression in which `|` joins two operands instead.
    fn integer_operand(&mut self) -> Result<u64, JitError> {
        self.integer()
    }

    /// Whether a parenthesis holds a call's operands and not a constant expression.
    fn opens_list(&self) -> bool {
        match self.peek_second() {
            Token::Name(name) => name != "WARP_SZ",
            Token::Mark(')') | Token::Single(_) | Token::Double(_) => true,
            Token::Integer(_) => {
                let after = self.tokens[(self.at + 2).min(self.tokens.len() - 1)].token;
                let closes = after == Token::Mark(')');
                let next = self.tokens[(self.at + 3).min(self.tokens.len() - 1)].token;
                after == Token::Mark(',') || closes && matches!(next, Token::Mark(',' | ';'))
            }
            _ => false,
        }
    }

    fn operands_until(&mut self, end: char) -> Result<Vec<Operand<'a>>, JitError> {
        let mut all = Vec::new();
        if self.mark(end) {
            return Ok(all);
        }
        loop {
            all.push(self.operand()?);
            if !self.mark(',') {
                self.expect(end)?;
                return Ok(all);
            }
        }
    }

    fn address(&mut self) -> Result<Operand<'a>, JitError> {
        self.expect('[')?;
        let base = match self.peek() {
            Token::Name(name) if name != "WARP_SZ" => {
                self.take();
                Some(name)
            }
            _ => None,
        };
        let offset = match self.peek() {
            Token::Mark(']') => 0,
            Token::Mark('+') if base.is_some() => {
                self.take();
                self.integer()? as i64
            }
            _ => self.integer()? as i64,
        };
        self.expect(']')?;
        Ok(Operand::Address(base, offset))
    }
}
