//! Tests with the cache and the data on different file systems, which cannot share hard links or rename files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Archive, CommandResult, Gallery, Harbour, Member, Sandbox, skipped};

/// Returns a temporary directory on another file system than the sandbox. Returns `None` if all of the usual
/// directories are on the sandbox's file system.
fn elsewhere(sandbox: &Sandbox) -> Option<tempfile::TempDir> {
    let here = fs::metadata(sandbox.path("")).expect("sandbox").dev();
    let other = [
        "/dev/shm",
        "/run/shm",
        "/var/tmp",
        env!("CARGO_TARGET_TMPDIR"),
    ]
    .into_iter()
    .map(Path::new)
    .filter(|directory| fs::metadata(directory).is_ok_and(|found| found.dev() != here))
    .find_map(|directory| tempfile::tempdir_in(directory).ok());
    if other.is_none() {
        skipped("all directories of this machine are on one file system");
    }
    other
}

#[test]
fn cache_on_another_device_gives_the_same_tree() {
    for id in [Harbour::ID, Gallery::ID] {
        let install = |sandbox: &Sandbox| match id {
            Harbour::ID => Harbour::install(sandbox),
            _ => {
                sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
                sandbox.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
            }
        };
        let alone = Sandbox::new();
        install(&alone);
        alone.run_and_count_steps(id);
        let sandbox = Sandbox::new();
        install(&sandbox);
        let Some(other) = elsewhere(&sandbox) else {
            return;
        };
        let run = || {
            let mut command = sandbox.run_command(&[id]);
            command.env("PREP_CACHE_DIR", other.path().join("store"));
            crate::support::CommandResult::of(&mut command)
                .code(0)
                .json()
        };
        let steps = |report: &serde_json::Value| report["competitions"][0]["steps_run"].as_u64();
        assert!(steps(&run()) > Some(3));
        let tree = sandbox.tree(id);
        assert_eq!(tree.contents(), alone.tree(id).contents());
        assert_eq!(steps(&run()), Some(0));
        assert_eq!(sandbox.tree(id), tree);
        // Published files are copies, not hard links. So the cache is intact, and the next run restores a changed file.
        let victim = sandbox.prepared(id).join("public/train.csv");
        assert_eq!(fs::metadata(&victim).expect("a file").nlink(), 1);
        fs::remove_file(&victim).expect("removed");
        fs::write(&victim, "scribble").expect("written");
        assert_eq!(steps(&run()), Some(1));
        assert_eq!(sandbox.tree(id).contents(), tree.contents());
    }
}

/// A mounted file system whose times are full seconds: ext4 with short inodes, as on disks that were formatted as ext3.
struct CoarseDisk(PathBuf);

impl CoarseDisk {
    /// Mounts the disk at a directory of the sandbox. Returns `None` without root's rights.
    fn mount(sandbox: &Sandbox, name: &str) -> Option<CoarseDisk> {
        let (image, place) = (sandbox.path("disk"), sandbox.path(name));
        fs::create_dir_all(&place).expect("directory");
        fs::File::create(&image)
            .and_then(|file| file.set_len(32 << 20))
            .expect("image");
        let call = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
        let is_mounted = call(
            Command::new("mkfs.ext4")
                .args(["-q", "-I", "128"])
                .arg(&image),
        ) && call(
            Command::new("mount")
                .args(["-o", "loop"])
                .args([&image, &place]),
        );
        if !is_mounted {
            skipped("a file system cannot be mounted");
        }
        is_mounted.then_some(CoarseDisk(place))
    }
}

impl Drop for CoarseDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Replaces the text `from` in a file by the text `to`, which has the same length. Writes the file in place.
fn overwrite(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let text = fs::read(path).expect("read");
    let at = text
        .windows(from.len())
        .position(|part| part == from.as_bytes());
    let mut text = text.clone();
    text[at.expect("the text")..][..to.len()].copy_from_slice(to.as_bytes());
    let mut mode = fs::metadata(path).expect("metadata").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o644);
    fs::set_permissions(path, mode).expect("mode");
    fs::write(path, text).expect("write");
}

#[test]
fn changes_within_a_second_are_noticed_on_a_disk_with_coarse_times() {
    for attempt in 0..3 {
        let sandbox = Sandbox::new();
        let Some(_disk) = CoarseDisk::mount(&sandbox, "source") else {
            return;
        };
        Harbour::install(&sandbox);
        let bundle = sandbox.source().join("harbour.zip");
        fs::write(
            &bundle,
            Archive::new()
                .member(Member::stored("train.csv", Harbour::table()))
                .bytes(),
        )
        .expect("bundle");
        sandbox.run_and_count_steps(Harbour::ID);
        overwrite(&bundle, "\n1,37.5", "\n1,99.5");
        // The archive's checksum is now wrong, which shows that `prep` reads the new bytes.
        let ended = sandbox.run(Harbour::ID);
        assert_ne!(ended.code, Some(0), "{attempt}: {ended:?}");
    }
    for attempt in 0..3 {
        let sandbox = Sandbox::new();
        let Some(_disk) = CoarseDisk::mount(&sandbox, "data") else {
            return;
        };
        Harbour::install(&sandbox);
        sandbox.run_and_count_steps(Harbour::ID);
        let before = sandbox.tree(Harbour::ID);
        overwrite(
            &sandbox.prepared(Harbour::ID).join("public/train.csv"),
            ".5,",
            ".7,",
        );
        assert_eq!(
            sandbox.state(Harbour::ID),
            "changed since prepared",
            "{attempt}"
        );
        assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 1);
        assert_eq!(
            sandbox.tree(Harbour::ID).contents(),
            before.contents(),
            "{attempt}"
        );
        assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
    }
}

#[test]
fn full_data_disk_is_not_blamed_on_the_cache() {
    let sandbox = Sandbox::new();
    let Some(disk) = CoarseDisk::mount(&sandbox, "data") else {
        return;
    };
    Harbour::install(&sandbox);
    fs::create_dir_all(disk.0.join(Harbour::ID)).expect("directory");
    let full = Command::new("sh")
        .args(["-c", "dd if=/dev/zero of=filler bs=1024 2> /dev/null"])
        .current_dir(&disk.0)
        .status();
    assert!(full.is_ok());
    let ended = CommandResult::of(&mut sandbox.run_command(&[Harbour::ID])).code(6);
    let stderr = ended.stderr.to_lowercase();
    assert!(stderr.contains("no space left"), "{ended:?}");
    assert!(!stderr.contains("shrink the cache"), "{ended:?}");
}
