//! A chorus's `session.json`.

use std::{io, path::Path, sync::Arc};

use polylogue_core::{
    Event, Record,
    format::chorus::{Manifest, Settings},
};

use crate::{format::keepsake::Keepsake, whole};

impl Keepsake for Manifest {
    type Of = Settings;

    fn of(records: &[Record]) -> Option<Manifest> {
        Manifest::of(records)
    }

    fn write(&self, artifacts: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).expect("a manifest has string keys");
        whole::write(&artifacts.join(Manifest::path(self.session_id)), &text)
    }

    fn remove(records: &[Arc<Record>], artifacts: &Path) -> io::Result<()> {
        match records.first().map(|first| &first.event) {
            Some(Event::Started { setup, .. }) => whole::remove(artifacts, Path::new(&Manifest::path(setup.id))),
            _ => Ok(()),
        }
    }
}
