//! A chorus's `session.json`.

use std::{io, path::Path};

use polylogue_core::{
    Record,
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
}
