//! Tests with directories that are not writable, and with full disks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::assert_readable;
use crate::support::{CommandResult, Gallery, Harbour, Sandbox, names_in, skipped};

#[test]
fn file_in_place_of_a_directory_is_named_in_the_error() {
    for place in ["data", "data/harbour", "data/harbour/prepared", "store"] {
        let sandbox = Sandbox::new();
        Harbour::install(&sandbox);
        sandbox.write(place, "precious");
        let ended = sandbox.run(Harbour::ID).code(6).stderr_has(&[place]);
        assert_readable(&ended);
        let content = fs::read_to_string(sandbox.path(place)).expect("the file is still there");
        assert_eq!(content, "precious");
    }
}

/// A publication needs a writable data directory. The run checks that before the first step.
#[test]
fn no_step_runs_if_the_data_directory_is_unwritable() {
    for place in ["data", "data/harbour"] {
        let sandbox = Sandbox::new();
        Harbour::install(&sandbox);
        sandbox.write(place, "precious");
        let help = "help: move the file away, or use another directory";
        sandbox.run(Harbour::ID).code(6).stderr_has(&[place, help]);
        assert_eq!(names_in(&sandbox.store().join("runs-v1")), [""; 0]);
    }
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    fs::create_dir_all(sandbox.data()).expect("a directory");
    let mount = "mount --bind data data && mount -o remount,bind,ro data";
    let Some(ended) = mounted(&sandbox, mount, &sandbox.run_command(&[Harbour::ID])) else {
        return;
    };
    ended.code(6).stderr_has(&["cannot write to", "Read-only"]);
    assert_eq!(names_in(&sandbox.store().join("runs-v1")), [""; 0]);
}

/// Runs the command `inner` after the shell command `mount`, in a separate mount namespace. Returns `None` if the
/// system does not support that.
fn mounted(sandbox: &Sandbox, mount: &str, inner: &Command) -> Option<CommandResult> {
    scripted(sandbox, &format!("{mount} && exec \"$0\" \"$@\""), inner)
}

/// Same as [`mounted`], for a script that runs the command `"$0" "$@"`.
fn scripted(sandbox: &Sandbox, script: &str, inner: &Command) -> Option<CommandResult> {
    let possible = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        skipped("this machine has no mount namespaces for unprivileged processes");
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", script])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(sandbox.path(""))
        .stdin(Stdio::null());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(CommandResult::of(&mut command))
}

#[test]
fn read_only_data_directory_is_named_in_the_error() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    let mount = "mount --bind data data && mount -o remount,bind,ro data";
    let command = sandbox.run_command(&[Harbour::ID]);
    let Some(ended) = mounted(&sandbox, mount, &command) else {
        return;
    };
    // The run checks that before the first step.
    let ended = ended
        .code(6)
        .stderr_has(&["cannot write to ", "data/harbour: Read-only"]);
    assert!(
        ended.stderr.to_lowercase().contains("read-only"),
        "{}",
        ended.stderr
    );
    assert_readable(&ended);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    sandbox.run_and_count_steps(Harbour::ID);
}

#[test]
fn doctor_names_a_file_system_that_is_mounted_read_only() {
    let sandbox = Harbour::prepared();
    for (place, part) in [("data", "data"), ("data/harbour", "data/harbour")] {
        let mount = format!("mount --bind {place} {place} && mount -o remount,bind,ro {place}");
        let command = sandbox.command(&["doctor", "--offline"]);
        let Some(ended) = mounted(&sandbox, &mount, &command) else {
            return;
        };
        let ended = ended
            .code(6)
            .stdout_has(&[part, "mount the file system writable"]);
        assert!(!ended.stdout.contains("mode"), "{}", ended.stdout);
    }
}

