//! Tests competitions that only seem to have a leak, and the same competitions with a leak: groups that are entirely in
//! one part, files of equal length, ids that coincide, and few items.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prep_leaks::{LeakInput, LeakLevel, LeakReport};

/// The files of a competition: its public files, and the answers as rows of ids and values.
#[derive(Default)]
struct Data {
    files: Vec<(String, Vec<u8>)>,
    answers: Vec<(String, String)>,
    /// A column of the answers that comes before the id column.
    lead: Option<Vec<String>>,
}

impl Data {
    fn file(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.push((path.into(), content.into()));
    }

    fn table(&mut self, path: &str, header: &str, rows: impl Iterator<Item = String>) {
        let rows: Vec<String> = rows.collect();
        self.file(path, format!("{header}\n{}\n", rows.join("\n")));
    }

    fn search(&self, id: Option<&str>) -> LeakReport {
        let folder = crate::temporary::directory();
        let root = folder.path();
        let public = root.join("public");
        fs::create_dir_all(&public).unwrap();
        for (path, content) in &self.files {
            let place = public.join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, content).unwrap();
        }
        let lead = |row: usize| match &self.lead {
            Some(cells) => format!("{},", cells[row]),
            None => String::new(),
        };
        let header = if self.lead.is_some() {
            "lead,id,y\n"
        } else {
            "id,y\n"
        };
        let rows = |answer: &dyn Fn(&str) -> String| {
            let rows = self.answers.iter().enumerate();
            let rows = rows.map(|(row, (id, y))| format!("{}{id},{}\n", lead(row), answer(y)));
            header.to_owned() + &rows.collect::<String>()
        };
        fs::write(root.join("answers.csv"), rows(&|y| y.to_owned())).unwrap();
        let sample = public.join("sample_submission.csv");
        if !sample.exists() {
            fs::write(&sample, rows(&|_| "0".to_owned())).unwrap();
        }
        same_times(&public);
        let input = LeakInput {
            answers: root.join("answers.csv"),
            sample,
            public,
            id: id.map(str::to_owned),
            scored_rows: None,
            bundle: None,
            temp: root.to_owned(),
            limits: prep_contents::DecodingLimits::default(),
            threads: 1,
            memory: 1 << 30,
        };
        prep_leaks::find(&input, &BTreeMap::new()).unwrap()
    }

    fn assert_silent(&self, name: &str, id: Option<&str>) {
        let findings = self.search(id).findings.into_iter();
        let found = findings.filter(|one| one.level > LeakLevel::Note);
        let found: Vec<String> = found
            .map(|one| format!("{}: {}", one.detector, one.what))
            .collect();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }

    fn assert_leak(&self, word: &str) {
        let findings = self.search(None).findings;
        let is_leak = |one: &&prep_leaks::LeakFinding| {
            one.level == LeakLevel::Leak && one.what.contains(word)
        };
        assert!(
            findings.iter().any(|one| is_leak(&one)),
            "{word}: {findings:#?}"
        );
    }
}

fn same_times(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let place = entry.unwrap().path();
        if place.is_dir() {
            same_times(&place);
            continue;
        }
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        fs::File::options()
            .write(true)
            .open(place)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
}

fn draw(seed: usize, bound: usize) -> usize {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    usize::try_from((mixed ^ (mixed >> 29)) % bound as u64).unwrap()
}

/// Makes an id from the number of a group and the number of an item in the group.
type MakeId<'a> = &'a dyn Fn(usize, usize) -> String;

type Plant<'a> = &'a dyn Fn(&mut Data);

/// Makes items of groups that are entirely in one part. The answer depends on the group. `more` makes a further cell.
fn grouped(
    groups: (usize, usize),
    size: usize,
    answer: &dyn Fn(usize) -> String,
    id: MakeId<'_>,
    more: &dyn Fn(usize) -> String,
) -> Data {
    let (mut data, mut tables) = (Data::default(), [Vec::new(), Vec::new()]);
    for group in 0..groups.0 + groups.1 {
        let part = usize::from(group >= groups.0);
        for item in 0..size {
            let number = group * size + item;
            let (id, y) = (id(draw(group, 900) + 1000 * group, item), answer(group));
            let row = format!(
                "{id},{},{},{}",
                draw(number, 9000),
                draw(number * 7, 50),
                more(group)
            );
            match part {
                0 => tables[0].push(format!("{row},{y}")),
                _ => {
                    tables[1].push(row);
                    data.answers.push((id, y));
                }
            }
        }
    }
    let [train, test] = tables;
    data.table("train.csv", "id,a,b,group,y", train.into_iter());
    data.table("test.csv", "id,a,b,group", test.into_iter());
    data
}

