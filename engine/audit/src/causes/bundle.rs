//! The bundle as it was downloaded.

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
    meaning: "the archive ends too early: its directory is not there",
    advice: "download it again; the download continues with the existing part",
};

pub static BUNDLE_BYTES_APPENDED: Cause = Cause {
    id: "bundle-bytes-appended",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "there are further bytes behind the end of the archive",
    advice: "download it again; readers differ in what they make of such an archive",
};

pub static BUNDLE_HOLE: Cause = Cause {
    id: "bundle-hole",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "a stretch of the file is zeros where content was",
    advice: "download it again",
};

pub static BUNDLE_ERROR_PAGE: Cause = Cause {
    id: "bundle-error-page",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file is a server's message, not an archive",
    advice: "accept the competition's rules on Kaggle and check the credentials, then download it again",
};

pub static BUNDLE_PAGE_INSIDE: Cause = Cause {
    id: "bundle-page-inside",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "a server's message is in the middle of the archive, as after a resumed download",
    advice: "download it again",
};

pub static BUNDLE_TEXT_MODE: Cause = Cause {
    id: "bundle-text-mode",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file was transferred as text: line ends were changed within it",
    advice: "transfer it again, in binary mode",
};

pub static BUNDLE_MEMBER_DAMAGED: Cause = Cause {
    id: "bundle-member-damaged",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the content of a member does not have its CRC",
    advice: "download it again",
};

pub static BUNDLE_DIRECTORY_DAMAGED: Cause = Cause {
    id: "bundle-directory-damaged",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the archive's directory and its members contradict each other",
    advice: "download it again",
};

pub static BUNDLE_FOLDER: Cause = Cause {
    id: "bundle-folder",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "all members are in one more directory than they should be",
    advice: "zip the content of the directory instead of the directory, or download the bundle",
};

pub static BUNDLE_ZIPPED_TWICE: Cause = Cause {
    id: "bundle-zipped-twice",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "the archive's only member is the bundle",
    advice: "take the archive inside",
};

pub static BUNDLE_BACKSLASHES: Cause = Cause {
    id: "bundle-backslashes",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "members' names have backslashes, as some programs on Windows write them",
    advice: "download the bundle, or zip it with another program",
};

pub static BUNDLE_NAME_TWICE: Cause = Cause {
    id: "bundle-name-twice",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "a name is in the archive twice, and readers differ in which one they use",
    advice: "download the bundle",
};

pub static BUNDLE_REPACKED: Cause = Cause {
    id: "bundle-repacked",
    family: Family::Bundle,
    harm: Harm::None,
    meaning: "another archive of the same members",
    advice: "nothing: the content is the same, so the bundle can be accepted without its published MD5",
};

pub static BUNDLE_CHANGED: Cause = Cause {
    id: "bundle-changed",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "members differ from a bundle with the published MD5",
    advice: "Kaggle changed the data, or the copy was edited; outputs that still have their published checksums are named",
};

pub static BUNDLE_OTHER_MD5: Cause = Cause {
    id: "bundle-other-md5",
    family: Family::Bundle,
    harm: Harm::Form,
    meaning: "a sound archive with another MD5 than is published, and no good one is known to compare with",
    advice: "prepare it without checking the MD5 of the bundle: outputs with their published checksums prove their part of it",
};

pub static BUNDLE_NOT_AN_ARCHIVE: Cause = Cause {
    id: "bundle-not-an-archive",
    family: Family::Bundle,
    harm: Harm::Content,
    meaning: "the file is of another kind",
    advice: "download the bundle",
};
