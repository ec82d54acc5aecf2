//! Reads arbitrary bytes as an archive of each kind. Members are visited or rejected. Their total size never exceeds the
//! budget.

use std::io::{self, Write};

use prep_contents::{DecodingLimits, Resources, entries};

const UNPACKED: u64 = 1 << 20;

pub fn check(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let resources = Resources {
        limits: DecodingLimits {
            unpacked: UNPACKED,
            ratio: 0,
            spooled: 1 << 18,
            ..DecodingLimits::default()
        },
        temp: &directory.path().join("temp"),
    };
    for name in ["a.zip", "a.tar", "a.tar.gz", "a.7z", "a.zip.gz"] {
        let place = directory.path().join("archive");
        let mut file = std::fs::File::create(&place).expect("a file");
        file.write_all(data).expect("written");
        drop(file);
        let mut total = 0;
        let _ = entries::of_file(&place, name, &resources, &mut |path, _, content| {
            assert!(path.starts_with(name) && !path.split('/').any(|part| part == ".."));
            total += io::copy(content, &mut io::sink())?;
            Ok(())
        });
        assert!(
            total <= UNPACKED.max(data.len() as u64),
            "{name}: {total} bytes unpacked"
        );
        let left = std::fs::read_dir(resources.temp).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{name}");
    }
}
