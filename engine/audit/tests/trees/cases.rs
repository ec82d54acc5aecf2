//! Single changes and pairs of changes in a tree, with the causes that the audit must report.

use super::*;

pub(crate) const CASES: &[Case] = &[
    ("no change", |_| {}, &[]),
    (
        "line endings CR LF",
        |c| c.train(|t| t.replace('\n', "\r\n")),
        &[("line-ends", FORM)],
    ),
    (
        "line endings CR",
        |c| c.train(|t| t.replace('\n', "\r")),
        &[("line-ends", FORM)],
    ),
    (
        "byte order mark",
        |c| c.train(|t| format!("\u{feff}{t}")),
        &[("byte-order-mark", FORM)],
    ),
    (
        "line endings CR LF and byte order mark",
        |c| c.train(|t| format!("\u{feff}{}", t.replace('\n', "\r\n"))),
        &[("line-ends", FORM), ("byte-order-mark", FORM)],
    ),
    (
        "encoding Latin-1",
        |c| c.put("public/names.csv", b"id,name\n1,\xe9\n2,na\xefve\n3,x\n"),
        &[("encoding", FORM)],
    ),
    (
        "encoding UTF-16",
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
        "UTF-8 decoded as Latin-1",
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
        "a table of a spreadsheet with decimal commas",
        |c| {
            c.train(|t| {
                let line = |l: &str| -> String {
                    let (mut in_quotes, mut out) = (false, String::new());
                    for letter in l.chars() {
                        in_quotes ^= letter == '"';
                        out.push(match letter {
                            ',' if !in_quotes => ';',
                            '.' if !in_quotes => ',',
                            letter => letter,
                        });
                    }
                    out + "\n"
                };
                t.lines().map(line).collect()
            })
        },
        &[
            ("delimiter", FORM),
            ("quoting", FORM),
            ("decimal-comma", FORM),
        ],
    ),
    (
        "files of operating systems",
        |c| {
            c.put("public/.DS_Store", b"\0\0\0\x01Bud1");
            c.put("public/Thumbs.db", b"\xd0\xcf\x11\xe0");
            c.put("public/._train.csv", b"\0\x05\x16\x07");
        },
        &[("system-files", NONE)],
    ),
    (
        "all fields quoted",
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
        "no line break at the end",
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
        "`None` for missing values",
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
        "changed last digits",
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
        "numbers with four decimals",
        |c| c.cells(SHARE, |_, v| format!("{:.4}", v.parse::<f64>().unwrap())),
        &[("float-rounded", CONTENT), ("number-spelling", FORM)],
    ),
    (
        "a leading space",
        |c| c.cells(KIND, |n, v| if n == 4 { format!(" {v}") } else { v.into() }),
        &[("blanks", FORM)],
    ),
    (
        "upper case",
        |c| c.train(|t| t.replace("word", "WORD")),
        &[("letter-case", CONTENT)],
    ),
    (
        "rows in reverse order",
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
        "a missing row",
        |c| {
            c.rows(|r| {
                r.remove(17);
            })
        },
        &[("rows-missing", CONTENT)],
    ),
    (
        "truncated after a row",
        |c| c.rows(|r| r.truncate(100)),
        &[("rows-missing", CONTENT)],
    ),
    (
        "an additional row",
        |c| c.rows(|r| r.push("zz,\"new, more\",1.5,0.5,1,1".into())),
        &[("rows-added", CONTENT)],
    ),
    (
        "a repeated row",
        |c| {
            c.rows(|r| {
                let row = r[3].clone();
                r.push(row);
            })
        },
        &[("rows-repeated", CONTENT)],
    ),
    (
        "a missing column",
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
        "an additional column",
        |c| {
            c.text("private/test.csv", |t| {
                t.lines().map(|l| format!("{l},9\n")).collect()
            })
        },
        &[("columns-added", ANSWERS)],
    ),
    (
        "a renamed column",
        |c| c.train(|t| t.replacen("share", "part", 1)),
        &[("columns-renamed", CONTENT)],
    ),
    (
        "columns in a different order",
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
        "a changed value",
        |c| {
            c.cells(
                LENGTH,
                |n, v| if n == 50 { "99.5".into() } else { v.into() },
            )
        },
        &[("values-changed", CONTENT)],
    ),
    (
        "a changed label of train",
        |c| c.cells(KIND, |n, v| if n == 50 { "7".into() } else { v.into() }),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "changed labels of test",
        |c| c.text("private/test.csv", |t| t.replace(",1\n", ",2\n")),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "line endings and a changed label",
        |c| {
            c.text("private/test.csv", |t| {
                t.replacen(",1\n", ",0\n", 1).replace('\n', "\r\n")
            })
        },
        &[("labels-changed", ANSWERS), ("line-ends", FORM)],
    ),
    (
        "reversed rows, a changed value and changed last digits",
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
        "a different seed",
        |c| c.write_again(1, 0.2),
        &[("other-split", ANSWERS), ("files-other-part", ANSWERS)],
    ),
    (
        "a different test size",
        |c| c.write_again(0, 0.1),
        &[("other-split", ANSWERS), ("files-other-part", ANSWERS)],
    ),
    ("stratified", |c| c.write_parts(&parts(0, 0.2, true)), SPLIT),
    (
        "unshuffled",
        |c| {
            c.write_parts(&Split {
                train: (0..160).collect(),
                test: (160..200).collect(),
            })
        },
        SPLIT,
    ),
    (
        "an unknown split",
        |c| {
            c.write_parts(&Split {
                train: (0..200).filter(|n| n % 5 != 2).collect(),
                test: (0..200).filter(|n| n % 5 == 2).collect(),
            })
        },
        SPLIT,
    ),
    (
        "swapped parts",
        |c| {
            let parts = parts(0, 0.2, false);
            c.write_parts(&Split {
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
        "JSON without spaces",
        |c| {
            c.text("public/meta.json", |t| {
                t.replace(": ", ":").replace(", ", ",")
            })
        },
        &[("document-layout", FORM)],
    ),
    (
        "JSON with keys in a different order",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"c": "text", "a": 1, "b": [{"id": 1, "x": 0.5}, {"id": 2, "x": 1.5}]}"#,
            )
        },
        &[("key-order", FORM)],
    ),
    (
        "a changed JSON value",
        |c| c.text("public/meta.json", |t| t.replace("1.5", "1.75")),
        &[("values-changed", CONTENT)],
    ),
    (
        "JSON items in a different order",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"a": 1, "b": [{"id": 2, "x": 1.5}, {"id": 1, "x": 0.5}], "c": "text"}"#,
            )
        },
        &[("row-order", NONE)],
    ),
    (
        "a missing JSON item",
        |c| {
            c.put(
                "public/meta.json",
                br#"{"a": 1, "b": [{"id": 1, "x": 0.5}], "c": "text"}"#,
            )
        },
        &[("rows-missing", CONTENT)],
    ),
    (
        "JSON lines with keys in a different order",
        |c| {
            c.text("public/rows.jsonl", |t| {
                t.replace("\"id\": 2, \"kind\": \"y\"", "\"kind\": \"y\", \"id\": 2")
            })
        },
        &[("key-order", FORM)],
    ),
    (
        "a changed label in JSON lines",
        |c| c.text("public/rows.jsonl", |t| t.replace("\"y\"", "\"z\"")),
        &[("labels-changed", ANSWERS)],
    ),
    (
        "a changed line of text",
        |c| c.text("public/notes.txt", |t| t.replace("two", "2wo")),
        &[("values-changed", CONTENT)],
    ),
    (
        "an image encoded again",
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
        "an image with an alpha channel",
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
        "a truncated image",
        |c| {
            let image = c.image();
            let bytes = fs::read(&image).unwrap();
            fs::write(image, &bytes[..bytes.len() / 2]).unwrap();
        },
        &[("files-cut-off", CONTENT)],
    ),
    (
        "a damaged image",
        |c| {
            let image = c.image();
            let mut bytes = fs::read(&image).unwrap();
            bytes[20] ^= 0xff;
            fs::write(image, bytes).unwrap();
        },
        &[("image-damaged", CONTENT)],
    ),
    (
        "a missing image",
        |c| fs::remove_file(c.image()).unwrap(),
        &[("files-missing", CONTENT)],
    ),
    (
        "an empty image",
        |c| fs::write(c.image(), b"").unwrap(),
        &[("files-empty", CONTENT)],
    ),
    (
        "a renamed image",
        |c| {
            let image = c.image();
            fs::rename(&image, image.with_file_name("other.png")).unwrap();
        },
        &[("files-renamed", CONTENT)],
    ),
    (
        "an image with its name in upper case",
        |c| {
            let image = c.image();
            let name = image.file_name().unwrap().to_str().unwrap().to_uppercase();
            fs::rename(&image, image.with_file_name(name)).unwrap();
        },
        &[("file-names-case", CONTENT)],
    ),
    (
        "a damaged image with its name in upper case",
        |c| {
            let image = c.image();
            let mut bytes = fs::read(&image).unwrap();
            bytes[20] ^= 0x0f;
            let name = image.file_name().unwrap().to_str().unwrap().to_uppercase();
            fs::write(image.with_file_name(name), bytes).unwrap();
            fs::remove_file(image).unwrap();
        },
        &[("file-names-case", CONTENT), ("image-damaged", CONTENT)],
    ),
    (
        "a changed label in answers with a capitalized name",
        |c| {
            let answers = c.path("private/test.csv");
            let text = fs::read_to_string(&answers).unwrap();
            let (head, last) = text.trim_end().rsplit_once(',').unwrap();
            let other = if last == "1" { 0 } else { 1 };
            fs::write(c.path("private/Test.csv"), format!("{head},{other}\n")).unwrap();
            fs::remove_file(answers).unwrap();
        },
        &[("file-names-case", CONTENT), ("labels-changed", ANSWERS)],
    ),
    (
        "a changed member of an unpacked archive",
        |c| {
            fs::create_dir_all(c.path("public/more/x")).unwrap();
            fs::remove_file(c.path("public/more.zip")).unwrap();
            c.put("public/more/x/1.txt", b"one");
            c.put("public/more/x/2.txt", b"twO");
        },
        &[("archive-unpacked", FORM), ("letter-case", CONTENT)],
    ),
    (
        "a repeated row with a changed label",
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
        "a missing item and a changed label",
        |c| {
            c.text("public/list.json", |t| {
                t.replace("{\"id\": \"b\", \"kind\": 1}, ", "")
                    .replace("\"kind\": 2", "\"kind\": 0")
            })
        },
        &[("labels-changed", ANSWERS), ("rows-missing", CONTENT)],
    ),
    (
        "missing leading zeros in a column of text",
        |c| c.text("public/codes.csv", |t| t.replace("007", "7")),
        &[("leading-zeros", CONTENT)],
    ),
    (
        "a text that looks like a number with an exponent",
        |c| c.text("public/codes.csv", |t| t.replace("1e5", "100000")),
        &[("values-changed", CONTENT)],
    ),
    (
        "a missing leading zero in a column of numbers",
        |c| c.text("public/codes.csv", |t| t.replace(",08\n", ",8\n")),
        &[("leading-zeros", CONTENT)],
    ),
    (
        "a space before an id",
        |c| c.text("private/test.csv", |t| t.replacen("\na", "\n a", 1)),
        &[("values-changed", ANSWERS)],
    ),
    (
        "an additional file",
        |c| c.put("public/labels.csv", b"id,kind\n1,1\n"),
        &[("files-surplus", CONTENT)],
    ),
    (
        "missing answers",
        |c| fs::remove_file(c.path("private/test.csv")).unwrap(),
        &[("files-missing", ANSWERS)],
    ),
    (
        "an archive written again",
        |c| {
            c.put(
                "public/more.zip",
                &zip(&[("x/2.txt", b"two"), ("x/1.txt", b"one")]),
            )
        },
        &[("archive-repacked", NONE)],
    ),
    (
        "a changed member of an archive",
        |c| {
            c.put(
                "public/more.zip",
                &zip(&[("x/1.txt", b"one"), ("x/2.txt", b"2wo")]),
            )
        },
        &[("values-changed", CONTENT)],
    ),
    (
        "an unpacked archive",
        |c| {
            fs::remove_file(c.path("public/more.zip")).unwrap();
            fs::create_dir_all(c.path("public/more/x")).unwrap();
            c.put("public/more/x/1.txt", b"one");
            c.put("public/more/x/2.txt", b"two");
        },
        &[("archive-unpacked", FORM)],
    ),
    (
        "changed bytes",
        |c| c.put("public/weights.bin", &[1, 2, 3, 4, 0, 6, 7, 8, 9, 10]),
        &[("files-changed", CONTENT)],
    ),
    (
        "a file without the format of its suffix",
        |c| c.put("public/meta.json", b"<html>no</html>"),
        &[("files-damaged", CONTENT)],
    ),
];
