//! Checks pipeline files: `cargo run -p prep-spec --example check -- FILE...`.

#![allow(clippy::exit, clippy::print_stdout, reason = "a program")]

fn main() {
    let mut wrong = false;
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for variant in ["v1", "fixed"] {
            if let Err(diagnostics) =
                prep_spec::load(prep_steps::vocabulary(), "id", &file, &text, variant)
            {
                println!("{diagnostics}");
                wrong = true;
                break;
            }
        }
    }
    std::process::exit(i32::from(wrong));
}
