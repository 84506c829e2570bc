//! Modules: what a text becomes, and how its kernels are started.

use super::ast::{Alias, Linkage, Operand, Routine, Space, Statement, Syntax, Value, Variable};
use super::error::{JitError, Refusal};
use super::exec::fault::Fault;
use super::exec::grid::Job;
use super::exec::host::Host;
use super::exec::program::Program;
use super::exec::seen::{Marks, Spot, Watch};
use super::exec::space::{CODE_STEP, CODE_WINDOW};
use super::link::{Renamed, link};
use super::lower::{Library, lower_kernel, numbered_global};
use super::parse::parse;
use super::sources::Sources;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Bytes of constant variables that a module can have.
const MOST_CONST: usize = 64 << 10;

/// A compiled module.
pub struct Module {
    functions: Vec<Function>,
    globals: Vec<Global>,
    version: u32,
    target: u32,
}

/// A kernel.
pub struct Function {
    /// Its name.
    pub name: String,
    /// In which of the texts it stands.
    pub text: usize,
    /// Its parameters in order.
    pub params: Vec<Param>,
    /// Bytes of all parameters.
    pub param_bytes: usize,
    /// Bytes of shared memory that the kernel declares.
    pub shared_bytes: usize,
    /// 32-bit registers a thread, as the text declares them and the module uses them.
    pub registers: u32,
    /// Bytes of local memory a thread, without what recursion takes.
    pub local_bytes: usize,
    /// Bytes of the module's constant variables.
    pub const_bytes: usize,
    /// The most threads of a block: `.maxntid` or `.reqntid`, otherwise 1024.
    pub max_threads: u32,
    /// `.reqntid`: the only block that the kernel can be launched with.
    pub required_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the cluster that the kernel is launched with.
    pub required_cluster: Option<[u32; 3]>,
    sources: Arc<Sources>,
    program: Program,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Where it begins in the block of parameters.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

/// A global or constant variable of a module. Whoever loads the module gives it memory and says where (`Launch::globals`).
pub struct Global {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Whether it is `__constant__`.
    pub constant: bool,
    /// Whether it is `__managed__`.
    pub managed: bool,
    /// The first values where they are not zero, in runs: where each begins, and its bytes.
    values: Vec<(usize, Vec<u8>)>,
    addresses: Vec<Relocation>,
}

/// An address that an initialiser contains.
struct Relocation {
    offset: usize,
    size: usize,
    of: Target,
    add: i64,
    byte: Option<u32>,
}

enum Target {
    Global(usize),
    Function(u64),
}

/// What a launch says beside the kernel.
pub struct Launch<'l> {
    /// Blocks along each axis; none is 0.
    pub grid: [u32; 3],
    /// Threads of a block along each axis; none is 0, and there are at most 1024.
    pub block: [u32; 3],
    /// Blocks of a cluster along each axis, which divide the grid; `None` if nobody asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The block of parameters, of `Function::param_bytes`.
    pub args: &'l [u8],
    /// Where the module's variables are, in the order of `Module::globals`.
    pub globals: &'l [u64],
    /// Memory, output and what else the driver has.
    pub host: &'l dyn Host,
    /// Threads of the host that may run blocks at the same time.
    pub cores: usize,
    /// Bytes of stack a thread, for kernels that recurse or call through pointers.
    pub stack: u32,
    /// Instructions of warps, all together, after which the launch ends with `Timeout`; `None` is no limit.
    pub budget: Option<u64>,
    /// Whether all blocks must be under way together: a cooperative launch.
    pub cooperative: bool,
    /// `%envreg0` to `%envreg31`
    pub environment: [u32; 32],
    /// `%nsmid`
    pub processors: u32,
    /// Takes note of the global memory that is used; `None` where nobody wants to know, which costs nothing.
    pub watch: Option<&'l Watch>,
}

impl<'l> Launch<'l> {
    /// A launch of one thread, on one core, without budget; to be completed by what differs.
    pub fn new(host: &'l dyn Host) -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            shared: 0,
            args: &[],
            globals: &[],
            host,
            cores: 1,
            stack: 1024,
            budget: None,
            cooperative: false,
            environment: [0; 32],
            processors: 1,
            watch: None,
        }
    }
}

