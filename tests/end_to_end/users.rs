//! Tests of several users with one cache and one data directory. They need root to run `prep` as other users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::support::{CommandResult, Harbour, Sandbox, names_in, skipped};

const GROUP: u32 = 42_000;
const USERS: [u32; 2] = [42_001, 42_002];

fn share(directory: &Path) {
    fs::create_dir_all(directory).expect("a directory");
    chown(directory, None, Some(GROUP)).expect("a group");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o2775)).expect("a mode");
}

/// Returns a command that runs `prep` as a user with the usual umask.
fn as_user(sandbox: &Sandbox, user: u32, arguments: &[&str]) -> Command {
    with_umask(sandbox, user, "022", arguments)
}

fn setpriv(user: u32, group: u32) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args([format!("--reuid={user}"), format!("--regid={group}")])
        .arg("--clear-groups");
    command
}

fn with_umask(sandbox: &Sandbox, user: u32, umask: &str, arguments: &[&str]) -> Command {
    let inner = sandbox.command(arguments);
    let mut command = setpriv(user, GROUP);
    let script = format!("umask {umask}; exec \"$0\" \"$@\"");
    command.args(["sh", "-c", &script]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(sandbox.path("")).env_clear();
    let variables = inner
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(variables);
    command
}

/// A user outside of the group.
const OUTSIDER: u32 = 42_010;

fn outsider(sandbox: &Sandbox, arguments: &[&str]) -> CommandResult {
    let inner = as_user(sandbox, OUTSIDER, arguments);
    let mut command = setpriv(OUTSIDER, OUTSIDER);
    command.args(inner.get_args().skip(3));
    let variables = inner.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    CommandResult::of(command.current_dir(sandbox.path("")))
}

fn not_in_group() -> String {
    format!("you are not in the group {GROUP}: run `usermod -a -G {GROUP} {OUTSIDER}` as root")
}

fn shared(sandbox: &Sandbox, user: u32, arguments: &[&str]) -> CommandResult {
    CommandResult::of(as_user(sandbox, user, arguments).env("PREP_SHARED", "yes"))
}

/// Creates a sandbox that the group shares. Skips the test if other users cannot run `prep` on this machine.
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
    // Each user can use and change what the other one has created.
    shared(&sandbox, two, &run)
        .code(0)
        .stdout_has(&["up to date"]);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    shared(&sandbox, two, &run)
        .code(0)
        .stdout_has(&["prepared"]);
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
    CommandResult::of(&mut as_user(&sandbox, one, &run)).code(0);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    let ended = shared(&sandbox, two, &run).code(6);
    ended.stderr_has(&["no permission to", "`shared` or the umask 002"]);
}

/// Whether a user can create or replace an object depends on the permissions of its directory, not of the object.
#[test]
fn the_directory_of_an_object_is_the_obstacle() {
    let Some(sandbox) = sandbox("the_directory_of_an_object_is_the_obstacle") else {
        return;
    };
    let run = ["run", Harbour::ID, "--source", "source"];
    let [one, two] = USERS;
    shared(&sandbox, one, &run).code(0);
    // All objects are lost, and user two cannot create them in the directories of user one.
    let objects = sandbox.store().join("objects-v1");
    for directory in fs::read_dir(&objects).expect("objects") {
        let directory = directory.expect("a directory").path();
        for object in fs::read_dir(&directory).expect("objects") {
            fs::remove_file(object.expect("an object").path()).expect("an object");
        }
        fs::set_permissions(directory, fs::Permissions::from_mode(0o2755)).expect("a mode");
    }
    // All steps run again.
    let entries = sandbox.store().join("ledger-v1");
    fs::remove_dir_all(&entries).expect("the entries");
    share(&entries);
    let ended = shared(&sandbox, two, &run).code(6);
    let owner = format!("belongs to user {one} and group {GROUP}, and has mode 2755");
    let ended = ended.stderr_has(&["no permission to commit", &owner]);
    assert!(!ended.stderr.contains("mode 444"), "{}", ended.stderr);
}

