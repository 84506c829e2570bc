//! Declarations of variables and registers, with initialisers.

use super::Parser;
use super::expression::Constant;
use crate::ptx::ast::{Initial, Linkage, Space, Value, Variable};
use crate::ptx::error::JitError;
use crate::ptx::lexer::Token;
use crate::ptx::types::Type;

const MOST_ALIGNED: u64 = 1 << 16;

impl<'a> Parser<'a> {
    /// Declarations of one type, from the space on: `.reg .b32 a, b;` without the semicolon if `list` is false.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        all: &mut Vec<Variable<'a>>,
    ) -> Result<(), JitError> {
        let head = self.variable_head(linkage)?;
        loop {
            let variable = self.declarator(head.clone())?;
            all.push(variable);
            if !self.mark(',') {
                return self.expect(';');
            }
        }
    }

    /// One parameter: `.param .u64 .ptr .global .align 4 name[8]`; the name may be missing in prototypes.
    pub(super) fn parameter(&mut self) -> Result<Variable<'a>, JitError> {
        let head = self.variable_head(Linkage::Private)?;
        let parameter = self.declarator(head)?;
        match parameter.family {
            None => Ok(parameter),
            Some(_) => Err(JitError::invalid(parameter.line, "parameters are declared one by one")),
        }
    }

    fn variable_head(&mut self, linkage: Linkage) -> Result<Variable<'a>, JitError> {
        let mut head = Variable {
            line: self.line(),
            space: Space::Reg,
            linkage,
            name: "_",
            ty: Type::Pred,
            vector: 1,
            family: None,
            dimensions: Vec::new(),
            align: None,
            managed: false,
            initial: Vec::new(),
        };
        head.space = match self.take() {
            Token::Dot("reg") => Space::Reg,
            Token::Dot("global") => Space::Global,
            Token::Dot("const") => Space::Const,
            Token::Dot("shared" | "shared::cta") => Space::Shared,
            Token::Dot("local") => Space::Local,
            Token::Dot("param") => Space::Param,
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a state space"));
            }
        };
        let mut typed = false;
        while let Token::Dot(word) = self.peek() {
            self.take();
            match word {
                "align" => head.align = Some(self.alignment()?),
                "v2" => head.vector = 2,
                "v4" => head.vector = 4,
                "ptr" => self.pointer_notes()?,
                "attribute" => head.managed = self.attribute()?,
                _ => match Type::named(word) {
                    Some(ty) => (head.ty, typed) = (ty, true),
                    None => {
                        self.at -= 1;
                        return Err(self.unexpected("a type"));
                    }
                },
            }
        }
        if !typed {
            return Err(self.unexpected("a type"));
        }
        if head.ty == Type::Pred && (head.space != Space::Reg || head.vector > 1) {
            return Err(JitError::invalid(head.line, "a predicate can only be in a register of its own"));
        }
        if head.element() > 16 {
            return Err(JitError::invalid(head.line, "a vector has 128 bits at most"));
        }
        Ok(head)
    }

    fn alignment(&mut self) -> Result<u32, JitError> {
        match self.take() {
            Token::Integer(n) if n.is_power_of_two() && n <= MOST_ALIGNED => Ok(n as u32),
            _ => {
                self.at -= 1;
                let wanted = format!("an alignment that is a power of two and at most {MOST_ALIGNED}");
                Err(self.unexpected(&wanted))
            }
        }
    }

    /// What a parameter points to; nothing here needs it.
    fn pointer_notes(&mut self) -> Result<(), JitError> {
        while let Token::Dot(word) = self.peek() {
            self.take();
            match word {
                "global" | "const" | "shared" | "local" => {}
                "align" => {
                    self.alignment()?;
                }
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected("a state space or .align"));
                }
            }
        }
        Ok(())
    }

    /// `(.managed)`; whether it is that.
    fn attribute(&mut self) -> Result<bool, JitError> {
        self.expect('(')?;
        let managed = match self.take() {
            Token::Dot("managed") => true,
            Token::Dot("unified") => {
                self.expect('(')?;
                self.integer()?;
                self.expect(',')?;
                self.integer()?;
                self.expect(')')?;
                false
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected("an attribute that is known"));
            }
        };
        self.expect(')')?;
        Ok(managed)
    }

    fn declarator(&mut self, mut variable: Variable<'a>) -> Result<Variable<'a>, JitError> {
        variable.line = self.line();
        if let Token::Name(name) = self.peek() {
            self.take();
            variable.name = name;
        }
        if self.mark('<') {
            variable.family = Some(self.bracketed_integer()?.min(u64::from(u32::MAX)) as u32);
            self.expect('>')?;
        }
        if self.peek() == Token::Mark('[') && (variable.space == Space::Reg || variable.family.is_some()) {
            return Err(JitError::invalid(
                variable.line,
                "registers and variables with numbered names are no arrays",
            ));
        }
        while self.mark('[') {
            let size = if self.peek() == Token::Mark(']') { 0 } else { self.integer()? };
            if (size as i64) < 0 {
                let what = format!("the array {} has a negative size, {}", variable.name, size as i64);
                return Err(JitError::invalid(variable.line, what));
            }
            variable.dimensions.push(size);
            self.expect(']')?;
        }
        if self.peek() == Token::Mark('=') && !matches!(variable.space, Space::Global | Space::Const) {
            let what = format!("{}: only global and constant variables have first values", variable.name);
            return Err(JitError::invalid(variable.line, what));
        }
        if self.mark('=') {
            let mut at = 0;
            self.initialiser(&mut variable, 0, &mut at)?;
            if variable.dimensions.first() == Some(&0) {
                let rest = product(&variable.dimensions[1..], variable.element());
                variable.dimensions[0] = at.div_ceil(rest.max(1));
            }
        }
        Ok(variable)
    }

    /// Fills from `at`; a closed `{ … }` of depth `depth` takes the room of its dimension.
    fn initialiser(
        &mut self,
        variable: &mut Variable<'a>,
        depth: usize,
        at: &mut u64,
    ) -> Result<(), JitError> {
        self.deeper()?;
        if !self.mark('{') {
            self.depth -= 1;
            let value = self.initial_value(variable.ty)?;
            variable.initial.push(Initial { offset: *at, value });
            *at = at.saturating_add(u64::from(variable.ty.size()));
            return Ok(());
        }
        let start = *at;
        while !self.mark('}') {
            self.initialiser(variable, depth + 1, at)?;
            if !self.mark(',') {
                self.expect('}')?;
                break;
            }
        }
        self.depth -= 1;
        let room = product(variable.dimensions.get(depth..).unwrap_or(&[]), variable.element());
        *at = (*at).max(start.saturating_add(if depth == 0 && variable.dimensions.first() == Some(&0) {
            0
        } else {
            room
        }));
        Ok(())
    }

    fn initial_value(&mut self, ty: Type) -> Result<Value<'a>, JitError> {
        let (line, size) = (self.line(), ty.size());
        if size > 8 {
            return Err(JitError::invalid(line, "a variable of 128 bits cannot have a first value"));
        }
        let mismatch = || JitError::invalid(line, "the first value is not of the variable's type");
        let minus = matches!((self.peek(), self.peek_second()), (Token::Mark('-'), Token::Single(_)));
        if minus {
            self.take();
        }
        match self.peek() {
            Token::Single(bits) => {
                self.take();
                let bits = bits ^ u32::from(minus) << 31;
                // A double gets the bits as they are, like ptxas does it.
                let fits = matches!(ty, Type::F32 | Type::B32 | Type::F64);
                fits.then(|| Value::Bytes(bits.into(), size)).ok_or_else(mismatch)
            }
            Token::Name(name) if name != "WARP_SZ" => self.address_value(size),
            _ => {
                let constant = self.constant()?;
                if self.peek() == Token::Mark('(') {
                    return self.masked_address(constant, size);
                }
                initial_bits(constant, ty).map(|bits| Value::Bytes(bits, size)).ok_or_else(mismatch)
            }
        }
    }

    /// `0xff00(symbol)`: the byte of the address that the mask shows.
    fn masked_address(&mut self, mask: Constant, size: u32) -> Result<Value<'a>, JitError> {
        let line = self.line();
        self.expect('(')?;
        let inner = self.address_value(size)?;
        self.expect(')')?;
        let byte = (0..8).find(|byte| mask == Constant::Signed(0xff << (8 * byte)));
        let byte = byte.or((mask == Constant::Unsigned(0xff << 56)).then_some(7));
        match (inner, byte) {
            (Value::Address { symbol, generic, add, .. }, Some(_)) => {
                Ok(Value::Address { symbol, generic, add, byte, size })
            }
            _ => Err(JitError::invalid(line, "a mask of an address shows one of its bytes, as 0xff00 does")),
        }
    }

    fn address_value(&mut self, size: u32) -> Result<Value<'a>, JitError> {
        let mut symbol = self.name()?;
        let generic = symbol == "generic" && self.mark('(');
        if generic {
            symbol = self.name()?;
        }
        let mut add = 0;
        if let Token::Mark('+' | '-') = self.peek() {
            add = self.integer()? as i64;
        }
        if generic {
            self.expect(')')?;
            if let Token::Mark('+' | '-') = self.peek() {
                add = add.wrapping_add(self.integer()? as i64);
            }
        }
        Ok(Value::Address { symbol, generic, add, byte: None, size })
    }
}

/// Bytes of an array; a number too large stays the largest.
fn product(dimensions: &[u64], element: u64) -> u64 {
    dimensions.iter().fold(element, |size, &n| size.saturating_mul(n))
}

/// What the constant is in a variable of the type.
fn initial_bits(constant: Constant, ty: Type) -> Option<u64> {
    let single = |value: f64| u64::from((value as f32).to_bits());
    match (constant, ty) {
        (Constant::Float(value), Type::F32 | Type::B32) => Some(single(value)),
        (Constant::Float(value), Type::F64 | Type::B64) => Some(value.to_bits()),
        (Constant::Float(_), _) => None,
        (Constant::Signed(value), Type::F32) => Some(single(value as f64)),
        (Constant::Signed(value), Type::F64) => Some((value as f64).to_bits()),
        (Constant::Unsigned(value), Type::F32) => Some(single(value as f64)),
        (Constant::Unsigned(value), Type::F64) => Some((value as f64).to_bits()),
        (Constant::Signed(value), _) => Some(value as u64),
        (Constant::Unsigned(value), _) => Some(value),
    }
}