impl Module {
    /// Compiles a text. `isa_limit` is the newest `.version` that is read, such as 90 for 9.0; `target` the device's
    /// compute capability, such as 90 for 9.0.
    pub fn compile(text: &str, isa_limit: u32, target: u32) -> Result<Self, JitError> {
        Self::link(&[text], isa_limit, target)
    }

    /// Looks whether a text can be one of several.
    pub fn check(text: &str, isa_limit: u32, target: u32) -> Result<(), JitError> {
        let syntax = parse(text)?;
        check_version(&syntax, isa_limit)?;
        check_target(&syntax, target).map(drop)
    }

    /// Compiles several texts as one: what one of them declares as external may be defined in another.
    pub fn link(texts: &[impl AsRef<str>], isa_limit: u32, target: u32) -> Result<Self, JitError> {
        let mut units = Vec::new();
        let mut wanted = 0;
        for text in texts {
            let syntax = parse(text.as_ref().trim_end_matches('\0'))?;
            check_version(&syntax, isa_limit)?;
            wanted = wanted.max(check_target(&syntax, target)?);
            units.push(syntax);
        }
        let renamed = Renamed::of(&units);
        let syntax = link(units, &renamed)?;
        let version = syntax.version.0 * 10 + syntax.version.1;
        let library = library(syntax)?;
        let globals = globals(&library)?;
        let const_bytes = globals.iter().filter(|global| global.constant).map(|global| global.size).sum();
        // Of several texts nobody knows whose a line is.
        let sources =
            Arc::new(if let [text] = texts { Sources::of(text.as_ref()) } else { Sources::default() });
        let mut functions = Vec::new();
        for (number, source) in library.syntax.functions.iter().enumerate() {
            if source.kernel && source.body.is_some() {
                let program = lower_kernel(&library, number as u32)?;
                functions.push(function(source, program, const_bytes, &sources));
            }
        }
        Ok(Self { functions, globals, version, target: wanted })
    }

    /// The kernels, in the order of the text.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The kernel of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The variables, in the order of the text.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// The PTX version of the text, such as 87 for 8.7.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The compute capability that the text names, such as 80.
    pub fn target(&self) -> u32 {
        self.target
    }
}

impl Global {
    /// What the variable holds at first, where the module's variables have these addresses: writes bytes at offsets that are
    /// inside of it. The rest is zero.
    pub fn initialise(&self, addresses: &[u64], mut write: impl FnMut(usize, &[u8])) {
        for (offset, bytes) in &self.values {
            write(*offset, bytes);
        }
        for relocation in &self.addresses {
            let base = match relocation.of {
                Target::Global(number) => addresses[number],
                Target::Function(address) => address,
            };
            let mut value = base.wrapping_add(relocation.add as u64);
            if let Some(byte) = relocation.byte {
                value = value.checked_shr(8 * byte).unwrap_or(0);
            }
            write(relocation.offset, &value.to_le_bytes()[..relocation.size]);
        }
    }

    /// Notes a value; what follows the one before joins its run.
    fn set(&mut self, offset: usize, value: &[u8]) {
        match self.values.last_mut() {
            Some((start, bytes)) if *start + bytes.len() == offset => bytes.extend_from_slice(value),
            _ => self.values.push((offset, value.to_vec())),
        }
    }
}

impl Function {
    /// Runs the kernel to its end on the calling thread and, if it takes long, on up to `cores` in all.
    ///
    /// # Panics
    /// If the launch is not what the fields of [`Launch`] demand: the driver checks that before.
    pub fn launch(&self, launch: &Launch<'_>) -> Result<(), Fault> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let threads: u32 = launch.block.iter().product();
        assert!((1..=1024).contains(&threads), "a block has 1 to 1024 threads");
        assert!(launch.grid.iter().all(|&n| n > 0), "a grid has blocks");
        let cluster = launch.cluster.unwrap_or([1; 3]);
        assert!(
            (0..3).all(|axis| cluster[axis] > 0 && launch.grid[axis].is_multiple_of(cluster[axis])),
            "clusters divide the grid"
        );
        assert_eq!(launch.args.len(), self.param_bytes, "the parameters have their size");
        let program = &self.program;
        let budget = launch.budget.map(|budget| AtomicI64::new(budget.min(i64::MAX as u64) as i64));
        let job = Job {
            host: launch.host,
            args: launch.args,
            globals: launch.globals,
            grid: launch.grid,
            block: launch.block,
            cluster,
            asks_for_clusters: launch.cluster.is_some(),
            dynamic_shared: launch.shared,
            stride: program.local_memory(launch.stack).next_multiple_of(16),
            // Whose calls do not go round in circles has what it needs, whatever the limit.
            stack: if program.deepest.is_some() { u32::MAX } else { launch.stack },
            environment: launch.environment,
            id: IDS.fetch_add(1, Ordering::Relaxed),
            processors: launch.processors,
            resident: if launch.cooperative { usize::MAX } else { 64 },
            // What races are found must not depend on what runs beside what.
            cores: if launch.watch.is_some_and(|watch| watch.races) { 1 } else { launch.cores },
            budget,
            watch: launch.watch,
            next: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            fault: Mutex::new(None),
        };
        job.run(program).map_err(|fault| *fault)
    }

