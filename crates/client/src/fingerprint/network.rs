//! The interface whose addresses tasks are given, asked of the kernel over netlink.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::node::{NodeNetwork, NodeNetworkAddress};
use model::wire::List;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Found;

/// Assumed where the interface does not tell.
const SPEED_UNKNOWN_MBITS: i64 = 1000;
/// One read of a dump; the kernel fills at most this much.
const DUMP_BYTES: usize = 32 << 10;
/// Reads of one dump: thousands of addresses.
const DUMP_READS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    index: u32,
}

pub(super) struct Network {
    pub(super) found: Found,
    pub(super) device: String,
    pub(super) addresses: Vec<Address>,
    pub(super) speed_mbits: i64,
    mac: String,
}

impl Network {
    pub(super) fn node_networks(&self) -> List<NodeNetwork> {
        let address = |address: &Address| NodeNetworkAddress {
            family: if address.ip.is_ipv4() { "ipv4" } else { "ipv6" }.to_owned(),
            alias: "default".to_owned(),
            address: address.ip.to_string(),
            reserved_ports: String::new(),
            gateway: String::new(),
        };
        let network = NodeNetwork {
            mode: "host".to_owned(),
            device: self.device.clone(),
            mac_address: self.mac.clone(),
            speed: self.speed_mbits,
            addresses: self.addresses.iter().map(address).collect(),
        };
        List(vec![network])
    }
}

pub(super) fn probe(interface: Option<&str>, dev_mode: bool) -> Network {
    let device = match interface {
        Some(name) => name.to_owned(),
        None if dev_mode => "lo".to_owned(),
        None => default_route_device().unwrap_or_else(|| "lo".to_owned()),
    };
    let all = addresses().unwrap_or_else(|error| {
        tracing::warn!(%error, "the addresses of the network interfaces cannot be read");
        Vec::new()
    });
    let index = read(&device, "ifindex").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut addresses: Vec<Address> = all
        .into_iter()
        .filter(|address| address.index == index && !is_link_local(&address.ip))
        .collect();
    addresses.sort_by_key(|address| address.ip.is_ipv6());
    let speed =
        read(&device, "speed").and_then(|text| text.parse().ok()).filter(|speed| *speed > 0);
    let mac = read(&device, "address").filter(|mac| mac != "00:00:00:00:00:00");
    let mut found = Found::default();
    if let Some(first) = addresses.first() {
        found.set("unique.network.ip-address", first.ip);
    }
    Network {
        found,
        device,
        addresses,
        speed_mbits: speed.unwrap_or(SPEED_UNKNOWN_MBITS),
        mac: mac.unwrap_or_default(),
    }
}

fn read(device: &str, file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/class/net/{device}/{file}")).ok()?;
    Some(text.trim().to_owned())
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn default_route_device() -> Option<String> {
    let routes = fs::read_to_string("/proc/net/route").ok()?;
    let fields = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    let mut found = routes.lines().skip(1).filter_map(fields);
    found.find(|(_, destination)| destination == "00000000").map(|(device, _)| device)
}

const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const ATTRIBUTE_ADDRESS: u16 = 1;
const ATTRIBUTE_LOCAL: u16 = 2;
const HEADER_BYTES: usize = 16;
const ADDRESS_BYTES: usize = 8;

fn addresses() -> io::Result<Vec<Address>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // Routing is protocol 0.
        None,
    )?;
    let mut request = Vec::with_capacity(HEADER_BYTES + ADDRESS_BYTES);
    request.extend(((HEADER_BYTES + ADDRESS_BYTES) as u32).to_ne_bytes());
    request.extend(GET_ADDRESS.to_ne_bytes());
    request.extend((REQUEST | DUMP).to_ne_bytes());
    request.extend([0; 8 + ADDRESS_BYTES]);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; DUMP_BYTES];
    for _ in 0..DUMP_READS_MAX {
        let (length, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
        if parse(&buffer[..length], &mut found) {
            return Ok(found);
        }
    }
    Err(io::Error::other("the list of addresses does not end"))
}

/// Takes the messages of one read; whether the dump is over.
fn parse(mut messages: &[u8], found: &mut Vec<Address>) -> bool {
    while messages.len() >= HEADER_BYTES {
        let length = u32::from_ne_bytes(four(messages)) as usize;
        if length < HEADER_BYTES || length > messages.len() {
            return true;
        }
        let kind = u16::from_ne_bytes([messages[4], messages[5]]);
        match kind {
            DONE | ERROR => return true,
            NEW_ADDRESS => found.extend(parse_address(&messages[HEADER_BYTES..length])),
            _ => {}
        }
        messages = &messages[aligned(length).min(messages.len())..];
    }
    false
}

fn parse_address(body: &[u8]) -> Option<Address> {
    let index = u32::from_ne_bytes(four(body.get(4..8)?));
    let mut attributes = body.get(ADDRESS_BYTES..)?;
    let (mut address, mut local) = (None, None);
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        match kind {
            ATTRIBUTE_ADDRESS => address = ip(value),
            ATTRIBUTE_LOCAL => local = ip(value),
            _ => {}
        }
        attributes = &attributes[aligned(length).min(attributes.len())..];
    }
    // On a point-to-point link the address is the other end's.
    Some(Address { ip: local.or(address)?, index })
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(four(bytes)).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_its_addresses_and_no_mac() {
        let network = probe(Some("lo"), false);
        let ips: Vec<String> = network.addresses.iter().map(|a| a.ip.to_string()).collect();
        assert_eq!(ips.first().map(String::as_str), Some("127.0.0.1"));
        let nodes = network.node_networks();
        assert_eq!((nodes[0].mac_address.as_str(), nodes[0].speed), ("", 1000));
    }

    #[test]
    fn broken_messages_end_the_reading() {
        let mut found = Vec::new();
        assert!(parse(&[0; 64], &mut found));
        assert!(parse(&[255; 64], &mut found));
        assert!(!parse(&[1; 3], &mut found));
        assert!(found.is_empty());
    }
}
