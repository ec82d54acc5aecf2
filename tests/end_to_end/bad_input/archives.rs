//! Damaged and malicious bundles.

use std::fs;

use super::{assert_input_is_rejected, assert_readable};
use crate::support::{Archive, Gallery, Harbour, Member, Sandbox};

fn with(member: Member) -> Vec<u8> {
    Archive::new()
        .file("train.csv", Harbour::table())
        .member(member)
        .bytes()
}

/// A saved web page is the most frequent wrong bundle: Kaggle sends it to users who may not download the file.
#[test]
fn run_and_audit_give_one_advice_for_a_web_page() {
    let sandbox = Sandbox::new();
    let md5 = "bundle: { md5: 0123456789abcdef0123456789abcdef,";
    sandbox.pipeline(Harbour::ID, &Harbour::PIPELINE.replace("bundle: {", md5));
    sandbox.bundle(Harbour::ID, b"<!DOCTYPE html><html></html>");
    let advice = "accept the competition's rules on Kaggle and check the credentials, then";
    sandbox
        .prep(&["run", Harbour::ID, "--source", "source"])
        .code(5)
        .stderr_has(&[&format!(
            "help: {advice} delete the file, and download it again"
        )]);
    sandbox
        .prep(&["audit", Harbour::ID, "--source", "source"])
        .stdout_has(&[&format!("do      {advice} download it again")]);
}

#[test]
fn files_that_are_not_zip_archives_are_errors() {
    let whole = Harbour::bundle(&Harbour::table());
    let cut = &whole[..whole.len() - 30];
    let half = &whole[..whole.len() / 2];
    for (bundle, parts) in [
        (&b""[..], &["bundle", "expected a zip archive"][..]),
        (b"id,tons\n1,2\n", &["expected a zip archive"]),
        (
            b"<!DOCTYPE html><html><title>Log in</title></html>",
            &["expected a zip archive", "accept the rules"],
        ),
        (
            b"7z\xbc\xaf\x27\x1c\0\x04",
            &["7z", "expected a zip archive"],
        ),
        (cut, &["truncated"]),
        (half, &["truncated"]),
    ] {
        assert_input_is_rejected(|sandbox| sandbox.bundle(Harbour::ID, bundle), 4, parts);
    }
}

#[test]
fn missing_bundle_error_lists_the_searched_paths() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let ended = sandbox.run(Harbour::ID).code(4);
    assert_readable(&ended);
    ended.stderr_has(&[
        "no bundle",
        "source/harbour.zip",
        "source/harbour/harbour.zip",
        "put bundles and other source files into source",
    ]);
    assert!(!sandbox.prepared(Harbour::ID).exists());
}