#[test]
fn users_outside_of_the_group_get_the_command_that_adds_them() {
    let Some(sandbox) = sandbox("users_outside_of_the_group_get_the_command_that_adds_them") else {
        return;
    };
    let run = ["run", Harbour::ID, "--source", "source"];
    outsider(&sandbox, &run)
        .code(6)
        .stderr_has(&["no permission to", &not_in_group()]);
    outsider(&sandbox, &["doctor", "--offline"]).stdout_has(&[&not_in_group()]);
    let absent = sandbox.path("absent");
    let absent = absent.to_str().expect("a path");
    let ended = outsider(&sandbox, &["doctor", "--offline", "--data-dir", absent]);
    ended.stdout_has(&["the directory does not exist, and you may not create it in"]);
}

/// A removal that stopped half-way would leave a competition without its answers or its list of files.
#[test]
fn nothing_is_removed_without_the_permission_for_everything() {
    let Some(sandbox) = sandbox("nothing_is_removed_without_the_permission_for_everything") else {
        return;
    };
    let [one, two] = USERS;
    let run = ["run", Harbour::ID, "--source", "source"];
    shared(&sandbox, one, &run).code(0);
    let private = sandbox.prepared(Harbour::ID).join("private");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o755)).expect("a mode");
    let before = sandbox.tree(Harbour::ID);
    let ended = shared(&sandbox, two, &["remove", Harbour::ID, "--yes"]).code(6);
    ended.stderr_has(&[
        "cannot remove `harbour`: cannot be written:",
        "harbour/prepared/private belongs to",
    ]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    shared(&sandbox, two, &run)
        .code(0)
        .stdout_has(&["up to date"]);
}

/// A file that `prep` cannot read is neither valid nor invalid.
#[test]
fn an_unreadable_submission_is_a_system_error() {
    let Some(sandbox) = sandbox("an_unreadable_submission_is_a_system_error") else {
        return;
    };
    let [one, two] = USERS;
    let run = ["run", Harbour::ID, "--source", "source"];
    shared(&sandbox, one, &run).code(0);
    let mode = |path: &str, mode| {
        fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(mode)).expect("a mode");
    };
    for path in ["closed.csv", "inner/closed.csv"] {
        sandbox.write(path, "id,docked\n");
    }
    mode("closed.csv", 0o000);
    mode("inner", 0o000);
    share(&sandbox.path("reports"));
    for path in ["closed.csv", "inner/closed.csv"] {
        let cause = format!("cannot read the submission {path}: Permission denied");
        for verb in ["grade", "validate"] {
            let ended = shared(&sandbox, two, &[verb, Harbour::ID, path]).code(6);
            ended.stderr_has(&[&cause]);
        }
        let line =
            format!("{{\"competition_id\": \"harbour\", \"submission_path\": \"{path}\"}}\n");
        sandbox.write("list.jsonl", line);
        shared(&sandbox, two, &["grade", "list.jsonl", "-o", "reports"])
            .code(6)
            .stderr_has(&[&cause]);
    }
    assert!(
        !sandbox.data().join("grades.jsonl").exists(),
        "nothing was graded"
    );
    mode("inner", 0o755);
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
    own.stdout_has(&["published files are hard links to the cache\n"]);
    let data = sandbox.path("data-of-two");
    share(&data);
    let elsewhere = |arguments: &[&str]| {
        let mut command = as_user(&sandbox, two, arguments);
        CommandResult::of(
            command
                .env("PREP_SHARED", "yes")
                .env("MLE_BENCH_DATA_DIR", &data),
        )
    };
    elsewhere(&["doctor"]).stdout_has(&["copies if other users did", "fs.protected_hardlinks"]);
    elsewhere(&run).code(0);
    let published = data.join(Harbour::ID).join("prepared/public/train.csv");
    assert_eq!(fs::metadata(published).expect("a file").nlink(), 1);
}

/// Runs the commands with which the page on clusters repairs directories.
fn repair(sandbox: &Sandbox) {
    let page = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/clusters.md"
    ));
    let page = page.expect("the page");
    let mut blocks = page
        .split("```sh\n")
        .filter_map(|block| block.split("```").next());
    let commands = blocks
        .find(|block| block.contains("chmod -R"))
        .expect("the repair");
    let group = GROUP.to_string();
    let commands = commands.replace("bench", &group);
    let directories = format!("{} {}", sandbox.store().display(), sandbox.data().display());
    let commands = commands.replace("/srv/prep", &directories);
    let ended = Command::new("sh").args(["-ec", &commands]).status();
    assert!(ended.expect("a shell").success(), "{commands}");
}

