//! Causes of differences in a downloaded bundle.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &BUNDLE_CUT_OFF,
    &BUNDLE_HOLE,
    &BUNDLE_BYTES_APPENDED,
    &BUNDLE_ERROR_PAGE,
    &BUNDLE_PAGE_INSIDE,
    &BUNDLE_TEXT_MODE,
    &BUNDLE_MEMBER_DAMAGED,
    &BUNDLE_DIRECTORY_DAMAGED,
    &BUNDLE_FOLDER,
    &BUNDLE_ZIPPED_TWICE,
    &BUNDLE_BACKSLASHES,
    &BUNDLE_NAME_TWICE,
    &BUNDLE_REPACKED,
    &BUNDLE_CHANGED,
    &BUNDLE_OTHER_MD5,
    &BUNDLE_NOT_AN_ARCHIVE,
];

pub static BUNDLE_CUT_OFF: Cause = Cause {
    id: "bundle-cut-off",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the archive is truncated: its central directory is missing",
    advice: "download it again; the download continues with the existing part",
};

pub static BUNDLE_BYTES_APPENDED: Cause = Cause {
    id: "bundle-bytes-appended",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "there are additional bytes after the end of the archive",
    advice: "download it again; programs differ in how they read such an archive",
};

pub static BUNDLE_HOLE: Cause = Cause {
    id: "bundle-hole",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "part of the file consists of zeros instead of content",
    advice: "download it again",
};

pub static BUNDLE_ERROR_PAGE: Cause = Cause {
    id: "bundle-error-page",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file is an error page or message of a server, not an archive",
    advice: "accept the competition's rules on Kaggle and check the credentials, then download it again",
};

pub static BUNDLE_PAGE_INSIDE: Cause = Cause {
    id: "bundle-page-inside",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the archive contains an error page of a server, as after a badly resumed download",
    advice: "download it again",
};

pub static BUNDLE_TEXT_MODE: Cause = Cause {
    id: "bundle-text-mode",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file was transferred in text mode, which changed its line endings",
    advice: "transfer it again, in binary mode",
};

pub static BUNDLE_MEMBER_DAMAGED: Cause = Cause {
    id: "bundle-member-damaged",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the content of a member does not match its CRC",
    advice: "download it again",
};

pub static BUNDLE_DIRECTORY_DAMAGED: Cause = Cause {
    id: "bundle-directory-damaged",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the archive's central directory contradicts its members",
    advice: "download it again",
};

pub static BUNDLE_FOLDER: Cause = Cause {
    id: "bundle-folder",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "all members are inside an additional directory",
    advice: "zip the contents of the directory instead of the directory itself, or download the bundle",
};

pub static BUNDLE_ZIPPED_TWICE: Cause = Cause {
    id: "bundle-zipped-twice",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "the archive's only member is the bundle",
    advice: "use the archive inside it",
};

pub static BUNDLE_BACKSLASHES: Cause = Cause {
    id: "bundle-backslashes",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "member names contain backslashes, as some Windows programs write them",
    advice: "download the bundle, or zip it with a different program",
};

pub static BUNDLE_NAME_TWICE: Cause = Cause {
    id: "bundle-name-twice",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "a member name occurs twice, and programs differ in which of the two members they use",
    advice: "download the bundle",
};

pub static BUNDLE_REPACKED: Cause = Cause {
    id: "bundle-repacked",
    family: Family::Bundle,
    harm: Harm::None,
    meaning: "a different archive with the same members",
    advice: "nothing: the content is the same, so the bundle can be accepted without its published MD5",
};

pub static BUNDLE_CHANGED: Cause = Cause {
    id: "bundle-changed",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "members differ from those of a bundle with the published MD5",
    advice: "find out whether Kaggle changed the data or someone edited the copy; the audit lists the outputs that still have their published checksums",
};

pub static BUNDLE_OTHER_MD5: Cause = Cause {
    id: "bundle-other-md5",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "the archive is intact, but its MD5 is not the published one, and there is no verified bundle to compare it with",
    advice: "prepare it without checking its MD5; each output with its published checksum proves that its part of the bundle is right",
};

pub static BUNDLE_NOT_AN_ARCHIVE: Cause = Cause {
    id: "bundle-not-an-archive",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file is not a zip archive",
    advice: "download the bundle",
};