#[test]
fn deleted_bundle_is_an_error_only_when_needed() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    fs::remove_file(sandbox.source().join("harbour.zip")).expect("remove");
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
    // Without the cache, a run needs the bundle.
    fs::remove_dir_all(sandbox.store()).expect("remove");
    sandbox.run(Harbour::ID).code(4).stderr_has(&["no bundle"]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn members_outside_the_directory_are_errors() {
    for (member, parts) in [
        (
            Member::stored("../evil.txt", "x"),
            &["`../evil.txt`", "`..`"][..],
        ),
        (Member::stored("a/../../evil.txt", "x"), &["`..`"]),
        (
            Member::stored("/etc/evil.txt", "x"),
            &["`/etc/evil.txt`", "absolute"],
        ),
        (
            Member::stored("C:\\evil.txt", "x"),
            &["evil.txt", "unsafe path"],
        ),
        (Member::stored("a\\..\\evil.txt", "x"), &["backslash"]),
        (
            Member::symlink("link", "/etc/passwd"),
            &["`link`", "symbolic link"],
        ),
        (
            Member::stored("train.csv/inside", "x"),
            &["train.csv", "is a file"],
        ),
    ] {
        assert_input_is_rejected(
            |sandbox| sandbox.bundle(Harbour::ID, &with(member.clone())),
            4,
            parts,
        );
    }
}

#[test]
fn archives_with_unbounded_expansion_are_errors() {
    let table = Harbour::table();
    let declared = Member::deflated("zeros", [0; 100]).size(u32::MAX);
    let longer = Member::deflated("train.csv", table.repeat(100))
        .size(u32::try_from(table.len()).expect("small"));
    let twice = Archive::new()
        .file("train.csv", &table)
        .member(Member::deflated("a", [0; 1000]))
        .member(Member::deflated("b", [0; 1000]).shared())
        .bytes();
    for (bundle, parts) in [
        (with(declared), &["`zeros`", "over the limit of 1032:1"][..]),
        (
            Archive::new().member(longer).bytes(),
            &["train.csv", "longer than the"],
        ),
        (twice, &["overlaps"]),
    ] {
        assert_input_is_rejected(|sandbox| sandbox.bundle(Harbour::ID, &bundle), 4, parts);
    }
}

/// A zip bomb without nesting and with correct headers: 24 MB inflate to 22 GiB.
/// No member is suspicious alone, because deflate can reach its compression ratio.
#[test]
fn zip_bomb_with_correct_sizes_is_rejected_before_inflating() {
    let bomb = (0..6).fold(
        Archive::new().file("train.csv", Harbour::table()),
        |archive, number| archive.member(Member::zeros(&format!("zeros{number}"), 3800)),
    );
    let bomb = bomb.bytes();
    assert!(bomb.len() < 30_000_000, "{}", bomb.len());
    assert_input_is_rejected(
        |sandbox| sandbox.bundle(Harbour::ID, &bomb),
        4,
        &["zeros", "the archive unpacks to", "over the limit of"],
    );
    // `prep` accepts a smaller archive of such members, so only the size causes the error.
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let pipeline = Harbour::PIPELINE.replace("private:\n", "private:\n  zeros: { copy: zeros }\n");
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.bundle(Harbour::ID, &with(Member::zeros("zeros", 3)));
    sandbox.run_and_count_steps(Harbour::ID);
    let published = sandbox.prepared(Harbour::ID).join("private/zeros");
    assert_eq!(fs::read(published).expect("file"), vec![0; 3 << 20]);
}

#[test]
fn damaged_or_ambiguous_members_are_errors() {
    let table = Harbour::table();
    let other = table.replace(".5", ".6");
    let short =
        Member::stored("train.csv", &table).size(u32::try_from(table.len() + 5).expect("small"));
    for (bundle, parts) in [
        (
            Archive::new().member(Member::stored("train.csv", &table).crc(7)),
            &["train.csv", "CRC-32", "00000007"][..],
        ),
        (
            Archive::new().member(Member::deflated("train.csv", &table).crc(7)),
            &["train.csv", "CRC-32"],
        ),
        (
            Archive::new()
                .file("train.csv", &table)
                .file("train.csv", &other),
            &["train.csv", "occurs twice"],
        ),
        (Archive::new().member(short), &["train.csv"]),
        (
            Archive::new().file("Train.csv", &table),
            &["no `train.csv`", "did you mean `Train.csv`?"],
        ),
        (
            Archive::new().file("data/train.csv", &table),
            &["did you mean `data/train.csv`?"],
        ),
        (Archive::new().file("readme.txt", "x"), &["no `train.csv`"]),
    ] {
        assert_input_is_rejected(
            |sandbox| sandbox.bundle(Harbour::ID, &bundle.bytes()),
            4,
            parts,
        );
    }
}

#[test]
fn damaged_picture_prevents_publishing() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    let good = Gallery::archive(60, 1);
    let bad = Gallery::archive(60, 2).damage("pictures/p00041.png");
    sandbox.bundle(Gallery::ID, &bad.bytes());
    let ended = sandbox
        .run(Gallery::ID)
        .code(4)
        .stderr_has(&["p00041.png", "CRC-32"]);
    assert_readable(&ended);
    assert!(!sandbox.prepared(Gallery::ID).exists());
    assert_ne!(sandbox.state(Gallery::ID), "prepared v1");

    sandbox.bundle(Gallery::ID, &good.bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    let before = sandbox.tree(Gallery::ID);
    assert_eq!(
        sandbox.names_in_home(Gallery::ID),
        ["prepared", "prepared.files", "prepared.json"]
    );
    // A run updates an existing tree file by file.
    // `prep` must not treat the incomplete tree of a failed run as complete.
    sandbox.bundle(Gallery::ID, &bad.bytes());
    sandbox.run(Gallery::ID).code(4).stderr_has(&["p00041.png"]);
    let state = sandbox.state(Gallery::ID);
    assert!(
        state == "incomplete" || sandbox.tree(Gallery::ID) == before,
        "{state}"
    );
    for path in sandbox.tree(Gallery::ID).files() {
        let content = fs::read(sandbox.prepared(Gallery::ID).join(path)).expect("file");
        assert!(!content.is_empty(), "{path} is half-written");
    }
    sandbox.bundle(Gallery::ID, &good.bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    assert_eq!(sandbox.tree(Gallery::ID).contents(), before.contents());
}

#[test]
fn bundle_with_wrong_md5_is_used_only_on_request() {
    let sandbox = Sandbox::new();
    let md5 = "0123456789abcdef0123456789abcdef";
    let text = Harbour::PIPELINE.replace(
        "kaggle: harbour }",
        &format!("kaggle: harbour, md5: {md5} }}"),
    );
    sandbox.pipeline(Harbour::ID, &text);
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let checked = ["run", "-c", Harbour::ID, "--source", "source"];
    let ended = sandbox.prep(&checked).code(5);
    assert_readable(&ended);
    ended.stderr_has(&[
        "source/harbour.zip has MD5",
        md5,
        "--skip-bundle-verification",
    ]);
    assert!(!sandbox.prepared(Harbour::ID).exists());
    sandbox.run_and_count_steps(Harbour::ID);
    // The data directory remembers `--skip-verification`. With verification, the bundle is an error although an earlier
    // run used it.
    let ended = sandbox.prep(&checked).code(0);
    ended.stderr_has(&["as last time: --skip-verification"]);
    for strict in ["--forget-options", "--skip-verification=no"] {
        sandbox.prep(&[&checked[..], &[strict]].concat()).code(5);
    }
}