/// A user without the setting `shared` creates directories that others cannot write.
/// The check names the directories, and the documented repair works.
#[test]
fn doctor_names_directories_of_other_users() {
    let Some(sandbox) = sandbox("doctor_names_directories_of_other_users") else {
        return;
    };
    let run = ["run", Harbour::ID, "--source", "source"];
    let doctor = ["doctor", "--offline"];
    let [one, two] = USERS;
    // No directory is wrong yet, but user one is about to create directories that others cannot write.
    let before = CommandResult::of(&mut as_user(&sandbox, one, &doctor));
    before.stdout_has(&[
        "the group cannot write directories that you create in it",
        "PREP_SHARED=yes",
    ]);
    CommandResult::of(&mut as_user(&sandbox, one, &run)).code(0);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    let owner = format!("belongs to user {one} and group {GROUP}");
    let found = shared(&sandbox, two, &doctor);
    found.stdout_has(&["directories or files cannot be written", &owner, "chgrp -R"]);
    shared(&sandbox, two, &run).code(6).stderr_has(&[&owner]);
    repair(&sandbox);
    let found = shared(&sandbox, two, &doctor);
    assert!(
        !found.stdout.contains("cannot be written"),
        "{}",
        found.stdout
    );
    shared(&sandbox, two, &run).code(0);
    shared(&sandbox, one, &["cache", "verify"]).code(0);
}

/// A bundle and a source that the user may not read are findings with owner and mode. The exit code is that of a run.
#[test]
fn doctor_reports_unreadable_bundles_and_sources() {
    let Some(sandbox) = sandbox("doctor_reports_unreadable_bundles_and_sources") else {
        return;
    };
    let arguments = [Harbour::ID, "--source", "source"];
    let doctor = [&["doctor", "--offline"], &arguments[..]].concat();
    for path in [format!("source/{}.zip", Harbour::ID), "source".to_owned()] {
        fs::set_permissions(sandbox.path(&path), fs::Permissions::from_mode(0o600))
            .expect("a mode");
        let run = [&["run", "--no-download"], &arguments[..]].concat();
        CommandResult::of(&mut as_user(&sandbox, USERS[0], &run)).code(6);
        let found = CommandResult::of(&mut as_user(&sandbox, USERS[0], &doctor)).code(6);
        let owner = format!("{path} belongs to user root and group root, and has mode 600");
        found.stdout_has(&["check ", &owner, "change the owner or mode", "memory"]);
    }
}

/// One directory that only its owner may enter does not hide the rest of the cache.
#[test]
fn a_closed_directory_of_the_cache_does_not_end_stat_and_verify() {
    let Some(sandbox) = sandbox("a_closed_directory_of_the_cache_does_not_end_stat_and_verify")
    else {
        return;
    };
    let [one, two] = USERS;
    shared(&sandbox, one, &["run", Harbour::ID, "--source", "source"]).code(0);
    for bucket in ["objects-v1", "ledger-v1"] {
        let first = names_in(&sandbox.store().join(bucket)).remove(0);
        let directory = sandbox.store().join(bucket).join(first);
        fs::set_permissions(directory, fs::Permissions::from_mode(0o2700)).expect("a mode");
    }
    let stat = shared(&sandbox, two, &["cache", "stat"]).code(0);
    stat.stderr_has(&["whose files are not counted: 2", "and has mode 2700"]);
    let verified = shared(&sandbox, two, &["cache", "verify", "--json"]).code(6);
    let verified = verified.json();
    assert_eq!(
        verified["failed"].as_array().map(Vec::len),
        Some(2),
        "{verified}"
    );
    for problem in ["damaged", "missing", "dangling"] {
        assert_eq!(
            verified[problem].as_array().map(Vec::len),
            Some(0),
            "{verified}"
        );
    }
    // A garbage collection would remove objects to which unreadable entries refer, so it fails.
    shared(&sandbox, two, &["cache", "gc"])
        .code(6)
        .stderr_has(&["mode 2700"]);
    // Other users cannot enter the directory of this competition, although they may read the file in it.
    let home = sandbox.data().join(Harbour::ID);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o2700)).expect("a mode");
    let run = shared(&sandbox, two, &["run", Harbour::ID, "--source", "source"]);
    let owner = format!("data/{} belongs to user {one}", Harbour::ID);
    run.code(6).stderr_has(&[&owner, "mode 2700"]);
}

