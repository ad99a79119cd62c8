//! `polylogue bench`.

use std::process::ExitCode;

use crate::{args::Bench, failure::Failure};

pub(crate) async fn run(_: Bench) -> Result<ExitCode, Failure> {
    Ok(ExitCode::SUCCESS)
}
