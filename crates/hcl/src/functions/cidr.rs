//! Functions on IP networks.

use super::{Args, Function, Kind};
use crate::number::Number;
use crate::value::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PREFIX: super::Param = ("prefix", Kind::Text);

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("cidrhost", &[PREFIX, ("hostnum", Kind::Num)], |args| host(args)),
    Function::new("cidrnetmask", &[PREFIX], |args| {
        let network = Network::parse(args.text(0))?;
        if network.width != 32 {
            return Err("only IPv4 networks have a netmask".to_owned());
        }
        Ok(network.address(network.mask()).to_string().into())
    }),
    Function::new("cidrsubnet", &[PREFIX, ("newbits", Kind::Num), ("netnum", Kind::Num)], |args| {
        let network = Network::parse(args.text(0))?;
        let length = network.longer(args.int(1)?)?;
        let number = u128::try_from(args.int(2)?).map_err(|_| "netnum must not be negative")?;
        let bits = length - network.length;
        if bits < 128 && number >> bits != 0 {
            return Err(format!(
                "prefix extension of {bits} does not fit a subnet number {number}"
            ));
        }
        let base = network.base | shift(number, network.width - length);
        Ok(Network { base, length, ..network }.to_string().into())
    }),
    Function::new("cidrsubnets", &[PREFIX], |args| subnets(args)).rest(("newbits", Kind::Num)),
];

struct Network {
    base: u128,
    length: u32,
    width: u32,
}

fn shift(value: u128, bits: u32) -> u128 {
    value.checked_shl(bits).unwrap_or(0)
}

impl Network {
    fn parse(text: &str) -> Result<Network, String> {
        let invalid = || format!("invalid CIDR expression {text:?}");
        let (address, length) = text.split_once('/').ok_or_else(invalid)?;
        let (base, width) = match address.parse().map_err(|_| invalid())? {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        let length: u32 = length.parse().map_err(|_| invalid())?;
        if length > width {
            return Err(invalid());
        }
        let network = Network { base, length, width };
        Ok(Network { base: base & network.mask(), ..network })
    }

    fn mask(&self) -> u128 {
        let all = if self.width == 32 { u128::from(u32::MAX) } else { u128::MAX };
        all & shift(all, self.width - self.length)
    }

    fn longer(&self, bits: i64) -> Result<u32, String> {
        let bits = u32::try_from(bits).map_err(|_| "newbits must not be negative")?;
        let length = self.length.saturating_add(bits);
        if length > self.width {
            let room = self.width - self.length;
            return Err(format!("only {room} bits are left to extend the prefix, not {bits}"));
        }
        Ok(length)
    }

    fn address(&self, value: u128) -> IpAddr {
        match u32::try_from(value) {
            Ok(value) if self.width == 32 => Ipv4Addr::from(value).into(),
            _ => Ipv6Addr::from(value).into(),
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address(self.base), self.length)
    }
}

/// A host by its number; negative numbers count from the end.
fn host(args: &Args<'_>) -> Result<Value, String> {
    let network = Network::parse(args.text(0))?;
    let Number::Int(number) = args.number(1) else {
        return Err("hostnum must be a whole number".to_owned());
    };
    let bits = network.width - network.length;
    let distance = number.unsigned_abs();
    let outside = if number < 0 { distance.saturating_sub(1) } else { distance };
    if bits < 128 && outside >> bits != 0 {
        return Err(format!(
            "prefix of {} does not accommodate a host numbered {number}",
            network.length
        ));
    }
    let hosts =
        !network.mask() & if network.width == 32 { u128::from(u32::MAX) } else { u128::MAX };
    let place = if number < 0 { hosts - (distance - 1) } else { distance };
    Ok(network.address(network.base | place).to_string().into())
}

/// Consecutive networks, each behind the one before it.
fn subnets(args: &Args<'_>) -> Result<Value, String> {
    let network = Network::parse(args.text(0))?;
    let mut next = network.base;
    let mut result = Vec::new();
    for index in 1..args.len() {
        let bits = args.int(index)?;
        if bits < 1 {
            return Err("must extend prefix by at least one bit".to_owned());
        }
        let length = network.longer(bits)?;
        let size = shift(1, network.width - length);
        let aligned = next.checked_add(size - 1).map(|end| end & !(size - 1));
        let full = || "not enough room is left in the network".to_owned();
        let base = aligned.ok_or_else(full)?;
        let subnet = Network { base, length, width: network.width };
        if base & network.mask() != network.base {
            return Err(full());
        }
        result.push(subnet.to_string().into());
        next = base.checked_add(size).ok_or_else(full)?;
    }
    Ok(Value::List(result))
}
