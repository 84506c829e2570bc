//! Linking: several texts become one. Names that a text keeps to itself stay its own; what it declares as external is what
//! another one defines.

use super::ast::{Linkage, Operand, Routine, Space, Statement, Syntax, Value, Variable};
use super::error::JitError;
use std::collections::{HashMap, HashSet};

/// Names that several texts use for things of their own, and what they are called instead.
pub(super) struct Renamed(Vec<HashMap<String, String>>);

impl Renamed {
    /// Looks for them.
    pub(super) fn of(units: &[Syntax<'_>]) -> Self {
        let mut taken: HashSet<String> = HashSet::new();
        let known: Vec<HashSet<&str>> =
            units.iter().map(|unit| names(unit).map(|(name, _)| name).collect()).collect();
        let mut all = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            let names: Vec<(&str, Linkage)> = names(unit).collect();
            let of_others = |name: &str| {
                known.iter().enumerate().any(|(other, names)| other != number && names.contains(name))
            };
            let own = names.iter().filter(|(name, linkage)| *linkage == Linkage::Private && of_others(name));
            let mut renamed = HashMap::new();
            for (name, _) in own {
                let mut new = format!("{name}${number}");
                while taken.contains(&new) || of_others(&new) {
                    new.push('$');
                }
                taken.insert(new.clone());
                renamed.insert((*name).to_owned(), new);
            }
            all.push(renamed);
        }
        Self(all)
    }
}

fn names<'s>(unit: &'s Syntax<'_>) -> impl Iterator<Item = (&'s str, Linkage)> {
    let variables = unit.variables.iter().map(|variable| (variable.name, variable.linkage));
    variables.chain(unit.functions.iter().map(|function| (function.name, function.linkage)))
}

/// One syntax of all.
pub(super) fn link<'a>(units: Vec<Syntax<'a>>, renamed: &'a Renamed) -> Result<Syntax<'a>, JitError> {
    let mut all = Syntax::default();
    for (number, (mut unit, names)) in units.into_iter().zip(&renamed.0).enumerate() {
        if !names.is_empty() {
            rename(&mut unit, names);
        }
        unit.functions.iter_mut().for_each(|function| function.text = number);
        all.version = all.version.max(unit.version);
        all.targets.append(&mut unit.targets);
        all.variables.append(&mut unit.variables);
        all.functions.append(&mut unit.functions);
        all.aliases.append(&mut unit.aliases);
    }
    check_shared(&all.variables)?;
    all.variables = settle(all.variables)?;
    all.functions = settle(all.functions)?;
    Ok(all)
}

/// Declarations of one shared array may leave its size open (`[]`), but not contradict each other: the longer one would reach
/// beyond what the shorter one gets.
fn check_shared(variables: &[Variable<'_>]) -> Result<(), JitError> {
    let mut sizes: HashMap<&str, (u64, u32)> = HashMap::new();
    for variable in variables.iter().filter(|variable| variable.space == Space::Shared && variable.size() > 0)
    {
        let (size, line) = *sizes.entry(variable.name).or_insert((variable.size(), variable.line));
        if size != variable.size() {
            let what =
                format!("{} has {} bytes here, and {size} in line {line}", variable.name, variable.size());
            return Err(JitError::invalid(variable.line, what));
        }
    }
    Ok(())
}

/// What has a name that others may mean.
trait Item {
    fn name(&self) -> &str;
    fn line(&self) -> u32;
    fn rank(&self) -> Rank;
}

/// How much an item says of what its name means; of several items the one that says most stands for the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A declaration, for an array without its size.
    Declared,
    /// An external array with its size.
    Sized,
    /// A definition that gives way to another.
    Weak,
    Defined,
}

impl Item for Variable<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn rank(&self) -> Rank {
        match self.linkage {
            Linkage::Extern if self.size() == 0 => Rank::Declared,
            Linkage::Extern => Rank::Sized,
            Linkage::Weak => Rank::Weak,
            _ => Rank::Defined,
        }
    }
}

impl Item for Routine<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn rank(&self) -> Rank {
        match (&self.body, self.linkage) {
            (None, _) => Rank::Declared,
            (Some(_), Linkage::Weak) => Rank::Weak,
            (Some(_), _) => Rank::Defined,
        }
    }
}

/// Keeps one of each name: the definition, of several weak ones the first, or a declaration where there is nothing else.
fn settle<T: Item>(items: Vec<T>) -> Result<Vec<T>, JitError> {
    let mut chosen: HashMap<String, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let Some(known) = chosen.get_mut(item.name()) else {
            chosen.insert(item.name().to_owned(), at);
            continue;
        };
        match (items[*known].rank(), item.rank()) {
            (Rank::Defined, Rank::Defined) => {
                return Err(JitError::invalid(item.line(), format!("{} is defined twice", item.name())));
            }
            (before, now) if now > before => *known = at,
            _ => {}
        }
    }
    let kept: HashSet<usize> = chosen.into_values().collect();
    Ok(items.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, item)| item).collect())
}

type Names = HashMap<String, String>;

/// Local names that are the same are renamed, too, so that they hide what they hid.
fn rename<'a>(unit: &mut Syntax<'a>, names: &'a Names) {
    for item in &mut unit.variables {
        variable(item, names);
    }
    for alias in &mut unit.aliases {
        name(&mut alias.name, names);
        name(&mut alias.target, names);
    }
    for function in &mut unit.functions {
        name(&mut function.name, names);
        for item in function.results.iter_mut().chain(&mut function.params) {
            variable(item, names);
        }
        for statement in function.body.iter_mut().flatten() {
            self::statement(statement, names);
        }
    }
}

fn name<'a>(name: &mut &'a str, names: &'a Names) {
    if let Some(new) = names.get(*name) {
        *name = new;
    }
}

fn variable<'a>(item: &mut Variable<'a>, names: &'a Names) {
    name(&mut item.name, names);
    for initial in &mut item.initial {
        if let Value::Address { symbol, .. } = &mut initial.value {
            name(symbol, names);
        }
    }
}

fn statement<'a>(item: &mut Statement<'a>, names: &'a Names) {
    match item {
        Statement::Label(label) | Statement::CallTargets(label) | Statement::Prototype(label, _) => {
            name(label, names);
        }
        Statement::BranchTargets(label, targets) => {
            name(label, names);
            targets.iter_mut().for_each(|target| name(target, names));
        }
        Statement::Variable(local) => variable(local, names),
        Statement::Scope(inner) => inner.iter_mut().for_each(|item| statement(item, names)),
        Statement::Instruction(instruction) => {
            if let Some((predicate, _)) = &mut instruction.guard {
                name(predicate, names);
            }
            instruction.operands.iter_mut().for_each(|item| operand(item, names));
        }
    }
}

fn operand<'a>(item: &mut Operand<'a>, names: &'a Names) {
    match item {
        Operand::Name(symbol, _)
        | Operand::Not(symbol)
        | Operand::Sum(symbol, _)
        | Operand::Address(Some(symbol), _) => name(symbol, names),
        Operand::Element { array, index, .. } => {
            name(array, names);
            index.iter_mut().for_each(|index| name(index, names));
        }
        Operand::Vector(items) | Operand::List(items) => {
            items.iter_mut().for_each(|item| operand(item, names))
        }
        Operand::Pair(first, second) => {
            operand(first, names);
            operand(second, names);
        }
        Operand::Integer(_)
        | Operand::Single(_)
        | Operand::Double(_)
        | Operand::Sink
        | Operand::Address(None, _) => {}
    }
}