/// Without the setgid bit, new directories get the group of their creator.
#[test]
fn doctor_reports_a_missing_setgid_bit() {
    let Some(sandbox) = sandbox("doctor_reports_a_missing_setgid_bit") else {
        return;
    };
    for directory in [sandbox.store(), sandbox.data()] {
        chown(&directory, None, Some(GROUP + 1)).expect("a group");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).expect("a mode");
    }
    let found = shared(&sandbox, USERS[0], &["doctor", "--offline"]);
    found.stdout_has(&["new directories in it belong to another group", "chmod g+s"]);
}

/// Without the setgid bit, each directory belongs to the group of its creator, which may be private to this user. So the
/// message does not suggest to join this group.
#[test]
fn a_group_without_the_setgid_bit_gets_its_directories_back() {
    let Some(sandbox) = sandbox("a_group_without_the_setgid_bit_gets_its_directories_back") else {
        return;
    };
    let roots = [sandbox.store(), sandbox.data()];
    let set_mode = |mode: u32| {
        for root in &roots {
            fs::set_permissions(root, fs::Permissions::from_mode(mode)).expect("a mode");
        }
    };
    set_mode(0o775);
    // Each user has a private group.
    let as_member = |user: u32, arguments: &[&str]| {
        let inner = as_user(&sandbox, user, arguments);
        let mut command = Command::new("setpriv");
        let ids = [("reuid", user), ("regid", user), ("groups", GROUP)];
        command.args(ids.map(|(name, id)| format!("--{name}={id}")));
        command.args(inner.get_args().skip(3));
        let variables = inner.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        CommandResult::of(
            command
                .env("PREP_SHARED", "yes")
                .current_dir(sandbox.path("")),
        )
    };
    let [one, two] = USERS;
    let run = ["run", Harbour::ID, "--source", "source"];
    as_member(one, &run).code(0);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    let repair = |root: &Path| {
        let root = root.display();
        [
            format!("chgrp -R {GROUP} {root}"),
            format!("chmod -R g=u {root}"),
            format!("find {root} -type d -exec chmod g+s {{}} +"),
        ]
    };
    let commands = repair(&roots[0]);
    let denied = as_member(two, &run).code(6);
    let denied = denied.stderr_has(&commands.each_ref().map(String::as_str));
    assert!(!denied.stderr.contains("usermod"), "{}", denied.stderr);
    for mode in [0o775, 0o2775] {
        set_mode(mode);
        let found = as_member(one, &["doctor", "--offline"]);
        let found = found.stdout_has(&["another group or no setgid bit"]);
        let commands = repair(&roots[1]);
        let found = found.stdout_has(&commands.each_ref().map(String::as_str));
        // The bit shows that users share the directories.
        assert_eq!(found.code == Some(6), mode == 0o2775, "{}", found.stdout);
    }
    for command in roots.iter().flat_map(|root| repair(root)) {
        let command = command.replace("{}", "'{}'");
        let ended = Command::new("sh").args(["-c", &command]).status();
        assert!(ended.expect("a shell").success(), "{command}");
    }
    as_member(two, &run).code(0);
    let found = as_member(one, &["doctor", "--offline"]);
    assert!(!found.stdout.contains("setgid"), "{}", found.stdout);
}

