//! What the parser makes of a text: the syntax, with names still names.

use super::types::Type;

/// A whole text.
#[derive(Default)]
pub(super) struct Syntax<'a> {
    pub(super) version: (u32, u32),
    pub(super) targets: Vec<(&'a str, u32)>,
    pub(super) variables: Vec<Variable<'a>>,
    pub(super) functions: Vec<Routine<'a>>,
    pub(super) aliases: Vec<Alias<'a>>,
}

/// `.alias name, target;`: the declared function `name` is `target`.
pub(super) struct Alias<'a> {
    pub(super) line: u32,
    pub(super) name: &'a str,
    pub(super) target: &'a str,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Reg,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// Who sees a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    Private,
    Visible,
    /// Another definition takes its place.
    Weak,
    Extern,
}

/// A declaration: a variable, a register, or (`%r<5>`) several registers.
#[derive(Clone, Debug)]
pub(super) struct Variable<'a> {
    pub(super) line: u32,
    pub(super) space: Space,
    pub(super) linkage: Linkage,
    pub(super) name: &'a str,
    pub(super) ty: Type,
    /// Elements of a vector, otherwise 1.
    pub(super) vector: u32,
    /// `%r<5>`: how many registers.
    pub(super) family: Option<u32>,
    /// Dimensions; 0 stands for `[]`.
    pub(super) dimensions: Vec<u64>,
    pub(super) align: Option<u32>,
    pub(super) managed: bool,
    pub(super) initial: Vec<Initial<'a>>,
}

impl Variable<'_> {
    /// Bytes of one element.
    pub(super) fn element(&self) -> u64 {
        u64::from(self.ty.size()) * u64::from(self.vector)
    }

    /// Bytes in all.
    pub(super) fn size(&self) -> u64 {
        self.dimensions.iter().fold(self.element(), |size, &n| size.saturating_mul(n))
    }

    /// Alignment in bytes, as asked or natural.
    pub(super) fn alignment(&self) -> u32 {
        self.align.unwrap_or((self.element() as u32).max(1))
    }
}

/// One scalar of an initialiser, at its place in bytes.
#[derive(Clone, Debug)]
pub(super) struct Initial<'a> {
    pub(super) offset: u64,
    pub(super) value: Value<'a>,
}

/// What an initialiser says.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Bytes(u64, u32),
    /// The address of a symbol, generic or of its space, and what is added; `mask(…)` picks one byte of it.
    Address {
        symbol: &'a str,
        generic: bool,
        add: i64,
        byte: Option<u32>,
        size: u32,
    },
}

/// A kernel or function, or only its declaration.
pub(super) struct Routine<'a> {
    /// In which of several texts it stands.
    pub(super) text: usize,
    pub(super) line: u32,
    pub(super) linkage: Linkage,
    pub(super) name: &'a str,
    pub(super) kernel: bool,
    pub(super) results: Vec<Variable<'a>>,
    pub(super) params: Vec<Variable<'a>>,
    pub(super) limits: Limits,
    pub(super) body: Option<Vec<Statement<'a>>>,
}

/// The performance directives that mean something here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) most_threads: Option<[u32; 3]>,
    pub(super) exact_threads: Option<[u32; 3]>,
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) explicit_cluster: bool,
}

/// A line of a body.
pub(super) enum Statement<'a> {
    Label(&'a str),
    Variable(Variable<'a>),
    Instruction(Instruction<'a>),
    /// `{ … }`.
    Scope(Vec<Statement<'a>>),
    /// `name: .branchtargets a, b;`
    BranchTargets(&'a str, Vec<&'a str>),
    /// `name: .calltargets f, g;`
    CallTargets(&'a str),
    /// `name: .callprototype …;`
    Prototype(&'a str, Prototype<'a>),
}

/// What an indirect call passes and gets.
#[derive(Clone)]
pub(super) struct Prototype<'a> {
    pub(super) results: Vec<Variable<'a>>,
    pub(super) params: Vec<Variable<'a>>,
}

/// An instruction.
pub(super) struct Instruction<'a> {
    pub(super) line: u32,
    /// The predicate, and whether it is negated.
    pub(super) guard: Option<(&'a str, bool)>,
    pub(super) opcode: &'a str,
    pub(super) modifiers: Vec<&'a str>,
    pub(super) operands: Vec<Operand<'a>>,
    /// The bytes of a load that are used, one bit each, if a `.pragma "used_bytes_mask"` says so: the others need not exist.
    pub(super) used: Option<u64>,
}

/// An operand.
#[derive(Clone, Debug)]
pub(super) enum Operand<'a> {
    /// A register, variable, function or label; with `.x` the component's name.
    Name(&'a str, Option<&'a str>),
    /// `!%p`
    Not(&'a str),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// `_`
    Sink,
    /// `symbol+4` outside brackets.
    Sum(&'a str, i64),
    /// `[base+offset]`; no base is an absolute address.
    Address(Option<&'a str>, i64),
    /// `array[index+add]`, counted in elements.
    Element {
        array: &'a str,
        index: Option<&'a str>,
        add: i64,
    },
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
    /// `a|b`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
}
