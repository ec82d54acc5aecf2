//! Whether the server is like the real one: Kaggle's own client (1.6.17 from PyPI) can download from it.
//! Runs when `KAGGLE_CLIENT` names that program.

use std::process::{Command, Stdio};

use prep_fault_server::{Bundle, FaultServer, KEY, Side, USERNAME};

#[test]
fn kaggles_own_client_can_download() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(client) = std::env::var("KAGGLE_CLIENT") else {
        return Ok(());
    };
    let mut bytes = vec![7; 5_000_000];
    bytes.splice(..4, *b"PK\x03\x04");
    let server = FaultServer::start(vec![Bundle::new("spooky", bytes.clone())], Vec::new())?;
    let folder = std::env::temp_dir().join(format!("kaggle-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let status = Command::new(client)
        .args(["competitions", "download", "-c", "spooky", "-p"])
        .arg(&folder)
        .env("KAGGLE_API_ENDPOINT", server.endpoint())
        .env("KAGGLE_USERNAME", USERNAME)
        .env("KAGGLE_KEY", KEY)
        .env("KAGGLE_CONFIG_DIR", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    assert!(status.success());
    assert!(std::fs::read(folder.join("spooky.zip"))? == bytes);
    assert_eq!(server.requests_of(Side::Api).len(), 1);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
