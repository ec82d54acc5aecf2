//! Finds credentials for cloud storage: in the variables that each cloud's own tools use, and in the credentials file
//! of Amazon's tools.

use std::path::PathBuf;

use crate::places::Directories;

/// Variables from which the clouds' own tools read credentials.
const CREDENTIAL_VARIABLES: [&str; 33] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT",
    "AWS_ALLOW_HTTP",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_SKIP_SIGNATURE",
    "AWS_REQUEST_PAYER",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_SKIP_SIGNATURE",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_USE_AZURE_CLI",
];

impl Directories {
    /// Reads cloud credentials from variables. If the variables have no key for Amazon, also reads the credentials file
    /// of Amazon's tools.
    pub fn cloud(&self) -> Vec<(String, String)> {
        let set = |name: &&str| Some(((*name).to_owned(), self.text(name)?));
        let mut found: Vec<(String, String)> =
            CREDENTIAL_VARIABLES.iter().filter_map(set).collect();
        if !found.iter().any(|(name, _)| name == "AWS_ACCESS_KEY_ID") {
            found.extend(self.aws_profile());
        }
        found
    }

    /// Reads the profile that Amazon's tools would use.
    fn aws_profile(&self) -> Vec<(String, String)> {
        let usual = || Some(self.home.as_ref()?.join(".aws/credentials"));
        let named = self.text("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let text = named
            .or_else(usual)
            .and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default();
        let wanted = self.text("AWS_PROFILE");
        let wanted = format!("[{}]", wanted.as_deref().unwrap_or("default"));
        let section = text
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != wanted);
        let section = section.skip(1).take_while(|line| !line.starts_with('['));
        let pairs = section.filter_map(|line| line.split_once('='));
        let pairs =
            pairs.map(|(name, value)| (name.trim().to_ascii_uppercase(), value.trim().to_owned()));
        let is_known = |name: &str| {
            [
                "AWS_ACCESS_KEY_ID",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
            ]
            .contains(&name)
        };
        pairs.filter(|(name, _)| is_known(name)).collect()
    }
}
