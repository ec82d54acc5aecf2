//! Tests that data without a leak have no finding above a note, and that leaks in the same data are found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use prep_leaks::{LeakInput, LeakLevel, LeakReport};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 11
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Media {
    None,
    /// Soft light spots on a gradient, with grain.
    Scenes,
    /// A disc of any size at any position on black.
    Disc,
    /// The same bones in all pictures, slightly moved, with grain.
    XRays,
    /// Strokes on white paper.
    Writing,
    /// Half of the pictures are empty, with grain.
    Fields,
    /// A tone that becomes louder, and hiss.
    Tones,
    Hiss,
}

const MEDIA: [Media; 7] = [
    Media::Scenes,
    Media::Disc,
    Media::XRays,
    Media::Writing,
    Media::Fields,
    Media::Tones,
    Media::Hiss,
];

#[derive(Clone, Copy)]
struct Kind {
    seed: u64,
    classes: u64,
    /// Distance between neighbouring classes in the best column, in standard deviations.
    signal: f64,
    /// Number of decimals of the best column.
    decimals: usize,
    files: bool,
    json: bool,
    gaps: bool,
    text: bool,
    /// Number of locations in a column. Each location has a different mean.
    places: u64,
    media: Media,
}

const PLAIN: Kind = Kind {
    seed: 0,
    classes: 2,
    signal: 1.0,
    decimals: 6,
    files: false,
    json: false,
    gaps: false,
    text: false,
    places: 0,
    media: Media::None,
};

fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        PLAIN,
        Kind {
            signal: 1.8,
            ..PLAIN
        },
        Kind {
            signal: 2.5,
            decimals: 1,
            ..PLAIN
        },
        Kind {
            classes: 5,
            ..PLAIN
        },
        Kind {
            classes: 12,
            signal: 0.5,
            ..PLAIN
        },
        Kind {
            classes: 0,
            ..PLAIN
        },
        Kind {
            classes: 0,
            signal: 3.0,
            decimals: 1,
            ..PLAIN
        },
        Kind {
            files: true,
            ..PLAIN
        },
        Kind {
            files: true,
            classes: 6,
            signal: 2.0,
            ..PLAIN
        },
        Kind {
            files: true,
            classes: 0,
            ..PLAIN
        },
        Kind {
            json: true,
            ..PLAIN
        },
        Kind {
            json: true,
            gaps: true,
            ..PLAIN
        },
        Kind {
            gaps: true,
            ..PLAIN
        },
        Kind {
            text: true,
            ..PLAIN
        },
        Kind {
            text: true,
            classes: 4,
            json: true,
            ..PLAIN
        },
        Kind {
            places: 12,
            ..PLAIN
        },
        Kind {
            places: 40,
            ..PLAIN
        },
        Kind {
            places: 60,
            classes: 3,
            signal: 0.5,
            ..PLAIN
        },
        Kind {
            places: 30,
            classes: 0,
            gaps: true,
            ..PLAIN
        },
        Kind {
            files: true,
            json: true,
            text: true,
            gaps: true,
            places: 25,
            ..PLAIN
        },
    ];
    for (kind, media) in kinds.iter_mut().zip(MEDIA) {
        kind.media = media;
    }
    for (seed, kind) in (1..).zip(&mut kinds) {
        kind.seed = seed * 7919;
    }
    kinds
}