#[test]
fn groups_that_are_entirely_in_one_part_are_not_leaks() {
    let number = |group: usize| format!("{}.{:03}", draw(group * 3, 90), draw(group * 5, 1000));
    let class = |group: usize| draw(group * 3, 2).to_string();
    let none = |_: usize| "x".to_owned();
    let plain = |group: usize, item: usize| format!("{:06x}", draw(group * 64 + item, 1 << 24));
    let digits = |group: usize, item: usize| format!("{}", 10_000 + 100 * (group / 1000) + item);
    let ids: [(&str, MakeId<'_>); 5] = [
        ("digits", &digits),
        ("trip", &|group, item| format!("t{group:06}_{item:03}")),
        ("utterance", &|group, item| format!("spk{group}utt{item}")),
        ("frame", &|group, item| format!("{item:02}.{group:06}")),
        ("no name", &plain),
    ];
    for (name, id) in ids {
        for (groups, size) in [((60, 30), 8), ((20, 8), 40)] {
            let about = format!("{name}, {groups:?}");
            grouped(groups, size, &number, id, &none).assert_silent(&about, None);
            grouped(groups, size, &class, id, &none).assert_silent(&about, None);
        }
    }
    for answer in [&number as &dyn Fn(usize) -> String, &class] {
        let patient = |group: usize| format!("P{group:04}");
        grouped((60, 15), 16, answer, &plain, &patient).assert_silent("patients", None);
        let code = |group: usize| (group * 37 % 501).to_string();
        grouped((60, 15), 16, answer, &plain, &code).assert_silent("numbered patients", None);
    }
}

#[test]
fn leaks_are_found_in_groups() {
    // The order of rows follows the answers, over all groups.
    let id = |group: usize, item: usize| format!("t{group:06}_{item:03}");
    let answer = |group: usize| (group > 75).to_string();
    let data = grouped((60, 30), 8, &answer, &id, &|_| "x".to_owned());
    data.assert_leak("order");
    let number = |group: usize| format!("{}.{:03}", draw(group * 3, 90), draw(group * 5, 1000));
    let mut data = grouped((60, 30), 8, &number, &id, &|_| "x".to_owned());
    let rows: Vec<String> = data
        .answers
        .iter()
        .map(|(id, y)| format!("{id},{y}"))
        .collect();
    data.table("old.csv", "name,value", rows.into_iter().rev());
    data.assert_leak("value");
}

#[test]
fn files_of_equal_length_are_compared_by_content() {
    // The files of a pair differ, but have the same length and the same CRC-32, so only their content distinguishes
    // them.
    let polynomial = [0x01_u8, 0x83, 0x6d, 0xf6, 0x8f];
    let mut data = Data::default();
    let content = |number: usize| -> Vec<u8> {
        (0..96)
            .map(|at| draw(number * 96 + at, 256) as u8)
            .collect()
    };
    for number in 0..60 {
        let id = format!("{:06x}", draw(number, 1 << 24));
        let own = content(number);
        let mut other = own.clone();
        // Adding the generator polynomial does not change the checksum.
        for (byte, bits) in other.iter_mut().skip(40).zip(crc_multiple(&polynomial)) {
            *byte ^= bits;
        }
        assert!(own != other && crc32fast::hash(&own) == crc32fast::hash(&other));
        data.file(format!("test/{id}.bin"), own);
        data.file(format!("train/k{number}.bin"), other);
        data.answers.push((id, draw(number * 3, 2).to_string()));
    }
    data.assert_silent("equal checksums", None);
    let copies: Vec<(String, Vec<u8>)> = data
        .files
        .iter()
        .filter(|(path, _)| path.starts_with("test"))
        .cloned()
        .collect();
    for (path, content) in copies {
        data.file(path.replace("test", "train_more"), content);
    }
    // `k1.bin` has the checksum of a test file, but a different content, so no finding may name it.
    let found = data.search(None).findings;
    assert!(
        found.iter().all(|one| !one.what.contains("k1.bin")),
        "{found:#?}"
    );
}

/// Returns the reflected generator polynomial of CRC-32. If it is added to a file, the checksum does not change.
fn crc_multiple(_: &[u8]) -> [u8; 5] {
    // The polynomial is x^32 + 0x04C11DB7. The first bit of a byte is the lowest one.
    let bits: u64 = 1 | (0xEDB8_8320_u64 << 1);
    let mut bytes = [0; 5];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = (bits >> (8 * place)) as u8;
    }
    bytes
}

