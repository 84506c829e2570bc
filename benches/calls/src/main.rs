//! What a call of cushim's C ABI costs beside the raw driver and cudarc, call by call in one process on one core.

// A command-line tool.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod instructions;
mod kernels;
mod measure;
mod options;
mod report;
mod rows;
mod shim;
mod threads;
mod world;

use options::Options;
use std::process::ExitCode;
use world::World;

fn main() -> ExitCode {
    let result = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => run(&options),
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-calls: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    if let Some(most) = options.threads {
        print!("{}", threads::run(options, most)?);
        return Ok(());
    }
    let world = World::new(options)?;
    let rows = if options.typed { rows::typed::all(world) } else { rows::all(world) };
    if options.list {
        rows.iter().for_each(|row| println!("{}", row.name));
        return Ok(());
    }
    if !rows.iter().any(|row| options.wants(row.name)) {
        return Err("no row has such a name; --list shows them".to_owned());
    }
    // The driver has started its threads by now; they stay where they are.
    let core = measure::stay_on(options.core)?;
    if options.instructions {
        instructions::run(options, rows);
        return Ok(());
    }
    let mut measured = Vec::new();
    for row in rows.into_iter().filter(|row| options.wants(row.name)) {
        eprintln!("{} ...", row.name);
        measured.push(measure::measure(world, options, row));
    }
    match options.json {
        true => println!("{:#}", report::json(&world.about, core, &measured)),
        false => print!("{}", report::human(&world.about, core, &measured)),
    }
    Ok(())
}
