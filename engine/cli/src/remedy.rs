//! Describes suggested actions. The libraries do not know verbs and options, so the command line writes the texts.

use prep_app::Remedy;

/// Returns the help text of an error: one action, or several alternatives.
pub fn words(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Words(words) => words.clone(),
        Remedy::NameSource => "name the directory that contains it with --source".to_owned(),
        Remedy::AllowDownloads => "run without --no-download and --available".to_owned(),
        Remedy::AcceptBundle => {
            "--skip-bundle-verification accepts the bundle; outputs are still compared with their published checksums".to_owned()
        }
        Remedy::AcceptOutputs => "--skip-verification accepts the outputs".to_owned(),
        Remedy::RaiseMemory => "raise --memory".to_owned(),
        Remedy::KeepArchives => "run without --expand-archives".to_owned(),
        Remedy::RepairCache => "run `prep cache verify --repair`".to_owned(),
        Remedy::ListMembers { id } => format!("`prep fetch --list {id}` lists its members"),
        Remedy::PrepareAvailable => {
            "--available prepares the competitions whose bundles you have".to_owned()
        }
        Remedy::NameDataDir => "name a directory on another disk with --data-dir".to_owned(),
        Remedy::DiscardBundles => {
            "--discard-bundle deletes each bundle after its competition is prepared".to_owned()
        }
        Remedy::Prepare { id } => format!("run `prep run {id}`"),
        Remedy::ListCompetitions => "`prep list` shows all competitions".to_owned(),
        Remedy::NamePipelines { parent: None } => {
            "name a directory that contains ID/pipeline.yaml with --pipelines".to_owned()
        }
        Remedy::NamePipelines {
            parent: Some(parent),
        } => format!("name the parent directory with --pipelines {parent}"),
        Remedy::NameRemote => {
            "name one with --remote URL, or with `url` in `[remote]` of prep.toml".to_owned()
        }
        Remedy::Unlock => "run without --locked".to_owned(),
        Remedy::UseOneFileSystem => "put --cache-dir and --data-dir on one file system".to_owned(),
        Remedy::AnyOf(all) => {
            let all: Vec<String> = all.iter().map(words).collect();
            all.join("; or ")
        }
    }
}
