//! Help and messages in every state of the environment: closed and full streams, no home directory, damaged settings,
//! strings that are not UTF-8.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{CommandResult, Harbour, Sandbox};

/// Runs a command in a shell that redirects streams.
fn redirected(inner: &Command, streams: &str) -> CommandResult {
    // The absolute path lets the standard library use `posix_spawn`. `fork` would copy the page tables of this process.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("exec \"$0\" \"$@\" {streams}")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(inner.get_current_dir().expect("a directory"))
        .stdin(std::process::Stdio::null());
    CommandResult::of(&mut command)
}

/// Returns the verbs in the help of a command: the first words of indented lines before the options.
fn verbs(sandbox: &Sandbox, path: &[&str]) -> Vec<String> {
    let help = sandbox.prep(&[path, &["-h"]].concat()).code(0).stdout;
    let before = help.split("Options:").next().unwrap_or_default();
    let mut verbs = Vec::new();
    for line in before.lines() {
        let word = line
            .strip_prefix("  ")
            .and_then(|line| line.split_once("  "));
        match word {
            Some((verb, _))
                if !verb.is_empty() && verb.bytes().all(|byte| byte.is_ascii_lowercase()) =>
            {
                verbs.push(verb.to_owned());
            }
            _ => {}
        }
    }
    verbs.retain(|verb| verb != "help");
    verbs
}

fn all_verbs(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for verb in verbs(sandbox, &[]) {
        for inner in verbs(sandbox, &[&verb]) {
            all.push(vec![verb.clone(), inner]);
        }
        all.push(vec![verb]);
    }
    all
}

/// Redirections of a shell, and whether stdout can be written.
const STREAMS: [(&str, bool); 8] = [
    ("", true),
    (">/dev/full", false),
    ("2>/dev/full", true),
    (">/dev/full 2>/dev/full", false),
    // The standard library replaces closed streams with /dev/null.
    (">&-", true),
    ("2>&-", true),
    ("<&- >&- 2>&-", true),
    (">/dev/full 2>&-", false),
];

#[test]
fn help_of_all_verbs_ends_well_with_any_streams() {
    let sandbox = Sandbox::new();
    let all = all_verbs(&sandbox);
    assert!(all.len() > 35, "{all:?}");
    for path in &all {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let command = sandbox.command(&[&words[..], &["--help"]].concat());
        for (streams, is_written) in STREAMS {
            let ended = redirected(&command, streams);
            let code = if is_written { 0 } else { 6 };
            assert_eq!(ended.code, Some(code), "{path:?} {streams}: {ended:?}");
        }
    }
}

#[test]
fn help_of_all_verbs_needs_no_environment() {
    let sandbox = Sandbox::new();
    sandbox.write("broken/prep.toml", b"\xff\xfe[[[");
    sandbox.write("file", "");
    let invalid = OsStr::from_bytes(b"\xff\xfe");
    let place = |name: &str| sandbox.path(name).into_os_string();
    let states: [&[(&str, &OsStr)]; 7] = [
        &[("HOME", OsStr::new(""))],
        &[("HOME", OsStr::new("/nonexistent"))],
        &[("HOME", invalid), ("XDG_CACHE_HOME", invalid)],
        &[("MLE_BENCH_DATA_DIR", &place("broken"))],
        &[("PREP_CACHE_DIR", &place("file"))],
        &[
            ("PREP_CACHE_DIR", invalid),
            ("MLE_BENCH_DATA_DIR", invalid),
            ("PREP_REMOTE", invalid),
            ("PREP_PIPELINES", invalid),
            ("TMPDIR", invalid),
            ("TERM", invalid),
            ("COLUMNS", invalid),
            ("NO_COLOR", invalid),
            ("LANG", invalid),
        ],
        &[
            ("COLUMNS", OsStr::new("1")),
            ("RUST_MIN_STACK", OsStr::new("1")),
        ],
    ];
    for path in all_verbs(&sandbox) {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        for variables in states {
            let mut command = sandbox.command(&[&words[..], &["--help"]].concat());
            command.envs(variables.iter().copied());
            let ended = CommandResult::of(&mut command);
            assert_eq!(ended.code, Some(0), "{path:?} {variables:?}: {ended:?}");
        }
        let mut command = sandbox.command(&words);
        command.args([invalid, OsStr::new("--unknown")]);
        let ended = CommandResult::of(&mut command);
        assert_eq!(ended.code, Some(2), "{path:?}: {ended:?}");
    }
}

/// The log of a run may be on a full disk, or its reader may have ended.
#[test]
fn verbs_end_as_usual_if_streams_cannot_be_written() {
    let sandbox = Harbour::prepared();
    let id = Harbour::ID;
    for (arguments, code) in [
        (&["run", id, "--source", "source"][..], 0),
        (&["run", id, "--source", "source", "-v"], 0),
        (&["audit", id, "--source", "source"], 0),
        (&["run", "unknown"], 2),
        (&["unknown"], 2),
        (&["unknown", "--json"], 2),
        (&["list", "--unknown", "--json"], 2),
    ] {
        let command = sandbox.command(arguments);
        for (streams, is_written) in STREAMS {
            if streams.contains("/dev/full") && arguments.starts_with(&["run", id]) {
                fs::remove_dir_all(sandbox.data()).expect("prepared data");
            }
            let ended = redirected(&command, streams);
            let expected = match code {
                0 if !is_written => 6,
                code => code,
            };
            assert_eq!(
                ended.code,
                Some(expected),
                "{arguments:?} {streams}: {ended:?}"
            );
            assert!(!ended.stderr.contains("panicked"), "{arguments:?}");
        }
    }
}
