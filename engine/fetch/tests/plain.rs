//! Plain http: never with credentials, and never for a file without a checksum, unless it stays on this machine.

use crate::common;
use common::{ID, World, content, key, options};
use prep_core::Source;
use prep_fault_server::Bundle;
use prep_fetch::{BundleChecksums, LazyNetwork, Network, WebAddress, WebFile};

#[test]
fn credentials_do_not_go_to_a_plain_endpoint() {
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
fn a_file_at_a_plain_address_needs_a_checksum() {
    let world = World::new(Bundle::new(ID, content(50_000, 1)), Vec::new());
    let run = |url: &str, md5: Option<&str>| {
        let address = WebAddress {
            source: "s",
            file: "f.bin",
            url,
        };
        let sums = BundleChecksums {
            md5: md5.map(str::to_owned),
            sha256: None,
        };
        // A file that can be fetched fails with the network's own error.
        let network = LazyNetwork::new(|| Err(prep_fetch::FetchError::NotAllowed));
        let web = WebFile::new(ID, address, &world.data(), &[], sums, network).unwrap();
        web.run(&world.context).unwrap_err().to_string()
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