#[test]
fn doctor_shows_changed_data_damaged_objects_and_free_space() {
    let sandbox = Harbour::prepared();
    let doctor = ["doctor", "--offline"];
    let healthy = sandbox
        .prep(&doctor)
        .code(0)
        .stdout_has(&["free for prepared data"]);
    for absent in ["quarantine", "changed"] {
        assert!(!healthy.stdout.contains(absent), "{}", healthy.stdout);
    }
    let train = sandbox.prepared(Harbour::ID).join("public/train.csv");
    fs::remove_file(&train).expect("removed");
    fs::write(&train, "changed").expect("written");
    sandbox.write(&format!("store/quarantine/{}-1", "0".repeat(64)), "12345");
    sandbox.prep(&doctor).code(0).stdout_has(&[
        "harbour changed since prepared",
        "the cache has 1 damaged object (5 B)",
        "`prep cache gc` deletes damaged objects after a day",
    ]);
    sandbox
        .prep(&["cache", "gc"])
        .code(0)
        .stdout_has(&["removed 1 object (5 B"]);
    sandbox.write("file", "not a directory");
    let table = sandbox.prep(&["doctor", "--offline", "--pipelines", "file"]);
    table.stdout_has(&["pipelines", "error", "memory"]);
}

#[test]
fn full_disk_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(400, 1).bytes());
    for full in ["data", "store"] {
        fs::create_dir_all(sandbox.path(full)).expect("directory");
        let command = sandbox.run_command(&[Gallery::ID]);
        let mount = format!("mount -t tmpfs -o size=40k none {full}");
        let Some(ended) = mounted(&sandbox, &mount, &command) else {
            return;
        };
        let ended = ended.code(6);
        let text = ended.stderr.to_lowercase();
        assert!(text.contains("no space left"), "{}", ended.stderr);
        assert!(text.contains(full), "{}", ended.stderr);
        assert_readable(&ended);
        assert!(!sandbox.prepared(Gallery::ID).exists());
    }
    sandbox.run_and_count_steps(Gallery::ID);
}

/// Only the steps and records that need more space fail: the run lists all competitions, and its log states how it ended.
#[test]
fn a_run_that_fills_the_disk_ends_like_other_runs() {
    let ids = ["quay", "harbour", "gallery"];
    let sandbox = Sandbox::new();
    for id in &ids[..2] {
        sandbox.pipeline(
            id,
            &Harbour::PIPELINE.replace("kaggle: harbour", &format!("kaggle: {id}")),
        );
        sandbox.bundle(id, &Harbour::bundle(&Harbour::table()));
    }
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    for full in ["data", "store"] {
        fs::create_dir_all(sandbox.path(full)).expect("directory");
    }
    let clear = || {
        for directory in ["data", "store", "kept"] {
            let _ = fs::remove_dir_all(sandbox.path(directory));
            fs::create_dir_all(sandbox.path(directory)).expect("directory");
        }
    };
    let mut helps = String::new();
    for (full, sizes) in [("data", 4..100), ("store", 150..500)] {
        for kilobytes in sizes.step_by(16) {
            clear();
            // The mounted directory vanishes when the shell ends, so the script also copies logs and lists states.
            let script = format!(
                "mount -t tmpfs -o size={kilobytes}k none {full} && \"$0\" \"$@\"; code=$?; cp store/runs-v1/* kept; \
                 \"$0\" list {} --json > list; exit $code",
                ids.join(" ")
            );
            let Some(ended) = scripted(&sandbox, &script, &sandbox.run_command(&ids)) else {
                return;
            };
            if ended.code == Some(0) {
                break;
            }
            let place = format!("{full} of {kilobytes} kB: {ended:#?}");
            assert_eq!(ended.code, Some(6), "{place}");
            let report = ended.json();
            let competitions = report["competitions"].as_array().expect(&place);
            assert_eq!(competitions.len(), ids.len(), "{place}");
            let listed = fs::read_to_string(sandbox.path("list")).expect("a list");
            let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
            for (one, listed) in competitions
                .iter()
                .zip(listed["competitions"].as_array().expect(&place))
            {
                assert_eq!(one["id"], listed["id"]);
                let is_listed = listed["reasons"].to_string().contains("the last run");
                let is_failed = one["state"] == "failed" && full == "store";
                let is_prepared = listed["state"]
                    .as_str()
                    .expect("a state")
                    .starts_with("prepared");
                assert!(!is_failed || !is_prepared || is_listed, "{listed}\n{place}");
            }
            let failures = competitions.iter();
            let failures = failures
                .filter_map(|one| one["failures"].as_array())
                .flatten();
            for failure in failures {
                helps.push_str(failure["help"].as_str().expect(&place));
                let message = failure["message"].as_str().expect(&place);
                assert!(
                    !message.contains("free some"),
                    "advice is in the help: {message}"
                );
            }
            let log = fs::read_dir(sandbox.path("kept")).expect("logs").next();
            let log = fs::read_to_string(log.expect(&place).expect("a log").path());
            assert!(
                log.expect("text").contains("\"event\":\"finished\""),
                "{place}"
            );
        }
    }
    assert!(helps.contains("prep cache gc"), "{helps}");
}

