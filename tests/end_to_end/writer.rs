//! Tests of published checksums of files whose bytes depend on the library that wrote them.

use crate::support::{Harbour, Sandbox, hex_md5};

const PARQUET: &str = "
  train.parquet: { parquet: SELECT * FROM train, fastparquet: 2024.5.0, pandas: 2.2.2 }
private:";

fn sandbox(parquet: &str, csv: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("\nprivate:", PARQUET),
    );
    let sums =
        format!(r#"{{ "public": {{ "train.csv": "{csv}", "train.parquet": "{parquet}" }} }}"#);
    sandbox.write(&format!("pipelines/{}/checksums.json", Harbour::ID), sums);
    sandbox
}

fn sums() -> (String, String) {
    let zeros = "0".repeat(32);
    let sandbox = sandbox(&zeros, &zeros);
    sandbox.run(Harbour::ID).code(0);
    let sum = |path: &str| {
        hex_md5(&std::fs::read(sandbox.prepared(Harbour::ID).join(path)).expect("a file"))
    };
    (sum("public/train.parquet"), sum("public/train.csv"))
}

const RUN: [&str; 4] = ["run", Harbour::ID, "--source", "source"];

#[test]
fn file_of_a_different_writer_is_reported_without_failing() {
    let (parquet, csv) = sums();
    let other = "00000000000000000000000000000000";
    let ended = sandbox(&parquet, &csv).prep(&RUN).code(0);
    ended.stdout_has(&["  ok "]);
    let sandbox_of_other = sandbox(other, &csv);
    for _ in 0..2 {
        let ended = sandbox_of_other.prep(&RUN).code(0);
        ended.stdout_has(&["depends on the writer"]).stderr_has(&[
            "harbour: not compared, because",
            ": public/train.parquet; `prep audit",
        ]);
    }
    // The checksum of a file that does not depend on its writer must match.
    sandbox(&parquet, other).prep(&RUN).code(5);
}
