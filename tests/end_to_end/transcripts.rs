//! Compares the output of commands with the transcripts in `transcripts/*.txt`.
//!
//! ```text
//! $ prep list -c harbour      a command, run in a sandbox in which `harbour` can be prepared
//! id       sets               its stdout
//! ! error: ...                its stderr
//! ? 2                         its exit code, unless 0
//! % 0 AS => 1 AS              replaces a text in harbour's pipeline
//! % submission a.csv: id,docked\n1,0\n      writes a file
//! # ...                       a remark
//! ```
//!
//! Fixed texts replace paths of the sandbox, times and digests.
//! `UPDATE=1 cargo test -p mleprep --test end_to_end transcripts` writes the files again. Read the difference before a
//! commit.

use std::fs;
use std::path::Path;

use crate::support::{Harbour, Sandbox};

#[test]
fn output_matches_the_transcripts() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/transcripts");
    let update = std::env::var_os("UPDATE").is_some();
    let mut differing = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(directory).expect("transcripts") {
        let path = entry.expect("entry").path();
        let recorded = fs::read_to_string(&path).expect("transcript");
        let found = replay(&recorded);
        count += 1;
        if found == recorded {
            continue;
        }
        if update {
            fs::write(&path, found).expect("transcript");
        } else {
            differing.push(format!(
                "{}:\n{}",
                path.display(),
                first_difference(&recorded, &found)
            ));
        }
    }
    assert!(count > 3, "{count} transcripts");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Runs the commands of a transcript. Returns the transcript with the current output.
