//! `polylogue bench`: what the engine costs, one JSON line per case.
//!
//! Every case runs in a process of its own, so that its memory is its own. The model answers at once: what is
//! measured is the engine. Compare ratios within one run on one machine, never times across machines.

mod case;
mod flat;
mod http;
mod instant;
mod local;
mod pipeline;
mod scene;
mod voice;

use std::process::{Command, ExitCode, Stdio};

use case::Case;

use crate::{args::Bench, failure::Failure, output};

pub(crate) async fn run(args: Bench) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.case {
        let unknown = || Failure::request(format!("there is no case `{name}`"));
        let case = Case::all().into_iter().find(|case| case.name() == *name).ok_or_else(unknown)?;
        output::line(case.run().await?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.local {
        local::run(Some(name.as_str()).filter(|name| !name.is_empty()), output::line).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = args.only.unwrap_or_default();
    for case in Case::all().into_iter().filter(|case| case.name().contains(&wanted)) {
        in_own_process(&case)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_own_process(case: &Case) -> Result<(), Failure> {
    let failed = |problem: String| Failure::internal(format!("the case {} did not run: {problem}", case.name()));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let status = Command::new(program)
        .args(["bench", "--case", &case.name()])
        .stdin(Stdio::null())
        .status()
        .map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}
