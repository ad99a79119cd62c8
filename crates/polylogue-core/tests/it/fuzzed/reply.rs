//! What holds for every structured reply: what is read has the form, and is read again as it is.

use polylogue_core::text::reply::{Field, Shape, preview, read};

pub(crate) fn check(reply: &str) {
    let _ = preview(reply);
    for shape in shapes() {
        let Ok(value) = read(reply, &shape).value else { continue };
        let written = value.to_string();
        let again = read(&written, &shape);
        assert_eq!(again.value, Ok(value), "{written} of {reply:?}");
        assert!(again.repairs.is_empty(), "{:?}: {written} of {reply:?}", again.repairs);
    }
}

/// Every form that a value can have.
fn shapes() -> [Shape; 3] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let handoff = vec![
        Field::required("to", Shape::Choice(words(&["gpt", "claude", "Zoë"]))),
        Field::required("task", Shape::Text { max_chars: Some(40) }),
    ];
    [
        Shape::Object(vec![
            Field::required("message", Shape::Text { max_chars: None }),
            Field::optional("handoff", Shape::Object(handoff)),
            Field::optional("final", Shape::Bool),
        ]),
        Shape::Object(vec![
            Field::required("progress", Shape::Fraction(0.0, 1.0)),
            Field::optional("change", Shape::Fraction(-1.0, 1.0)),
            Field::optional("often", Shape::Range(1.0, 5.0)),
            Field::optional("slot", Shape::Number(vec![1, 2, 6])),
        ]),
        Shape::Object(vec![
            Field::required("order", Shape::Order(words(&["a", "b", "c"]))),
            Field::optional("notes", Shape::List(Box::new(Shape::Text { max_chars: Some(20) }), 3)),
        ]),
    ]
}