/// A row: id, cells, label, and class as a number.
#[derive(Clone)]
struct Row {
    id: String,
    cells: Vec<(&'static str, String)>,
    label: String,
    truth: f64,
}

fn row(kind: &Kind, random: &mut Random, means: &[f64]) -> Row {
    let place = match kind.places {
        0 => 0,
        places => random.below(places),
    };
    let shift = means
        .get(usize::try_from(place).unwrap())
        .copied()
        .unwrap_or(0.0);
    let (label, truth) = match kind.classes {
        0 => {
            let value = random.normal() + 0.3 * shift;
            (format!("{value:.4}"), value)
        }
        classes => {
            let drawn = random.unit() + 0.1 * shift;
            let class = ((drawn.clamp(0.0, 0.999)) * classes as f64).floor();
            (format!("{class}"), class)
        }
    };
    let mut cells = Vec::new();
    let best = truth * kind.signal + random.normal();
    cells.push(("reading", format!("{best:.*}", kind.decimals)));
    cells.push(("noise", format!("{:.3}", random.normal())));
    cells.push(("count", random.below(30).to_string()));
    cells.push((
        "flag",
        ["yes", "no"][usize::from(random.unit() < 0.2 + 0.1 * truth.abs().min(5.0))].to_owned(),
    ));
    if kind.places > 0 {
        cells.push(("place", format!("town{place}")));
    }
    if kind.gaps {
        let rate = 0.3 + 0.1 * truth.clamp(-2.0, 2.0);
        let cell = match random.unit() < rate {
            true => String::new(),
            false => format!("{:.2}", random.normal()),
        };
        cells.push(("sometimes", cell));
    }
    if kind.text {
        let words = [
            "the", "boat", "went", "out", "to", "sea", "and", "came", "back", "late", "again",
        ];
        let length = 5 + random.below(20);
        let text: Vec<&str> = (0..length)
            .map(|_| words[usize::try_from(random.below(words.len() as u64)).unwrap()])
            .collect();
        cells.push(("text", text.join(" ")));
    }
    Row {
        id: format!("{:010x}", random.next() & 0xff_ffff_ffff),
        cells,
        label,
        truth,
    }
}

fn table(rows: &[Row], json: bool, labels: bool) -> String {
    let mut text = String::new();
    if json {
        let records: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                let mut record = serde_json::Map::new();
                record.insert("id".to_owned(), row.id.clone().into());
                for (name, cell) in &row.cells {
                    let value = cell
                        .parse::<f64>()
                        .map_or_else(|_| cell.clone().into(), Into::into);
                    record.insert((*name).to_owned(), value);
                }
                if labels {
                    record.insert("label".to_owned(), row.label.clone().into());
                }
                record.into()
            })
            .collect();
        return serde_json::to_string(&records).unwrap();
    }
    let names: Vec<&str> = rows[0].cells.iter().map(|(name, _)| *name).collect();
    writeln!(
        text,
        "id,{}{}",
        names.join(","),
        if labels { ",label" } else { "" }
    )
    .unwrap();
    for row in rows {
        let cells: Vec<&str> = row.cells.iter().map(|(_, cell)| cell.as_str()).collect();
        write!(text, "{},{}", row.id, cells.join(",")).unwrap();
        writeln!(
            text,
            "{}",
            if labels {
                format!(",{}", row.label)
            } else {
                String::new()
            }
        )
        .unwrap();
    }
    text
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Returns the content of a file whose length depends slightly on the answer.
fn content(row: &Row, random: &mut Random) -> Vec<u8> {
    let length = (2000.0 + 100.0 * row.truth + 300.0 * random.normal()).max(100.0);
    (0..length as usize)
        .map(|_| (random.next() & 0xff) as u8)
        .collect()
}

/// Draws a picture of 48 x 48 grey levels between 0 and 255.
fn picture(media: Media, truth: f64, random: &mut Random) -> Vec<f64> {
    let side = 48;
    let mut light = vec![0.0; side * side];
    let mut draw = |of: &dyn Fn(f64, f64) -> f64| {
        for (at, one) in light.iter_mut().enumerate() {
            *one += of((at % side) as f64 / 48.0, (at / side) as f64 / 48.0);
        }
    };
    let spot = |x: f64, y: f64, wide: f64| {
        move |column: f64, row: f64| (-((column - x).powi(2) + (row - y).powi(2)) / wide).exp()
    };
    match media {
        Media::Scenes => {
            let (a, b) = (random.normal(), random.normal());
            draw(&|x, y| 110.0 + 20.0 * (a * x + b * y));
            for _ in 0..4 + random.below(5) {
                let one = spot(random.unit(), random.unit(), 0.01 + 0.1 * random.unit());
                let much = 40.0 * random.normal() + 5.0 * truth;
                draw(&|x, y| much * one(x, y));
            }
        }
        Media::Disc => {
            let (x, y, wide) = (random.unit(), random.unit(), 0.1 + 0.2 * random.unit());
            draw(&|column, row| match (column - x).hypot(row - y) < wide {
                true => 220.0,
                false => 10.0,
            });
        }
        Media::XRays => {
            for number in 0..8 {
                let at = f64::from(number) / 8.0 + 0.01 * random.normal();
                let (much, wide) = (80.0 + 8.0 * random.normal(), 0.02 + 0.003 * random.unit());
                let bent = 0.02 * random.normal();
                draw(&|x, y| much * (-(y - at - bent * x).powi(2) / wide / wide).exp());
            }
        }
        Media::Writing => {
            draw(&|_, _| 250.0);
            for _ in 0..2 + random.below(4) {
                let (x, y) = (0.2 + 0.6 * random.unit(), 0.2 + 0.6 * random.unit());
                let (dx, dy) = (random.normal(), random.normal());
                draw(&|column, row| {
                    let (u, v) = (column - x, row - y);
                    let off = (u * dy - v * dx).abs() / dx.hypot(dy);
                    match off < 0.03 && u.hypot(v) < 0.3 {
                        true => -200.0,
                        false => 0.0,
                    }
                });
            }
        }
        _ => {
            draw(&|x, _| 90.0 + 60.0 * x);
            if random.below(2) == 0 {
                let one = spot(random.unit(), random.unit(), 0.05);
                let much = 30.0 * random.normal();
                draw(&|x, y| much * one(x, y));
            }
        }
    }
    let grain = if media == Media::Disc { 0.0 } else { 3.0 };
    let with = light.iter().map(|one| one + grain * random.normal());
    with.map(|one| one.clamp(0.0, 255.0)).collect()
}

