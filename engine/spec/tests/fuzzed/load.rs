//! Any text results in a pipeline or in diagnostics, and the position of each diagnostic is inside the text.

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for variant in ["v1", "fixed"] {
        if let Err(found) = prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, variant)
        {
            let _ = found.to_string();
            for one in &found {
                assert!(one.span.end <= text.len());
            }
        }
    }
    let _ = prep_spec::variants(text);
}
