//! For each channel, tests a small competition with one planted leak, and its clean twin: the same competition in which the
//! planted files show the answers of different items.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use prep_leaks::{LeakInput, LeakLevel, LeakReport};

mod codes;

const TRAIN: usize = 300;
const TEST: usize = 200;

/// A simple generator of pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        usize::try_from((mixed >> 11) % bound as u64).unwrap()
    }
}

/// Items with ids and classes. Training items come first.
struct Items {
    ids: Vec<String>,
    /// 0 or 1.
    classes: Vec<usize>,
    /// The classes that the planted files show: the classes of the items, or in a clean twin the classes of other items.
    shown: Vec<usize>,
    /// The text before the number of a class in answers.
    prefix: &'static str,
    random: Random,
}

impl Items {
    fn new(seed: u64, is_leak: bool) -> Items {
        let mut random = Random(seed);
        let ids = (0..TRAIN + TEST).map(|n| format!("{:05x}{n:03x}", random.below(1 << 20)));
        let ids: Vec<String> = ids.collect();
        let classes: Vec<usize> = ids.iter().map(|_| random.below(2)).collect();
        let mut shown = classes.clone();
        if !is_leak {
            for place in (1..shown.len()).rev() {
                shown.swap(place, random.below(place + 1));
            }
        }
        Items {
            ids,
            classes,
            shown,
            prefix: "",
            random,
        }
    }

    fn test(&self) -> std::ops::Range<usize> {
        TRAIN..TRAIN + TEST
    }

    fn part(&self, item: usize) -> &'static str {
        if item < TRAIN { "train" } else { "test" }
    }

    /// Returns the tables of both parts: an id, a number, further cells, and in the training table the class.
    fn tables(
        &mut self,
        names: &str,
        cells: &mut dyn FnMut(&mut Items, usize) -> String,
    ) -> Vec<(String, Vec<u8>)> {
        let mut texts = [
            format!("id,n,{names}label\n"),
            format!("id,n,{names}").trim_end_matches(',').to_owned() + "\n",
        ];
        for item in 0..TRAIN + TEST {
            let number = self.random.below(9000);
            let more = cells(self, item);
            let row = format!("{},{number},{more}", self.ids[item]);
            match item < TRAIN {
                true => texts[0] += &format!("{row}{}{}\n", self.prefix, self.classes[item]),
                false => texts[1] += &format!("{}\n", row.trim_end_matches(',')),
            }
        }
        let [train, test] = texts;
        vec![
            ("train.csv".to_owned(), train.into_bytes()),
            ("test.csv".to_owned(), test.into_bytes()),
        ]
    }

    fn plain(&mut self) -> Vec<(String, Vec<u8>)> {
        self.tables("", &mut |_, _| String::new())
    }

    fn search(
        &self,
        files: &[(String, Vec<u8>)],
        memory: u64,
        prepare: &dyn Fn(&Path),
    ) -> LeakReport {
        let folder = crate::temporary::directory();
        let (public, private) = (folder.path().join("public"), folder.path().join("private"));
        fs::create_dir_all(&private).unwrap();
        for (path, content) in files {
            let place = public.join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, content).unwrap();
        }
        let rows = |answer: &dyn Fn(usize) -> usize| -> String {
            let rows = self
                .test()
                .map(|item| format!("{},{}{}\n", self.ids[item], self.prefix, answer(item)));
            "id,label\n".to_owned() + &rows.collect::<String>()
        };
        fs::write(
            private.join("answers.csv"),
            rows(&|item| self.classes[item]),
        )
        .unwrap();
        fs::write(public.join("sample_submission.csv"), rows(&|_| 0)).unwrap();
        same_times(&public);
        prepare(&public);
        let place = LeakInput {
            answers: private.join("answers.csv"),
            sample: public.join("sample_submission.csv"),
            public,
            id: None,
            scored_rows: None,
            bundle: None,
            temp: folder.path().to_owned(),
            limits: prep_contents::DecodingLimits::default(),
            threads: 2,
            memory,
        };
        prep_leaks::find(&place, &BTreeMap::new()).unwrap()
    }
}

fn set_time(place: &Path, seconds: u64) {
    let file = File::options().write(true).open(place).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

fn same_times(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let place = entry.unwrap().path();
        match place.is_dir() {
            true => same_times(&place),
            false => set_time(&place, 1_600_000_000),
        }
    }
}

