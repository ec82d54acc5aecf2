//! Tests of drafts for small bundles of many forms.

use std::fs;

use crate::support::{Archive, Sandbox};

/// Each case has a bundle, the arguments of `prep pipeline new`, a part of its messages, and parts of the draft. A case
/// without parts expects that no draft is written. All other drafts must run.
#[test]
fn drafts_fit_their_bundles() {
    let table = |header: &str, row: &dyn Fn(usize) -> String| {
        let rows = (0..60).map(|at| format!("t{at:02},{}\n", row(at)));
        format!("id,{header}\n{}", rows.collect::<String>())
    };
    let lists = |separator: &str, marks: [&str; 2]| {
        let lists = [
            vec!["red"],
            vec!["red", "green"],
            vec!["green"],
            vec!["blue", "red"],
        ];
        table("tags", &|at| {
            let quoted = |tag: &&str| format!("{}{tag}{}", marks[1], marks[1]);
            let tags: Vec<String> = lists[at % 4].iter().map(quoted).collect();
            let end = if marks[0].is_empty() { "" } else { "]" };
            match at {
                7 if end.is_empty() => String::new(),
                _ => format!("\"{}{}{end}\"", marks[0], tags.join(separator)),
            }
        })
    };
    let binary = table("a,b,c", &|at| {
        format!("{},{},{}", at % 2, at % 3 / 2, at / 2 % 2)
    });
    let rare = table("threat", &|at| u8::from(at % 20 == 3).to_string());
    let shop = table("units,store", &|at| {
        format!("{},{}", at % 4, ["x", "y"][at % 2])
    });
    let photos = || {
        let path = |at: usize| format!("{}/{at}.jpg", ["cat", "dog"][at % 2]);
        let rows = (0..40).map(|at| format!("{},{}\n", path(at), ["cat", "dog"][at % 2]));
        let labels = format!("file,species\n{}", rows.collect::<String>());
        (0..40).fold(Archive::new().file("labels.csv", labels), |archive, at| {
            archive.file(&path(at), format!("photo {at}"))
        })
    };
    // The cells of the table, and the paths of the photos.
    let layout = |cell: &dyn Fn(usize) -> String, path: &dyn Fn(usize) -> String| {
        let rows = (0..40).map(|at| format!("{},{}\n", cell(at), ["cat", "dog"][at % 2]));
        let labels = format!("file,species\n{}", rows.collect::<String>());
        (0..40).fold(Archive::new().file("labels.csv", labels), |archive, at| {
            archive.file(&path(at), format!("photo {at}"))
        })
    };
    let nested = |start: &'static str, end: &'static str| {
        move |at: usize| format!("{start}{}/p{}{end}", at % 3, at / 3)
    };
    let folders = |suffixes: [&'static str; 2]| {
        (0..40).fold(Archive::new(), |archive, at| {
            let (class, suffix) = (["cat", "dog"][at % 2], suffixes[at / 2 % 2]);
            archive.file(&format!("{class}/{at}.{suffix}"), format!("photo {at}"))
        })
    };
    let spaces = table("tags", &|at| {
        ["red", "red green", "green", "blue", "blue red"][at % 5].to_owned()
    });
    let names = table("city", &|at| {
        ["New York", "Los Angeles", "New Delhi"][at % 3].to_owned()
    });
    let one_rare = table("a,b,c", &|at| {
        format!("{},{},{}", at % 2, u8::from(at % 20 == 3), at / 2 % 2)
    });
    let yes = table("paid", &|at| {
        ["no", "yes"][usize::from(at % 12 == 3)].to_owned()
    });
    let rows = yes.lines().skip(1).enumerate();
    let index = rows.map(|(at, row)| format!("{at},{row}\n"));
    let index = format!(",id,paid\n{}", index.collect::<String>());
    let numbered = (0..60).map(|at| format!("{at},{},{}\n", at / 3, ["no", "yes"][at % 2]));
    let numbered = format!(
        "Unnamed: 0,patient_id,paid\n{}",
        numbered.collect::<String>()
    );
    let boxes = (0..60).map(|at| format!("{}.jpg,{},{}\n", at / 3, at % 7, ["x", "y"][at % 2]));
    let boxes = format!("photo,width,kind\n{}", boxes.collect::<String>());
    let boxes = (0..20).fold(Archive::new().file("boxes.csv", boxes), |archive, at| {
        archive.file(&format!("photos/{at}.jpg"), format!("photo {at}"))
    });
    let churn = table("day,churn,comment", &|at| {
        let (day, churn) = (1 + at % 28, ["True", "False"][at % 2]);
        format!("2024-01-{day:02},{churn},late {at} times")
    });
    let dated = table("species,tree,day", &|at| {
        let (species, tree, day) = (["oak", "elm"][at % 2], at / 4, 1 + at % 28);
        format!("{species},tree {tree},2024-01-{day:02}")
    });
    let visits = (0..60).map(|at| format!("P{},{},{}.5\n", at / 3, at % 3, at % 7));
    let visits = format!("patient_id,visit,glucose\n{}", visits.collect::<String>());
    let remarks = table("passed,comment", &|at| {
        let comment = ["\"ok, but late\"", "ok", "\"was ill, exam repeated\""][at % 3];
        format!("{},{comment}", ["no", "yes"][at % 2])
    });
    let prices = (0..60).map(|at| format!("{at};{at},5;1.{:03},{}0\n", at * 7, at % 7));
    let prices = format!("Nr;Größe;Preis\n{}", prices.collect::<String>());
    let gekauft = table("x,gekauft", &|at| {
        format!("{at}.5,{}", ["ja", "nein"][usize::from(at % 3 > 0)])
    });
    // Bytes above 0x7f are not UTF-8 here.
    let in_euros = |byte: u8| {
        let rows = (0..60).map(|at| format!("a{at};{at},5;{}\n", ["ja", "nein"][at % 2]));
        let rows = rows.collect::<String>();
        [b"id;Preis (", &[byte][..], b");gekauft\n", rows.as_bytes()].concat()
    };
    let of_table = |text: &str| Archive::new().file("train.csv", text);
    let cases: Vec<(Archive, &str, &str, &[&str])> = vec![
        (
            of_table(&lists(", ", ["", ""])),
            "--target tags",
            "lists of labels",
            &["multi_hot(replace(tags, ', ', ','), classes)"],
        ),
        (
            of_table(&lists("|", ["", ""])),
            "--target tags",
            "lists of labels",
            &["'|', ','), classes)"],
        ),
        (
            of_table(&lists(";", ["", ""])),
            "--target tags",
            "lists of labels",
            &["';', ','), classes)"],
        ),
        (
            of_table(&lists(", ", ["[", "'"])),
            "--target tags",
            "lists of labels",
            &["'''', '\"'), classes)"],
        ),
        (
            of_table(&lists(",", ["", ""])),
            "--target tags --metric log_loss",
            "`log_loss` does not fit the target: each column is a class, but a row has 2 classes",
            &[],
        ),
        (
            of_table(&binary),
            "--target a --target b --target c",
            "",
            &[
                "roc_auc: [a, b, c]",
                "because each target has two values. Others are f1, brier, average_precision.",
            ],
        ),
        (
            of_table(&binary),
            "--target a --target b --target c --metric log_loss",
            "`log_loss` does not fit the target: each column is a class",
            &[],
        ),
        (
            of_table(&binary),
            "--target a --target b --metric accuracy",
            "`accuracy` compares only the column a",
            &["# CHOOSE: `accuracy` compares only the column a"],
        ),
        (
            of_table(&shop),
            "--target units --target store",
            "",
            &["metric: { balanced_accuracy: [units, store] }"],
        ),
        (
            of_table(&rare),
            "--target threat",
            "",
            &["stratify: threat, test_size: 0.5", "It loads and runs."],
        ),
        (
            of_table(&rare),
            "--id threat --target threat",
            "`threat` cannot be both",
            &[],
        ),
        (
            photos(),
            "",
            "",
            &[
                "JOIN files f ON f.file = t.\"file\"",
                "each: labelled.file in files.file",
            ],
        ),
        (
            layout(&nested("", ".jpg"), &nested("images/", ".jpg")),
            "",
            "",
            &[
                "ON f.file = concat('images/', t.\"file\")",
                "no file in files: SELECT",
            ],
        ),
        (
            layout(&nested("./photos/", ".jpg"), &nested("images/", ".jpg")),
            "",
            "",
            &["ON f.file = concat('images/', substr(t.\"file\", 10))"],
        ),
        (
            layout(&nested("photos/", ".jpg"), &nested("", ".jpg")),
            "",
            "",
            &["ON f.file = substr(t.\"file\", 8)"],
        ),
        (
            layout(&nested("", ""), &nested("images/", ".jpg")),
            "",
            "",
            &["ON f.file = concat('images/', t.\"file\", '.jpg')"],
        ),
        (
            layout(&|at| format!("p{at}"), &|at| {
                format!("images/p{at}.{}", ["jpg", "PNG"][at % 2])
            }),
            "",
            "",
            &[
                "images: { files: \"images/*.{PNG,jpg}\" } # 40 files",
                "f.stem = t.\"file\"",
            ],
        ),
        (
            layout(&|at| format!("q{at}"), &|at| format!("images/p{at}.jpg")),
            "",
            "files that are not published: `images/*.jpg`, because no column of labels.csv contains their names or paths",
            &["# CHOOSE: no column names these files, so they are not published:"],
        ),
        (
            boxes,
            "--target kind",
            "rows with equal `photo` stay in one part of the split",
            &[
                "ON f.name = t.key",
                "groups: photo, test_size: 0.1, seed: 0",
            ],
        ),
        (
            folders(["jpg", "png"]),
            "--target label",
            "their `folder` is predicted",
            &["files: \"*/*.{jpg,png}\" } # 40 files", "stratify: folder"],
        ),
        (
            of_table(&spaces),
            "",
            "the cells of `tags` are lists of labels",
            &["multi_hot(replace(tags, ' ', ','), classes)"],
        ),
        (
            of_table(&names),
            "",
            "",
            &[
                "stratify: city",
                "because classes are predicted. Others are f1, balanced_accuracy, cohen_kappa",
            ],
        ),
        (
            of_table(&names),
            "--metric f1",
            "",
            &["# All metrics are in docs/reference/metrics.md.\n  # CHOOSE the values"],
        ),
        (
            of_table(&one_rare),
            "--target a --target b --target c",
            "",
            &["stratify: b, test_size: 0.5, seed: 0", "It loads and runs."],
        ),
        (
            of_table(&one_rare),
            "--target a,b,c",
            "name each column by itself: `a`, `b`, `c`",
            &[],
        ),
        (
            of_table(&binary),
            "",
            "name the target when you create the draft; if `a`, `b` are targets, too",
            &["# CHOOSE: the target `c` is a guess"],
        ),
        (of_table(&yes), "", "", &["stratify: paid, test_size: 0.2"]),
        (
            of_table(&yes),
            "--metric roc_auc",
            "the target `paid` is a guess from the names, values and positions of the columns; if it is wrong, name the target",
            &[
                "0.5 AS paid",
                "metric: { roc_auc: paid }",
                "CHOOSE: a higher prediction means that `yes` is more probable; to predict `no`, write `paid = 'no' AS paid`",
                "test.csv: SELECT id, paid = 'yes' AS paid FROM test",
            ],
        ),
        (
            of_table(&yes),
            "--metric accuracy",
            "is a guess",
            &["'no' AS paid"],
        ),
        (
            of_table(&yes),
            "--metric log_loss",
            "a higher prediction means that `yes` is more probable",
            &[
                "0.5 AS paid",
                "paid = 'yes' AS paid FROM test",
                "metric: { log_loss: paid }",
            ],
        ),
        (
            of_table(&yes),
            "--metric average_precision",
            "is a guess",
            &[
                "0.5 AS paid",
                "metric: { average_precision: { columns: paid, positive: \"yes\" } }",
            ],
        ),
        (
            of_table(&format!("Orders of 2024\n{yes}")),
            "",
            "train.csv cannot be read as a table: a title is above its header; remove the lines before the header",
            &[],
        ),
        (
            of_table(&format!("Bestellungen\n{prices}")),
            "",
            "train.csv cannot be read as a table: a title is above its header; remove the lines before the header",
            &[],
        ),
        (
            of_table(&format!("Orders of 2024,,\n\n{yes}")),
            "",
            "train.csv cannot be read as a table: a title is above its header; remove the lines before the header",
            &[],
        ),
        (
            of_table(&index),
            "",
            "they are identified by `id`, and the target is `paid`\n`Unnamed: 0` is probably an index that pandas wrote",
            &["unique: labelled.id"],
        ),
        (
            of_table(&numbered),
            "",
            "they are identified by `Unnamed: 0`, and the target is `paid`",
            &[
                "|\n    labelled.\"Unnamed: 0\"\n",
                "- |\n      train.\"Unnamed: 0\" and test",
                "- train.patient_id and test.patient_id",
            ],
        ),
        (
            of_table(&prices.replace("17,5", "k.A.")),
            "",
            "CAST(replace(nullif(\"Größe\", 'k.A.'), ',', '.') AS DOUBLE)",
            &["root_mean_squared_error: Preis"],
        ),
        (
            of_table(&churn),
            "",
            "the target is `churn`",
            &["'True' AS churn"],
        ),
        (
            of_table(&churn),
            "--target churn --metric roc_auc",
            "the rows of train.csv are split",
            &["0.5 AS churn"],
        ),
        (
            of_table(&dated),
            "--id id",
            "is a guess",
            &["EXCLUDE (species)"],
        ),
        (
            of_table(&dated.replace("tree,day", "tree_id,day")),
            "",
            "rows with equal `tree_id` stay in one part of the split",
            &["# If you split by `day`, remove the check of `tree_id` below."],
        ),
        (
            of_table(&visits),
            "--id patient_id",
            "`patient_id` has 20 values in 60 rows, so it does not identify a row",
            &["groups: patient_id", "- align: row_id"],
        ),
        (
            layout(&|at| format!("p{at}.jpg"), &|at| {
                format!("images/p{at}.{}", ["jpg", "JPG"][usize::from(at % 4 == 0)])
            }),
            "",
            "labels.csv has 10 rows without a file in `images/*.{JPG,jpg}`; the names must be equal",
            &["# CHOOSE: 10 rows of labelled without a file"],
        ),
        (
            folders(["jpg", "png"]).file("labels.xlsx", "PK"),
            "",
            "labels.xlsx cannot be read as a table: it is a spreadsheet; convert it to CSV",
            &["label"],
        ),
        (
            of_table(&remarks),
            "",
            "the test part has only about 6 rows",
            &[
                "EXCLUDE (passed)",
                "CHOOSE the split. Here, both parts have each value of `passed` in the same fraction",
                "# CHOOSE: the test part has only about 6 rows",
            ],
        ),
        (
            of_table(&remarks),
            "--target comment",
            "",
            &["metric: { accuracy: comment }"],
        ),
        (
            of_table(&prices),
            "",
            "train.csv has numbers with decimal commas; the pipeline converts them, for example",
            &[
                "CAST(replace(replace(\"Preis\", '.', ''), ',', '.') AS DOUBLE) AS \"Preis\"",
                "root_mean_squared_error: Preis",
                "CHOOSE the split. Here, rows are drawn at random.",
            ],
        ),
        (
            of_table(&gekauft),
            "--metric roc_auc --target gekauft",
            "a higher prediction means that `ja` is more probable; to predict `nein`, write `gekauft = 'nein' AS gekauft`",
            &["SELECT id, gekauft = 'ja' AS gekauft FROM test"],
        ),
        (
            of_table(&gekauft.replace("nein", "zz").replace("ja", "a")),
            "--metric log_loss --target gekauft",
            "a higher prediction means that `a` is more probable",
            &["gekauft = 'a' AS gekauft"],
        ),
        (
            Archive::new().file("d.csv", in_euros(0x80)),
            "",
            "d.csv is not UTF-8, so it is read as `windows-1252`",
            &["encoding: windows-1252", "Preis (€)"],
        ),
        (
            Archive::new().file("d.csv", in_euros(0x81)),
            "",
            "d.csv has a column `Preis (\\u{81})` whose name contains a control character; rename it",
            &[],
        ),
        (
            Archive::new().file("d.csv", in_euros(0x81)),
            "--target gekauft",
            "d.csv has a column `Preis (\\u{81})` whose name contains a control character; rename it. d.csv has id,",
            &[],
        ),
        (
            layout(&|at| format!("img_{at}.jpg"), &|at| {
                format!("fotos/IMG_{at}.JPG")
            }),
            "",
            "join them with `lower(f.name) = lower(t.\"file\")`",
            &["fotos: { files: fotos/*.JPG }"],
        ),
        (
            Archive::new().file("d.csv.gz", "gzip"),
            "",
            "it is compressed; decompress it before you create the bundle",
            &[],
        ),
    ];
    for (number, (archive, choices, message, parts)) in cases.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        sandbox.bundle("case", &archive.bytes());
        let new = [
            "pipeline",
            "new",
            "case",
            "--source",
            "source",
            "-o",
            "pipelines",
        ];
        let choices: Vec<&str> = choices.split_whitespace().collect();
        let ended = sandbox.prep(&[&new[..], &choices].concat());
        ended.stderr_has(&[message]);
        let path = sandbox.path("pipelines/case/pipeline.yaml");
        let Ok(text) = fs::read_to_string(path) else {
            assert!(parts.is_empty(), "case {number}");
            continue;
        };
        for part in parts {
            assert!(
                text.contains(part),
                "case {number}: {part} is not in\n{text}"
            );
        }
        assert!(!parts.is_empty(), "case {number}: {text}");
        assert!(!text.contains("left out"), "{text}");
        sandbox.run_and_count_steps("case");
        let photos = sandbox.prepared("case").join("public");
        let photos = fs::read_dir(photos).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            ["images", "photos", "files"]
                .iter()
                .any(|directory| name == *directory)
        });
        assert_eq!(
            photos.count(),
            usize::from(text.contains(" JOIN ")),
            "case {number}"
        );
    }
}

