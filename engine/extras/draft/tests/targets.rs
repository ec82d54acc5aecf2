//! Tests which columns a draft predicts, for tables as users have them.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use prep_contents::{DecodingLimits, Resources};
use prep_draft::{BundleContent, DraftChoices, DraftError, draft};
use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};

const ROWS: usize = 120;

/// Returns the cell of a column in a row: one of the values between `|`. In a value, `#` is the number of the row, and `%9` a
/// number below 9.
fn cell(values: &str, row: usize, column: usize) -> String {
    let values: Vec<&str> = values.split('|').collect();
    let number = (row * 7919 + column * 104_729 + row / 3) % 9973;
    let value = values[if values.len() == 1 {
        0
    } else {
        number % values.len()
    }];
    let mut parts = value.split('%');
    let mut text = parts.next().unwrap().replace('#', &row.to_string());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let below: usize = part[..digits].parse().unwrap();
        text += &format!(
            "{}{}",
            number % below,
            part[digits..].replace('#', &row.to_string())
        );
    }
    text
}

/// Returns the table with these columns, each written as `name=values`.
fn table(columns: &str, delimiter: char) -> String {
    let columns: Vec<(&str, &str)> = columns
        .split("; ")
        .map(|column| column.split_once('=').unwrap())
        .collect();
    let line = |cells: Vec<String>| cells.join(&delimiter.to_string()) + "\n";
    let quoted = |cell: String| match cell.contains([',', ';']) {
        true => format!("\"{cell}\""),
        false => cell,
    };
    let mut text = line(columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    for row in 0..ROWS {
        let cells = columns.iter().enumerate();
        let cells = cells.map(|(at, (_, values))| quoted(cell(values, row, at)));
        text += &line(cells.collect());
    }
    text
}

/// Returns the draft of a bundle with one table: its text, and its notes.
fn drafted(table: &str) -> (String, String) {
    try_draft(table.as_bytes(), &DraftChoices::default()).unwrap()
}

fn try_draft(table: &[u8], choices: &DraftChoices) -> Result<(String, String), DraftError> {
    let mut writer = ZipWriter::new(Vec::new());
    writer
        .add_file("daten.csv", ZipMethod::Stored, table)
        .unwrap();
    let bundle = writer.finish().unwrap();
    let (bytes, limits) = (bundle.len() as u64, DecodingLimits::default());
    let listing = ZipDirectory::read(&bundle, 0..bytes, &limits.budget(bytes)).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let temp = temp.path();
    let resources = Resources { limits, temp };
    let content = BundleContent::read(&bundle, bytes, &listing.entries(), &resources);
    let draft = draft("case", content, choices)?;
    Ok((draft.text, draft.notes.join("\n")))
}

#[test]
fn the_likely_target_is_predicted() {
    let remarks = "good student, always on time|was ill, exam repeated|ok|ok, but late|needs help with algebra|\
                   very talkative|missing homework, twice";
    let mut wrong = Vec::new();
    for (columns, delimiter, expected) in [
        // Tables in a German locale.
        (
            "Nr=#; Größe=%90,5; Zimmer=1|2|3|4; Preis=1%900,00|999,90",
            ';',
            "Preis",
        ),
        (
            "Nr=#; Baujahr=19%90; Ort=Köln|Bonn|Ulm; Miete=1.%900,50|800,00",
            ';',
            "Miete",
        ),
        (
            "Kunde=K#; Alter=%70; Vertrag=kurz|lang; gekündigt=ja|nein",
            ';',
            "gekündigt",
        ),
        (
            "Datum=2023-%12-11; Filiale=F%9; Waage=%30,5; Umsatz=%9000,10",
            ';',
            "Umsatz",
        ),
        (
            "Probe=P#; pH=%9,2; Trübung=%80,1; Ergebnis=gut|schlecht; Labor=Nord|Süd",
            ';',
            "Ergebnis",
        ),
        (
            "student_nr=00#; name=Name %97; hours=%20.5; passed=yes|no; comment=R",
            ',',
            "passed",
        ),
        (
            "nr=#; hours=%30.1; bestanden=ja|nein; Bemerkung=R",
            ',',
            "bestanden",
        ),
        (
            "nr=#; hours=%30.1; approved=yes|no; opinion of the teacher=R",
            ',',
            "approved",
        ),
        (
            "nr=#; hours=%30.1; remark=R; approved=yes|no",
            ',',
            "approved",
        ),
        // Medical labels.
        (
            "id=#; diagnosis=M|B; radius=%30.25; texture=%40.5; area=%900.1",
            ',',
            "diagnosis",
        ),
        (
            "image=img#; patient_id=P%40; sex=f|m; site=arm|leg; malignant=0|1",
            ',',
            "malignant",
        ),
        (
            "case=c#; age=%90; Tumor?=yes|no; Clinic=Clinic %12",
            ',',
            "Tumor?",
        ),
        (
            "Age=%90; BMI=%40.5; Glucose=%200; Outcome=0|1",
            ',',
            "Outcome",
        ),
        // Surveys.
        (
            "respondent=#; q1=%5; q2=%5; satisfied=Strongly agree|Agree|Neither agree nor disagree|Disagree",
            ',',
            "satisfied",
        ),
        (
            "respondent=#; age=%80; income=low|mid|high; recommend=0|1; email=a#@b.org",
            ',',
            "recommend",
        ),
        (
            "respondent=#; vote=A|B|C; submitted=2024-02-1%9 10:%59",
            ',',
            "vote",
        ),
        // Sales.
        (
            "store_id=%12; day=2024-01-1%9; promo=0|1; units=%500",
            ',',
            "units",
        ),
        ("promo=0|1; units=%500; date=2024-01-1%9", ',', "units"),
        (
            "order=#; price=%90.5; churn=True|False; comment=late %40 times",
            ',',
            "churn",
        ),
        (
            "age=%90; sex=m|f; bmi=%40.5; smoker=yes|no; region=n|s|e|w; charges=%9999.25",
            ',',
            "charges",
        ),
        ("country=A|B|C; gdp=%900.5; year=1|2|3|4|5|6|7", ',', "gdp"),
        // Images.
        (
            "file=photos/#.jpg; species=oak|elm; tree=tree %30; day=2024-01-1%9",
            ',',
            "species",
        ),
        (
            "filename=#.png; label=cat|dog; width=%640; height=%480",
            ',',
            "label",
        ),
        ("image=#.png; x=%90; y=%90; count=%30", ',', "count"),
        (
            "species=oak|elm|ash; length=%30.5; width=%9.25",
            ',',
            "species",
        ),
        // Time series.
        (
            "sensor=s%9; timestamp=2024-01-1%9 1%9:00; x=%90.5; failure=0|1; fold=1|2|3|4|5",
            ',',
            "failure",
        ),
        (
            "time=%59; load=%900.5; temperature=%30.25",
            ',',
            "temperature",
        ),
        // Texts and lists of labels.
        (
            "id=#; text=this is text number # of many; tags=red|green|red,green|blue|blue,red",
            ',',
            "tags",
        ),
        (
            "sentiment=pos|neg; text=this is text number # of many",
            ',',
            "sentiment",
        ),
        (
            "id=#; title=Film #; genres=Drama|Comedy|Drama,Comedy|Horror,Drama; rating=%100.5",
            ',',
            "rating",
        ),
        ("id=#; species=oak|elm; constant=1", ',', "species"),
    ] {
        let columns = columns.replace("=R", &format!("={remarks}"));
        let (_, notes) = drafted(&table(&columns, delimiter));
        let found = format!("the target is `{expected}`");
        if !notes.contains(&found) {
            wrong.push(format!("{columns}: {notes}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn decimal_commas_are_converted() {
    let columns = "Nr=#; Größe=%90,5; Teile=1,234|5,678; Preis=1.%9000,00|-999,90";
    let (text, notes) = drafted(&table(columns, ';'));
    let expected = "SELECT * REPLACE (CAST(replace(\"Größe\", ',', '.') AS DOUBLE) AS \"Größe\", \
                    CAST(replace(replace(\"Preis\", '.', ''), ',', '.') AS DOUBLE) AS \"Preis\") FROM all_rows";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("root_mean_squared_error: Preis"), "{text}");
    assert!(notes.contains("has numbers with decimal commas"), "{notes}");
}

#[test]
fn few_test_rows_are_noted() {
    let (text, notes) = drafted(&table("id=#; x=%90; label=a|b", ','));
    let note = "the test part has only about 12 rows";
    assert!(text.contains(note) && notes.contains(note), "{text}{notes}");
}

/// As in scikit-learn, the default of `f1` for two labels is the score of the positive one.
#[test]
fn a_metric_of_one_of_two_labels_names_it() {
    for (metric, labels, expected) in [
        (
            "f1",
            "ja|nein|nein",
            "f1: { average: binary, column: label, positive: \"ja\" }",
        ),
        ("f1", "0|1", "f1: { average: binary, column: label }"),
        (
            "f1",
            "red|green|blue",
            "f1: { average: micro, column: label }",
        ),
        (
            "average_precision",
            "ja|nein",
            "average_precision: { columns: label, positive: \"ja\" }",
        ),
        (
            "average_precision",
            "2|3",
            "average_precision: { columns: label, positive: 3 }",
        ),
        ("average_precision", "0|1", "average_precision: label"),
        ("roc_auc", "2|3", "roc_auc: label"),
    ] {
        let table = table(&format!("id=#; x=%99; label={labels}"), ',');
        let choices = DraftChoices {
            metric: Some(metric.to_owned()),
            ..DraftChoices::default()
        };
        let (text, _) = try_draft(table.as_bytes(), &choices).unwrap();
        assert!(
            text.contains(&format!("metric: {{ {expected} }}")),
            "{text}"
        );
        assert!(text.contains("It loads and runs."), "{text}");
    }
}

#[test]
fn a_table_without_different_labels_is_noted() {
    let (_, notes) = drafted(&table("id=#; x=%99; label=ja", ','));
    assert!(
        notes.contains("`label` has the same value in all rows"),
        "{notes}"
    );
}

#[test]
fn utf_16_is_named() {
    let table = table("id=#; x=%99; y=0|1", ',');
    let units = std::iter::once(0xfeff).chain(table.encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    let error = try_draft(&bytes, &DraftChoices::default()).unwrap_err();
    assert!(error.help().unwrap().contains("UTF-16"), "{error}");
}
