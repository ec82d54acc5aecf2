//! Files of a tree.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &FILES_MISSING,
    &FILES_SURPLUS,
    &FILES_RENAMED,
    &FILES_SWAPPED,
    &FILES_OTHER_PART,
    &FILE_NAMES_CASE,
    &FILES_EMPTY,
    &FILES_CUT_OFF,
    &BYTES_APPENDED,
    &FILES_DAMAGED,
    &ARCHIVE_UNPACKED,
    &FILE_PACKED,
    &BUNDLE_MEMBER,
    &FILES_CHANGED,
];

pub static FILE_PACKED: Cause = Cause {
    id: "file-packed",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "a file was compressed or unpacked, and its name shows it",
    advice: "nothing, if programs that read the tree expect it",
};

pub static FILES_MISSING: Cause = Cause {
    id: "files-missing",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files are missing",
    advice: "prepare again; preparation may have been stopped half-way",
};

pub static FILES_SURPLUS: Cause = Cause {
    id: "files-surplus",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "there are files that should not be there",
    advice: "remove them; a file more can give answers away",
};

pub static FILES_RENAMED: Cause = Cause {
    id: "files-renamed",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have other names and the same content",
    advice: "restore the names",
};

pub static FILES_SWAPPED: Cause = Cause {
    id: "files-swapped",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have the content of other files of the same tree",
    advice: "restore the names: files belong to other items",
};

pub static BYTES_APPENDED: Cause = Cause {
    id: "bytes-appended",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have further bytes behind their end",
    advice: "prepare again; two files may have been written into one, or something was appended",
};

pub static FILES_OTHER_PART: Cause = Cause {
    id: "files-other-part",
    family: Family::Files,
    harm: Harm::Answers,
    meaning: "files are in the directory of another part of the split",
    advice: "prepare again: the test items differ",
};

pub static FILE_NAMES_CASE: Cause = Cause {
    id: "file-names-case",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "file names differ in case or in the form of letters",
    advice: "use a file system that keeps names as they are",
};

pub static FILES_EMPTY: Cause = Cause {
    id: "files-empty",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files are empty",
    advice: "prepare again; the disk may have been full",
};

pub static FILES_CUT_OFF: Cause = Cause {
    id: "files-cut-off",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files end too early",
    advice: "prepare again; the disk may have been full",
};

pub static FILES_DAMAGED: Cause = Cause {
    id: "files-damaged",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files do not have the format of their names, and the others do",
    advice: "prepare again; the disk or a copy may be at fault",
};

pub static ARCHIVE_UNPACKED: Cause = Cause {
    id: "archive-unpacked",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "an archive was unpacked into a directory",
    advice: "nothing, if programs that read the tree expect it",
};

pub static BUNDLE_MEMBER: Cause = Cause {
    id: "bundle-member",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "the published file is an unchanged member of a bundle, and ours is not",
    advice: "prepare from that bundle, if it is another one than was prepared; else the member was not copied as it is",
};

pub static FILES_CHANGED: Cause = Cause {
    id: "files-changed",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files whose format is not looked into have other bytes",
    advice: "prepare again from a sound bundle",
};
