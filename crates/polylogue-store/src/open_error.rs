//! Why a store cannot be opened, whatever it is kept in. No message has a password in it.

/// Why a store cannot be opened. The store is named as the caller named it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the store `{store}` was written by a newer Polylogue (store version {version}, this one reads up to {known}): update Polylogue to open it"
    )]
    Newer { store: String, version: u32, known: u32 },
    #[error("`{store}` is not a Polylogue store: name another file, or move this one away")]
    NotAStore { store: String },
    #[error("the file of the store `{store}` is damaged: restore it from a backup")]
    Damaged { store: String },
    #[error("`{store}` is a folder: name a file for the store, for example one inside it")]
    Folder { store: String },
    #[error("the store `{store}` lies below a file, not a folder: name another place")]
    BelowAFile { store: String },
    #[error(
        "no permission to read and write the store `{store}`: give yourself access to the file and its folder, or name another place"
    )]
    Denied { store: String },
    #[error("another program keeps the store `{store}` locked: end it and try again")]
    Locked { store: String },
    #[error("the store `{store}` cannot be opened ({problem}): check the disk, or name another place")]
    Failed { store: String, problem: String },
    #[error("the store `{store}` is not known here: write sqlite:FILE or postgres://USER@HOST/DATABASE")]
    Unknown { store: String },
    #[error("the address of the store cannot be understood: {problem}; write postgres://USER:PASSWORD@HOST/DATABASE")]
    Address { problem: String },
    #[error("the store `{store}` cannot be reached ({problem}): check that PostgreSQL runs there and can be reached")]
    Unreachable { store: String, problem: String },
    #[error(
        "the store `{store}` lets nobody in who comes like this ({problem}): check the user, the password and the database"
    )]
    Refused { store: String, problem: String },
    #[error(
        "the schema `{schema}` of `{store}` has other tables than Polylogue's: name another with `?schema=NAME`, or move them away"
    )]
    NotOurSchema { store: String, schema: String },
    #[error(
        "the user of the store `{store}` may not make tables there ({problem}): have the schema `{schema}` made, and given to that user"
    )]
    NoRights { store: String, schema: String, problem: String },
}
