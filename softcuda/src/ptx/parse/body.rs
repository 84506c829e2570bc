//! The body of a function: statements and operands.

use super::Parser;
use super::expression::Constant;
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
                Token::Dot("pragma") => self.pragmas()?,
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

    /// `.pragma "nounroll", "used_bytes_mask 0xf";` of which only the bytes that a load uses mean something here.
    fn pragmas(&mut self) -> Result<(), JitError> {
        self.take();
        loop {
            let Token::Text(text) = self.peek() else { return Err(self.unexpected("a pragma in quotes")) };
            if let Some(mask) = text.trim().strip_prefix("used_bytes_mask") {
                let mask = mask.trim();
                let number = match mask.strip_prefix("0x").or(mask.strip_prefix("0X")) {
                    Some(digits) => u64::from_str_radix(digits, 16),
                    None => mask.parse(),
                };
                let what = || {
                    JitError::invalid(
                        self.line(),
                        format!("the pragma `{text}` has no mask that is a number"),
                    )
                };
                self.used = Some(number.map_err(|_| what())?);
            }
            self.take();
            if !self.mark(',') {
                return self.expect(';');
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
                // A parenthesis holds what a call passes or gets; elsewhere it belongs to a constant expression.
                let is_list = opcode == "call" && self.mark('(');
                let operand =
                    if is_list { Operand::List(self.operands_until(')')?) } else { self.operand()? };
                operands.push(operand);
                if !self.mark(',') {
                    self.expect(';')?;
                    break;
                }
            }
        }
        Ok(Instruction { line, guard, opcode, modifiers, operands, used: self.used.take() })
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
            Token::Mark('!') if matches!(self.peek_second(), Token::Name(name) if name != "WARP_SZ") => {
                self.take();
                Ok(Operand::Not(self.name()?))
            }
            Token::Single(bits) => {
                self.take();
                Ok(Operand::Single(bits))
            }
            Token::Mark('-') if matches!(self.peek_second(), Token::Single(_)) => {
                self.take();
                match self.take() {
                    Token::Single(bits) => Ok(Operand::Single(bits ^ 1 << 31)),
                    _ => Err(self.unexpected("a number")),
                }
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
                    Token::Mark('[') => self.element(name),
                    Token::Mark('+' | '-') => Ok(Operand::Sum(name, self.integer()? as i64)),
                    _ => Ok(Operand::Name(name, None)),
                }
            }
            _ => Ok(match self.constant()? {
                Constant::Signed(value) => Operand::Integer(value as u64),
                Constant::Unsigned(value) => Operand::Integer(value),
                Constant::Float(value) => Operand::Double(value.to_bits()),
            }),
        }
    }

    /// `[3]`, `[%r]` or `[%r+3]` after an array's name.
    fn element(&mut self, array: &'a str) -> Result<Operand<'a>, JitError> {
        self.expect('[')?;
        let mut index = None;
        if let Token::Name(name) = self.peek()
            && name != "WARP_SZ"
        {
            self.take();
            index = Some(name);
        }
        let add = if index.is_some() && self.peek() == Token::Mark(']') { 0 } else { self.integer()? as i64 };
        self.expect(']')?;
        Ok(Operand::Element { array, index, add })
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
