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
        Remedy::PrepareAndSend { id } => format!(
            "prepare it with `prep run {id}`, which sends the bundle and the results if all steps succeed"
        ),
        Remedy::CreateKey { name: Some(name) } => {
            format!("run `prep remote key new {name}` to create it")
        }
        Remedy::CreateKey { name: None } => {
            "create a new one with `prep remote key new NAME`".to_owned()
        }
        Remedy::ChooseKey => {
            "run `prep remote key new NAME` to create one, or select one of several with `[remote] key` in prep.toml"
                .to_owned()
        }
        Remedy::ListKeys => "`prep remote key list` prints public keys".to_owned(),
        Remedy::TrustKey => "`[remote] trusted` in prep.toml lists the trusted keys".to_owned(),
        Remedy::NameSameRemote => {
            "if it is the same remote, add that address to `[remote] same_as` in prep.toml".to_owned()
        }
        Remedy::SendLater => "`prep remote push` sends them later".to_owned(),
        Remedy::SendAgain => {
            "run `prep remote push` on a machine with the results to write a new record".to_owned()
        }
        Remedy::Unlock => "run without --locked".to_owned(),
        Remedy::MoveOrRemoveUnpublished => {
            "move the files elsewhere, or run with --remove-unpublished, which deletes them".to_owned()
        }
        Remedy::UseOneFileSystem => "put --cache-dir and --data-dir on one file system".to_owned(),
        Remedy::AnyOf(all) => {
            let all: Vec<String> = all.iter().map(words).collect();
            all.join("; or ")
        }
        Remedy::InOrder(all) => {
            let all: Vec<String> = all.iter().map(words).collect();
            all.join(", then ")
        }
    }
}
