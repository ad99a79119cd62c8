//! The command line: the one place that wires everything together.

// Whatever is printed goes through `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod args;
mod artifacts;
mod cache;
mod clips;
mod command;
mod config;
mod descriptors;
mod engine;
mod failure;
mod follow;
mod format;
mod guide;
mod house;
mod keyboard;
mod log;
mod meter;
mod opened;
mod osc;
mod output;
mod printable;
mod seat;
mod signals;
mod speech;
mod view;
mod words;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::{Args, Command, Models},
    failure::Failure,
};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return failure::of_usage(&error),
    };
    // The operator of a server wants to see who comes.
    let at_least = u8::from(matches!(args.command, Command::Serve(_)));
    log::to_stderr(args.common.verbose.max(at_least));
    let json = args.common.json;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(run(args)),
        Err(error) => Err(Failure::internal(format!("the process cannot start its threads: {error}"))),
    };
    let code = match outcome {
        Ok(_) if output::has_failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(failure) => failure.report(json),
    };
    log::flush();
    code
}

async fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Serve(serve) => command::serve::run(args.common, serve).await,
        Command::Format(command) => format::run(&args.common, command).await,
        Command::Store(store) => command::store::run(&args.common, store).await,
        Command::Sessions(sessions) => command::sessions::run(&args.common, sessions).await,
        Command::Models(Models::List) => command::models::list(&args.common).await,
        Command::Models(Models::Pull { name, from }) => command::models::pull(name.as_deref(), from.as_deref()).await,
        Command::Voices(voices) => command::voices::run(&args.common, voices).await,
        Command::Templates(templates) => command::templates::run(&args.common, templates),
        Command::Doctor(doctor) => command::doctor::run(&args.common, doctor).await,
        Command::Bench(bench) => command::bench::run(bench).await,
        Command::Generate(generate) => command::generate::run(&generate),
    }
}
