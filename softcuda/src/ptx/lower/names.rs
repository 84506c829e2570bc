//! What names mean.

use crate::ptx::ast::{Prototype, Syntax};
use crate::ptx::exec::core::Reg;
use crate::ptx::exec::program::Slot;
use crate::ptx::types::Type;
use std::collections::HashMap;

/// A module's names.
pub(in crate::ptx) struct Library<'a> {
    pub(in crate::ptx) syntax: Syntax<'a>,
    /// Definitions where there are any, else declarations.
    pub(in crate::ptx) functions: HashMap<&'a str, u32>,
    /// Global and constant variables by their number.
    pub(in crate::ptx) globals: HashMap<&'a str, u32>,
    /// Shared variables by their place in the syntax.
    pub(in crate::ptx) shared: HashMap<&'a str, usize>,
    /// Functions whose address is taken somewhere.
    pub(in crate::ptx) taken: Vec<u32>,
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Symbol<'a> {
    Register(Register),
    /// A variable in the frame's local memory; whether it is `.param`.
    Slot(Slot),
    /// A parameter of the kernel.
    Param(Slot),
    /// A global or constant variable of the module, by number.
    Global(u32),
    /// Shared memory at an offset.
    Shared(u32),
    /// Shared memory whose size the launch says.
    DynamicShared,
    /// A function of the module, by number.
    Function(u32),
    Label(u32),
    Targets(Vec<&'a str>),
    Prototype(Prototype<'a>),
    /// A `.calltargets` list, which says nothing that is needed.
    CallTargets,
}

/// A declared register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) reg: Reg,
    pub(super) ty: Type,
    /// Elements, each in a register of its own after the one before.
    pub(super) vector: u32,
}

/// Bytes that one register of the type takes in a frame.
pub(super) fn room(ty: Type) -> u32 {
    match width(ty) {
        0 => 4,
        width => width * 32,
    }
}

/// Bytes of a lane in a register of the type; 0 is a predicate. Registers of 8 bits have 16.
pub(super) fn width(ty: Type) -> u32 {
    match ty.size() {
        1 => 2,
        size => size,
    }
}

/// Registers `name0` to `name(count-1)`.
struct Family {
    first: Reg,
    ty: Type,
    count: u32,
}

#[derive(Default)]
struct Scope<'a> {
    symbols: HashMap<&'a str, Symbol<'a>>,
    families: HashMap<&'a str, Family>,
}

/// The scopes around a statement, the innermost last, and around them all the module, which every function looks into
/// and none copies.
pub(super) struct Names<'a, 's> {
    library: &'s Library<'a>,
    scopes: Vec<Scope<'a>>,
}

impl<'a, 's> Names<'a, 's> {
    pub(super) fn of(library: &'s Library<'a>) -> Self {
        Self { library, scopes: vec![Scope::default()] }
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// False if the name is taken in the innermost scope.
    pub(super) fn add(&mut self, name: &'a str, symbol: Symbol<'a>) -> bool {
        let scope = self.scopes.last_mut().expect("the outermost scope is never closed");
        scope.symbols.insert(name, symbol).is_none()
    }

    pub(super) fn add_family(&mut self, name: &'a str, first: Reg, ty: Type, count: u32) {
        let scope = self.scopes.last_mut().expect("the outermost scope is never closed");
        scope.families.insert(name, Family { first, ty, count });
    }

    pub(super) fn find(&self, name: &str) -> Option<Symbol<'a>> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        for scope in self.scopes.iter().rev() {
            if let Some(symbol) = scope.symbols.get(name) {
                return Some(symbol.clone());
            }
            if let Some(symbol) = scope.member(stem, &name[stem.len()..]) {
                return Some(symbol);
            }
        }
        self.library.find(name)
    }
}

impl<'a> Library<'a> {
    fn find(&self, name: &str) -> Option<Symbol<'a>> {
        let function = self.functions.get(name).map(|number| Symbol::Function(*number));
        function.or_else(|| self.globals.get(name).map(|number| Symbol::Global(*number)))
    }
}

impl<'a> Scope<'a> {
    fn member(&self, stem: &str, number: &str) -> Option<Symbol<'a>> {
        let family = self.families.get(stem)?;
        let number: u32 = number.parse().ok().filter(|number| *number < family.count)?;
        let reg = Reg(family.first.0 + number * room(family.ty));
        Some(Symbol::Register(Register { reg, ty: family.ty, vector: 1 }))
    }
}
