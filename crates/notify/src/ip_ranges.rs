//! Which IP addresses are public: not of this machine, its network or its cloud.
//!
//! Pure. An address that is not known to be public counts as non-public. In IPv6 only global unicast can be
//! public, and an address that contains an IPv4 address is judged by that. [`crate::EgressPolicy`] decides
//! which non-public addresses are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not public, or belong to no single machine.
const IPV4: &[([u8; 4], u8, &str)] = &[
    ([0, 0, 0, 0], 8, "of this network"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared behind a provider's NAT"),
    ([127, 0, 0, 0], 8, "of this machine"),
    // The metadata service of most clouds is at 169.254.169.254.
    ([169, 254, 0, 0], 16, "link-local"),
    // Looks public, but machines of Azure reach the platform's own services there.
    ([168, 63, 129, 16], 32, "of a cloud's own services"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "for documentation"),
    ([192, 88, 99, 0], 24, "of relays to IPv6"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "for benchmarks"),
    ([198, 51, 100, 0], 24, "for documentation"),
    ([203, 0, 113, 0], 24, "for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The range of IPv6 global unicast.
const GLOBAL: ([u16; 8], u8) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Non-public IPv6 ranges: those with a name of their own, and those within [`GLOBAL`].
const IPV6: &[([u16; 8], u8, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, "of this machine"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "for protocols and tunnels"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "for documentation"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "for documentation"),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "private"),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local"),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
];

/// IPv6 ranges that contain an IPv4 address: the range, its prefix length, and the bit at which the address
/// begins.
const CARRIERS: &[([u16; 8], u8, u8)] = &[
    // IPv4-mapped.
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, 96),
    // NAT64. Its local-use prefix is not public.
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, 96),
    // 6to4.
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, 16),
];

/// The kind of a non-public address, as an attribute. `None` for a public one.
pub(crate) fn non_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => non_public_v4(address),
        IpAddr::V6(address) => non_public_v6(address),
    }
}

fn non_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let of = |(network, prefix, _): &&([u8; 4], u8, &'static str)| {
        covers_v4(Ipv4Addr::from(*network), *prefix, address)
    };
    IPV4.iter().find(of).map(|(_, _, what)| *what)
}

fn non_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let carrier = CARRIERS.iter().find(|(network, prefix, _)| covers_v6((*network).into(), *prefix, address));
    if let Some((_, _, begins)) = carrier {
        return non_public_v4(ipv4_at(address, *begins));
    }
    let known = IPV6.iter().find(|(network, prefix, _)| covers_v6((*network).into(), *prefix, address));
    if let Some((_, _, what)) = known {
        return Some(what);
    }
    let (network, prefix) = GLOBAL;
    (!covers_v6(network.into(), prefix, address)).then_some("reserved")
}

/// The IPv4 address in the 32 bits from `begins` on.
fn ipv4_at(address: Ipv6Addr, begins: u8) -> Ipv4Addr {
    let shifted = address.to_bits() >> 96_u8.saturating_sub(begins);
    Ipv4Addr::from_bits(u32::try_from(shifted & u128::from(u32::MAX)).unwrap_or_default())
}

pub(crate) fn covers_v4(network: Ipv4Addr, prefix: u8, address: Ipv4Addr) -> bool {
    let shift = 32_u32.saturating_sub(prefix.into());
    let top = |address: Ipv4Addr| address.to_bits().checked_shr(shift).unwrap_or(0);
    top(network) == top(address)
}

pub(crate) fn covers_v6(network: Ipv6Addr, prefix: u8, address: Ipv6Addr) -> bool {
    let shift = 128_u32.saturating_sub(prefix.into());
    let top = |address: Ipv6Addr| address.to_bits().checked_shr(shift).unwrap_or(0);
    top(network) == top(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_not_public_include_both_ends() {
        for (text, what) in [
            ("0.0.0.0", "of this network"),
            ("0.255.255.255", "of this network"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "shared behind a provider's NAT"),
            ("100.127.255.255", "shared behind a provider's NAT"),
            ("127.0.0.1", "of this machine"),
            ("127.255.255.255", "of this machine"),
            ("168.63.129.16", "of a cloud's own services"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.8", "reserved"),
            ("192.0.2.1", "for documentation"),
            ("192.88.99.1", "of relays to IPv6"),
            ("192.168.0.0", "private"),
            ("192.168.255.255", "private"),
            ("198.18.0.0", "for benchmarks"),
            ("198.19.255.255", "for benchmarks"),
            ("198.51.100.9", "for documentation"),
            ("203.0.113.255", "for documentation"),
            ("224.0.0.0", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.0", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "reserved"),
            ("::1", "of this machine"),
            // IPv4-compatible addresses are not routed, whatever address they contain.
            ("::127.0.0.1", "reserved"),
            ("::8.8.8.8", "reserved"),
            ("::ffff:127.0.0.1", "of this machine"),
            ("::ffff:169.254.169.254", "link-local"),
            ("::ffff:0:8.8.8.8", "reserved"),
            ("64:ff9b::10.0.0.1", "private"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("64:ff9b:1::8.8.8.8", "reserved"),
            ("100::1", "reserved"),
            ("2001::1", "for protocols and tunnels"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "for protocols and tunnels"),
            ("2001:2::1", "for protocols and tunnels"),
            ("2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "for protocols and tunnels"),
            ("2001:db8::1", "for documentation"),
            ("2002:7f00:1::", "of this machine"),
            ("2002:a9fe:a9fe::1", "link-local"),
            ("2002:c0a8:101:1::1", "private"),
            ("3fff:fff::1", "for documentation"),
            ("4000::1", "reserved"),
            ("5f00::1", "reserved"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("fec0::1", "reserved"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(non_public(text.parse().unwrap()), Some(what), "{text}");
        }
    }

    #[test]
    fn the_neighbours_of_those_ranges_are_public() {
        for text in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2000::1",
            "2001:200::1",
            "2001:db7::1",
            "2001:db9::1",
            "2002:808:808::1",
            "2606:4700::1111",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert_eq!(non_public(text.parse().unwrap()), None, "{text}");
        }
    }
}