/// Runs `prep` from a shell that first runs the commands `before`.
fn after(sandbox: &Sandbox, before: &str, inner: &Command) -> CommandResult {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{before}; exec \"$0\" \"$@\"")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(sandbox.path(""))
        .env_clear()
        .stdin(Stdio::null());
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    CommandResult::of(&mut command)
}

/// Collects the modes of a directory and of all entries below it.
fn modes(directory: &Path, found: &mut Vec<(String, u32)>) {
    let metadata = fs::symlink_metadata(directory).expect("metadata");
    found.push((
        directory.display().to_string(),
        metadata.permissions().mode() & 0o777,
    ));
    if metadata.is_dir() {
        for entry in fs::read_dir(directory).expect("a directory") {
            modes(&entry.expect("entry").path(), found);
        }
    }
}

#[test]
fn new_files_respect_the_umask() {
    for (umask, directory, file) in [(0o027, 0o750, 0o640), (0o000, 0o777, 0o666)] {
        let sandbox = Sandbox::new();
        sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
        sandbox.bundle(Gallery::ID, &Gallery::archive(20, 1).bytes());
        let command = sandbox.run_command(&[Gallery::ID]);
        after(&sandbox, &format!("umask {umask:03o}"), &command).code(0);
        let mut found = Vec::new();
        modes(&sandbox.data(), &mut found);
        modes(&sandbox.store(), &mut found);
        assert!(found.len() > 30, "{found:?}");
        for (path, mode) in found {
            // Ignore the owner's execute permission. It marks objects that are only in the cache. Published files do
            // not have it.
            let mode = match path.contains("/objects-v1/") && mode & 0o222 == 0 {
                true => mode & !0o100,
                false => mode,
            };
            // A user who can read a lock file can lock it. Therefore only users with write permission have read permission.
            let is_lock = path.contains("/locks/");
            // Published files and objects are read-only for all users.
            let expected = match Path::new(&path).is_dir() {
                true => directory,
                false if is_lock => (file & 0o222) | (file & 0o222) << 1,
                false if mode & 0o222 == 0 => file & 0o444,
                false => file,
            };
            assert_eq!(
                mode, expected,
                "{path}: {mode:o} with the umask {umask:03o}"
            );
        }
    }
}

#[test]
fn low_limit_of_open_files_reduces_jobs_with_one_message() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(400, 1).bytes());
    let mut command = sandbox.run_command(&[Gallery::ID]);
    command.args(["--jobs", "64"]);
    let ended = after(&sandbox, "ulimit -n 64", &command).code(0);
    assert_eq!(
        ended
            .stderr
            .matches("only 64 files may be open at once")
            .count(),
        1
    );
    let ended = ended.stderr_has(&["5 jobs instead of 64", "ulimit -n"]);
    assert!(
        !ended.stderr.contains("Too many open files"),
        "{}",
        ended.stderr
    );
}