/// Makes the public files, for the leak or for its clean twin.
type Make<'a> = &'a dyn Fn(&mut Items) -> Vec<(String, Vec<u8>)>;

fn check(name: &str, detector: &str, make: Make<'_>) {
    for (seed, is_leak) in [(3, true), (4, false)] {
        let mut items = Items::new(seed, is_leak);
        let files = make(&mut items);
        let report = items.search(&files, 1 << 30, &|_| {});
        assert_found(name, detector, &report, is_leak);
    }
}

fn assert_found(name: &str, detector: &str, report: &LeakReport, is_leak: bool) {
    let found: Vec<String> = report
        .findings
        .iter()
        .filter(|one| one.level > LeakLevel::Note)
        .map(|one| format!("{}: {}", one.detector, one.what))
        .collect();
    match is_leak {
        true => assert!(
            found.iter().any(|one| one.starts_with(detector)),
            "{name}: {found:?}"
        ),
        false => assert!(found.is_empty(), "{name}: {found:?}"),
    }
}

/// Returns random bytes.
fn noise(items: &mut Items) -> Vec<u8> {
    (0..400).map(|_| items.random.below(256) as u8).collect()
}

#[test]
fn modification_times_that_predict_answers_are_found() {
    for (seed, is_leak) in [(5, true), (6, false)] {
        let mut items = Items::new(seed, is_leak);
        let mut files = items.plain();
        for item in 0..TRAIN + TEST {
            let content = noise(&mut items);
            files.push((
                format!("{}/{}.bin", items.part(item), items.ids[item]),
                content,
            ));
        }
        let prepare = |public: &Path| {
            for item in items.test() {
                let place = public.join(format!("test/{}.bin", items.ids[item]));
                set_time(
                    &place,
                    1_500_000_000 + 1000 * items.shown[item] as u64 + item as u64 % 50,
                );
            }
        };
        let report = items.search(&files, 1 << 30, &prepare);
        assert_found("times of files", "times", &report, is_leak);
    }
}

