//! Runs the conformance tests of sinks on `publish`.

use std::error::Error;
use std::fs;

use prep_cache::{LinkMode, Stored};
use prep_conformance::{SinkCase, check_sink};
use prep_core::{Context, FileValue, Inputs, StepError};

use super::Publish;

fn publish(data: &std::path::Path, link_mode: LinkMode) -> Publish {
    let outputs = ["public/train.csv", "private/test.csv"];
    Publish {
        competition: "harbour".to_owned(),
        variant: "v1".to_owned(),
        data_dir: data.to_owned(),
        boot: Some("boot".to_owned()),
        outputs: outputs
            .map(|path| (path.to_owned(), path.to_owned()))
            .into(),
        expanded: Vec::new(),
        locked: None,
        remove_unpublished: false,
        link_mode,
    }
}

fn inputs(context: &Context) -> Result<Inputs, StepError> {
    let file = |path: &str| {
        let text = format!("id,value\n1,{path}\n");
        let digest = context.store.put(text.as_bytes())?;
        let value = FileValue::stored(Stored {
            digest,
            len: text.len() as u64,
        });
        Ok((path.to_owned(), value.into_value()))
    };
    ["public/train.csv", "private/test.csv"]
        .into_iter()
        .map(file)
        .collect()
}

#[test]
fn publish_gives_the_guarantees_of_a_sink() -> Result<(), Box<dyn Error>> {
    for link_mode in [LinkMode::HardLink, LinkMode::Copy] {
        for change in ["removed", "written"] {
            let data = tempfile::tempdir()?;
            let prepared = data.path().join("harbour/prepared");
            let file = prepared.join("public/train.csv");
            check_sink(&SinkCase {
                sink: &publish(data.path(), link_mode),
                target: &prepared,
                inputs: &inputs,
                damage: &|| {
                    fs::remove_file(&file)?;
                    match change {
                        "written" => fs::write(&file, "id,value\n"),
                        _ => Ok(()),
                    }
                },
            })?;
        }
    }
    Ok(())
}
