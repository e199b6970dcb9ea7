//! Directory names of groups: any text becomes one safe path component, and different texts stay
//! different.

/// The kernel allows 255 bytes; the rest is left for the hash.
const NAME_BYTES_MAX: usize = 200;

/// Letters, digits, `-`, `_` and inner dots stay; other bytes are written as `%xx`; a name that is
/// too long is cut and gets a hash of the whole.
pub fn directory_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(byte as char),
            b'.' if position > 0 => name.push('.'),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.is_empty() {
        name.push('%');
    }
    if name.len() > NAME_BYTES_MAX {
        name.truncate(NAME_BYTES_MAX);
        name.push_str(&format!("%%{:016x}", fnv1a(text.as_bytes())));
    }
    name
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_component_and_stay_apart() {
        assert_eq!(directory_name("a1-web.v2"), "a1-web.v2");
        assert_eq!(directory_name("../x"), "%2e.%2fx");
        assert_eq!(directory_name(""), "%");
        let long = "x".repeat(300);
        let longer = "x".repeat(301);
        assert!(directory_name(&long).len() < 255);
        assert_ne!(directory_name(&long), directory_name(&longer));
    }
}
