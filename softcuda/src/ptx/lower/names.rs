//! What names mean.

use super::registers::Registers;
use crate::ptx::ast::{Prototype, Syntax, Variable};
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
    /// Those of a function's body, by where they stand in the syntax.
    pub(in crate::ptx) inner_globals: HashMap<*const Variable<'a>, u32>,
    /// Shared variables by their place in the syntax.
    pub(in crate::ptx) shared: HashMap<&'a str, usize>,
    /// Arrays, with the bytes of an element's scalar.
    pub(in crate::ptx) arrays: HashMap<&'a str, u32>,
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

/// What `name0` to `name(count-1)` are.
pub(super) enum Family {
    /// Registers of the type and number of components: only those that the text names get a place.
    Registers { ty: Type, vector: u32, places: HashMap<u32, Reg> },
    /// Variables in the frame's local memory, so far apart.
    Slots(Slot, u32),
    /// Shared variables, so far apart.
    Shared(u32, u32),
}

#[derive(Default)]
struct Scope<'a> {
    symbols: HashMap<&'a str, Symbol<'a>>,
    families: HashMap<&'a str, (Family, u32)>,
    arrays: HashMap<&'a str, u32>,
}

/// The scopes around a statement, the innermost last, and around them all the module, which every function looks into
/// and none copies.
pub(super) struct Names<'a, 's> {
    library: &'s Library<'a>,
    scopes: Vec<Scope<'a>>,
    pub(super) registers: Registers,
}

impl<'a, 's> Names<'a, 's> {
    pub(super) fn of(library: &'s Library<'a>) -> Self {
        Self { library, scopes: vec![Scope::default()], registers: Registers::default() }
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    fn innermost(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("the outermost scope is never closed")
    }

    /// False if the name is taken in the innermost scope.
    pub(super) fn add(&mut self, name: &'a str, symbol: Symbol<'a>) -> bool {
        self.innermost().symbols.insert(name, symbol).is_none()
    }

    /// As `add`, with how many there are.
    pub(super) fn add_family(&mut self, name: &'a str, family: Family, count: u32) -> bool {
        self.innermost().families.insert(name, (family, count)).is_none()
    }

    /// Notes that a name that was added is an array of scalars of so many bytes, or of vectors of them.
    pub(super) fn add_array(&mut self, name: &'a str, element: u32) {
        self.innermost().arrays.insert(name, element);
    }

    pub(super) fn find(&mut self, name: &str) -> Option<Symbol<'a>> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        for scope in self.scopes.iter_mut().rev() {
            if let Some(symbol) = scope.symbols.get(name) {
                return Some(symbol.clone());
            }
            if let Some(symbol) = scope.member(stem, &name[stem.len()..], &mut self.registers) {
                return Some(symbol);
            }
        }
        self.library.find(name)
    }

    /// Bytes of the scalars that the array of the name consists of; `None` if that is no array.
    pub(super) fn element(&self, name: &str) -> Option<u32> {
        let local = self.scopes.iter().rev().find(|scope| scope.symbols.contains_key(name));
        local.map_or(&self.library.arrays, |scope| &scope.arrays).get(name).copied()
    }
}

impl<'a> Library<'a> {
    fn find(&self, name: &str) -> Option<Symbol<'a>> {
        let function = self.functions.get(name).map(|number| Symbol::Function(*number));
        function.or_else(|| self.globals.get(name).map(|number| Symbol::Global(*number)))
    }
}

impl<'a> Scope<'a> {
    /// The member of a family. The number may have zeros in front, as ptxas has it.
    fn member(&mut self, stem: &str, number: &str, registers: &mut Registers) -> Option<Symbol<'a>> {
        let (family, count) = self.families.get_mut(stem)?;
        let number: u32 = number.parse().ok().filter(|number| number < &*count)?;
        Some(match family {
            Family::Registers { ty, vector, places } => {
                let (ty, vector) = (*ty, *vector);
                let reg = *places.entry(number).or_insert_with(|| registers.take_declared(ty, vector));
                Symbol::Register(Register { reg, ty, vector })
            }
            Family::Slots(first, apart) => {
                Symbol::Slot(Slot { offset: first.offset + number * *apart, size: first.size })
            }
            Family::Shared(first, apart) => Symbol::Shared(*first + number * *apart),
        })
    }
}
