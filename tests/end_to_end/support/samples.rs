//! Two made-up competitions: one with a table, one with many small files.

use std::fmt::Write as _;

use super::{Archive, Member, Sandbox};

/// A table of ships, split by rows.
pub struct Harbour;

impl Harbour {
    pub const ID: &'static str = "harbour";
    pub const PIPELINE: &'static str = "\
name: Harbour
category: Tabular
bundle: { kaggle: harbour }

tables:
  labelled: { read: train.csv, columns: { id: integer, tons: inferred, docked: inferred } }
  train, test: { split: labelled, method: shuffle, test_size: 0.25, seed: 0 }

public:
  train.csv: SELECT * FROM train
  test.csv: SELECT * EXCLUDE (docked) FROM test
  sample_submission.csv: SELECT id, 0 AS docked FROM test

private:
  test.csv: SELECT id, docked FROM test

checks:
  disjoint: train.id and test.id

grade:
  answers: private/test.csv
  sample: public/sample_submission.csv
  rules:
    - columns: [id, docked]
    - same_rows
    - align: id
  metric: { accuracy: docked }
";

    pub fn table() -> String {
        (1..=40).fold("id,tons,docked\n".to_owned(), |mut text, id| {
            let _ = writeln!(text, "{id},{}.5,{}", id * 37 % 101, id % 3 % 2);
            text
        })
    }

    pub fn bundle(table: &str) -> Vec<u8> {
        Archive::new().file("train.csv", table).bytes()
    }

    pub fn install(sandbox: &Sandbox) {
        sandbox.bundle(Self::ID, &Self::bundle(&Self::table()));
        sandbox.pipeline(Self::ID, Self::PIPELINE);
    }

    #[track_caller]
    pub fn prepared() -> Sandbox {
        let sandbox = Sandbox::new();
        Self::install(&sandbox);
        sandbox.run_and_count_steps(Self::ID);
        sandbox
    }
}

/// Many small pictures, which the split sorts into directories.
pub struct Gallery;

impl Gallery {
    pub const ID: &'static str = "gallery";

    pub fn pipeline(seed: u32) -> String {
        format!(
            "\
name: Gallery
category: Image Classification
bundle: {{ kaggle: gallery }}

tables:
  labelled: {{ read: train.csv, columns: {{ id: inferred, artist: inferred }} }}
  pictures: {{ files: pictures/* }}
  train, test: {{ split: labelled, method: shuffle, test_size: 0.4, seed: {seed} }}

public:
  train.csv: SELECT * FROM train
  sample_submission.csv: SELECT id, 'a' AS artist FROM test
  train/: SELECT p.file, t.artist || '/' || p.name AS path FROM train t JOIN pictures p ON p.stem = t.id
  test/: SELECT p.file, p.name AS path FROM test t JOIN pictures p ON p.stem = t.id

private:
  test.csv: SELECT * FROM test

grade:
  answers: private/test.csv
  sample: public/sample_submission.csv
  rules:
    - columns: [id, artist]
    - same_rows
    - align: id
  metric: {{ accuracy: artist }}
"
        )
    }

    /// Returns `count` pictures. The content depends on `edition`, except for every tenth picture.
    pub fn archive(count: usize, edition: usize) -> Archive {
        let mut table = "id,artist\n".to_owned();
        let mut archive = Archive::new();
        for number in 0..count {
            let artist = ["a", "b", "c", "d"][number * 7 % 11 % 4];
            let _ = writeln!(table, "p{number:05},{artist}");
            let edition = if number % 10 == 0 { 0 } else { edition };
            let content = format!("{number} {edition} ").repeat(20 + number * 13 % 150);
            let name = format!("pictures/p{number:05}.png");
            archive = archive.member(match number % 2 {
                0 => Member::stored(&name, content),
                _ => Member::deflated(&name, content),
            });
        }
        archive.file("train.csv", table)
    }
}