    /// The file and line that a line of the text comes from, if `.loc` says.
    pub fn source(&self, line: u32) -> Option<String> {
        self.sources.find(line)
    }

    /// The instructions that a page's marks name.
    pub fn spots(&self, marks: &Marks) -> Vec<Spot> {
        let mut ops: Vec<u32> = marks.ops().collect();
        ops.sort_unstable();
        ops.dedup();
        ops.into_iter().filter_map(|at| self.spot(at)).collect()
    }

    /// The instruction of an index.
    pub fn spot(&self, at: u32) -> Option<Spot> {
        let op = self.program.ops.get(at as usize)?;
        let (source, instruction) = (self.sources.find(op.line), self.program.text(at).to_owned());
        Some(Spot { op: at, line: op.line, source, instruction })
    }
}

fn check_version(syntax: &Syntax<'_>, newest: u32) -> Result<(), JitError> {
    let (major, minor) = syntax.version;
    if major.saturating_mul(10).saturating_add(minor) <= newest {
        return Ok(());
    }
    let what = format!(
        "the text is PTX {major}.{minor}, and the newest that this driver reads is {}.{}",
        newest / 10,
        newest % 10
    );
    Err(JitError::new(Refusal::Version, 1, &what))
}

fn check_target(syntax: &Syntax<'_>, device: u32) -> Result<u32, JitError> {
    let mut found = None;
    for (name, line) in &syntax.targets {
        if matches!(*name, "texmode_unified" | "texmode_independent" | "debug" | "map_f64_to_f32") {
            continue;
        }
        let digits = name.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
        let number = digits.and_then(|digits| digits.parse::<u32>().ok());
        let unknown = || JitError::invalid(*line, format!("unknown target {name}"));
        let number = number.ok_or_else(unknown)?;
        let since = first_version(number).ok_or_else(unknown)?;
        if syntax.version.0 * 10 + syntax.version.1 < since {
            let what = format!("the target {name} needs PTX {}.{} or newer", since / 10, since % 10);
            return Err(JitError::invalid(*line, what));
        }
        let exact = name.ends_with('a');
        let family = name.ends_with('f');
        let fits = match (exact, family) {
            (true, _) => number == device,
            (_, true) => number / 10 == device / 10 && number <= device,
            _ => number <= device,
        };
        if !fits {
            let what = format!("the target {name} is not for this device, which is sm_{device}");
            return Err(JitError::new(Refusal::Target, 0, &what));
        }
        found = Some(number);
    }
    found.ok_or_else(|| JitError::invalid(0, "the text has no .target"))
}

/// The version of PTX that a target came with, such as 70 for 7.0; from the table of targets in the PTX ISA's manual.
fn first_version(target: u32) -> Option<u32> {
    Some(match target {
        10 | 11 => 10,
        12 | 13 => 12,
        20 => 20,
        30 => 30,
        32 | 50 => 40,
        35 => 31,
        37 | 52 => 41,
        53 => 42,
        60..=62 => 50,
        70 => 60,
        72 => 61,
        75 => 63,
        80 => 70,
        86 => 71,
        87 => 74,
        89 | 90 => 78,
        100 | 101 => 86,
        120 => 87,
        103 | 121 => 88,
        88 | 110 => 90,
        _ => return None,
    })
}