fn png(light: &[f64], side: u32, compression: png::Compression) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(compression);
    let mut writer = encoder.write_header().unwrap();
    let bytes: Vec<u8> = light.iter().map(|one| one.round() as u8).collect();
    writer.write_image_data(&bytes).unwrap();
    writer.finish().unwrap();
    out
}

fn sound(media: Media, truth: f64, random: &mut Random) -> Vec<f64> {
    let (slow, fast) = (
        1.0 + 5.0 * random.unit(),
        200.0 + 300.0 * random.unit() + truth,
    );
    let begin = random.unit();
    let sample = |at: i32| {
        let at = f64::from(at) / 4000.0;
        let tone = (0.3 + 0.2 * (slow * (at + begin) * 6.0).sin()) * (fast * at).sin();
        match media {
            Media::Tones => tone,
            _ => 0.0,
        }
    };
    (0..4000)
        .map(|at| (sample(at) + 0.05 * random.normal()).clamp(-1.0, 1.0))
        .collect()
}

fn wav(samples: &[f64]) -> Vec<u8> {
    let samples = samples.iter().map(|sample| (sample * 32767.0) as i16);
    let data: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
    let mut out = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0".to_vec();
    for field in [1_u16, 1, 4000, 0, 8000, 0, 2, 16] {
        out.extend(field.to_le_bytes());
    }
    out.extend(b"data");
    out.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    out.extend(data);
    out
}

fn medium(media: Media, truth: f64, random: &mut Random) -> Option<(&'static str, Vec<u8>)> {
    match media {
        Media::None => None,
        Media::Tones | Media::Hiss => Some(("wav", wav(&sound(media, truth, random)))),
        _ => {
            let light = picture(media, truth, random);
            Some(("png", png(&light, 48, png::Compression::Fast)))
        }
    }
}

struct GeneratedCompetition {
    folder: tempfile::TempDir,
    kind: Kind,
    train: Vec<Row>,
    test: Vec<Row>,
}

impl GeneratedCompetition {
    fn new(kind: Kind) -> GeneratedCompetition {
        let mut random = Random(kind.seed);
        let means: Vec<f64> = (0..kind.places).map(|_| random.normal()).collect();
        let mut rows = |count: usize| -> Vec<Row> {
            (0..count)
                .map(|_| row(&kind, &mut random, &means))
                .collect()
        };
        let (train, test, own) = (rows(900), rows(300), rows(200));
        let folder = crate::temporary::directory();
        let made = GeneratedCompetition {
            folder,
            kind,
            train,
            test,
        };
        made.write(&own);
        made
    }

