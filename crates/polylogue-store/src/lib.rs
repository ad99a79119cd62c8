//! Journals on disk.