fn library(syntax: Syntax<'_>) -> Result<Library<'_>, JitError> {
    let mut functions: HashMap<&str, u32> = HashMap::new();
    for (number, source) in syntax.functions.iter().enumerate() {
        let known = functions.get(source.name).copied();
        let defined = known.is_some_and(|known| syntax.functions[known as usize].body.is_some());
        if defined && source.body.is_some() {
            return Err(JitError::invalid(source.line, format!("{} is defined twice", source.name)));
        }
        if !defined {
            functions.insert(source.name, number as u32);
        }
    }
    for alias in &syntax.aliases {
        let target = aliased(&syntax, &functions, alias)?;
        functions.insert(alias.name, target);
    }
    let mut globals = HashMap::new();
    for variable in module_variables(&syntax) {
        if variable.linkage == Linkage::Extern {
            let what = format!("the variable {} is declared, but defined nowhere", variable.name);
            return Err(JitError::invalid(variable.line, what));
        }
        let number = globals.len() as u32;
        if globals.insert(variable.name, number).is_some() {
            return Err(JitError::invalid(variable.line, format!("{} is declared twice", variable.name)));
        }
    }
    let mut shared = HashMap::new();
    for (number, variable) in syntax.variables.iter().enumerate() {
        if variable.space == Space::Shared {
            shared.entry(variable.name).or_insert(number);
        }
        if variable.family.is_some() {
            return Err(numbered_global(variable));
        }
        if matches!(variable.space, Space::Local | Space::Param | Space::Reg) {
            let what = format!("{}: a variable of this space cannot stand here", variable.name);
            return Err(JitError::uncovered(variable.line, what));
        }
    }
    let taken = taken(&syntax, &functions);
    let inner = inner_variables(&syntax).into_iter().zip(globals.len() as u32..);
    let inner_globals = inner.map(|(variable, number)| (std::ptr::from_ref(variable), number)).collect();
    let arrays = syntax.variables.iter().filter(|variable| !variable.dimensions.is_empty());
    let arrays = arrays.map(|variable| (variable.name, variable.ty.size())).collect();
    Ok(Library { syntax, functions, globals, inner_globals, shared, arrays, taken })
}

/// The function, by number, that an alias names anew.
fn aliased(syntax: &Syntax<'_>, functions: &HashMap<&str, u32>, alias: &Alias<'_>) -> Result<u32, JitError> {
    let refusal = |what: &str| {
        Err(JitError::invalid(alias.line, format!("the alias {} of {}: {what}", alias.name, alias.target)))
    };
    let find = |name| functions.get(name).map(|number| (*number, &syntax.functions[*number as usize]));
    let (Some((number, target)), Some((_, declared))) = (find(alias.target), find(alias.name)) else {
        return refusal("one of them is not declared");
    };
    let bytes = |variables: &[Variable<'_>]| variables.iter().map(Variable::size).collect::<Vec<_>>();
    let shape = |function: &Routine<'_>| [bytes(&function.results), bytes(&function.params)];
    if declared.body.is_some() {
        return refusal("the alias is defined, too");
    }
    if target.body.is_none() || target.kernel {
        return refusal("there is no such function");
    }
    if shape(declared) != shape(target) {
        return refusal("they have different parameters");
    }
    Ok(number)
}

/// Global and constant variables that stand in functions.
fn inner_variables<'s, 'a>(syntax: &'s Syntax<'a>) -> Vec<&'s Variable<'a>> {
    let mut all = Vec::new();
    for function in &syntax.functions {
        gather(function.body.as_deref().unwrap_or(&[]), &mut all);
    }
    all
}

fn gather<'s, 'a>(statements: &'s [Statement<'a>], all: &mut Vec<&'s Variable<'a>>) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) if matches!(variable.space, Space::Global | Space::Const) => {
                all.push(variable);
            }
            Statement::Scope(inner) => gather(inner, all),
            _ => {}
        }
    }
}

fn module_variables<'s, 'a>(syntax: &'s Syntax<'a>) -> impl Iterator<Item = &'s Variable<'a>> {
    syntax.variables.iter().filter(|variable| matches!(variable.space, Space::Global | Space::Const))
}

/// The functions whose address somebody takes.
fn taken(syntax: &Syntax<'_>, functions: &HashMap<&str, u32>) -> Vec<u32> {
    let mut all = HashSet::new();
    let mut note = |name: &str| {
        let number = functions.get(name).copied();
        all.extend(number.filter(|&number| {
            let source = &syntax.functions[number as usize];
            source.body.is_some() && !source.kernel
        }));
    };
    for variable in &syntax.variables {
        for initial in &variable.initial {
            if let Value::Address { symbol, .. } = initial.value {
                note(symbol);
            }
        }
    }
    for function in &syntax.functions {
        visit(function.body.as_deref().unwrap_or(&[]), &mut note);
    }
    let mut sorted: Vec<u32> = all.into_iter().collect();
    sorted.sort_unstable();
    sorted
}

