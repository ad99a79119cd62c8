//! The scores that come along, by their names.

pub const SHIPPED: &[(&str, &str)] = &[
    ("brainstorm", include_str!("shipped/brainstorm.yaml")),
    ("council", include_str!("shipped/council.yaml")),
    ("debate", include_str!("shipped/debate.yaml")),
    ("delphi", include_str!("shipped/delphi.yaml")),
    ("panel", include_str!("shipped/panel.yaml")),
    ("red-team", include_str!("shipped/red-team.yaml")),
    ("round-robin", include_str!("shipped/round-robin.yaml")),
    ("selector", include_str!("shipped/selector.yaml")),
    ("writers-room", include_str!("shipped/writers-room.yaml")),
];
