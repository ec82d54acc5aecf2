//! Embeds the files of every directory in `pipelines`, and the sample bundles with their submissions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The embedded files of each competition, in the order of the fields of `catalog::Embedded`.
const FILES: [&str; 4] = [
    "pipeline.yaml",
    "description.md",
    "leaderboard.csv",
    "checksums.json",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    // The script reads the variable when it runs, because a compiled-in path would be wrong in a copied build directory.
    println!("cargo::rerun-if-env-changed=CARGO_MANIFEST_DIR");
    let manifest = env::var_os("CARGO_MANIFEST_DIR");
    let manifest = manifest.ok_or_else(|| io::Error::other("CARGO_MANIFEST_DIR is not set"))?;
    let project = Path::new(&manifest).join("../..");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let out = Path::new(&out);
    fs::write(
        out.join("embedded.rs"),
        competitions(&project.join("pipelines"))?,
    )?;
    fs::write(
        out.join("samples.rs"),
        samples(&project.join("tests/samples"))?,
    )
}

/// Returns code for the files of all competitions below `root`.
fn competitions(root: &Path) -> io::Result<String> {
    let mut code = String::from("pub static EMBEDDED: &[Embedded] = &[\n");
    for directory in entries(root)?.iter().filter(|path| path.is_dir()) {
        let _ = write!(code, "    Embedded {{ id: {:?}", name(directory));
        for file in FILES {
            let field = file.split('.').next().unwrap_or(file);
            let path = directory.join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            let value = if path.is_file() {
                format!("Some(include_str!({path:?}))")
            } else {
                "None".to_owned()
            };
            let _ = write!(code, ", {field}: {value}");
        }
        code.push_str(" },\n");
    }
    code.push_str("];\n");
    Ok(code)
}

/// Returns code for the sample bundles: each is `ID.zip`, with its submissions in `ID/*.csv`.
fn samples(root: &Path) -> io::Result<String> {
    let mut code = String::from("pub static SAMPLES: &[SampleBundle] = &[\n");
    for directory in entries(root)?.iter().filter(|path| path.is_dir()) {
        let id = name(directory);
        let bundle = root.join(format!("{id}.zip"));
        println!("cargo::rerun-if-changed={}", bundle.display());
        let _ = write!(
            code,
            "    SampleBundle {{ id: {id:?}, bundle: include_bytes!({bundle:?}), submissions: &["
        );
        for path in entries(directory)? {
            let _ = write!(code, "({:?}, include_str!({path:?})), ", name(&path));
        }
        code.push_str("] },\n");
    }
    code.push_str("];\n");
    Ok(code)
}

/// Lists the entries of a directory by name. Cargo reruns this script if an entry is added.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut paths = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
