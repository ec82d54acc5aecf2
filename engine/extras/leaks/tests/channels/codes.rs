//! Codes and small numbers as ids: parts of codes that reveal answers, and lists of ids.

use prep_leaks::LeakLevel;

use super::{Items, Random, TEST, TRAIN, check, noise};

/// A part of a code reveals the class: a letter, or the sum of digits. The position of the letter may vary.
#[test]
fn codes_with_parts_that_predict_answers_are_found() {
    /// Returns a code. The arguments are the class, a random letter, and two random numbers.
    type Code = fn(usize, char, usize, usize) -> String;
    let codes: [(&str, Code); 7] = [
        ("first letter", |class, letter, one, _| {
            format!("{}-{one}-{letter}", ["A", "B"][class])
        }),
        ("last letter", |class, _, one, _| {
            format!("file_{one:04}{}", ["a", "b"][class])
        }),
        ("letter at a fixed position", |class, letter, one, _| {
            format!("{letter}{}{one:05x}", ["q", "z"][class])
        }),
        (
            "letter after numbers of any length",
            |class, _, one, two| format!("x{one}{}{two}", ["Q", "K"][class]),
        ),
        (
            "letter at the end of a name of any length",
            |class, letter, one, two| {
                format!(
                    "{letter}{:x}{}",
                    one * [1, 16, 256][two % 3],
                    ["q", "z"][class]
                )
            },
        ),
        ("remainder", |class, _, one, two| {
            (3 * (one * 10_000 + two) + class).to_string()
        }),
        ("sum of digits", |class, _, one, _| {
            let digits = one.to_string().bytes().map(usize::from).sum::<usize>();
            format!("K{one}{}", (digits + class) % 2)
        }),
    ];
    for (name, code) in codes {
        check(name, "cells", &|items| {
            items.tables("code,x,", &mut |items, item| {
                let class = items.shown[item];
                let letter = char::from(b'a' + items.random.below(26) as u8);
                let (one, two) = (items.random.below(90_000), items.random.below(9000));
                format!("{},1,", code(class, letter, one, two))
            })
        });
    }
    check("letter in a name of a file", "names", &|items| {
        let mut files = items.plain();
        for item in 0..TRAIN + TEST {
            let (content, class) = (noise(items), items.shown[item]);
            let letters = items.random.below(1 << 20);
            let name = format!("{}_{letters:05x}{}", items.ids[item], ["q", "z"][class]);
            files.push((format!("{}/{name}.bin", items.part(item)), content));
        }
        files
    });
}

/// A column that reveals the answers in several ways has a single finding, with advice about this column.
#[test]
fn one_cause_is_one_finding() {
    /// Returns the cell of an item. The second argument is the class.
    type Cell = fn(&mut Random, usize) -> String;
    fn amount(random: &mut Random, class: usize) -> String {
        match class {
            0 => String::new(),
            _ => format!("{}.{:02}", random.below(100), random.below(100)),
        }
    }
    fn ticket(random: &mut Random, class: usize) -> String {
        format!("{}{:06}", ["A", "K"][class], random.below(1_000_000))
    }
    fn mail(random: &mut Random, class: usize) -> String {
        let (name, length) = (random.below(1 << 30), 3 + random.below(5));
        let name: String = format!("{name:08x}").chars().take(length).collect();
        format!("{name}{}@mail.org", ["q", "x"][class])
    }
    let cells: [(&str, &str, Cell); 3] = [
        ("whether there is a number", "remove the column", amount),
        ("the first letter of a code", "new random ones", ticket),
        ("the letter before a separator", "new random ones", mail),
    ];
    for (name, advice, cell) in cells {
        for is_leak in [true, false] {
            let mut items = Items::new(5, is_leak);
            let files = items.tables("c,d,", &mut |items, item| {
                let class = items.shown[item];
                format!("{},1,", cell(&mut items.random, class))
            });
            let mut findings = items.search(&files, 1 << 30, &|_| {}).findings;
            findings.retain(|one| one.level > LeakLevel::Note);
            assert_eq!(findings.len(), usize::from(is_leak), "{name}: {findings:?}");
            let mut findings = findings.iter();
            assert!(findings.all(|one| one.advice.contains(advice)), "{name}");
        }
    }
}

