//! Recognises loopback hosts: unencrypted traffic to them does not leave this machine.

use std::net::{IpAddr, Ipv6Addr};

/// Whether `host`, as written in a URL (`localhost`, `127.0.0.1`, `[::1]`), is the loopback interface.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback(),
        Ok(IpAddr::V6(ip)) => {
            ip == Ipv6Addr::LOCALHOST || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for host in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "127.9.8.7",
            "[::1]",
            "::1",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[fe80::1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