fn replay(recorded: &str) -> String {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let mut pipeline = Harbour::PIPELINE.to_owned();
    let mut text = String::new();
    for line in recorded.lines() {
        if let Some(command) = line.strip_prefix("$ prep") {
            text.push_str(&format!("{line}\n"));
            let arguments: Vec<&str> = command.split_whitespace().collect();
            let ended = sandbox.prep(&arguments);
            let stdout = without_widths(&ended.stdout, &sandbox);
            let stdout = filter(&stdout, &sandbox);
            // Only the help of the program shows the options that every verb has.
            text.push_str(&match arguments.len() {
                1 => stdout,
                _ => without_common_options(&stdout),
            });
            for line in filter(&ended.stderr, &sandbox).lines() {
                text.push_str(format!("! {line}").trim_end());
                text.push('\n');
            }
            if ended.code != Some(0) {
                text.push_str(&format!("? {}\n", ended.code.expect("an exit code")));
            }
        } else if let Some(deed) = line.strip_prefix("% ") {
            text.push_str(&format!("{line}\n"));
            if let Some((from, to)) = deed.split_once(" => ") {
                assert!(pipeline.contains(from), "`{from}` is not in the pipeline");
                pipeline = pipeline.replace(from, to);
                sandbox.pipeline(Harbour::ID, &pipeline);
            } else {
                let file = deed
                    .strip_prefix("submission ")
                    .and_then(|rest| rest.split_once(": "));
                let (name, content) = file.expect("a deed");
                sandbox.write(name, content.replace("\\n", "\n"));
            }
        } else if line.starts_with("# ") {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

fn without_common_options(text: &str) -> String {
    let Some((before, section)) = text.split_once("Common options:\n") else {
        return text.to_owned();
    };
    let lines = section
        .lines()
        .skip_while(|line| line.is_empty() || line.starts_with(' '));
    let after: String = lines.map(|line| format!("{line}\n")).collect();
    format!(
        "{before}Common options: ...\n{}{after}",
        if after.is_empty() { "" } else { "\n" }
    )
}

/// The transcripts must contain the help of every verb and a call of every verb.
#[test]
fn transcripts_cover_every_verb() {
    let recorded = include_str!("transcripts/help.txt");
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/transcripts");
    let files = fs::read_dir(directory).expect("transcripts");
    let texts: Vec<String> = files
        .map(|file| fs::read_to_string(file.expect("entry").path()).expect("a text"))
        .collect();
    let calls = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("$ prep "));
    let calls: Vec<&str> = calls
        .filter(|call| !call.ends_with(" -h") && !call.ends_with("--help"))
        .collect();
    let sandbox = Sandbox::new();
    let verbs = |arguments: &[&str]| -> Vec<String> {
        let help = sandbox.prep(arguments).code(0).stdout;
        let (commands, _) = help.split_once("\nOptions:\n").expect("options");
        let lines = commands
            .lines()
            .skip_while(|line| !line.starts_with("Usage:"));
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty() && *name != "help");
        names.map(str::to_owned).collect()
    };
    let mut open: Vec<Vec<String>> = verbs(&["-h"]).into_iter().map(|verb| vec![verb]).collect();
    assert!(open.len() > 20, "{open:?}");
    let (mut without_help, mut without_call) = (Vec::new(), Vec::new());
    while let Some(words) = open.pop() {
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("-h");
        let help = sandbox.prep(&arguments).code(0).stdout;
        let verb = words.join(" ");
        if !recorded.contains(&format!("$ prep {verb} -h\n")) {
            without_help.push(verb.clone());
        }
        if help.contains("\nCommands:\n") {
            let inner = verbs(&arguments).into_iter();
            open.extend(inner.map(|name| [&words[..], &[name]].concat()));
        } else if !calls
            .iter()
            .any(|call| *call == verb || call.starts_with(&format!("{verb} ")))
        {
            without_call.push(verb);
        }
    }
    assert_eq!(without_help, [""; 0]);
    assert_eq!(without_call, [""; 0]);
}

/// Joins the spaces between the columns of a table, because the length of a path in the sandbox changes column widths.
fn without_widths(text: &str, sandbox: &Sandbox) -> String {
    if !text.contains(sandbox.path("").to_string_lossy().as_ref()) {
        return text.to_owned();
    }
    let lines = text.lines().map(|line| {
        let content = line.trim_start();
        let indent = &line[..line.len() - content.len()];
        let cells = content.split("  ").map(str::trim);
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        format!("{indent}{}\n", cells.join("  "))
    });
    lines.collect()
}

/// Replaces paths, times, digests and other texts that differ between runs with placeholders.
fn filter(text: &str, sandbox: &Sandbox) -> String {
    let directory = sandbox.path("");
    let directory = directory.to_string_lossy();
    let text = text.replace(&*directory, "[DIR]/");
    let text = text.replace(directory.trim_end_matches('/'), "[DIR]");
    let mut lines = String::new();
    for line in text.lines() {
        let line = match line.rsplit_once(", ") {
            Some((before, free)) if free.ends_with(" free") => format!("{before}, [SIZE] free"),
            _ => line.to_owned(),
        };
        let line = match line.split_once("\"created_at\":") {
            Some((before, _)) => format!("{before}\"created_at\": \"[TIME]\","),
            None => line
                .split_inclusive([' ', '`', '"', ',', '/'])
                .map(word)
                .collect::<String>(),
        };
        lines.push_str(times(&seconds(&line)).trim_end());
        lines.push('\n');
    }
    lines
}

/// Replaces durations with zeros of the same width: `1.23 s` and `12.3 s` become `0.00 s`.
fn seconds(line: &str) -> String {
    let mut bytes = line.as_bytes().to_vec();
    for start in 0..bytes.len().saturating_sub(5) {
        let window = &mut bytes[start..start + 6];
        let point = window.iter().position(|byte| *byte == b'.');
        let digits = window.iter().filter(|byte| byte.is_ascii_digit()).count();
        if matches!(point, Some(1 | 2)) && digits == 3 && window[4..] == *b" s" {
            window.copy_from_slice(b"0.00 s");
        }
    }
    String::from_utf8(bytes).expect("only ASCII was changed")
}

/// Replaces times with zeros of the same width: `2026-11-25 13:05:12` becomes `0000-00-00 00:00:00`.
fn times(line: &str) -> String {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let mut bytes = line.as_bytes().to_vec();
    for start in 0..bytes.len().saturating_sub(FORM.len() - 1) {
        let window = &mut bytes[start..start + FORM.len()];
        let is_time = window.iter().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        });
        if is_time {
            window.copy_from_slice(FORM);
        }
    }
    String::from_utf8(bytes).expect("only ASCII was changed")
}

/// Replaces the name of a report or a digest. Keeps the characters that end the word.
fn word(word: &str) -> String {
    let bare = word.trim_end_matches([' ', '`', '"', ',', '/', '\n']);
    let rest = &word[bare.len()..];
    if bare.ends_with("_grading_report.json") {
        return format!("[TIME]_grading_report.json{rest}");
    }
    let digits = bare.strip_prefix("blake3:").unwrap_or(bare);
    if digits.len() >= 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return format!("[DIGEST]{rest}");
    }
    word.to_owned()
}

fn first_difference(recorded: &str, found: &str) -> String {
    let same = recorded
        .lines()
        .zip(found.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let show = |text: &str| {
        text.lines()
            .skip(same)
            .take(5)
            .collect::<Vec<_>>()
            .join("\n    ")
    };
    format!(
        "  from line {}, recorded:\n    {}\n  found:\n    {}",
        same + 1,
        show(recorded),
        show(found)
    )
}
