//! What a bucket's refusal means, in a sentence. What the server wrote goes to the log.

use object_store::Error;
use polylogue_runtime::port::ArtifactError;

/// The error of an operation on the bucket.
pub(super) fn fault(error: Error) -> ArtifactError {
    tracing::debug!(%error, "an operation on the artifacts' bucket failed");
    let code = code(&error.to_string());
    match (&error, code.as_deref()) {
        (Error::NotFound { .. }, Some("NoSuchBucket")) => no_bucket(),
        (Error::NotFound { .. }, _) => ArtifactError::Missing,
        (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, code) => ArtifactError::Failed(format!(
            "the bucket of the artifacts refuses the key{}: check the key, its secret and what it may do",
            in_brackets(code)
        )),
        (_, Some(code)) => ArtifactError::Unavailable(format!("the bucket of the artifacts cannot be used ({code})")),
        (_, None) => ArtifactError::Unavailable("the bucket of the artifacts cannot be reached".to_owned()),
    }
}

/// The bucket did not answer in time.
pub(super) fn silence() -> ArtifactError {
    ArtifactError::Unavailable("the bucket of the artifacts does not answer in time".to_owned())
}

pub(super) fn no_bucket() -> ArtifactError {
    ArtifactError::Failed("there is no such bucket: make it, or correct [artifacts] url".to_owned())
}

fn in_brackets(code: Option<&str>) -> String {
    code.map(|code| format!(" ({code})")).unwrap_or_default()
}

/// The server's own name for what is wrong, out of the answer that the error carries.
fn code(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_name = !code.is_empty() && code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
    is_name.then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_fault_is_told() {
        assert_eq!(
            code("403: <Error><Code>SignatureDoesNotMatch</Code></Error>").as_deref(),
            Some("SignatureDoesNotMatch")
        );
        assert_eq!(code("<Code>a secret, and a path: /x</Code>"), None);
        assert_eq!(code("error sending request"), None);
    }
}
