//! `polylogue templates`: the built-in prompts, with what each is for and its variables. A file of one's own takes the
//! place of one under `[templates]`.

use std::process::ExitCode;

use polylogue_core::Templates;
use serde_json::json;

use crate::{
    args::{self, Common},
    failure::Failure,
    output,
    view::Style,
};

const ENDING: &str = ".j2";

pub(crate) fn run(common: &Common, args: args::Templates) -> Result<ExitCode, Failure> {
    match args {
        args::Templates::List => Templates::built_in().for_each(|(name, source)| list(common, name, source)),
        args::Templates::Show { name } => show(common, &name)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(common: &Common, name: &str, source: &str) {
    let (name, (about, variables)) = (plain(name), remarks(source));
    if common.json {
        return output::json(&json!({"template": name, "about": about, "variables": variables}));
    }
    let style = Style::of_stdout();
    output::line(style.bold(name));
    output::line(style.wrap(&about, "  "));
    output::line(format!("{}\n", style.dim(&style.wrap(&format!("variables: {variables}"), "  "))));
}

fn show(common: &Common, wanted: &str) -> Result<(), Failure> {
    let Some((name, source)) = Templates::built_in().find(|(name, _)| plain(name) == plain(wanted)) else {
        let names: Vec<&str> = Templates::built_in().map(|(name, _)| plain(name)).collect();
        return Err(Failure::request(format!("there is no template `{wanted}`: there are {}", names.join(", "))));
    };
    if common.json {
        let (about, variables) = remarks(source);
        output::json(&json!({"template": plain(name), "about": about, "variables": variables, "source": source}));
    } else {
        output::text(source);
    }
    Ok(())
}

fn plain(name: &str) -> &str {
    name.strip_suffix(ENDING).unwrap_or(name)
}

/// What the remark at the head of a template says: what it is for, and its variables.
fn remarks(source: &str) -> (String, String) {
    let remark = source.strip_prefix("{#").and_then(|rest| rest.split_once("#}")).map_or("", |(remark, _)| remark);
    let words = remark.split_whitespace().collect::<Vec<_>>().join(" ");
    let (about, variables) = words.split_once("Variables: ").unwrap_or((&words, ""));
    (about.trim().to_owned(), variables.trim_end_matches('.').to_owned())
}
