//! Changes of a tree, one or two at a time, with their causes.

use super::*;

pub(crate) const CASES: &[Case] = &[
    ("nothing", |_| {}, &[]),
    (
        "crlf",
        |c| c.train(|t| t.replace('\n', "\r\n")),
        &[("line-ends", FORM)],
    ),
    (
        "cr",
        |c| c.train(|t| t.replace('\n', "\r")),
        &[("line-ends", FORM)],
    ),
    (
        "bom",
        |c| c.train(|t| format!("\u{feff}{t}")),
        &[("byte-order-mark", FORM)],
    ),
    (
        "crlf and bom",
        |c| c.train(|t| format!("\u{feff}{}", t.replace('\n', "\r\n"))),
        &[("line-ends", FORM), ("byte-order-mark", FORM)],
    ),
    (
        "latin-1",
        |c| c.put("public/names.csv", b"id,name\n1,\xe9\n2,na\xefve\n3,x\n"),
        &[("encoding", FORM)],
    ),
    (
        "utf-16",
        |c| {
            let text = fs::read_to_string(c.path("public/names.csv")).unwrap();
            let bytes: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect();
            c.put("public/names.csv", &bytes);
        },
        &[("encoding", FORM)],
    ),
    (
        "read as latin-1",
        |c| {
            c.text("public/names.csv", |t| {
                t.replace('é', "Ã©").replace('ï', "Ã¯")
            })
        },
        &[("mojibake", CONTENT)],
    ),
    (
        "semicolons",
        |c| c.text("public/names.csv", |t| t.replace(',', ";")),
        &[("delimiter", FORM)],
    ),
    (
        "quote all",
        |c| {
            c.text("public/sample_submission.csv", |t| {
                t.lines()
                    .map(|l| format!("\"{}\"\n", l.replace(',', "\",\"")))
                    .collect()
            })
        },
        &[("quoting", FORM)],
    ),
    (
        "no last line end",
        |c| c.train(|t| t.trim_end().to_owned()),
        &[("final-newline", FORM)],
    ),
    (
        "index column",
        |c| {
            c.text("public/sample_submission.csv", |t| {
                t.lines()
                    .enumerate()
                    .map(|(n, l)| {
                        if n == 0 {
                            format!(",{l}\n")
                        } else {
                            format!("{},{l}\n", n - 1)
                        }
                    })
                    .collect()
            })
        },
        &[("index-column", FORM)],
    ),
    (
        "None words",
        |c| {
            c.cells(GAP, |_, v| {
                if v.is_empty() {
                    "None".into()
                } else {
                    v.into()
                }
            })
        },
        &[("missing-words", FORM)],
    ),
    (
        "integers as floats",
        |c| {
            c.cells(GAP, |_, v| {
                if v.is_empty() {
                    v.into()
                } else {
                    format!("{v}.0")
                }
            })
        },
        &[("number-spelling", FORM)],
    ),
    (
        "last digits",
        |c| {
            c.cells(SHARE, |n, v| {
                if n % 3 == 0 {
                    f64::from_bits(v.parse::<f64>().unwrap().to_bits() + 1).to_string()
                } else {
                    v.into()
                }
            })
        },
        &[("float-last-digit", FORM)],
    ),
    (
        "single precision",
        |c| c.cells(SHARE, |_, v| v.parse::<f32>().unwrap().to_string()),
        &[("float-single", FORM)],
    ),
    (
        "four decimals",
        |c| c.cells(SHARE, |_, v| format!("{:.4}", v.parse::<f64>().unwrap())),
        &[("float-rounded", CONTENT), ("number-spelling", FORM)],
    ),
    (
        "blanks",
        |c| c.cells(KIND, |n, v| if n == 4 { format!(" {v}") } else { v.into() }),
        &[("blanks", FORM)],
    ),
    (
        "upper case",
        |c| c.train(|t| t.replace("word", "WORD")),
        &[("letter-case", CONTENT)],
    ),
    (
        "rows reversed",
        |c| c.rows(|r| r.reverse()),
        &[("row-order", NONE)],
    ),
    (
        "rows sorted",
        |c| c.rows(|r| r.sort()),
        &[("row-order", NONE)],
    ),
    (
        "answers sorted",
        |c| {
            c.text("private/test.csv", |t| {
                let mut l: Vec<&str> = t.lines().collect();
                l[1..].sort_unstable();
                l.join("\n") + "\n"
            })
        },
        &[("row-order", NONE)],
    ),
    (
        "a row less",
        |c| {
            c.rows(|r| {
                r.remove(17);
            })
        },
        &[("rows-missing", CONTENT)],
    ),
    (
        "cut off at a row",
        |c| c.rows(|r| r.truncate(100)),
        &[("rows-missing", CONTENT)],
    ),
    (
        "a row more",
        |c| c.rows(|r| r.push("zz,\"new, more\",1.5,0.5,1,1".into())),
        &[("rows-added", CONTENT)],
    ),
    (
        "a row twice",
        |c| {
            c.rows(|r| {
                let row = r[3].clone();
                r.push(row);
            })
        },
        &[("rows-repeated", CONTENT)],
    ),
    (
        "a column less",
        |c| {
            c.text("public/sample_submission.csv", |t| {
                t.lines()
                    .map(|l| format!("{}\n", l.split(',').next().unwrap()))
                    .collect()
            })
        },
        &[("columns-missing", CONTENT)],
    ),
    (
        "a column more",
        |c| {
            c.text("private/test.csv", |t| {
                t.lines().map(|l| format!("{l},9\n")).collect()
            })
        },
        &[("columns-added", ANSWERS)],
    ),
    (
        "a column renamed",
        |c| c.train(|t| t.replacen("share", "part", 1)),
        &[("columns-renamed", CONTENT)],
    ),
    (
        "columns exchanged",
        |c| {
            c.text("public/sample_submission.csv", |t| {
                t.lines()
                    .map(|l| {
                        let (a, b) = l.split_once(',').unwrap();
                        format!("{b},{a}\n")
                    })
                    .collect()
            })
        },
        &[("column-order", FORM)],
    ),
    (
        "a value",
        |c| {
            c.cells(
                LENGTH,
                |n, v| if n == 50 { "99.5".into() } else { v.into() },
            )
        },
        &[("values-changed", CONTENT)],
    ),
    (
        "a label of train",
        |c| c.cells(KIND, |n, v| if n == 50 { "7".into() } else { v.into() }),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "labels of test",
        |c| c.text("private/test.csv", |t| t.replace(",1\n", ",2\n")),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "crlf hides a label",
        |c| {
            c.text("private/test.csv", |t| {
                t.replacen(",1\n", ",0\n", 1).replace('\n', "\r\n")
            })
        },
        &[("labels-changed", ANSWERS), ("line-ends", FORM)],
    ),
    (
        "reversed rows hide a value and digits",
        |c| {
            c.cells(SHARE, |n, v| {
                if n == 9 {
                    f64::from_bits(v.parse::<f64>().unwrap().to_bits() + 1).to_string()
                } else {
                    v.into()
                }
            });
            c.cells(LENGTH, |n, v| if n == 5 { "99.5".into() } else { v.into() });
            c.rows(|r| r.reverse());
        },
        &[
            ("values-changed", CONTENT),
            ("float-last-digit", FORM),
            ("row-order", NONE),
        ],
    ),
    (
        "another seed",
        |c| c.again(1, 0.2),
        &[("other-split", ANSWERS), ("files-other-part", ANSWERS)],
    ),
    (
        "another size",
        |c| c.again(0, 0.1),
        &[("other-split", ANSWERS), ("files-other-part", ANSWERS)],
    ),
    ("stratified", |c| c.divide(&parts(0, 0.2, true)), SPLIT),
    (
        "unshuffled",
        |c| {
            c.divide(&Split {
                train: (0..160).collect(),
                test: (160..200).collect(),
            })
        },
        SPLIT,
    ),
    (
        "no known split",
        |c| {
            c.divide(&Split {
                train: (0..200).filter(|n| n % 5 != 2).collect(),
                test: (0..200).filter(|n| n % 5 == 2).collect(),
            })
        },
        SPLIT,
    ),
    (
        "parts exchanged",
        |c| {
            let parts = parts(0, 0.2, false);
            c.divide(&Split {
                train: parts.test,
                test: parts.train,
            });
        },
        &[("parts-swapped", ANSWERS), ("files-other-part", ANSWERS)],
    ),
    (
        "pandas 1.5",
        |c| c.put("public/places.csv", &recorded("pandas-1.5.3/table.csv")),
        &[("missing-words", FORM)],
    ),
    (
        "pandas 3.1",
        |c| {
            c.put(
                "public/places.csv",
                &recorded("pandas-3.1.1+pyarrow-26.0.1/table.csv"),
            )
        },
        &[("float-last-digit", FORM)],
    ),
    (
        "fastparquet 2023",
        |c| c.put("public/events.parquet", &fastparquet("2023.10.1+2.2.2")),
        &[("parquet-writer", NONE)],
    ),
    (
        "fastparquet 2026, pandas 3",
        |c| c.put("public/events.parquet", &fastparquet("2026.9.0+3.1.1")),
        &[("parquet-writer", NONE)],
    ),
    (
        "pyarrow 12",
        |c| {
            c.put(
                "public/events.parquet",
                &recorded("pandas-2.0.3+pyarrow-12.0.1/numbers.parquet"),
            )
        },
        &[("parquet-writer", NONE)],
    ),
    (
        "pyarrow 17",
        |c| {
            c.put(
                "public/events.parquet",
                &recorded("pandas-2.2.3+pyarrow-17.0.0/numbers.parquet"),
            )
        },
        &[("parquet-writer", NONE)],
    ),
    (
        "pyarrow 26",
        |c| {
            c.put(
                "public/events.parquet",
                &recorded("pandas-3.1.1+pyarrow-26.0.1/numbers.parquet"),
            )
        },
        &[("parquet-writer", NONE)],
    ),
    (
        "json without spaces",
        |c| {
            c.text("public/meta.json", |t| {
                t.replace(": ", ":").replace(", ", ",")
            })
        },
        &[("document-layout", FORM)],
    ),
    (
        "json keys",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"c": "text", "a": 1, "b": [{"id": 1, "x": 0.5}, {"id": 2, "x": 1.5}]}"#,
            )
        },
        &[("key-order", FORM)],
    ),
    (
        "json value",
        |c| c.text("public/meta.json", |t| t.replace("1.5", "1.75")),
        &[("values-changed", CONTENT)],
    ),
    (
        "json order",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"a": 1, "b": [{"id": 2, "x": 1.5}, {"id": 1, "x": 0.5}], "c": "text"}"#,
            )
        },
        &[("row-order", NONE)],
    ),
    (
        "json item",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"a": 1, "b": [{"id": 1, "x": 0.5}], "c": "text"}"#,
            )
        },
        &[("rows-missing", CONTENT)],
    ),
    (
        "json lines",
        |c| {
            c.text("public/rows.jsonl", |t| {
                t.replace("\"id\": 2, \"kind\": \"y\"", "\"kind\": \"y\", \"id\": 2")
            })
        },
        &[("key-order", FORM)],
    ),
    (
        "json lines' label",
        |c| c.text("public/rows.jsonl", |t| t.replace("\"y\"", "\"z\"")),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "a line of text",
        |c| c.text("public/notes.txt", |t| t.replace("two", "2wo")),
        &[("values-changed", CONTENT)],
    ),
    (
        "an image packed again",
        |c| {
            let image = c.image();
            let number: u32 = image.file_stem().unwrap().to_str().unwrap()[1..]
                .parse()
                .unwrap();
            fs::write(
                image,
                png(png::ColorType::Rgb, png::Compression::High, number as u8),
            )
            .unwrap();
        },
        &[("image-bytes", FORM)],
    ),
    (
        "an image with alpha",
        |c| {
            fs::write(
                c.image(),
                png(png::ColorType::Rgba, png::Compression::Fast, 77),
            )
            .unwrap();
        },
        &[("image-pixels", CONTENT)],
    ),
    (
        "half an image",
        |c| {
            let image = c.image();
            let bytes = fs::read(&image).unwrap();
            fs::write(image, &bytes[..bytes.len() / 2]).unwrap();
        },
        &[("files-cut-off", CONTENT)],
    ),
    (
        "a spoiled image",
        |c| {
            let image = c.image();
            let mut bytes = fs::read(&image).unwrap();
            bytes[20] ^= 0xff;
            fs::write(image, bytes).unwrap();
        },
        &[("image-damaged", CONTENT)],
    ),
    (
        "no image",
        |c| fs::remove_file(c.image()).unwrap(),
        &[("files-missing", CONTENT)],
    ),
    (
        "an empty image",
        |c| fs::write(c.image(), b"").unwrap(),
        &[("files-empty", CONTENT)],
    ),
    (
        "an image renamed",
        |c| {
            let image = c.image();
            fs::rename(&image, image.with_file_name("other.png")).unwrap();
        },
        &[("files-renamed", CONTENT)],
    ),
    (
        "an image in capitals",
        |c| {
            let image = c.image();
            let name = image.file_name().unwrap().to_str().unwrap().to_uppercase();
            fs::rename(&image, image.with_file_name(name)).unwrap();
        },
        &[("file-names-case", FORM)],
    ),
    (
        "an image in capitals hides a spoiled one",
        |c| {
            let image = c.image();
            let mut bytes = fs::read(&image).unwrap();
            bytes[20] ^= 0x0f;
            let name = image.file_name().unwrap().to_str().unwrap().to_uppercase();
            fs::write(image.with_file_name(name), bytes).unwrap();
            fs::remove_file(image).unwrap();
        },
        &[("file-names-case", FORM), ("image-damaged", CONTENT)],
    ),
    (
        "answers in capitals hide a label",
        |c| {
            let answers = c.path("private/test.csv");
            let text = fs::read_to_string(&answers).unwrap();
            let (head, last) = text.trim_end().rsplit_once(',').unwrap();
            let other = if last == "1" { 0 } else { 1 };
            fs::write(c.path("private/Test.csv"), format!("{head},{other}\n")).unwrap();
            fs::remove_file(answers).unwrap();
        },
        &[("file-names-case", FORM), ("labels-changed", ANSWERS)],
    ),
    (
        "an unpacked archive hides a change",
        |c| {
            fs::create_dir_all(c.path("public/more/x")).unwrap();
            fs::remove_file(c.path("public/more.zip")).unwrap();
            c.put("public/more/x/1.txt", b"one");
            c.put("public/more/x/2.txt", b"twO");
        },
        &[("archive-unpacked", FORM), ("letter-case", CONTENT)],
    ),
    (
        "a row twice, with another label",
        |c| {
            c.rows(|rows| {
                let (head, label) = rows[8].rsplit_once(',').unwrap();
                rows[8] = format!("{head},{}", if label == "1" { 2 } else { 1 });
                rows.push(rows[8].clone());
            })
        },
        &[("labels-changed", ANSWERS), ("rows-repeated", CONTENT)],
    ),
    (
        "an item less hides a label",
        |c| {
            c.text("public/list.json", |t| {
                t.replace("{\"id\": \"b\", \"kind\": 1}, ", "")
                    .replace("\"kind\": 2", "\"kind\": 0")
            })
        },
        &[("labels-changed", ANSWERS), ("rows-missing", CONTENT)],
    ),
    (
        "zeros that a text begins with",
        |c| c.text("public/codes.csv", |t| t.replace("007", "7")),
        &[("leading-zeros", CONTENT)],
    ),
    (
        "a text with an e between digits",
        |c| c.text("public/codes.csv", |t| t.replace("1e5", "100000")),
        &[("values-changed", CONTENT)],
    ),
    (
        "a code without its zero",
        |c| c.text("public/codes.csv", |t| t.replace(",08\n", ",8\n")),
        &[("leading-zeros", CONTENT)],
    ),
    (
        "a space before an id",
        |c| c.text("private/test.csv", |t| t.replacen("\na", "\n a", 1)),
        &[("values-changed", ANSWERS)],
    ),
    (
        "a file more",
        |c| c.put("public/labels.csv", b"id,kind\n1,1\n"),
        &[("files-surplus", CONTENT)],
    ),
    (
        "no answers",
        |c| fs::remove_file(c.path("private/test.csv")).unwrap(),
        &[("files-missing", ANSWERS)],
    ),
    (
        "archive packed again",
        |c| {
            c.put(
                "public/more.zip",
                &zip(&[("x/2.txt", b"two"), ("x/1.txt", b"one")]),
            )
        },
        &[("archive-repacked", NONE)],
    ),
    (
        "archive changed",
        |c| {
            c.put(
                "public/more.zip",
                &zip(&[("x/1.txt", b"one"), ("x/2.txt", b"2wo")]),
            )
        },
        &[("values-changed", CONTENT)],
    ),
    (
        "archive unpacked",
        |c| {
            fs::remove_file(c.path("public/more.zip")).unwrap();
            fs::create_dir_all(c.path("public/more/x")).unwrap();
            c.put("public/more/x/1.txt", b"one");
            c.put("public/more/x/2.txt", b"two");
        },
        &[("archive-unpacked", FORM)],
    ),
    (
        "other bytes",
        |c| c.put("public/weights.bin", &[1, 2, 3, 4, 0, 6, 7, 8, 9, 10]),
        &[("files-changed", CONTENT)],
    ),
    (
        "not the format of its name",
        |c| c.put("public/meta.json", b"<html>no</html>"),
        &[("files-damaged", CONTENT)],
    ),
];
