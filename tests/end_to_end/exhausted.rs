//! Tests with limits on threads, address space and file length.
//! The program must finish, or end with code 6 and a message. It must not panic or wait forever.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::support::{CommandResult, Gallery, Harbour, Sandbox, skipped};

/// Returns a separate user id for each test, because limits apply to all processes of a user.
fn user(test: u32) -> u32 {
    50_000 + std::process::id() % 10_000 * 4 + test
}

/// Runs `prep` under a limit of `prlimit`, and kills it after a minute.
fn limited(inner: &Command, limit: &str, user: Option<u32>) -> CommandResult {
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "60", "prlimit", limit])
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
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    CommandResult::of(&mut command)
}

fn has_prlimit() -> bool {
    let found = Command::new("prlimit").arg("--version").output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        skipped("this machine has no `prlimit`");
    }
    found
}

fn change_owner(directory: &Path, user: u32) {
    std::os::unix::fs::chown(directory, Some(user), Some(user)).expect("another owner");
    if directory.is_dir() {
        for entry in fs::read_dir(directory).expect("a directory") {
            change_owner(&entry.expect("an entry").path(), user);
        }
    }
}

#[track_caller]
fn assert_ends_with_message(ended: &CommandResult, what: &str) {
    assert!(
        matches!(ended.code, Some(0 | 6)),
        "{what} ended with {ended:#?}"
    );
    assert!(
        !ended.stderr.contains("panicked"),
        "{what}: {}",
        ended.stderr
    );
    if ended.code == Some(6) {
        let lines = ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("error:"));
        assert!(lines.count() >= 1, "{what}: {}", ended.stderr);
    }
}

fn both() -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    sandbox
}

const BOTH: [&str; 2] = [Harbour::ID, Gallery::ID];

#[test]
fn too_few_threads_give_the_same_results_or_an_error() {
    let expected = both();
    expected.run_all(&BOTH).code(0);
    let sandbox = both();
    let owner = fs::metadata(sandbox.path("")).expect("a directory").uid();
    if owner != 0 {
        return skipped("only root can run as another user, whose threads are limited");
    }
    if !has_prlimit() {
        return;
    }
    let user = user(0);
    change_owner(&sandbox.path(""), user);
    let probe = limited(&sandbox.command(&["--version"]), "--nproc=50", Some(user));
    if probe.code != Some(0) {
        return skipped("another user cannot start the program where it was built");
    }
    // Starts at two, because `timeout` and the program need at least one thread each.
    for threads in 2..12 {
        for place in ["data", "store"] {
            let _ = fs::remove_dir_all(sandbox.path(place));
        }
        let limit = format!("--nproc={threads}");
        let prep = |arguments: &[&str]| limited(&sandbox.command(arguments), &limit, Some(user));
        let run = limited(&sandbox.run_command(&BOTH), &limit, Some(user));
        assert_ends_with_message(&run, &format!("run with {threads} threads"));
        if run.code == Some(0) {
            for id in BOTH {
                let (made, wanted) = (sandbox.tree(id), expected.tree(id));
                assert_eq!(made.contents(), wanted.contents());
            }
        }
        for verb in [
            &["list"][..],
            &["plan", "-c", Harbour::ID, "--source", "source"],
            &["cache", "verify"],
            &["leaks", Harbour::ID],
            &["diff", "data/harbour/prepared", "data/harbour/prepared"],
            &["fetch", Harbour::ID, "--source", "source"],
            &[
                "run",
                Harbour::ID,
                "--remote",
                "file:///nowhere",
                "--source",
                "source",
            ],
        ] {
            let ended = prep(verb);
            assert!(
                ended.code.is_some_and(|code| code < 10) && !ended.stderr.contains("panicked"),
                "{verb:?} with {threads} threads ended with {ended:#?}"
            );
        }
    }
}

/// A run needs 32 open files, even with a single job.
#[test]
fn too_few_open_files_are_an_error_of_doctor() {
    if !has_prlimit() {
        return;
    }
    let sandbox = Sandbox::new();
    let prep = |arguments: &[&str]| limited(&sandbox.command(arguments), "--nofile=24", None);
    let warning = "only 24 files may be open at once, but a run needs 32";
    prep(&["list", "--lite"]).code(0).stderr_has(&[warning]);
    let doctor = prep(&["doctor", "--offline"]).code(6);
    doctor.stdout_has(&["32 files are needed for 1 job", "error"]);
}

