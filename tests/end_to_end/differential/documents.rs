//! Tests of documents that are read, changed and written: JSON, JSON lines, BSON.

use std::fmt::Write as _;

use super::cases;
use crate::support::{Archive, Sandbox};

#[test]
fn documents_match_the_original_libraries() {
    let sandbox = Sandbox::new();
    let cases = cases(include_str!("documents.jsonl"));
    let mut ids = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let id = format!("documents-{number}");
        let file = case["file"].as_str().expect("text").chars();
        let file: Vec<u8> = file
            .map(|byte| u8::try_from(u32::from(byte)).expect("a byte"))
            .collect();
        let name = case["name"].as_str().expect("text");
        sandbox.bundle(&id, &Archive::new().file(name, file).bytes());
        let mut pipeline =
            format!("name: {id}\ncategory: Tabular\nbundle: {{ kaggle: {id} }}\ntables:\n");
        for (name, table) in case["tables"].as_object().expect("tables") {
            let _ = writeln!(pipeline, "  {name}: {}", table.as_str().expect("text"));
        }
        pipeline += "public:\n";
        for (path, output) in case["outputs"].as_object().expect("outputs") {
            let _ = writeln!(pipeline, "  {path}: {}", output[0].as_str().expect("text"));
        }
        sandbox.pipeline(&id, &pipeline);
        ids.push(id);
    }
    sandbox.run_all(&ids).code(0);
    for (id, case) in ids.iter().zip(&cases) {
        for (path, output) in case["outputs"].as_object().expect("outputs") {
            let found = std::fs::read(sandbox.prepared(id).join("public").join(path));
            let found = found.expect("output");
            assert_eq!(
                u64::from(crc32fast::hash(&found)),
                output[1],
                "{path} of {case}\n{}",
                String::from_utf8_lossy(&found)
            );
        }
    }
}
