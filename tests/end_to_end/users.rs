//! Tests of several users with one cache and one data directory. They need root, to run `prep` as other users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::support::{Ended, Harbour, Sandbox, skipped};

/// A group, and two users who have it as their only group.
const GROUP: u32 = 42_000;
const USERS: [u32; 2] = [42_001, 42_002];

/// Makes a directory one that the group shares, as the documentation describes.
fn share(directory: &Path) {
    fs::create_dir_all(directory).expect("a directory");
    chown(directory, None, Some(GROUP)).expect("a group");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o2775)).expect("a mode");
}

/// Creates a command that runs `prep` as a user with the usual umask.
fn as_user(sandbox: &Sandbox, user: u32, arguments: &[&str]) -> Command {
    let inner = sandbox.command(arguments);
    let mut command = Command::new("setpriv");
    let ids = [format!("--reuid={user}"), format!("--regid={GROUP}")];
    let script = "umask 022; exec \"$0\" \"$@\"";
    command
        .args(ids)
        .args(["--clear-groups", "sh", "-c", script]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(sandbox.path("")).env_clear();
    let variables = inner
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(variables);
    command
}

/// Runs `prep` as a user whose group may write new files.
fn shared(sandbox: &Sandbox, user: u32, arguments: &[&str]) -> Ended {
    Ended::of(as_user(sandbox, user, arguments).env("PREP_SHARED", "yes"))
}

/// Creates a sandbox that the group shares. If other users cannot run `prep` on this machine, reports that the test is skipped.
fn sandbox(test: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    fs::set_permissions(sandbox.path(""), fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut command = as_user(&sandbox, USERS[0], &["--version"]);
    let works = command.output().is_ok_and(|ended| ended.status.success());
    if !works {
        skipped(&format!(
            "{test}: needs root, setpriv, and a program that other users can read"
        ));
        return None;
    }
    for directory in [sandbox.store(), sandbox.data()] {
        share(&directory);
    }
    Some(sandbox)
}

#[test]
fn users_of_one_group_share_cache_and_data() {
    let Some(sandbox) = sandbox("users_of_one_group_share_cache_and_data") else {
        return;
    };
    let run = ["run", Harbour::ID, "--source", "source"];
    let [one, two] = USERS;
    shared(&sandbox, one, &run).code(0);
    // Another user continues where the first one ended, in both directions.
    shared(&sandbox, two, &run).code(0).shows(&["up to date"]);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    shared(&sandbox, two, &run).code(0).shows(&["prepared"]);
    shared(&sandbox, one, &["cache", "verify"]).code(0);
    let owner = |path: &str| {
        fs::metadata(sandbox.prepared(Harbour::ID).join(path))
            .expect("a file")
            .uid()
    };
    assert_eq!(owner("public/train.csv"), two);
    shared(&sandbox, one, &["remove", Harbour::ID, "--yes"]).code(0);
}

#[test]
fn missing_permissions_name_the_setting() {
    let Some(sandbox) = sandbox("missing_permissions_name_the_setting") else {
        return;
    };
    let run = ["run", Harbour::ID, "--source", "source"];
    let [one, two] = USERS;
    Ended::of(&mut as_user(&sandbox, one, &run)).code(0);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    let ended = shared(&sandbox, two, &run).code(6);
    ended.says(&["no permission to", "`shared` or the umask 002"]);
}

#[test]
fn doctor_reports_copies_of_other_users_objects() {
    let Some(sandbox) = sandbox("doctor_reports_copies_of_other_users_objects") else {
        return;
    };
    let protects = fs::read_to_string("/proc/sys/fs/protected_hardlinks");
    if protects.is_ok_and(|value| value.trim() == "0") {
        return skipped(
            "doctor_reports_copies_of_other_users_objects: fs.protected_hardlinks is 0",
        );
    }
    let run = ["run", Harbour::ID, "--source", "source"];
    let [one, two] = USERS;
    shared(&sandbox, one, &run).code(0);
    let own = shared(&sandbox, one, &["doctor"]);
    own.shows(&["published files are hard links to the cache\n"]);
    let data = sandbox.path("data-of-two");
    share(&data);
    let elsewhere = |arguments: &[&str]| {
        let mut command = as_user(&sandbox, two, arguments);
        Ended::of(
            command
                .env("PREP_SHARED", "yes")
                .env("MLE_BENCH_DATA_DIR", &data),
        )
    };
    elsewhere(&["doctor"]).shows(&["copies if other users did", "fs.protected_hardlinks"]);
    elsewhere(&run).code(0);
    let published = data.join(Harbour::ID).join("prepared/public/train.csv");
    assert_eq!(fs::metadata(published).expect("a file").nlink(), 1);
}