    fn end(&self) -> &'static str {
        if self.kind.json { "json" } else { "csv" }
    }

    fn write(&self, own: &[Row]) {
        let root = self.folder.path();
        let (public, bundle, end) = (root.join("public"), root.join("bundle"), self.end());
        let json = self.kind.json;
        write(
            &public.join(format!("train.{end}")),
            table(&self.train, json, true),
        );
        write(
            &public.join(format!("test.{end}")),
            table(&self.test, json, false),
        );
        write(
            &bundle.join(format!("train.{end}")),
            table(&self.train, json, true),
        );
        write(&bundle.join(format!("test.{end}")), table(own, json, false));
        let labels = |value: fn(&Row) -> String| {
            let lines = self
                .test
                .iter()
                .map(|row| format!("{},{}\n", row.id, value(row)));
            format!("id,label\n{}", lines.collect::<String>())
        };
        write(&root.join("answers.csv"), labels(|row| row.label.clone()));
        write(
            &public.join("sample_submission.csv"),
            labels(|_| "0".to_owned()),
        );
        self.write_media(None);
        if self.kind.files {
            let mut random = Random(self.kind.seed + 1);
            for (part, rows) in [("train", &self.train), ("test", &self.test)] {
                for row in rows {
                    let content = content(row, &mut random);
                    let name = format!("{part}/{}.bin", row.id);
                    write(&public.join(&name), &content);
                    write(
                        &bundle.join("train").join(format!("{}.bin", row.id)),
                        &content,
                    );
                }
            }
            for row in own {
                let content = content(row, &mut random);
                write(
                    &bundle.join("test").join(format!("{}.bin", row.id)),
                    content,
                );
            }
        }
    }

    /// Writes pictures or sounds. Every `copied`-th test item has a copy of a training file, saved in a different way.
    fn write_media(&self, copied: Option<usize>) {
        let (media, public) = (self.kind.media, self.folder.path().join("public"));
        let mut random = Random(self.kind.seed + 2);
        for row in &self.train {
            if let Some((end, file)) = medium(media, row.truth, &mut random) {
                write(&public.join(format!("train/{}.{end}", row.id)), file);
            }
        }
        for (number, row) in self.test.iter().enumerate() {
            let is_copy = copied.is_some_and(|every| number.is_multiple_of(every));
            let file = match (media, is_copy) {
                (_, false) => medium(media, row.truth, &mut random),
                (Media::Tones | Media::Hiss, true) => {
                    let samples =
                        self.repeat_draw(number, &mut |truth, random| sound(media, truth, random));
                    let quiet: Vec<f64> = samples.iter().map(|one| one / 3.0).collect();
                    Some(("wav", wav(&quiet)))
                }
                (_, true) => {
                    let light = self
                        .repeat_draw(number, &mut |truth, random| picture(media, truth, random));
                    let large = (0..96 * 96).map(|at| 0.9 * light[at / 96 / 2 * 48 + at % 96 / 2]);
                    let large: Vec<f64> = large.collect();
                    Some(("png", png(&large, 96, png::Compression::High)))
                }
            };
            if let Some((end, file)) = file {
                write(&public.join(format!("test/{}.{end}", row.id)), file);
            }
        }
    }

    /// Returns the values of the training row `number`, by repeating all random draws up to this row.
    fn repeat_draw(
        &self,
        number: usize,
        draw: &mut dyn FnMut(f64, &mut Random) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut random = Random(self.kind.seed + 2);
        let mut drawn = Vec::new();
        for row in self.train.iter().take(number + 1) {
            drawn = draw(row.truth, &mut random);
        }
        drawn
    }

    fn report(&self) -> LeakReport {
        let root = self.folder.path();
        let input = LeakInput {
            memory: 1 << 30,
            public: root.join("public"),
            answers: root.join("answers.csv"),
            sample: root.join("public/sample_submission.csv"),
            id: None,
            scored_rows: None,
            bundle: Some(root.join("bundle")),
            temp: root.join("temp"),
            limits: prep_contents::DecodingLimits::default(),
            threads: 2,
        };
        prep_leaks::find(&input, &BTreeMap::new()).unwrap()
    }
}

