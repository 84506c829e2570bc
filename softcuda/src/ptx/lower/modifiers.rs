//! The modifiers of an instruction: each must be understood by somebody.

use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::float::Round;
use crate::ptx::types::Type;

/// The modifiers that nobody has taken yet.
pub(super) struct Modifiers<'a> {
    left: Vec<&'a str>,
    name: String,
    line: u32,
}

impl<'a> Modifiers<'a> {
    pub(super) fn of(instruction: &Instruction<'a>) -> Self {
        let mut name = instruction.opcode.to_owned();
        for modifier in &instruction.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        Self { left: instruction.modifiers.clone(), name, line: instruction.line }
    }

    /// The whole instruction, without operands.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn take(&mut self, modifier: &str) -> bool {
        let found = self.left.iter().position(|left| *left == modifier);
        found.map(|at| self.left.remove(at)).is_some()
    }

    /// Takes the first that is one of the list.
    pub(super) fn one_of(&mut self, list: &[&str]) -> Option<&'a str> {
        let at = self.left.iter().position(|left| list.contains(left))?;
        Some(self.left.remove(at))
    }

    /// Takes all that are on the list: hints.
    pub(super) fn skip(&mut self, list: &[&str]) {
        self.left.retain(|left| !list.contains(left));
    }

    /// Takes the next type.
    pub(super) fn ty(&mut self) -> Result<Type, JitError> {
        let found = self.left.iter().position(|left| Type::named(left).is_some());
        match found {
            Some(at) => Ok(Type::named(self.left.remove(at)).unwrap_or(Type::B32)),
            None => Err(JitError::invalid(self.line, format!("`{}` has no type", self.name))),
        }
    }

    /// Takes a rounding mode of floating-point results.
    pub(super) fn round(&mut self) -> Option<Round> {
        Some(match self.one_of(&["rn", "rz", "rm", "rp"])? {
            "rn" => Round::Near,
            "rz" => Round::Zero,
            "rm" => Round::Down,
            _ => Round::Up,
        })
    }

    /// Refuses what is left.
    pub(super) fn finish(&self) -> Result<(), JitError> {
        match self.left.first() {
            None => Ok(()),
            Some(left) => {
                let what = format!("`{}`: the modifier `.{left}` is not supported here", self.name);
                Err(JitError::uncovered(self.line, what))
            }
        }
    }

    pub(super) fn uncovered(&self, what: &str) -> JitError {
        JitError::uncovered(self.line, format!("`{}`: {what}", self.name))
    }

    pub(super) fn invalid(&self, what: &str) -> JitError {
        JitError::invalid(self.line, format!("`{}`: {what}", self.name))
    }

    /// The refusal of a type for which there is no handler.
    pub(super) fn bad_type(&self, ty: Type) -> JitError {
        let name = format!("{ty:?}").to_lowercase();
        self.uncovered(&format!("the type .{name} is not supported here"))
    }
}
