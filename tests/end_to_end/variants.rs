//! What the corrected variant of a pipeline gives: its own outputs, and those of the base where it says nothing.

use std::fs;

use crate::support::{Ended, Harbour, Sandbox, Snapshot};

/// The base, and a correction: another constant in the sample, one file more, one fewer.
const CORRECTED: &str = "
variants:
  fixed:
    public:
      sample_submission.csv: SELECT id, 1 AS docked FROM test
      ships.csv: SELECT id FROM labelled
      test.csv: null
";

fn run(sandbox: &Sandbox, variant: &str) -> Snapshot {
    let mut command = sandbox.run_command(&[Harbour::ID]);
    Ended::of(command.args(["--variant", variant])).code(0);
    assert_eq!(sandbox.state(Harbour::ID), format!("prepared {variant}"));
    sandbox.tree(Harbour::ID)
}

#[test]
fn the_corrected_variant_differs_in_what_it_says_and_in_nothing_else() {
    let sandbox = Harbour::prepared();
    let alone = sandbox.tree(Harbour::ID);
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    let base = run(&sandbox, "v1");
    assert_eq!(base.contents(), alone.contents());
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    let before = fs::read_to_string(&sample).expect("sample");
    let fixed = run(&sandbox, "fixed");
    let after = fs::read_to_string(&sample).expect("sample");
    assert_eq!(after, before.replace(",0\n", ",1\n"));
    let ships = sandbox.prepared(Harbour::ID).join("public/ships.csv");
    let ids: String = (1..=40).map(|id| format!("{id}\n")).collect();
    assert_eq!(
        fs::read_to_string(ships).expect("ships"),
        format!("id\n{ids}")
    );
    let touched = [
        "public/description.md",
        "public/sample_submission.csv",
        "public/ships.csv",
        "public/test.csv",
    ];
    assert_eq!(fixed.touched_since(&base), touched);
    // And back again.
    assert_eq!(run(&sandbox, "v1").contents(), base.contents());
}