/// With the documented modes for private answers, only the group reads the answers.
#[test]
fn other_users_cannot_read_a_private_directory() {
    let Some(sandbox) = sandbox("other_users_cannot_read_a_private_directory") else {
        return;
    };
    for directory in [sandbox.store(), sandbox.data()] {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o2770)).expect("a mode");
    }
    let [one, two] = USERS;
    let run = ["run", Harbour::ID, "--source", "source"];
    let private = |user| {
        let mut command = with_umask(&sandbox, user, "007", &run);
        CommandResult::of(command.env("PREP_SHARED", "yes")).code(0)
    };
    private(one);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    private(two).stdout_has(&["prepared"]);
    let answers = sandbox.prepared(Harbour::ID).join("private/test.csv");
    let reads = |user, group, path: &Path| {
        let mut command = setpriv(user, group);
        let ended = command.arg("cat").arg(path).output().expect("cat");
        ended.status.success()
    };
    assert!(reads(one, GROUP, &answers) && reads(two, GROUP, &answers));
    assert!(!reads(one + 9, one + 9, &answers));
    // The message to a user outside of the group is about the directory, not about a file that may not exist.
    let closed = format!(
        "you may not enter a directory: {} belongs to",
        sandbox.data().display()
    );
    let outsider = |arguments: &[&str]| outsider(&sandbox, arguments);
    for verb in [&["list"][..], &["run", Harbour::ID]] {
        let ended = outsider(verb).code(6);
        ended.stderr_has(&[&closed, "mode 2770", &not_in_group()]);
    }
    // The check still shows its table, without a row per competition.
    let table = outsider(&["doctor", "--offline"]);
    let table = table.stdout_has(&["memory", &closed, &not_in_group()]);
    assert!(!table.stdout.contains("prepared.json"), "{}", table.stdout);
    // The private files are also unreadable for other users, in case somebody relaxes the modes of the directories.
    for entry in fs::read_dir(answers.parent().expect("a parent")).expect("private") {
        let mode = entry
            .expect("an entry")
            .metadata()
            .expect("metadata")
            .mode();
        assert_eq!(mode & 0o007, 0, "{mode:o}");
    }
}

/// A remote in a directory is shared like the cache. The message to a user who cannot write names the owner.
#[test]
fn a_remote_in_a_directory_is_shared_by_a_group() {
    let Some(sandbox) = sandbox("a_remote_in_a_directory_is_shared_by_a_group") else {
        return;
    };
    let [one, two] = USERS;
    let remote = sandbox.path("remote");
    share(&remote);
    let url = format!("file://{}", remote.display());
    let run = ["run", Harbour::ID, "--source", "source", "--remote", &url];
    let machine = |user: u32, is_shared: &str, seed: &str, arguments: &[&str]| {
        let own = sandbox.path(&format!("home-{user}"));
        fs::create_dir_all(&own).expect("a home directory");
        chown(&own, Some(user), Some(GROUP)).expect("an owner");
        sandbox.pipeline(Harbour::ID, &Harbour::PIPELINE.replace("seed: 0", seed));
        let mut command = as_user(&sandbox, user, arguments);
        command
            .env("HOME", &own)
            .env("PREP_CACHE_DIR", own.join("cache"))
            .env("MLE_BENCH_DATA_DIR", own.join("data"))
            .env("PREP_SHARED", is_shared);
        CommandResult::of(&mut command)
    };
    for user in USERS {
        machine(user, "yes", "seed: 0", &["remote", "key", "new", "own"]).code(0);
    }
    machine(one, "yes", "seed: 0", &run).code(0);
    let ended = machine(two, "yes", "seed: 1", &run).code(0);
    assert!(
        !ended.stderr.contains("cannot be written"),
        "{}",
        ended.stderr
    );
    fs::remove_dir_all(&remote).expect("the remote");
    share(&remote);
    machine(one, "no", "seed: 2", &run).code(0);
    let owner = format!("belongs to user {one} and group {GROUP}, and has mode");
    machine(two, "yes", "seed: 3", &run).code(0).stderr_has(&[
        "cannot be written",
        &owner,
        "`shared` or the umask 002",
    ]);
    let found = machine(two, "yes", "seed: 3", &["doctor", "--remote", &url]);
    found.stdout_has(&["cannot be written", &owner, "chgrp -R"]);
}

