//! `polylogue models`: what can think here.

use std::process::ExitCode;

use polylogue_core::money::Price;
use polylogue_providers::{
    catalogue::{self, Listed, Listing},
    local,
};

use crate::{
    args::Common, cache, command::doctor, config::Config, engine, failure::Failure, output, printable::filled,
    view::Style,
};

/// From how many columns on a model is one row.
const WIDE: usize = 90;

pub(crate) async fn list(common: &Common) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let models = engine::models(&config)?;
    let mut listings = catalogue::list(&models, &engine::prices(&config, &models));
    for listing in &mut listings {
        if let Some(Err(address)) = catalogue::answers(&models, &listing.provider).await {
            listing.missing = Some(doctor::silence(&address));
        }
    }
    if common.json {
        for listing in &listings {
            output::json(&listing);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    for listing in &listings {
        print(listing, style);
    }
    output::line(style.remark("Any other model of a usable provider works too: write provider/model."));
    Ok(ExitCode::SUCCESS)
}

/// Fetches the model that needs no key.
pub(crate) async fn pull() -> Result<ExitCode, Failure> {
    let folder = cache::folder();
    let was_there = local::is_pulled(&folder);
    if !was_there {
        output::notice("Fetching the embedded model (98 MB, once)…");
    }
    // What is there is looked into as well.
    cache::show(async |watch| local::pull(&folder, watch).await).await?;
    if !was_there {
        output::notice(format!("The embedded model {} is here.", local::smollm2()));
    }
    Ok(ExitCode::SUCCESS)
}

fn print(listing: &Listing, style: Style) {
    let state = listing.missing.as_deref().unwrap_or("usable");
    output::line(style.row("", &listing.provider, 12, state));
    // What cannot be used is one line: its models would only be in the way.
    if listing.missing.is_none() {
        listing.models.iter().for_each(|listed| output::line(row(listed, style)));
    }
}

fn row(listed: &Listed, style: Style) -> String {
    let is_narrow = style.is_rich() && style.width() < WIDE;
    let name = filled(&listed.model.to_string(), if is_narrow { 30 } else { 36 });
    let plays = listed.plays.map(|agent| format!("plays `{agent}`"));
    let ends = listed.ends.map(|day| format!("ends on {day}"));
    let between = if is_narrow { "\n      " } else { "  " };
    [Some(format!("  {name} {}", price(listed.price))), plays, ends]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(between)
}

/// In dollars per million tokens, in and out.
fn price(price: Option<Price>) -> String {
    match price {
        None => "price unknown         ".to_owned(),
        Some(price) => format!("${:>6.2} in  ${:>6.2} out", price.input, price.output),
    }
}
