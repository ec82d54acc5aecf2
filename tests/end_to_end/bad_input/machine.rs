//! Folders that cannot be written, and disks that are full.

use std::fs;
use std::process::{Command, Stdio};

use super::assert_readable;
use crate::support::{Ended, Gallery, Harbour, Sandbox};

#[test]
fn a_file_in_the_place_of_a_folder_is_an_error_that_names_it() {
    for place in ["data", "data/harbour", "data/harbour/prepared"] {
        let sandbox = Sandbox::new();
        Harbour::install(&sandbox);
        sandbox.write(place, "precious");
        let ended = sandbox.run(Harbour::ID).code(6).says(&[place]);
        assert_readable(&ended);
        let content = fs::read_to_string(sandbox.path(place)).expect("the file is still there");
        assert_eq!(content, "precious");
    }
}

/// Runs `prep` where `mount` was done first: in a mount namespace of its own, if this machine has them.
fn mounted(sandbox: &Sandbox, mount: &str, arguments: &[String]) -> Option<Ended> {
    let possible = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this machine has no mount namespaces for unprivileged processes");
        return None;
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let inner = sandbox.command(&arguments);
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &format!("{mount} && exec \"$0\" \"$@\"")])
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
    Some(Ended::of(&mut command))
}

#[test]
fn a_read_only_data_folder_is_an_error_that_names_it() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    let mount = "mount --bind data data && mount -o remount,bind,ro data";
    let arguments = Sandbox::run_arguments(&[Harbour::ID]);
    let Some(ended) = mounted(&sandbox, mount, &arguments) else {
        return;
    };
    let ended = ended.code(6).says(&["data/harbour"]);
    assert!(
        ended.stderr.to_lowercase().contains("read-only"),
        "{}",
        ended.stderr
    );
    assert_readable(&ended);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    sandbox.run_well(Harbour::ID);
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(400, 1).bytes());
    for full in ["data", "store"] {
        fs::create_dir_all(sandbox.path(full)).expect("folder");
        let arguments = Sandbox::run_arguments(&[Gallery::ID]);
        let mount = format!("mount -t tmpfs -o size=40k none {full}");
        let Some(ended) = mounted(&sandbox, &mount, &arguments) else {
            return;
        };
        let ended = ended.code(6);
        let text = ended.stderr.to_lowercase();
        assert!(text.contains("no space left"), "{}", ended.stderr);
        assert!(text.contains(full), "{}", ended.stderr);
        assert_readable(&ended);
        assert!(!sandbox.prepared(Gallery::ID).exists());
    }
    sandbox.run_well(Gallery::ID);
}