#[test]
fn training_items_with_the_ids_of_test_items_are_not_leaks() {
    let mut data = Data::default();
    let text = |number: usize| {
        format!(
            "atom {} {} {}\n",
            draw(number, 9999),
            draw(number + 7, 9999),
            draw(number + 9, 9999)
        )
        .repeat(4)
    };
    let class = |number: usize| draw(number * 11, 2).to_string();
    let rows = (0..300).map(|number| format!("{number},{},{}", draw(number, 90), class(number)));
    data.table("train.csv", "id,a,y", rows.clone());
    data.table(
        "train_labels.csv",
        "id,y",
        (0..300).map(|number| format!("{number},{}", class(number))),
    );
    data.table(
        "test.csv",
        "id,a",
        (0..200).map(|number| format!("{number},{}", draw(number + 5000, 90))),
    );
    for number in 0..300 {
        // Some training items have equal files.
        let shown = if number > 200 && number % 7 == 0 {
            number - 200
        } else {
            number
        };
        data.file(format!("train/{number}/shape.xyz"), text(shown));
        if number < 200 {
            data.file(format!("test/{number}/shape.xyz"), text(number + 900));
            data.answers
                .push((number.to_string(), class(number + 4000)));
        }
    }
    data.assert_silent("both parts are numbered from 0", None);
}

#[test]
fn the_id_is_the_column_by_which_grading_pairs_rows() {
    let mut data = Data::default();
    let (mut train, mut lead) = (Vec::new(), Vec::new());
    let date = |number: usize| match draw(number, 5) {
        0 => String::new(),
        _ => format!("2012-{:02}", 1 + draw(number * 3, 12)),
    };
    for number in 0..500 {
        let comment = format!("a text that is number {number:04} of all");
        let class = draw(number * 13, 2).to_string();
        match number < 300 {
            true => train.push(format!("{},{comment},{class}", date(number))),
            false => {
                lead.push(date(number));
                data.answers.push((comment, class));
            }
        }
    }
    data.table("train.csv", "lead,id,y", train.into_iter());
    let test: Vec<String> = data
        .answers
        .iter()
        .zip(&lead)
        .map(|((id, _), lead)| format!("{lead},{id}"))
        .collect();
    data.table("test.csv", "lead,id", test.into_iter());
    data.lead = Some(lead);
    for id in [Some("id"), None] {
        let report = data.search(id);
        assert_eq!(report.items, 200);
        data.assert_silent("a date before the id", id);
    }
}

/// Makes a table whose answers are `different` different texts. A column of the test table and the sample submission
/// show the answers, or the answers of the items that `shown` returns.
fn texts(different: usize, shown: &dyn Fn(usize) -> usize) -> Data {
    let mut data = Data::default();
    let id = |number: usize| format!("n{:05x}", draw(number, 1 << 20));
    let answer = |number: usize| format!("breed {}", draw(number * 5, different));
    data.table(
        "train.csv",
        "id,a,y",
        (1000..1400)
            .map(|number| format!("{},{},{}", id(number), draw(number, 90), answer(number))),
    );
    let test = |number: usize| {
        format!(
            "{},{},{}",
            id(number),
            draw(number, 90),
            answer(shown(number))
        )
    };
    data.table("test.csv", "id,a,note", (0..150).map(test));
    let sample = |number: usize| format!("{},{}", id(number), answer(shown(number)));
    data.table("sample_submission.csv", "id,y", (0..150).map(sample));
    data.answers = (0..150)
        .map(|number| (id(number), answer(number)))
        .collect();
    data
}

/// No statistic examines answers that are mostly different texts, so the exact comparison must find them.
#[test]
fn texts_that_are_the_answers_are_found() {
    for different in [3, 30, 40, 60, 1_000_000] {
        let report = texts(different, &|number| number).search(None);
        let is_leak = |detector: &str| {
            let mut findings = report.findings.iter();
            findings.any(|one| one.detector == detector && one.level == LeakLevel::Leak)
        };
        assert!(
            is_leak("column") || is_leak("sample"),
            "{different}: {report:?}"
        );
        texts(different, &|number| 149 - number).assert_silent("texts of other items", None);
    }
}