/// A process can lock each file that it can open. So a user outside the group must be unable to open a lock file, although
/// this user can read the cache and the data directory.
#[test]
fn users_who_may_only_read_cannot_open_lock_files() {
    let Some(sandbox) = sandbox("users_who_may_only_read_cannot_open_lock_files") else {
        return;
    };
    let [one, two] = USERS;
    let run = ["run", Harbour::ID, "--source", "source"];
    shared(&sandbox, one, &run).code(0);
    let submission = "source/sample.csv";
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    sandbox.write(submission, fs::read(sample).expect("a sample"));
    shared(&sandbox, one, &["grade", Harbour::ID, submission]).code(0);
    let outsider = one + 9;
    let directories = [sandbox.store(), sandbox.data()];
    let files = |test: &[&str]| {
        let mut command = setpriv(outsider, outsider);
        let found = command.arg("find").args(&directories).args(test).output();
        let found = String::from_utf8(found.expect("find").stdout).expect("paths");
        found.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let is_lock = [
        "(",
        "-path",
        "*/locks/*",
        "-o",
        "-name",
        "*.lock",
        "-o",
        "-name",
        "*.guard",
        ")",
    ];
    let not_lockfile = ["-type", "f", "!", "-name", "prep.lock"];
    let all = files(&[&is_lock[..], &not_lockfile].concat());
    assert!(!all.is_empty());
    let readable = files(&[&is_lock[..], &not_lockfile, &["-readable"]].concat());
    assert!(readable.is_empty(), "{readable:?}");
    shared(&sandbox, two, &run).code(0);
    let list = CommandResult::of(&mut as_user(&sandbox, outsider, &["list", Harbour::ID]));
    list.code(0).stdout_has(&["prepared"]);
}

#[test]
fn a_pipeline_that_cannot_be_read_affects_no_other_competition() {
    let Some(sandbox) = sandbox("unreadable pipelines") else {
        return;
    };
    sandbox.pipeline("closed", "name: Closed\n");
    let closed = sandbox.path("pipelines/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("a mode");
    let prep = |arguments: &[&str]| CommandResult::of(&mut as_user(&sandbox, USERS[0], arguments));
    prep(&["plan", Harbour::ID, "--source", "source"]).code(0);
    let listed = prep(&["list", "closed", Harbour::ID]).code(0);
    listed.stdout_has(&["pipeline cannot be read", "Permission denied", Harbour::ID]);
    prep(&["plan", "closed"])
        .code(6)
        .stderr_has(&["Permission denied"]);
    let check = ["pipeline", "check", "pipelines"];
    prep(&check)
        .code(6)
        .stdout_has(&["closed", "Permission denied"]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Records of other competitions are in other directories of the cache.
#[test]
fn a_closed_directory_of_the_cache_affects_no_other_competition() {
    let Some(sandbox) = sandbox("a_closed_directory_of_the_cache_affects_no_other_competition")
    else {
        return;
    };
    let other = Harbour::PIPELINE.replace("kaggle: harbour", "kaggle: quay");
    sandbox.pipeline("quay", &other);
    let table = Harbour::table().replace('7', "8");
    sandbox.bundle("quay", &Harbour::bundle(&table));
    let [one, two] = USERS;
    let buckets = ["sources-v1", "ledger-v1", "history-v1"];
    let names = || buckets.map(|bucket| names_in(&sandbox.store().join(bucket)));
    let run = ["run", "--source", "source", "--json"];
    shared(&sandbox, one, &[&run[..], &[Harbour::ID]].concat()).code(0);
    let before = names();
    shared(&sandbox, one, &[&run[..], &["quay"]].concat()).code(0);
    let after = names();
    for (index, bucket) in buckets.iter().enumerate() {
        let added = after[index]
            .iter()
            .filter(|name| !before[index].contains(name));
        let directory = sandbox.store().join(bucket);
        let set = |mode| {
            for name in added.clone() {
                let mode = fs::Permissions::from_mode(mode);
                fs::set_permissions(directory.join(name), mode).expect("a mode");
            }
        };
        set(0o700);
        // Directories are named after the first digits of digests, so the competitions may share all directories.
        if added.clone().next().is_none() {
            continue;
        }
        let owner = format!("belongs to user {one} and group {GROUP}, and has mode 700");
        // A run with nothing to do does not need the history.
        let verbs = if *bucket == "history-v1" { 1 } else { 2 };
        for verb in ["plan", "run"].into_iter().take(verbs) {
            let arguments = [verb, "--source", "source", "--json", "quay", Harbour::ID];
            let ended = shared(&sandbox, two, &arguments)
                .code(6)
                .stderr_has(&[&owner, bucket]);
            let report = ended.json();
            let all = report["competitions"].as_array().expect("competitions");
            let find = |id: &str| {
                all.iter()
                    .find(|one| one["id"] == id)
                    .expect("a competition")
            };
            let (good, bad) = (find(Harbour::ID), find("quay"));
            match verb {
                "plan" => assert!(
                    good["error"].is_null() && bad["error"].is_object(),
                    "{report}"
                ),
                _ => {
                    assert_eq!(good["state"], "up_to_date", "{report}");
                    assert_eq!(bad["state"], "failed", "{report}");
                }
            }
        }
        set(0o2775);
    }
}

/// An unreadable `prep.toml` in the user's own configuration directory is ignored, because services often run with
/// another user's home directory. In all other directories, it is an error.
#[test]
fn a_prep_toml_that_cannot_be_read_is_named() {
    let Some(sandbox) = sandbox("a_prep_toml_that_cannot_be_read_is_named") else {
        return;
    };
    let close = |path: &str| {
        sandbox.write(path, "jobs = 1\n");
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(sandbox.path(path), mode).expect("a mode");
    };
    let prep = |arguments: &[&str]| {
        let mut command = as_user(&sandbox, USERS[0], arguments);
        CommandResult::of(command.env("XDG_CONFIG_HOME", sandbox.path("home")))
    };
    close("home/prep/prep.toml");
    let listed = prep(&["list", Harbour::ID, "--quiet"]).code(0);
    listed.stderr_has(&["prep/prep.toml is ignored, because you may not read it"]);
    prep(&["config"])
        .code(0)
        .stderr_has(&["prep/prep.toml: ignored"]);
    close("data/prep.toml");
    prep(&["list", Harbour::ID]).code(6).stderr_has(&[
        "you may not read a file",
        "data/prep.toml belongs to user",
        "ask its owner for permission, or use another current directory or data directory",
    ]);
    fs::remove_file(sandbox.path("data/prep.toml")).expect("removed");
    close("xdg/prep/prep.toml");
    let prep = |arguments: &[&str]| {
        let mut command = as_user(&sandbox, USERS[0], arguments);
        CommandResult::of(command.env("XDG_CONFIG_DIRS", sandbox.path("xdg")))
    };
    prep(&["list", Harbour::ID]).code(6).stderr_has(&[
        "xdg/prep/prep.toml belongs to user",
        "ask its owner for permission, or set XDG_CONFIG_DIRS",
    ]);
    prep(&["doctor", "--offline"])
        .code(6)
        .stdout_has(&["xdg/prep/prep.toml belongs to user", "memory"]);
    // The user owns the file, but has removed the permission to read it.
    let own = sandbox.path("xdg/prep/prep.toml");
    chown(&own, Some(USERS[0]), None).expect("another owner");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o000)).expect("a mode");
    prep(&["list", Harbour::ID]).code(6).stderr_has(&[
        "run `chmod u+rX ",
        "prep/prep.toml`, or set XDG_CONFIG_DIRS",
    ]);
}

/// A file that cannot be removed does not stop the removal of other competitions.
#[test]
fn a_failed_removal_does_not_stop_others() {
    let Some(sandbox) = sandbox("a_failed_removal_does_not_stop_others") else {
        return;
    };
    let copy = "copy";
    sandbox.pipeline(copy, &Harbour::PIPELINE.replace("harbour", copy));
    let bundle = sandbox.source().join("harbour.zip");
    fs::copy(bundle, sandbox.source().join("copy.zip")).expect("a bundle");
    let prep = |arguments: &[&str]| shared(&sandbox, USERS[0], arguments);
    prep(&["run", copy, Harbour::ID, "--source", "source"]).code(0);
    let home = sandbox.data().join(copy);
    let set = |mode| fs::set_permissions(&home, fs::Permissions::from_mode(mode)).expect("a mode");
    set(0o500);
    chown(&home, Some(0), Some(0)).expect("an owner");
    let removed = prep(&["remove", copy, Harbour::ID, "--yes"]).code(6);
    removed.stderr_has(&["cannot remove `copy`", "cannot be written"]);
    assert!(!sandbox.data().join(Harbour::ID).exists());
    assert!(home.join("prepared.json").exists());
    set(0o700);
}
