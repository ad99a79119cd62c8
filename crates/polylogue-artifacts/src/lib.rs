//! Where clips and manifests are kept, behind the runtime's port: in a [`Folder`] of this machine, or in [`S3`], where
//! every node finds them. The environment is not read here: the binary hands keys over.

mod folder;
mod s3;
pub mod whole;

pub use folder::Folder;
pub use s3::{BadS3, Keys, S3, S3Settings};
