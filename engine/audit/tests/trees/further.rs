//! Changes whose causes are easily confused, and harmless changes that look like harmful ones.

use std::io::Write as _;

use super::*;

pub(crate) const NUMBERED: &[u8] = b"id,size\n0071,a\n0250,b\n1833,c\n0009,d\n";

fn images(c: &Change<'_>, part: &str) -> Vec<PathBuf> {
    let folder = fs::read_dir(c.path("public").join(part)).unwrap();
    let mut all: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn swap(one: &Path, other: &Path) {
    let (a, b) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    fs::write(one, b).unwrap();
    fs::write(other, a).unwrap();
}

fn answers(c: &Change<'_>) -> Vec<(String, String)> {
    let text = fs::read_to_string(c.path("private/test.csv")).unwrap();
    let rows = text.lines().skip(1).filter_map(|line| line.split_once(','));
    rows.map(|(id, kind)| (id.to_owned(), kind.to_owned()))
        .collect()
}

pub(crate) fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) const FURTHER: &[Case] = &[
    (
        "booleans in lower case",
        |c| c.text("public/flags.csv", |t| t.to_lowercase()),
        &[("boolean-words", FORM)],
    ),
    (
        "a changed boolean",
        |c| c.text("public/flags.csv", |t| t.replacen("True", "False", 1)),
        &[("values-changed", CONTENT)],
    ),
    (
        "swapped images of the train part",
        |c| {
            let all = images(c, "train");
            swap(&all[0], &all[1]);
        },
        &[("files-swapped", CONTENT)],
    ),
    (
        "swapped images of the test part",
        |c| {
            let all = images(c, "test");
            swap(&all[0], &all[1]);
        },
        &[("files-swapped", ANSWERS)],
    ),
    (
        "a file with the content of a different, unchanged file",
        |c| c.put("public/large-1.bin", &[2; 700]),
        &[("files-swapped", CONTENT)],
    ),
    (
        "a short file that happens to equal a different one",
        |c| c.put("public/short-1.bin", b"bb"),
        &[("files-changed", CONTENT)],
    ),
    (
        "bytes after the end of an image",
        |c| {
            let place = c.image();
            let content = [fs::read(&place).unwrap(), b"<!-- -->".to_vec()].concat();
            fs::write(place, content).unwrap();
        },
        &[("bytes-appended", CONTENT)],
    ),
    (
        "empty lines after a table",
        |c| c.train(|t| t + "\n\n"),
        &[("final-newline", FORM)],
    ),
    (
        "rows after a table",
        |c| c.text("public/codes.csv", |t| t + "4,x13,9\n"),
        &[("rows-added", CONTENT)],
    ),
    (
        "a compressed table with the suffix .gz",
        |c| {
            let content = fs::read(c.path("public/train.csv")).unwrap();
            c.put("public/train.csv.gz", &gzipped(&content));
            fs::remove_file(c.path("public/train.csv")).unwrap();
        },
        &[("file-packed", FORM)],
    ),
    (
        "ids without their leading zeros",
        |c| {
            c.put(
                "public/numbered.csv",
                b"id,size\n71,a\n250,b\n1833,c\n9,d\n",
            )
        },
        &[("leading-zeros", CONTENT)],
    ),
    (
        "ids without their leading zeros, rows sorted by id",
        |c| {
            c.put(
                "public/numbered.csv",
                b"id,size\n9,d\n71,a\n250,b\n1833,c\n",
            )
        },
        &[("leading-zeros", CONTENT), ("row-order", NONE)],
    ),
    (
        "ids with leading zeros in a different order",
        |c| {
            c.put(
                "public/numbered.csv",
                b"id,size\n0009,d\n0071,a\n0250,b\n1833,c\n",
            )
        },
        &[("row-order", NONE)],
    ),
    (
        "different ids without leading zeros",
        |c| {
            c.put(
                "public/numbered.csv",
                b"id,size\n9,d\n71,a\n251,b\n1833,c\n",
            )
        },
        &[("rows-added", CONTENT), ("rows-missing", CONTENT)],
    ),
    (
        "ids as floats",
        |c| c.text("public/names.csv", |t| t.replace("2,", "2.0,")),
        &[("number-spelling", CONTENT)],
    ),
    (
        "answers in the training table",
        |c| {
            let rows = answers(c).into_iter();
            let rows: String = rows
                .map(|(id, kind)| format!("{id},x,1.5,0.5,,{kind}\n"))
                .collect();
            c.train(|t| t + &rows);
        },
        &[("rows-added", ANSWERS)],
    ),
    (
        "answers in an archive",
        |c| {
            let content = fs::read(c.path("private/test.csv")).unwrap();
            c.put(
                "public/backup.zip",
                &zip(&[("a.txt", b"x"), ("old/labels.csv", &content)]),
            );
        },
        &[("files-surplus", ANSWERS)],
    ),
    (
        "answers in a JSON object by id",
        |c| {
            let rows: Vec<String> = answers(c)
                .iter()
                .map(|(id, kind)| format!("\"{id}\": {kind}"))
                .collect();
            c.put(
                "public/solution.json",
                format!("{{{}}}", rows.join(", ")).as_bytes(),
            );
        },
        &[("files-surplus", ANSWERS)],
    ),
    (
        "numbers that are not answers in a JSON object by id",
        |c| {
            let rows = answers(c).into_iter().enumerate();
            let rows: Vec<String> = rows
                .map(|(number, (id, _))| format!("\"{id}\": {}", number % 3))
                .collect();
            c.put(
                "public/solution.json",
                format!("{{{}}}", rows.join(", ")).as_bytes(),
            );
        },
        &[("files-surplus", CONTENT)],
    ),
    (
        "codes of the answers in the test table",
        |c| {
            let mut codes: Vec<String> = answers(c)
                .iter()
                .map(|(_, kind)| format!("c{kind}"))
                .collect();
            codes.insert(0, "code".to_owned());
            c.text("public/test.csv", |t| {
                let rows = t.lines().zip(&codes);
                rows.map(|(line, code)| format!("{line},{code}\n"))
                    .collect()
            });
        },
        &[("columns-added", ANSWERS)],
    ),
    (
        "most answers in the sample submission",
        |c| {
            let rows = answers(c).into_iter().enumerate();
            let rows: String = rows
                .map(|(number, (id, kind))| match number % 4 {
                    0 => format!("{id},0\n"),
                    _ => format!("{id},{kind}\n"),
                })
                .collect();
            c.put(
                "public/sample_submission.csv",
                format!("id,kind\n{rows}").as_bytes(),
            );
        },
        &[("values-changed", ANSWERS)],
    ),
    (
        "a different default in the sample submission",
        |c| {
            c.text("public/sample_submission.csv", |t| {
                t.replace(",0\n", ",1\n")
            })
        },
        &[("values-changed", CONTENT)],
    ),
    (
        "renamed answers",
        |c| fs::rename(c.path("private/test.csv"), c.path("private/answers.csv")).unwrap(),
        &[("files-renamed", ANSWERS)],
    ),
    (
        "an HTML page instead of the answers",
        |c| {
            c.put(
                "private/test.csv",
                b"<!DOCTYPE html><html>404, not found</html>",
            )
        },
        &[("files-damaged", ANSWERS)],
    ),
    (
        "a byte order mark before a JSON document",
        |c| {
            let content = fs::read(c.path("public/meta.json")).unwrap();
            c.put(
                "public/meta.json",
                &[b"\xef\xbb\xbf".to_vec(), content].concat(),
            );
        },
        &[("byte-order-mark", FORM)],
    ),
    (
        "JSON records in a list instead of lines",
        |c| {
            c.text("public/rows.jsonl", |t| {
                format!("[{}]", t.lines().collect::<Vec<_>>().join(", "))
            })
        },
        &[("document-layout", FORM)],
    ),
    (
        "ids as floats in rows in a different order",
        |c| {
            c.put(
                "public/names.csv",
                "id,name\n3.0,x\n1.0,é\n2.0,naïve\n".as_bytes(),
            )
        },
        &[("number-spelling", CONTENT), ("row-order", NONE)],
    ),
    (
        "spaces after ids in rows in a different order",
        |c| {
            c.put(
                "public/numbered.csv",
                b"id,size\n0009 ,d\n0071 ,a\n0250 ,b\n1833 ,c\n",
            )
        },
        &[("blanks", CONTENT), ("row-order", NONE)],
    ),
    (
        "a JSON document with the suffix .csv",
        |c| c.put("public/numbered.csv", b"[{\"id\": 1, \"size\": \"a\"}]"),
        &[("files-damaged", CONTENT)],
    ),
    (
        "an additional key in each record",
        |c| {
            c.text("public/rows.jsonl", |t| {
                t.replace("}\n", ", \"more\": 1}\n")
            })
        },
        &[("columns-added", CONTENT)],
    ),
    (
        "line endings of a text in an unknown format",
        |c| c.text("public/page.rst", |t| t.replace('\n', "\r\n")),
        &[("line-ends", FORM)],
    ),
    (
        "a changed word of a text in an unknown format",
        |c| c.text("public/page.rst", |t| t.replace("more", "less")),
        &[("files-changed", CONTENT)],
    ),
    (
        "an archive member in the other part",
        |c| {
            c.put(
                "public/parts.zip",
                &zip(&[("train/1.bin", &[5; 300]), ("train/2.bin", &[6; 300])]),
            )
        },
        &[("files-other-part", ANSWERS)],
    ),
    (
        "a renamed archive member",
        |c| {
            c.put(
                "public/parts.zip",
                &zip(&[("train/1.bin", &[5; 300]), ("test/3.bin", &[6; 300])]),
            )
        },
        &[("files-renamed", CONTENT)],
    ),
    (
        "an unpacked table",
        |c| {
            fs::remove_file(c.path("public/packed.csv.gz")).unwrap();
            c.put("public/packed.csv", b"id,size\n1,a\n2,b\n");
        },
        &[("file-packed", FORM)],
    ),
    (
        "an unpacked and changed table",
        |c| {
            fs::remove_file(c.path("public/packed.csv.gz")).unwrap();
            c.put("public/packed.csv", b"id,size\n1,a\n2,c\n");
        },
        &[("file-packed", FORM), ("values-changed", CONTENT)],
    ),
    (
        "answers without ids",
        |c| {
            let rows: String = answers(c)
                .iter()
                .map(|(_, kind)| format!("{kind}\n"))
                .collect();
            c.put("public/more.txt", rows.as_bytes());
        },
        &[("files-surplus", ANSWERS)],
    ),
    (
        "numbers that are not answers, without ids",
        |c| {
            let rows: String = (0..answers(c).len())
                .map(|n| format!("{}\n", n % 3))
                .collect();
            c.put("public/more.txt", rows.as_bytes());
        },
        &[("files-surplus", CONTENT)],
    ),
    (
        "answers in file names",
        |c| {
            for (id, kind) in answers(c) {
                c.put(&format!("public/{id}_{kind}.tmp"), b".");
            }
        },
        &[("files-surplus", ANSWERS)],
    ),
    (
        "numbers that are not answers in file names",
        |c| {
            for (number, (id, _)) in answers(c).into_iter().enumerate() {
                c.put(&format!("public/{id}_{}.tmp", number % 3), b".");
            }
        },
        &[("files-surplus", CONTENT)],
    ),
];