fn visit(statements: &[Statement<'_>], note: &mut impl FnMut(&str)) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) if instruction.opcode == "mov" => {
                if let Some(Operand::Name(name, None)) = instruction.operands.get(1) {
                    note(name);
                }
            }
            Statement::Scope(inner) => visit(inner, note),
            _ => {}
        }
    }
}

fn globals(library: &Library<'_>) -> Result<Vec<Global>, JitError> {
    let mut all = Vec::new();
    let inner = inner_variables(&library.syntax);
    // Names that no other text can mean, as ptxas makes them.
    let inner =
        inner.iter().enumerate().map(|(at, variable)| (*variable, format!("$__{}__{at}", variable.name)));
    let outer = module_variables(&library.syntax).map(|variable| (variable, variable.name.to_owned()));
    for (variable, name) in outer.chain(inner) {
        let size = usize::try_from(variable.size()).unwrap_or(usize::MAX);
        if size > 1 << 40 {
            return Err(JitError::invalid(variable.line, format!("{} is too large", variable.name)));
        }
        let mut global = Global {
            name,
            size,
            align: variable.alignment() as usize,
            constant: variable.space == Space::Const,
            managed: variable.managed,
            values: Vec::new(),
            addresses: Vec::new(),
        };
        for initial in &variable.initial {
            initialise(&mut global, variable, initial.offset as usize, &initial.value, library)?;
        }
        all.push(global);
    }
    check_const(&all)?;
    Ok(all)
}

/// Constant variables lie in one bank, one after another.
fn check_const(globals: &[Global]) -> Result<(), JitError> {
    let constants = globals.iter().filter(|global| global.constant);
    let bytes = constants.fold(0, |end: usize, global| end.next_multiple_of(global.align) + global.size);
    if bytes <= MOST_CONST {
        return Ok(());
    }
    let what = format!("File uses too much global constant data ({bytes:#x} bytes, {MOST_CONST:#x} max)");
    Err(JitError::limit(&what))
}

fn initialise(
    global: &mut Global,
    variable: &Variable<'_>,
    offset: usize,
    value: &Value<'_>,
    library: &Library<'_>,
) -> Result<(), JitError> {
    let (Value::Bytes(_, size) | Value::Address { size, .. }) = *value;
    let end = offset.saturating_add(size as usize);
    if end > global.size {
        return Err(JitError::invalid(variable.line, format!("{} has too many values", variable.name)));
    }
    match *value {
        Value::Bytes(bits, size) => global.set(offset, &bits.to_le_bytes()[..size as usize]),
        Value::Address { symbol, add, byte, size, .. } => {
            let of = match (library.globals.get(symbol), library.functions.get(symbol)) {
                (Some(number), _) => Target::Global(*number as usize),
                (_, Some(number)) => Target::Function(CODE_WINDOW + u64::from(*number) * CODE_STEP),
                _ => return Err(JitError::invalid(variable.line, format!("unknown name {symbol}"))),
            };
            global.addresses.push(Relocation { offset, size: size as usize, of, add, byte });
        }
    }
    Ok(())
}

fn function(source: &Routine<'_>, program: Program, const_bytes: usize, sources: &Arc<Sources>) -> Function {
    let mut offset = 0usize;
    let mut params = Vec::new();
    for param in &source.params {
        let (size, align) = (param.size() as usize, param.alignment() as usize);
        offset = offset.next_multiple_of(align);
        params.push(Param { offset, size, align });
        offset += size;
    }
    let threads = source.limits.exact_threads.or(source.limits.most_threads);
    let registers = program.routines.iter().map(|routine| routine.declared).max().unwrap_or(0);
    let local = program.routines[0].local.max(program.deepest.unwrap_or(0));
    Function {
        name: source.name.to_owned(),
        text: source.text,
        params,
        param_bytes: offset,
        shared_bytes: program.shared as usize,
        registers: registers.clamp(1, 255),
        local_bytes: local as usize,
        const_bytes,
        max_threads: threads.map_or(1024, |[x, y, z]| x.saturating_mul(y).saturating_mul(z).min(1024)),
        required_block: source.limits.exact_threads,
        required_cluster: source.limits.cluster,
        sources: Arc::clone(sources),
        program,
    }
}
