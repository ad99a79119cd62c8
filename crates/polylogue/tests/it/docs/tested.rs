//! Pages that say what is tested: the tests that they name are there.

use std::path::Path;

use super::page;

/// The pages whose tables have a test in each row.
const PAGES: &[&str] = &["docs/operations.md"];

/// The files that a line links to, by their text.
fn linked(line: &str, page: &str) -> Vec<String> {
    let folder = page::root().join(Path::new(page).parent().unwrap());
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| target.starts_with("../"));
    files
        .map(|target| std::fs::read_to_string(folder.join(target)).unwrap_or_else(|_| panic!("{page}: no {target}")))
        .collect()
}

/// Whether somebody calls a test so.
fn is_test(span: &str) -> bool {
    let is_series = span.starts_with("polylogue_");
    !is_series
        && span.matches('_').count() > 3
        && span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn every_row_has_a_test_and_every_test_that_is_named_is_there() {
    let (mut tests, mut rows) = (0, 0);
    for page in PAGES {
        let text = std::fs::read_to_string(page::root().join(page)).unwrap();
        let mut has_tests = false;
        for line in text.lines() {
            let files = linked(line, page);
            for name in line.split('`').skip(1).step_by(2).filter(|span| is_test(span)) {
                assert!(files.iter().any(|file| file.contains(&format!("fn {name}("))), "{page}: no test {name}");
                tests += 1;
            }
            let is_row = line.starts_with('|');
            has_tests = is_row && (has_tests || line.ends_with("| test |"));
            if has_tests && !line.ends_with("| test |") && !line.starts_with("| ---") {
                assert!(!files.is_empty(), "{page}: no test in: {line}");
                rows += 1;
            }
        }
    }
    assert!(tests > 8 && rows > 8, "only {tests} tests and {rows} rows were found");
}