#[test]
fn too_little_address_space_ends_with_code_6() {
    if !has_prlimit() {
        return;
    }
    let sandbox = both();
    for megabytes in [250, 300, 350, 400, 500, 600, 800, 1200] {
        for place in ["data", "store"] {
            let _ = fs::remove_dir_all(sandbox.path(place));
        }
        let limit = format!("--as={}", megabytes << 20);
        let run = limited(&sandbox.run_command(&BOTH), &limit, None);
        // If glibc cannot register the destructor of a thread-local value, it prints this message and ends the process.
        if !run.stderr.contains("Fatal glibc error") {
            assert_ends_with_message(&run, &format!("run in {megabytes} MB"));
        }
    }
    sandbox.run_all(&BOTH).code(0);
}

#[test]
fn file_length_limit_ends_with_code_6() {
    if !has_prlimit() {
        return;
    }
    let sandbox = both();
    for bytes in [0, 100, 1000] {
        let run = limited(
            &sandbox.run_command(&BOTH),
            &format!("--fsize={bytes}"),
            None,
        );
        assert_ends_with_message(&run, &format!("run with files of {bytes} bytes"));
        assert_eq!(run.code, Some(6), "{run:#?}");
        run.stderr_has(&["File too large", "ulimit -f"]);
    }
    sandbox.run_all(&BOTH).code(0);
}

#[test]
fn limits_of_files_leave_no_incomplete_result() {
    if !has_prlimit() {
        return;
    }
    let sandbox = Harbour::prepared();
    let id = Harbour::ID;
    for (arguments, result) in [
        (&["report", "-o", "report.html"][..], "report.html"),
        (&["export", id, "-o", "copy"], "copy"),
        (&["export", id, "-o", "copy.tar"], "copy.tar"),
        (&["pipeline", "show", id, "-o", "shown.yaml"], "shown.yaml"),
    ] {
        let ended = limited(&sandbox.command(arguments), "--fsize=50", None).code(6);
        ended.stderr_has(&["File too large", "ulimit -f"]);
        assert!(!sandbox.path(result).exists(), "{arguments:?}");
        for files in [5, 8, 12, 16, 24] {
            let limit = format!("--nofile={files}");
            let ended = limited_to(&sandbox, arguments, &limit);
            if ended.code == Some(6) {
                ended.stderr_has(&["Too many open files", "ulimit -n"]);
                assert!(!sandbox.path(result).exists(), "{arguments:?}, {limit}");
            }
            let _ = fs::remove_dir_all(sandbox.path(result));
            let _ = fs::remove_file(sandbox.path(result));
        }
        sandbox.prep(arguments).code(0);
    }
}

fn limited_to(sandbox: &Sandbox, arguments: &[&str], limit: &str) -> CommandResult {
    let ended = limited(&sandbox.command(arguments), limit, None);
    assert_ends_with_message(&ended, &format!("{arguments:?} with {limit}"));
    ended
}

#[test]
fn dangling_link_as_data_directory_is_named() {
    for place in ["data", "store"] {
        let sandbox = Sandbox::new();
        Harbour::install(&sandbox);
        symlink("nowhere", sandbox.path(place)).expect("a link");
        let ended = sandbox.run(Harbour::ID).code(6);
        ended.stderr_has(&[&format!(
            "{place} is a link to nowhere, which does not exist"
        )]);
        fs::create_dir(sandbox.path("nowhere")).expect("a directory");
        sandbox.run_and_count_steps(Harbour::ID);
    }
}

/// The advice of `prep doctor` names the limit that causes the problem, not the file system or an option.
#[test]
fn doctor_names_the_limit_of_the_process() {
    if !has_prlimit() {
        return;
    }
    let sandbox = Sandbox::new();
    let command = sandbox.command(&["doctor", "--offline"]);
    for files in [10, 14, 20] {
        let found = limited(&command, &format!("--nofile={files}"), None);
        let other = [
            "another file system",
            "change its",
            "change the owner",
            "run `",
        ];
        let output = format!("{}{}", found.stdout, found.stderr);
        assert!(output.contains("hard limit of open files"), "{output}");
        assert!(
            !other.iter().any(|other| output.contains(other)),
            "{output}"
        );
    }
    let found = limited(&command, "--as=1500000000", None).code(0);
    found.stdout_has(&["memory: raise the limit of the address space (`ulimit -v`)"]);
}