/// Messages about numbers with decimal commas contain the query that converts them.
#[test]
fn decimal_commas_have_a_hint() {
    let sandbox = Sandbox::new();
    let rows: String = (0..60).map(|at| format!("{at};{at},5\n")).collect();
    let archive = Archive::new().file("train.csv", format!("nr;preis\n{rows}"));
    sandbox.bundle("prices", &archive.bytes());
    let new = ["pipeline", "new", "source/prices.zip", "-o", "pipelines"];
    sandbox.prep(&new).code(0);
    let path = sandbox.path("pipelines/prices/pipeline.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let query = "CAST(replace(\"preis\", ',', '.') AS DOUBLE)";
    let (start, rest) = text.split_once("SELECT * REPLACE (").unwrap();
    let (_, end) = rest.split_once(" FROM all_rows").unwrap();
    let unconverted = format!("{start}SELECT * FROM all_rows{end}");
    for (text, code, hint) in [
        (
            unconverted.replace("preis: text", "preis: number"),
            4,
            format!("declare the column text and convert it in a query with `{query}`"),
        ),
        (
            unconverted,
            5,
            format!(
                "convert the decimal commas in the query of the answers, for example `{query} AS \"preis\"`"
            ),
        ),
    ] {
        fs::write(&path, text).unwrap();
        let run = [
            "run",
            "prices",
            "--source",
            "source",
            "--pipelines",
            "pipelines",
        ];
        sandbox.prep(&run).code(code).stderr_has(&[&hint]);
    }
}

/// A bundle can be named by its file. Each draft is prepared, and its sample submission is graded.
#[test]
fn drafts_are_prepared_and_graded() {
    let sandbox = Sandbox::new();
    let day = |at: usize| format!("2024-{:02}-{:02}", 1 + at / 28, 1 + at % 28);
    let rows = (0..300).map(|at| format!("s{},{},{}\n", at % 12, day(at), at * 7 % 31));
    let sales = format!("store_id,day,units\n{}", rows.collect::<String>());
    sandbox.bundle("sales", &Archive::new().file("sales.csv", sales).bytes());
    let new = ["pipeline", "new", "source/sales.zip", "-o", "pipelines"];
    sandbox
        .prep(&new)
        .code(0)
        .stdout_has(&["pipelines/sales/pipeline.yaml"]);
    sandbox.run_and_count_steps("sales");
    let sample = sandbox
        .prepared("sales")
        .join("public/sample_submission.csv");
    sandbox
        .prep(&["grade", "sales", sample.to_str().unwrap()])
        .code(0);
}