/// Small numbers are ids in lists of different numbers, and in a column of different numbers.
#[test]
fn small_numbers_in_lists_are_ids() {
    for is_leak in [true, false] {
        for path in [
            "returned.txt",
            "returned.json",
            "returned.csv",
            "states.csv",
        ] {
            let mut items = Items::new(6, is_leak);
            let mut ids: Vec<usize> = (1..=TRAIN + TEST).collect();
            for place in (1..ids.len()).rev() {
                ids.swap(place, items.random.below(place + 1));
            }
            items.ids = ids.iter().map(usize::to_string).collect();
            let mut files = items.plain();
            let numbers = items.ids.iter().zip(&items.shown);
            let listed = numbers.clone().filter(|(_, class)| **class == 1);
            let listed: Vec<&str> = listed.map(|(id, _)| id.as_str()).collect();
            let text = match path {
                "returned.json" => format!("[{}]", listed.join(", ")),
                "returned.csv" => format!("customer\n{}\n", listed.join("\n")),
                "states.csv" => numbers.fold("customer,state\n".to_owned(), |text, (id, class)| {
                    text + &format!("{id},s{class}\n")
                }),
                _ => listed.join("\n"),
            };
            files.push((path.to_owned(), text.into_bytes()));
            let report = items.search(&files, 1 << 30, &|_| {});
            let of_file = report.findings.iter().filter(|one| one.what.contains(path));
            let open: Vec<_> = of_file.filter(|one| one.level > LeakLevel::Note).collect();
            assert_eq!(open.len(), usize::from(is_leak), "{path}: {open:#?}");
            let mut open = open.iter();
            assert!(
                open.all(|one| one.detector == "answers-elsewhere"),
                "{path}"
            );
        }
    }
}

/// A column has values mainly for one class. For values of any kind, the finding is about their presence.
#[test]
fn presence_of_values_is_found_with_any_values() {
    type Value = fn(&mut Random) -> String;
    let values: [(&str, Value); 6] = [
        ("one text", |_| "call".to_owned()),
        ("few texts", |random| {
            ["call", "mail", "visit"][random.below(3)].to_owned()
        }),
        ("dates", |random| {
            format!("2025-03-{:02}", 1 + random.below(28))
        }),
        ("numbers", |random| random.below(900).to_string()),
        ("codes", |random| format!("K-{:05x}", random.below(1 << 20))),
        ("free texts", |random| {
            let words = ["we", "asked", "the", "person", "again", "today"];
            let words = (0..9).map(|_| words[random.below(6)]);
            words.collect::<Vec<_>>().join(" ")
        }),
    ];
    for (name, value) in values {
        for is_leak in [true, false] {
            let mut items = Items::new(8, is_leak);
            let files = items.tables("contact,note,x,", &mut |items, item| {
                let percent = [10, 90][items.shown[item]];
                let note = ["", "5", "6"][items.random.below(3)];
                match items.random.below(100) < percent {
                    true => format!("{},{note},1,", value(&mut items.random)),
                    false => format!(",{note},1,"),
                }
            });
            let mut findings = items.search(&files, 1 << 30, &|_| {}).findings;
            findings.retain(|one| one.level > LeakLevel::Note);
            assert_eq!(
                findings.len(),
                usize::from(is_leak),
                "{name}: {findings:#?}"
            );
            for one in findings {
                assert!(
                    one.what.contains("whether `contact`"),
                    "{name}: {}",
                    one.what
                );
                assert!(
                    one.advice.contains("missing cells"),
                    "{name}: {}",
                    one.advice
                );
            }
        }
    }
}
