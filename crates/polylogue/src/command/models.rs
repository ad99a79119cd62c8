//! `polylogue models`: what can think here.

use std::process::ExitCode;

use polylogue_core::money::Price;
use polylogue_providers::{
    catalogue::{self, Listed, Listing},
    local,
};

use crate::{args::Common, cache, config::Config, engine, failure::Failure, output, view::Style};

pub(crate) fn list(common: &Common) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let models = engine::models(&config)?;
    let listings = catalogue::list(&models, &engine::prices(&config, &models));
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
    output::line(style.dim("Any other model of a usable provider works too: write provider/model."));
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
    output::line(format!("{}  {}", style.bold(&listing.provider), style.dim(state)));
    // What cannot be used is one line: its models would only be in the way.
    if listing.missing.is_none() {
        listing.models.iter().for_each(|listed| output::line(format!("  {}", row(listed))));
    }
}

fn row(listed: &Listed) -> String {
    let mut row = format!("{:<36} {}", listed.model.to_string(), price(listed.price));
    if let Some(agent) = listed.plays {
        row += &format!("  plays `{agent}`");
    }
    if let Some(day) = listed.ends {
        row += &format!("  ends on {day}");
    }
    row
}

/// In dollars per million tokens, in and out.
fn price(price: Option<Price>) -> String {
    match price {
        None => "price unknown         ".to_owned(),
        Some(price) => format!("${:>6.2} in  ${:>6.2} out", price.input, price.output),
    }
}