fn small_competition(items: usize) -> Data {
    let mut data = Data::default();
    let cells = |number: usize| {
        format!(
            "n{:05x},{},{}",
            draw(number, 1 << 20),
            draw(number, 90),
            draw(number * 3, 80)
        )
    };
    let answer = |number: usize| {
        format!(
            "{}.{:03}",
            10 + draw(number * 5, 80),
            draw(number * 7, 1000)
        )
    };
    data.table(
        "train.csv",
        "id,a,b,y",
        (100..140).map(|number| format!("{},{}", cells(number), answer(number))),
    );
    data.table("test.csv", "id,a,b", (0..items).map(cells));
    for number in 0..items {
        let id = cells(number);
        let id = id.split(',').next().unwrap().to_owned();
        data.answers.push((id, answer(number)));
    }
    data
}

#[test]
fn answers_are_found_with_few_items() {
    small_competition(5).assert_silent("five items", None);
    let report = small_competition(5).search(None);
    assert!(report.has_few_items && report.items == 5);
    let rows = |data: &Data, form: &dyn Fn(&str, &str) -> String| -> Vec<String> {
        data.answers.iter().map(|(id, y)| form(id, y)).collect()
    };
    let planted: [(&str, Plant<'_>); 6] = [
        ("level", &|data| {
            let rows = rows(data, &|id, y| format!("{id},3,{y}"));
            data.table("side.csv", "name,site,level", rows.into_iter().rev());
        }),
        ("the item's column", &|data| {
            let ids = rows(data, &|id, _| id.to_owned()).join(",");
            let row = rows(data, &|_, y| y.to_owned()).join(",");
            data.table("wide.csv", &ids, std::iter::once(row));
        }),
        ("where `kind` is yield", &|data| {
            let rows = rows(data, &|id, y| format!("{id},weight,4.5\n{id},yield,{y}"));
            data.table("long.csv", "name,kind,value", rows.into_iter());
        }),
        ("the sum of `part`", &|data| {
            let rows = rows(data, &|id, y| {
                let y: f64 = y.parse().unwrap();
                format!("{id},1.25\n{id},{:.3}", y - 1.25)
            });
            data.table("parts.csv", "name,part", rows.into_iter());
        }),
        ("the sample's `y`", &|data| {
            let rows = rows(data, &|id, y| format!("{id},{y}"));
            data.table("sample_submission.csv", "id,y", rows.into_iter());
        }),
        ("minus", &|data| {
            let rows = rows(data, &|id, y| {
                format!("{id},{:.3},11.5", y.parse::<f64>().unwrap() + 11.5)
            });
            data.table("gross.csv", "name,gross,tax", rows.into_iter());
        }),
    ];
    for (word, plant) in planted {
        for items in [5, 40] {
            let mut data = small_competition(items);
            plant(&mut data);
            data.assert_leak(word);
        }
    }
}

#[test]
fn a_class_that_agrees_by_chance_is_not_the_answer() {
    // With six binary answers and 100 columns, some columns agree with all answers by chance.
    let mut data = Data::default();
    let header: Vec<String> = (0..100).map(|column| format!("c{column}")).collect();
    let cells = |number: usize| {
        let cells = (0..100).map(|column| draw(number * 100 + column, 2).to_string());
        cells.collect::<Vec<_>>().join(",")
    };
    let id = |number: usize| format!("n{:05x}", draw(number, 1 << 20));
    data.table(
        "test.csv",
        &format!("id,{}", header.join(",")),
        (0..6).map(|number| format!("{},{}", id(number), cells(number))),
    );
    for number in 0..6 {
        data.answers
            .push((id(number), draw(number * 100 + 3, 2).to_string()));
    }
    data.assert_silent("six binary answers", None);
}

#[test]
fn answers_in_base64_are_found() {
    let table = |data: &Data| -> String {
        let rows = data.answers.iter().map(|(id, y)| format!("{id},{y}\n"));
        rows.collect()
    };
    let digits = |text: &str| -> String {
        let letters: Vec<char> = ('A'..='Z')
            .chain('a'..='z')
            .chain('0'..='9')
            .chain(['+', '/'])
            .collect();
        let mut out = String::new();
        for three in text.as_bytes().chunks(3) {
            let bits = three
                .iter()
                .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            let bits = bits << (8 * (3 - three.len()));
            for place in 0..4 {
                out.push(match place <= three.len() {
                    true => letters[bits >> (18 - 6 * place) & 63],
                    false => '=',
                });
            }
        }
        out
    };
    let mut data = small_competition(60);
    let encoded = digits(&table(&data));
    data.file(
        "notebook.json",
        format!(r#"{{"cells": [{{"source": "{encoded}"}}]}}"#),
    );
    data.assert_leak("decoded from base64");
    let mut data = small_competition(60);
    let lines: Vec<&str> = encoded
        .as_bytes()
        .chunks(76)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    data.file("backup.b64", lines.join("\n"));
    data.assert_leak("decoded from base64");
}

#[test]
fn files_that_are_not_read_are_listed() {
    let mut data = small_competition(60);
    data.file(
        "jobs.sqlite",
        [b"SQLite format 3\0".as_slice(), &[1, 2, 250, 9].repeat(200)].concat(),
    );
    data.file("state.pkl", [0x80, 4, 0x95, 0xff, 0, 1].repeat(50));
    let findings = data.search(None).findings;
    let unread = findings
        .iter()
        .find(|one| one.detector == "unread")
        .unwrap();
    assert!(
        unread
            .evidence
            .iter()
            .any(|one| one.starts_with("jobs.sqlite")),
        "{unread:?}"
    );
    assert!(
        unread
            .evidence
            .iter()
            .any(|one| one.starts_with("state.pkl")),
        "{unread:?}"
    );
}

#[test]
fn intended_features_that_determine_the_answers_are_mentioned() {
    let mut data = Data::default();
    let class = |number: usize| draw(number * 13, 2);
    let cells = |number: usize| {
        format!(
            "n{:05x},{}",
            draw(number, 1 << 20),
            class(number) * 40 + draw(number, 42)
        )
    };
    data.table(
        "train.csv",
        "id,a,y",
        (500..900).map(|number| format!("{},{}", cells(number), class(number))),
    );
    data.table("test.csv", "id,a", (0..300).map(cells));
    for number in 0..300 {
        data.answers.push((
            cells(number).split(',').next().unwrap().to_owned(),
            class(number).to_string(),
        ));
    }
    let findings = data.search(None).findings;
    assert!(
        findings.iter().any(|one| one.detector == "masked"),
        "{findings:#?}"
    );
}

/// Each item has several labels, and its answer is the list of these labels.
#[test]
fn lists_of_labels_are_found() {
    const LABELS: [&str; 4] = ["bio", "chem", "math", "phys"];
    let has = |number: usize, label: usize| draw(number * 17 + label, 3) == 0;
    let listed = |number: usize, separator: &str| {
        let labels = (0..4).filter(|label| has(number, *label));
        labels
            .map(|label| LABELS[label])
            .collect::<Vec<_>>()
            .join(separator)
    };
    let id = |number: usize| format!("n{:05x}", draw(number, 1 << 20));
    type Show<'a> = &'a dyn Fn(usize) -> String;
    let forms: [(&str, Show<'_>); 5] = [
        ("x", &|number| listed(number, "+")),
        ("x", &|number| listed(number, " / ")),
        ("bio,chem,math,phys", &|number| {
            let cells = (0..4).map(|label| u8::from(has(number, label)).to_string());
            cells.collect::<Vec<_>>().join(",")
        }),
        ("x", &|number| listed(number, ";")),
        ("x", &|number| {
            let list = listed(number, "\"\", \"\"");
            match list.as_str() {
                "" => "[]".to_owned(),
                list => format!("\"[\"\"{list}\"\"]\""),
            }
        }),
    ];
    for (header, form) in forms {
        for is_leak in [true, false] {
            let mut data = Data::default();
            let shown = |number: usize| if is_leak { number } else { 149 - number };
            let test = |number: usize| format!("{},{}", id(number), form(shown(number)));
            data.table("test.csv", &format!("id,{header}"), (0..150).map(test));
            data.answers = (0..150)
                .map(|number| (id(number), listed(number, " ")))
                .collect();
            match is_leak {
                true => data.assert_leak("shows `y` of all 150 test items"),
                false => data.assert_silent(header, None),
            }
        }
    }
}

/// The answer is 1 if the item has the label `y`. A public list of labels is a leak with any order and any separator.
#[test]
fn labels_in_lists_with_any_separator_are_found() {
    let labels = |number: usize| {
        let others = ["bio", "chem", "math", "phys", "yam"]
            .into_iter()
            .enumerate();
        let others = others.filter(|(label, _)| draw(number * 17 + label, 2) == 0);
        let mut labels: Vec<&str> = others.map(|(_, label)| label).collect();
        labels.extend((draw(number * 31, 2) == 0).then_some("y"));
        let by = draw(number, 7).checked_rem(labels.len()).unwrap_or(0);
        labels.rotate_left(by);
        labels
    };
    let id = |number: usize| format!("n{:05x}", draw(number, 1 << 20));
    for separator in ["+", " & ", ";", "/"] {
        for is_leak in [true, false] {
            let mut data = Data::default();
            let shown = |number: usize| if is_leak { number } else { 149 - number };
            let test =
                |number: usize| format!("{},{}", id(number), labels(shown(number)).join(separator));
            data.table("test.csv", "id,x", (0..150).map(test));
            let answer = |number: usize| u8::from(labels(number).contains(&"y")).to_string();
            data.answers = (0..150)
                .map(|number| (id(number), answer(number)))
                .collect();
            match is_leak {
                true => data.assert_leak("shows `y` of all 150 test items"),
                false => data.assert_silent(separator, None),
            }
        }
    }
}

/// If the sample submission contains the answers, the other columns of the answers are not reported instead.
#[test]
fn a_sample_submission_with_the_answers_is_found() {
    let mut data = Data::default();
    let id = |number: usize| format!("n{:05x}", draw(number, 1 << 20));
    let house = |number: usize| format!("h{}", draw(number * 3, 9));
    let answer = |number: usize| draw(number * 7, 40_000).to_string();
    let rows = || 0..150;
    data.table(
        "test.csv",
        "id,lead",
        rows().map(|row| format!("{},{}", id(row), house(row))),
    );
    let sample = rows().map(|row| format!("{},{}", id(row), answer(row)));
    data.table("sample_submission.csv", "id,y", sample);
    data.lead = Some(rows().map(house).collect());
    data.answers = rows().map(|row| (id(row), answer(row))).collect();
    data.assert_leak("`y`");
    let findings = data.search(None).findings;
    let is_about_lead = |one: &prep_leaks::LeakFinding| one.what.contains("`lead`");
    assert!(!findings.iter().any(is_about_lead), "{findings:#?}");
}

/// A feature that explains nearly all answers is not a leak, but somebody has to look at it.
#[test]
fn a_feature_that_explains_all_answers_is_a_risk() {
    let mut data = Data::default();
    let cells = |number: usize| format!("n{:05x},{}", draw(number, 1 << 20), draw(number, 40_000));
    let answer = |number: usize| (draw(number, 40_000) as f64).sqrt();
    let row = |number| format!("{},{}", cells(number), answer(number));
    data.table("train.csv", "id,a,y", (500..1400).map(row));
    data.table("test.csv", "id,a", (0..400).map(cells));
    for number in 0..400 {
        let id = cells(number).split(',').next().unwrap().to_owned();
        data.answers.push((id, answer(number).to_string()));
    }
    let findings = data.search(None).findings;
    let is_named = |one: &prep_leaks::LeakFinding| {
        one.level == LeakLevel::Risk && one.what.contains("(`a` in test.csv alone: 100 %)")
    };
    assert!(findings.iter().any(is_named), "{findings:#?}");
}

/// A feature can predict the answers so well that a class in the ids adds little. The class is a leak anyway.
#[test]
fn classes_in_ids_are_found_next_to_features_of_any_strength() {
    for noise in [40, 120, 800] {
        for is_leak in [true, false] {
            let mut data = Data::default();
            let class = |number: usize| draw(number, 3);
            let id = |number: usize| {
                let shown = if is_leak {
                    class(number)
                } else {
                    draw(number + 7_000, 3)
                };
                format!("x{}_k{shown}_{number:04}", draw(number + 9_000, 2))
            };
            let feature = |number: usize| {
                let spread = (0..4).map(|part| draw(number * 4 + part + 20_000, noise));
                400 * class(number) + spread.sum::<usize>()
            };
            let cells = |number: usize| {
                format!(
                    "{},{},{}",
                    id(number),
                    feature(number),
                    draw(number + 60_000, 9_000)
                )
            };
            data.table(
                "train.csv",
                "id,a,b,y",
                (300..600).map(|number| format!("{},k{}", cells(number), class(number))),
            );
            data.table("test.csv", "id,a,b", (0..300).map(cells));
            data.answers = (0..300)
                .map(|number| (id(number), format!("k{}", class(number))))
                .collect();
            let findings = data.search(None).findings;
            let mut leaks = findings.iter().filter(|one| one.level == LeakLevel::Leak);
            let is_found = leaks.any(|one| one.what.contains("word 2 of ids"));
            assert_eq!(is_found, is_leak, "{noise}: {findings:#?}");
        }
    }
}