#[test]
fn twenty_competitions_without_a_leak_have_only_notes() {
    let mut wrong = String::new();
    let kinds = kinds();
    assert_eq!(kinds.len(), 20);
    for (number, kind) in kinds.into_iter().enumerate() {
        let report = GeneratedCompetition::new(kind).report();
        assert_eq!(report.items, 300);
        for finding in report
            .findings
            .iter()
            .filter(|one| one.level > LeakLevel::Note)
        {
            writeln!(wrong, "{number}: {finding:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_table_that_is_too_large_is_reported_as_unread() {
    let mut kind = kinds().swap_remove(0);
    kind.json = false;
    let made = GeneratedCompetition::new(kind);
    assert!(
        made.report()
            .findings
            .iter()
            .all(|one| one.detector != "unread")
    );
    let mut large = "a,b\n".to_owned();
    large.push_str(&"1,2\n".repeat(17 << 20));
    write(&made.folder.path().join("public/more/large.csv"), large);
    let report = made.report();
    let unread = report.findings.iter().find(|one| one.detector == "unread");
    let unread = unread.expect("the table is reported");
    assert_eq!(unread.level, LeakLevel::Note);
    assert!(
        unread.evidence[0].starts_with("more/large.csv: "),
        "{unread:?}"
    );
}

#[test]
fn planted_leaks_are_found() {
    let found = |made: &GeneratedCompetition, detector: &str, level: LeakLevel| {
        let report = made.report();
        let hit = report
            .findings
            .iter()
            .any(|one| one.detector == detector && one.level >= level);
        assert!(hit, "{detector}: {:#?}", report.findings);
    };
    let public =
        |made: &GeneratedCompetition, name: &str| made.folder.path().join("public").join(name);
    // A text file contains ids and answers.
    let made = GeneratedCompetition::new(PLAIN);
    let lines: String = made
        .test
        .iter()
        .map(|row| format!("seen {} as {}\n", row.id, row.label))
        .collect();
    write(&public(&made, "log.txt"), lines);
    found(&made, "answers-elsewhere", LeakLevel::Leak);
    // The training table contains test rows.
    let made = GeneratedCompetition::new(PLAIN);
    let mut both = table(&made.train, false, true);
    both.push_str(
        table(&made.test[..100], false, true)
            .split_once('\n')
            .unwrap()
            .1,
    );
    write(&public(&made, "train.csv"), both);
    found(&made, "rows", LeakLevel::Risk);
    found(&made, "answers-elsewhere", LeakLevel::Leak);
    // Test texts are training texts with one different word and the same answer.
    let mut made = GeneratedCompetition::new(PLAIN);
    let mut random = Random(77);
    for row in made.train.iter_mut().chain(&mut made.test) {
        let words: Vec<String> = (0..25)
            .map(|_| format!("w{}", random.below(4000)))
            .collect();
        row.cells.push(("story", words.join(" ")));
    }
    let trained = made.train.clone();
    for (number, row) in made.test.iter_mut().take(100).enumerate() {
        let mut others = trained
            .iter()
            .skip(number)
            .filter(|one| one.label == row.label);
        let (_, story) = others.next().unwrap().cells.last().unwrap();
        let (_, rest) = story.split_once(' ').unwrap();
        row.cells.last_mut().unwrap().1 = format!("Other {rest}!");
    }
    made.write(&[row(&PLAIN, &mut Random(5), &[])]);
    found(&made, "near", LeakLevel::Risk);
    // The sample submission contains the answers.
    let made = GeneratedCompetition::new(PLAIN);
    fs::copy(
        made.folder.path().join("answers.csv"),
        public(&made, "sample_submission.csv"),
    )
    .unwrap();
    let report = made.report();
    assert!(report.items == 300, "{report:?}");
    // Rows are sorted by class.
    let mut made = GeneratedCompetition::new(PLAIN);
    made.test.sort_by(|a, b| a.label.cmp(&b.label));
    write(&public(&made, "test.csv"), table(&made.test, false, false));
    found(&made, "order", LeakLevel::Risk);
    // The length of a file determines the class.
    let made = GeneratedCompetition::new(Kind {
        files: true,
        ..PLAIN
    });
    for row in &made.test {
        let length = 1000 + 10 * row.label.parse::<usize>().unwrap();
        write(
            &public(&made, &format!("test/{}.bin", row.id)),
            row.id.repeat(200).get(..length).unwrap(),
        );
    }
    found(&made, "size", LeakLevel::Leak);
    // Test files are copies of training files.
    let made = GeneratedCompetition::new(Kind {
        files: true,
        ..PLAIN
    });
    for (row, other) in made.test.iter().zip(&made.train).take(60) {
        let from = public(&made, &format!("train/{}.bin", other.id));
        fs::copy(from, public(&made, &format!("test/{}.bin", row.id))).unwrap();
    }
    found(&made, "equal-files", LeakLevel::Risk);
    // Each of many groups has one answer.
    let mut made = GeneratedCompetition::new(PLAIN);
    for row in made.train.iter_mut().chain(&mut made.test) {
        let group =
            u64::from_str_radix(&row.id, 16).unwrap() % 90 * 2 + row.label.parse::<u64>().unwrap();
        row.cells
            .push(("owner", format!("owner{}", group * 7919 % 1009)));
    }
    made.write(&[row(&PLAIN, &mut Random(5), &[])]);
    found(&made, "groups", LeakLevel::Risk);
    // A column has a value only if the answer is one.
    let mut made = GeneratedCompetition::new(PLAIN);
    for (number, row) in made.train.iter_mut().chain(&mut made.test).enumerate() {
        let known = row.label == "1" && number % 3 == 0;
        row.cells.push((
            "closed_by",
            if known {
                format!("user{number}")
            } else {
                String::new()
            },
        ));
    }
    made.write(&[row(&PLAIN, &mut Random(5), &[])]);
    found(&made, "column", LeakLevel::Leak);
    // A kind of file and a column are not in the original test part of the bundle.
    let made = GeneratedCompetition::new(Kind {
        files: true,
        ..PLAIN
    });
    for row in &made.train {
        write(
            &made
                .folder
                .path()
                .join("bundle/train")
                .join(format!("{}.outline", row.id)),
            "o",
        );
    }
    for row in &made.test {
        write(&public(&made, &format!("test/{}.outline", row.id)), "o");
    }
    found(&made, "shown-before", LeakLevel::Leak);
}

/// Some keys contain the id of their file, so they differ in all files. Only the key `author` is new.
#[test]
fn json_keys_that_are_ids_are_not_reported_as_new() {
    let shown = |extra: &str| {
        let made = GeneratedCompetition::new(Kind {
            files: true,
            ..PLAIN
        });
        let bundle = made.folder.path().join("bundle");
        let notebook =
            |id: &str, extra: &str| format!(r#"{{"cells":{{"{id}a":1,"{id}b":2}}{extra}}}"#);
        for row in made.train.iter().chain(&made.test) {
            let all = notebook(&row.id, r#","author":3"#);
            write(&bundle.join(format!("train/{}.json", row.id)), all);
        }
        for number in 0..20 {
            let own = format!("{:08x}", 0xabcd_0000_u32 + number);
            write(&bundle.join(format!("test/{own}.json")), notebook(&own, ""));
        }
        for row in &made.test {
            let path = format!("public/test/{}.json", row.id);
            write(&made.folder.path().join(path), notebook(&row.id, extra));
        }
        let findings = made.report().findings.into_iter();
        let mut shown = findings.filter(|one| one.detector == "shown-before");
        shown.next().map(|one| one.what)
    };
    assert_eq!(shown(""), None);
    let named = shown(r#","author":3"#).unwrap();
    assert!(named.contains("show `author` that"), "{named}");
}

#[test]
fn modified_copies_of_pictures_and_sounds_are_found() {
    let found = |made: &GeneratedCompetition| {
        let findings = made.report().findings.into_iter();
        findings
            .filter(|one| one.detector == "near-files")
            .collect::<Vec<_>>()
    };
    for media in [
        Media::Scenes,
        Media::XRays,
        Media::Writing,
        Media::Tones,
        Media::Hiss,
    ] {
        let made = GeneratedCompetition::new(Kind { media, ..PLAIN });
        made.write_media(Some(10));
        let findings = found(&made);
        assert!(
            matches!(findings.as_slice(), [one] if one.level == LeakLevel::Risk),
            "{findings:?}"
        );
    }
}

#[test]
#[ignore = "takes minutes, because it measures the error rate on seventy data sets"]
fn pictures_and_sounds_without_copies_have_no_finding() {
    for media in MEDIA {
        let mut texts = Vec::new();
        for seed in 0..10 {
            let made = GeneratedCompetition::new(Kind {
                seed: 31 + 977 * seed,
                media,
                ..PLAIN
            });
            let findings = made.report().findings;
            let near = findings
                .into_iter()
                .filter(|one| one.detector == "near-files");
            texts.extend(near.map(|one| format!("{:?} {}", one.level, one.what)));
        }
        assert!(texts.is_empty(), "{}: {texts:?}", media as u8);
    }
}
