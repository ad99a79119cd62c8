//! `polylogue models`: what can think here.

use std::{path::Path, process::ExitCode};

use polylogue_core::money::Price;
use polylogue_providers::{
    catalogue::{self, Listed, Listing},
    local::{self, MENU, Offer},
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
    if config.local.model.is_none() {
        models.look_for_ollama().await;
    }
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
    print_menu(style);
    output::line(style.remark("Any other model of a usable provider works too: write provider/model."));
    Ok(ExitCode::SUCCESS)
}

/// Fetches an embedded model: of the menu by its name, any other of Hugging Face, or what suits this machine.
pub(crate) async fn pull(name: Option<&str>, from: Option<&Path>) -> Result<ExitCode, Failure> {
    match name.map(|name| (name, name.strip_prefix(OTHER))) {
        Some((_, Some(path))) => pull_other(path, from).await?,
        Some((name, None)) => {
            let name = name.strip_prefix("local/").unwrap_or(name);
            let offer = Offer::named(name).ok_or_else(|| unknown(name))?;
            pull_offer(offer, from, true).await?;
        }
        None => pull_offer(local::fitting(&cache::folder()), from, false).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How a file of Hugging Face is written.
const OTHER: &str = "hf:";

/// Where it was there already, that is told only to somebody who has named it.
async fn pull_offer(offer: &Offer, from: Option<&Path>, is_named: bool) -> Result<(), Failure> {
    let folder = cache::folder();
    let was_there = local::is_pulled(offer, &folder);
    if !was_there {
        output::notice(format!("Fetching {}, {} ({}, once)…", offer.name, offer.title, offer.size()));
    }
    // What is there is looked into as well.
    cache::show(async |watch| local::pull(offer, from, &hugging_face(), &folder, watch).await).await?;
    if is_named || !was_there {
        output::notice(format!("local/{} is here.", offer.name));
    }
    Ok(())
}

async fn pull_other(path: &str, from: Option<&Path>) -> Result<(), Failure> {
    if path.split('/').filter(|part| !part.is_empty()).count() < 3 || !path.to_lowercase().ends_with(".gguf") {
        return Err(Failure::request(format!("write hf:OWNER/REPO/FILE.gguf, not `{OTHER}{path}`")));
    }
    if from.is_some() {
        return Err(Failure::request("a file of your own goes into the configuration: [local.models] NAME = \"FILE\""));
    }
    let folder = cache::folder();
    output::notice(format!("Fetching {path}…"));
    let mut name = String::new();
    cache::show(async |watch| {
        name = local::pull_other(path, &hugging_face(), &folder, watch).await?;
        Ok(())
    })
    .await?;
    output::notice(format!("local/{name} is here."));
    Ok(())
}

/// Hugging Face, or the mirror that its own client is told of.
fn hugging_face() -> String {
    let mirror = std::env::var("HF_ENDPOINT").ok().filter(|mirror| !mirror.trim().is_empty());
    mirror.unwrap_or_else(|| local::HUGGING_FACE.to_owned())
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = MENU.iter().map(|offer| offer.name).collect();
    Failure::request(format!(
        "there is no model `{name}` on the menu: choose from {}, or write hf:OWNER/REPO/FILE.gguf",
        known.join(", ")
    ))
}

/// The embedded models that can be fetched, and which one suits this machine.
fn print_menu(style: Style) {
    let folder = cache::folder();
    let fitting = local::fitting(&folder);
    output::line(style.row("", "embedded", 12, "polylogue models pull NAME"));
    for offer in MENU {
        let mut said = vec![offer.size(), offer.title.to_owned()];
        said.extend(local::is_pulled(offer, &folder).then(|| "here".to_owned()));
        said.extend((offer.name == fitting.name).then(|| "suits this machine".to_owned()));
        output::line(style.row("  ", offer.name, 20, &said.join(", ")));
    }
}

fn print(listing: &Listing, style: Style) {
    let missing = listing.missing.as_ref().map(|missing| doctor::beside_name(&listing.provider, missing));
    output::line(style.row("", &listing.provider, 12, missing.as_deref().unwrap_or("usable")));
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
