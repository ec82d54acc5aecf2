//! Tests of draws, permutations and samples, with a new generator or the generator of an earlier table.

use std::fmt::Write as _;

use super::{cases, install};
use crate::support::Sandbox;

#[test]
fn draws_match_the_original_libraries() {
    let sandbox = Sandbox::new();
    let cases = cases(include_str!("draws.jsonl"));
    let mut ids = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let types = "{ id: integer, words: integer, share: number }";
        let mut tables = format!("tables:\n  t: {{ read: t.csv, columns: {types} }}\n");
        let mut public = "public:\n".to_owned();
        for made in case["made"].as_array().expect("tables") {
            let [name, form, declaration] = [0, 1, 2].map(|at| made[at].as_str().expect("text"));
            // The second table of a sample contains the drawn rows.
            if form == "sample" {
                let _ = writeln!(tables, "  rest_{name}, {name}: {declaration}");
                let _ = writeln!(public, "  rest_{name}.csv: SELECT * FROM rest_{name}");
            } else {
                let _ = writeln!(tables, "  {name}: {declaration}");
            }
            let _ = writeln!(public, "  {name}.csv: SELECT * FROM {name}");
        }
        let id = format!("draws-{number}");
        let files = [("t.csv".to_owned(), case["csv"].as_str().expect("text"))];
        install(&sandbox, &id, &files, &(tables + &public));
        ids.push(id);
    }
    sandbox.run_all(&ids).code(0);
    let mut wrong = Vec::new();
    for (id, case) in ids.iter().zip(&cases) {
        let public = sandbox.prepared(id).join("public");
        for made in case["made"].as_array().expect("tables") {
            let name = made[0].as_str().expect("a name");
            let text = std::fs::read(public.join(format!("{name}.csv"))).expect("output");
            if crc32fast::hash(&text) != made[3] {
                let begin: String = String::from_utf8_lossy(&text).chars().take(80).collect();
                wrong.push(format!("{id}: {made}: {begin:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