/// A member of a tar archive.
fn tar_member(name: &str, owner: usize, content: &[u8]) -> Vec<u8> {
    let mut out = vec![0_u8; 512];
    let fields = [
        (0, name.to_owned()),
        (100, "0000644".to_owned()),
        (108, format!("{owner:07o}")),
        (124, format!("{:011o}", content.len())),
        (136, "00000000000".to_owned()),
        (148, " ".repeat(8)),
        (156, "0".to_owned()),
        (257, "ustar".to_owned()),
    ];
    for (at, text) in fields {
        out[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = out.iter().map(|byte| u32::from(*byte)).sum();
    out[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.extend(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

#[test]
fn owners_in_tar_archives_that_predict_answers_are_found() {
    check("owners", "packing", &|items| {
        let mut files = items.plain();
        for (part, range) in [("train", 0..TRAIN), ("test", TRAIN..TRAIN + TEST)] {
            let mut archive = Vec::new();
            for item in range {
                let content = noise(items);
                let owner = 1000 + items.shown[item];
                archive.extend(tar_member(
                    &format!("{}.bin", items.ids[item]),
                    owner,
                    &content,
                ));
            }
            archive.resize(archive.len() + 1024, 0);
            files.push((format!("{part}.tar"), archive));
        }
        files
    });
}

#[test]
fn answers_in_a_pickle_are_found() {
    check("pickle", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let mut pickle = b"\x80\x04".to_vec();
        for item in 0..TRAIN + TEST {
            let id = &items.ids[item];
            pickle.extend(format!("\u{1}{id}\u{2}class-{}\u{3}", items.shown[item]).as_bytes());
        }
        files.push(("cache.pkl".to_owned(), pickle));
        files
    });
}

#[test]
fn answers_in_a_long_document_are_found() {
    check("documents", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let padding = "x".repeat(40_000);
        let records: Vec<String> = (0..TRAIN + TEST)
            .map(|item| {
                format!(
                    r#"{{"name": "{}", "pad": "{padding}", "v": {{"g": "{}"}}}}"#,
                    items.ids[item], items.shown[item]
                )
            })
            .collect();
        files.push((
            "all.json".to_owned(),
            format!(r#"{{"items": [{}]}}"#, records.join(", ")).into_bytes(),
        ));
        files
    });
}

#[test]
fn answers_in_xml_are_found() {
    check("markup", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let rows: String = (0..TRAIN + TEST)
            .map(|item| {
                format!(
                    "<image name=\"{}\">\n<tag label=\"{}\"/></image>\n",
                    items.ids[item], items.shown[item]
                )
            })
            .collect();
        files.push((
            "all.xml".to_owned(),
            format!("<all>{rows}</all>").into_bytes(),
        ));
        files
    });
}

/// One list assigns numbers to the files of items, and the other list assigns answers to these numbers.
#[test]
fn answers_in_linked_lists_of_a_document_are_found() {
    check("annotations", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let images = (0..TRAIN + TEST).map(|item| {
            format!(
                r#"{{"id": {}, "file": "{}.png"}}"#,
                7 * item,
                items.ids[item]
            )
        });
        let labels = (0..TRAIN + TEST).map(|item| {
            format!(
                r#"{{"image": {}, "group": {}}}"#,
                7 * item,
                items.shown[item] + 3
            )
        });
        let [images, labels] =
            [images.collect::<Vec<_>>(), labels.collect::<Vec<_>>()].map(|list| list.join(", "));
        let text = format!(r#"{{"images": [{images}], "labels": [{labels}]}}"#);
        files.push(("all.json".to_owned(), text.into_bytes()));
        files
    });
}

#[test]
fn answers_in_lines_after_an_id_are_found() {
    check("blocks", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let blocks = (0..TRAIN + TEST).map(|item| {
            format!(
                "- file: {}.png\n  size: 3\n  group: g{}\n",
                items.ids[item], items.shown[item]
            )
        });
        files.push((
            "set.yaml".to_owned(),
            blocks.collect::<String>().into_bytes(),
        ));
        files
    });
}

#[test]
fn answers_in_a_table_joined_by_two_columns_are_found() {
    check("two columns", "answers-elsewhere", &|items| {
        let mut number = 0;
        let mut files = items.tables("site,day,x,", &mut |_, _| {
            number += 1;
            format!("S{},{},1,", number / 30, number % 30)
        });
        let rows = (0..TRAIN + TEST).map(|item| {
            let number = item + 1;
            format!("S{},{},m{}\n", number / 30, number % 30, items.shown[item])
        });
        let text = "site,day,mood\n".to_owned() + &rows.collect::<String>();
        files.push(("reports.csv".to_owned(), text.into_bytes()));
        files
    });
}

#[test]
fn answers_next_to_ids_in_upper_case_are_found() {
    check("capitals", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let rows = (0..TRAIN + TEST).map(|item| {
            let id = items.ids[item].to_uppercase();
            format!("SMP-{id},t{}\n", items.shown[item])
        });
        let text = "sample,tray\n".to_owned() + &rows.collect::<String>();
        files.push(("trays.csv".to_owned(), text.into_bytes()));
        files
    });
}

#[test]
fn texts_that_are_part_of_a_training_text_are_found() {
    check("beginnings", "near", &|items| {
        let mut texts: Vec<String> = Vec::new();
        for item in 0..TRAIN + TEST {
            let words = (0..30).map(|_| format!("w{}", items.random.below(60)));
            let mut text = words.collect::<Vec<_>>().join(" ");
            let same: Vec<usize> = (0..TRAIN)
                .filter(|other| items.classes[*other] == items.shown[item])
                .collect();
            if item >= TRAIN {
                let whole = match item % 2 {
                    0 => &texts[same[items.random.below(same.len())]],
                    _ => &text,
                };
                text = whole.split(' ').take(15).collect::<Vec<_>>().join(" ");
            }
            texts.push(text);
        }
        items.tables("text,x,", &mut |_, item| format!("{},1,", texts[item]))
    });
}

#[test]
fn answers_in_lines_without_ids_are_found() {
    check("lines", "answers-elsewhere", &|items| {
        let mut files = items.plain();
        let rows: String = items
            .test()
            .map(|item| format!("c{}\n", items.shown[item]))
            .collect();
        files.push(("notes.txt".to_owned(), rows.into_bytes()));
        files
    });
}

#[test]
fn spelling_that_predicts_answers_is_found() {
    check("first letters", "cells", &|items| {
        items.tables("text,", &mut |items, item| {
            let words = ["one", "two", "red", "blue"];
            let text: Vec<&str> = (0..8).map(|_| words[items.random.below(4)]).collect();
            let text = text.join(" ");
            match items.shown[item] {
                0 => format!("a {text},"),
                _ => format!("A {text},"),
            }
        })
    });
    check("forms of dates", "cells", &|items| {
        items.tables("day,", &mut |items, item| {
            let day = 10 + items.random.below(18);
            match items.shown[item] {
                0 => format!("2019-05-{day},"),
                _ => format!("2019/05/{day},"),
            }
        })
    });
    check("number of gaps", "cells", &|items| {
        items.tables("a,b,c,d,e,f,x,", &mut |items, item| {
            let first = items.random.below(6);
            let gaps = 2 + items.shown[item];
            let cells = (0..6).map(|place| match (place + 6 - first) % 6 < gaps {
                true => String::new(),
                false => items.random.below(90).to_string(),
            });
            cells.collect::<Vec<_>>().join(",") + ",1,"
        })
    });
    check("line ends", "cells", &|items| {
        let mut files = items.plain();
        let text = String::from_utf8(files[1].1.clone()).unwrap();
        let rows = text.lines().enumerate().map(|(number, line)| {
            let is_long = number > 0 && items.shown[TRAIN + number - 1] == 1;
            format!("{line}{}", if is_long { "\r\n" } else { "\n" })
        });
        files[1].1 = rows.collect::<String>().into_bytes();
        files
    });
}

/// A table with the answers of all items is a leak. It is not training data.
#[test]
fn a_table_with_answers_of_test_items_is_not_training_data() {
    let mut items = Items::new(3, true);
    let mut files = items.tables("m,r,", &mut |items, _| {
        let [whole, part, other] = [9, 9000, 9000].map(|bound| items.random.below(bound));
        format!("{other},{whole}.{part:04},")
    });
    let labelled = |item: usize, line: &str| format!("{line},{}\n", items.classes[item]);
    let test = String::from_utf8(files[1].1.clone()).unwrap();
    let test = test.lines().skip(1).zip(items.test());
    let test = test.map(|(line, item)| labelled(item, line));
    let all = String::from_utf8(files[0].1.clone()).unwrap() + &test.collect::<String>();
    files.push(("full.csv".to_owned(), all.into_bytes()));
    let report = items.search(&files, 1 << 30, &|_| {});
    assert_found("answers", "answers-elsewhere", &report, true);
    let mut detectors = report.findings.iter().map(|one| one.detector);
    let is_of_training = |one| matches!(one, "groups" | "neighbours" | "near");
    assert!(!detectors.any(is_of_training), "{report:?}");
}

#[test]
fn rows_that_refer_to_other_items_are_found() {
    check("links", "neighbours", &|items| {
        let of_class = |items: &Items, class: usize| -> Vec<usize> {
            (0..TRAIN)
                .filter(|item| items.classes[*item] == class)
                .collect()
        };
        let sides = [of_class(items, 0), of_class(items, 1)];
        items.tables("parent,x,", &mut |items, item| {
            let side = &sides[items.shown[item]];
            let other = side[items.random.below(side.len())];
            format!("{},1,", items.ids[other])
        })
    });
}

/// A JPEG without pixels whose EXIF data name a program.
fn jpeg_of(program: &str) -> Vec<u8> {
    let text = [program.as_bytes(), &[0]].concat();
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    let entry = [b"\x31\x01\x02\0".as_slice(), &length, &26_u32.to_le_bytes()].concat();
    let tiff = [b"II*\0\x08\0\0\0\x01\0".as_slice(), &entry, &[0; 4], &text].concat();
    let segment = [b"Exif\0\0".as_slice(), &tiff].concat();
    let length = u16::try_from(segment.len() + 2).unwrap().to_be_bytes();
    [
        b"\xff\xd8\xff\xe1".as_slice(),
        &length,
        &segment,
        b"\xff\xd9",
    ]
    .concat()
}

/// A WAV file without samples that has a chunk after the end of the samples.
fn wav_of(writer: &str) -> Vec<u8> {
    let length = u32::try_from(writer.len()).unwrap().to_le_bytes();
    let chunks = [
        b"WAVEdata\0\0\0\0LIST".as_slice(),
        &length,
        writer.as_bytes(),
    ]
    .concat();
    let length = u32::try_from(chunks.len()).unwrap().to_le_bytes();
    [b"RIFF".as_slice(), &length, &chunks].concat()
}

/// A finding shows where the leak is, how many items prove it, examples, and what to do.
#[test]
fn findings_show_place_evidence_and_advice() {
    /// Returns the path and the content of an item's file. The third argument is the class.
    type File = fn(&str, &str, usize) -> (String, Vec<u8>);
    let files: [(&str, &str, File); 6] = [
        (
            "EXIF `Software` of `test/.../ID.jpg`",
            "metadata",
            |part, id, class| (format!("{part}/{id}.jpg"), jpeg_of(&format!("tool{class}"))),
        ),
        (
            "the chunk `LIST` of `test/.../ID.wav`",
            "metadata",
            |part, id, class| (format!("{part}/{id}.wav"), wav_of(&format!("lab{class}x"))),
        ),
        (
            "directory level 2 of the paths of `thumbs/.../ID.bin`",
            "names",
            |_, id, class| {
                (
                    format!("thumbs/group{class}/{id}.bin"),
                    id.as_bytes().to_vec(),
                )
            },
        ),
        (
            "`run` in `test/.../ID.txt`",
            "answers-elsewhere",
            |part, id, class| {
                let text = format!("id: {id}\nrun: r{class}\n");
                (format!("{part}/{id}.txt"), text.into_bytes())
            },
        ),
        (
            "`a/b x` in `notes/.../ID.xml`",
            "answers-elsewhere",
            |_, id, class| {
                let text = format!("<a><n>{}</n><b x=\"k{class}\"/></a>", id.len());
                (format!("notes/{id}.xml"), text.into_bytes())
            },
        ),
        (
            "the line endings of `test/.../ID.txt`",
            "cells",
            |part, id, class| {
                let end = ["\n", "\r\n"][class];
                let text = format!("seen{end}{}{end}", &id[..1]);
                (format!("{part}/{id}.txt"), text.into_bytes())
            },
        ),
    ];
    for (place, detector, file) in files {
        let mut items = Items::new(3, true);
        let mut all = items.plain();
        for item in 0..TRAIN + TEST {
            all.push(file(items.part(item), &items.ids[item], items.shown[item]));
        }
        let findings = items.search(&all, 1 << 30, &|_| {}).findings;
        let hit = findings
            .iter()
            .find(|one| one.what.contains(place) && one.detector == detector);
        let hit = hit.unwrap_or_else(|| panic!("{place}: {findings:#?}"));
        let is_counted = hit.what.contains("of 200 items") || hit.what.contains("100.0 % of items");
        assert!(hit.what.contains("determines") && is_counted, "{hit:?}");
        assert!(
            hit.level == LeakLevel::Leak && !hit.advice.is_empty(),
            "{hit:?}"
        );
        assert!(
            hit.evidence.iter().all(|one| one.contains(", answer ")),
            "{hit:?}"
        );
        assert!(hit.evidence.len() == 2, "{hit:?}");
    }
}

/// The names under `accepted` in built-in pipelines are names of detectors, or describe a leak that no detector can find.
#[test]
fn accepted_findings_of_pipelines_name_detectors() {
    let pipelines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../pipelines");
    let mut accepted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(pipelines).unwrap() {
        let place = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(place.join("pipeline.yaml")) else {
            continue;
        };
        let lines = text.lines().skip_while(|line| *line != "accepted:").skip(1);
        let lines = lines.take_while(|line| line.starts_with("  "));
        let names = lines.filter_map(|line| line.trim().split_once(": "));
        let names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
        if !names.is_empty() {
            let id = place.file_name().unwrap().to_str().unwrap().to_owned();
            accepted.insert(id, names);
        }
    }
    let names: Vec<&String> = accepted.values().flatten().collect();
    let is_known = |name: &&&String| prep_leaks::NAMES.contains(&name.as_str());
    let declared: Vec<&&String> = names.iter().filter(|name| !is_known(name)).collect();
    assert_eq!(declared, [&&"public origin".to_owned()]);
    for id in [
        "cassava-leaf-disease-classification",
        "siim-isic-melanoma-classification",
    ] {
        assert_eq!(accepted[id], ["shown-before", "answers-elsewhere"], "{id}");
    }
}

/// If a table exceeds the memory, only a sample of its rows is read, but all rows of test items. The report lists the table.
#[test]
fn a_table_larger_than_the_memory_is_read_in_part() {
    let mut items = Items::new(11, true);
    let mut files = items.tables("v,", &mut |items, item| match items.shown[item] {
        0 => format!("{}.25,", items.random.below(90)),
        _ => format!("{}.250,", items.random.below(90)),
    });
    let more: String = (0..60_000)
        .map(|n| format!("other-{n},1,2.5,{}\n", n % 2))
        .collect();
    files[0].1.extend(more.as_bytes());
    let report = items.search(&files, 4 << 20, &|_| {});
    assert_found("decimals", "cells", &report, true);
    let unread = report
        .findings
        .iter()
        .find(|one| one.detector == "unread")
        .unwrap();
    assert!(
        unread.evidence[0].starts_with("train.csv: ")
            && unread.evidence[0].contains("of 60300 rows"),
        "{unread:?}"
    );
}

#[test]
fn files_that_were_not_examined_are_listed() {
    let mut items = Items::new(12, false);
    let mut files = items.plain();
    files.push(("model.bin".to_owned(), vec![7; 65 << 20]));
    let report = items.search(&files, 1 << 30, &|_| {});
    let unread = report
        .findings
        .iter()
        .find(|one| one.detector == "unread")
        .unwrap();
    assert!(unread.evidence[0].starts_with("model.bin: "), "{unread:?}");
}

/// In this task, words are rewritten. Some of them stay unchanged, and equal words have equal answers. The sample
/// submission repeats the input, and ids consist of two cells of the test table.
#[test]
fn a_task_that_rewrites_words_has_no_finding() {
    let words = ["oak", "elm", "12", "ash", "1st", "fir", "yew", "3 m"];
    let answers = [
        "oak",
        "elm",
        "twelve",
        "ash",
        "first",
        "fir",
        "yew",
        "three metres",
    ];
    let mut random = Random(21);
    let folder = crate::temporary::directory();
    let (public, private) = (folder.path().join("public"), folder.path().join("private"));
    fs::create_dir_all(&public).unwrap();
    fs::create_dir_all(&private).unwrap();
    let mut texts = [
        "sentence,token,before,after\n",
        "sentence,token,before\n",
        "id,after\n",
        "id,after\n",
    ]
    .map(str::to_owned);
    for row in 0..600 {
        let (sentence, token, word) = (row / 6, row % 6, random.below(words.len()));
        let (before, after) = (words[word], answers[word]);
        match row < 300 {
            true => texts[0] += &format!("{sentence},{token},{before},{after}\n"),
            false => {
                texts[1] += &format!("{sentence},{token},{before}\n");
                texts[2] += &format!("{sentence}_{token},{before}\n");
                texts[3] += &format!("{sentence}_{token},{after}\n");
            }
        }
    }
    let places = [
        public.join("train.csv"),
        public.join("test.csv"),
        public.join("sample_submission.csv"),
        private.join("answers.csv"),
    ];
    for (place, text) in places.iter().zip(&texts) {
        fs::write(place, text).unwrap();
    }
    let place = LeakInput {
        answers: private.join("answers.csv"),
        sample: public.join("sample_submission.csv"),
        public,
        bundle: None,
        id: None,
        scored_rows: None,
        temp: folder.path().to_owned(),
        limits: prep_contents::DecodingLimits::default(),
        threads: 2,
        memory: 1 << 30,
    };
    let report = prep_leaks::find(&place, &BTreeMap::new()).unwrap();
    assert_found("rewritten words", "", &report, false);
}

#[test]
fn answers_in_json_and_lists_are_found() {
    let amount = |items: &mut Items| 100 + items.random.below(9000);
    type Cell<'a> = &'a dyn Fn(&mut Items, usize) -> String;
    let cases: [(&str, &str, &str, Cell<'_>); 5] = [
        (
            "a member of JSON in a cell",
            "answers-elsewhere",
            "x,",
            &|items, item| {
                let (n, shown) = (items.random.below(900), items.shown[item]);
                format!("\"{{\"\"q\"\": {n}, \"\"z\"\": {{\"\"r\"\": {shown}}}}}\",")
            },
        ),
        ("a JSON list in a cell", "column", "x,", &|items, item| {
            let other = ["red", "blue", "green"][items.random.below(3)];
            match items.shown[item] {
                1 => format!("\"[\"\"{other}\"\", \"\"Label\"\"]\","),
                _ => format!("\"[\"\"{other}\"\", \"\"grey\"\"]\","),
            }
        }),
        ("a list with separators", "column", "x,", &|items, item| {
            let other = ["red", "blue", "green"][items.random.below(3)];
            let last = ["grey", "label"][items.shown[item]];
            format!("{other}|{last},")
        }),
        (
            "a difference of integers",
            "column",
            "fee,amount,",
            &|items, item| {
                let amount = amount(items);
                format!("{},{amount},", amount + items.shown[item])
            },
        ),
        (
            "a difference of amounts with cents",
            "column",
            "total,amount,",
            &|items, item| {
                let amount = amount(items);
                let (whole, cents) = (amount / 100, amount % 100);
                format!(
                    "{}.{cents:02},{whole}.{cents:02},",
                    whole + items.shown[item]
                )
            },
        ),
    ];
    for (name, detector, columns, cell) in cases {
        check(name, detector, &|items| {
            items.tables(columns, &mut |items, item| cell(items, item))
        });
    }
    check(
        "JSON in a text of a document",
        "answers-elsewhere",
        &|items| {
            let mut files = items.plain();
            let rows = (0..TRAIN + TEST).map(|item| {
                let (id, shown) = (&items.ids[item], items.shown[item]);
                format!("{{\"id\": \"{id}\", \"a\": \"{{\\\"tray\\\": {shown}}}\"}}")
            });
            let text = format!("[{}]", rows.collect::<Vec<_>>().join(","));
            files.push(("meta.json".to_owned(), text.into_bytes()));
            files
        },
    );
}

/// A picture of 8 x 8 grey pixels, which are about `grey`.
fn picture(items: &mut Items, grey: usize) -> Vec<u8> {
    let pixels: Vec<u8> = (0..64)
        .map(|_| (grey + items.random.below(9)) as u8)
        .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

/// The pictures predict the answers, so the baseline leaves nothing unexplained. The paths are a leak anyway.
#[test]
fn classes_in_paths_of_pictures_that_predict_the_answers_are_found() {
    /// Returns the id and the path of an item. The arguments are the part, a hash, and the class.
    type Paths = fn(&str, &str, usize) -> (String, String);
    let paths: [(&str, &str, usize, Paths); 5] = [
        ("a directory", "names", 2, |part, hash, class| {
            (hash.to_owned(), format!("{part}/c{class}/{hash}.png"))
        }),
        (
            "one of many directories",
            "names",
            12,
            |part, hash, class| (hash.to_owned(), format!("{part}/c{class}/{hash}.png")),
        ),
        (
            "a directory that is the class",
            "names",
            12,
            |part, hash, class| (hash.to_owned(), format!("{part}/K{class}/{hash}.png")),
        ),
        ("a word of the name", "names", 12, |part, hash, class| {
            (hash.to_owned(), format!("{part}/c{class}-{hash}.png"))
        }),
        ("a word of the id", "ids", 12, |part, hash, class| {
            let id = format!("c{class}_{hash}");
            (id.clone(), format!("{part}/{id}.png"))
        }),
    ];
    for (name, detector, classes, path) in paths {
        for (seed, is_leak) in [(3, true), (4, false)] {
            let mut items = Items::new(seed, is_leak);
            let mut classed: Vec<usize> = (0..TRAIN + TEST).map(|n| n % classes).collect();
            for place in (1..classed.len()).rev() {
                classed.swap(place, items.random.below(place + 1));
            }
            items.classes = classed;
            items.prefix = if classes > 2 { "k" } else { "" };
            let mut files = Vec::new();
            for item in 0..TRAIN + TEST {
                let class = items.classes[item];
                let shown = match is_leak && item >= TRAIN {
                    true => class,
                    false => items.random.below(classes),
                };
                let (id, path) = path(items.part(item), &items.ids[item], shown);
                items.ids[item] = id;
                let grey = 15 * class;
                files.push((path, picture(&mut items, grey)));
            }
            files.extend(items.plain());
            let mut report = items.search(&files, 1 << 30, &|_| {});
            let all = report.findings.len();
            // The finding `masked` may be a risk, because the pictures predict the answers.
            report.findings.retain(|one| one.detector != "masked");
            assert!(
                report.findings.len() < all || classes > 2,
                "{name}: {report:?}"
            );
            assert_found(name, detector, &report, is_leak);
        }
    }
}
