//! Plain http is used for connections within this machine, and for files that have a checksum. Other connections with plain
//! http are errors, and credentials never leave this machine over plain http.

use crate::common;
use common::{Fixture, ID, content, key, options, search};
use prep_core::Source;
use prep_fault_server::Bundle;
use prep_fetch::{BundleChecksums, LazyNetwork, Network, WebAddress, WebFile};

#[test]
fn credentials_are_not_sent_over_plain_http() {
    for (endpoint, is_good) in [
        ("http://127.0.0.1:1/api/v1", true),
        ("http://localhost/api/v1", true),
        ("http://[::1]/api/v1", true),
        ("https://kaggle.example.org/api/v1", true),
        ("http://kaggle.example.org/api/v1", false),
        ("http://localhost.example.org/api/v1", false),
        ("http://10.0.0.1/api/v1", false),
    ] {
        let network = Network::new(options(endpoint), key());
        assert_eq!(network.is_ok(), is_good, "{endpoint}");
        if let Err(error) = network {
            assert!(error.to_string().contains("plain http"), "{error}");
        }
    }
}

#[test]
fn a_file_over_plain_http_needs_a_checksum() {
    let fixture = Fixture::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let run = |url: &str, md5: Option<&str>| {
        let address = WebAddress {
            source: "s",
            file: "f.bin",
            url,
            member: None,
        };
        let sums = BundleChecksums {
            md5: md5.map(str::to_owned),
            sha256: None,
        };
        // If the file may be fetched, the error is that of the network.
        let network = LazyNetwork::new(|| Err(prep_fetch::FetchError::NotAllowed));
        let web = WebFile::new(address, search(ID, &fixture.data()), sums, true, network).unwrap();
        prep_core::chain(&web.run(&fixture.context).unwrap_err())
    };
    let md5 = Some("00000000000000000000000000000000");
    for (url, md5, refused) in [
        ("http://files.example.org/f.bin", None, true),
        ("http://files.example.org/f.bin", md5, false),
        ("https://files.example.org/f.bin", None, false),
        ("http://127.0.0.1:1/f.bin", None, false),
    ] {
        let error = run(url, md5);
        assert_eq!(error.contains("plain http"), refused, "{url}: {error}");
    }
}
