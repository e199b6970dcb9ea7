//! Hashes, decryption and UUIDs.

use super::{Args, Function, Kind};
use crate::value::Value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

const TEXT: &[super::Param] = &[("str", Kind::Text)];

/// The cost of `bcrypt` when none is given.
const BCRYPT_COST: i64 = 10;
/// The highest cost; each further one doubles the time, and 12 takes a good part of a second.
const BCRYPT_COST_LIMIT: i64 = 12;
/// Steps that one round of bcrypt's key schedule counts for, so that a file can afford a few
/// hashes of the usual cost and not hundreds.
const BCRYPT_ROUND_STEPS: u64 = 100;
/// Steps that one decryption counts for.
const RSA_STEPS: u64 = 50_000;
/// Longest private key in PEM form that is read, in bytes; 4096 bits need about 3300.
const RSA_KEY_BYTES: usize = 8192;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("bcrypt", &[("str", Kind::Text), ("cost", Kind::Num)], |args| bcrypt_hash(args))
        .optional(1),
    Function::new("md5", TEXT, |args| Ok(hex(&Md5::digest(args.text(0))).into())),
    Function::new(
        "rsadecrypt",
        &[("ciphertext", Kind::Text), ("privatekey", Kind::Text)],
        |args| rsa_decrypt(args),
    ),
    Function::new("sha1", TEXT, |args| Ok(hex(&Sha1::digest(args.text(0))).into())),
    Function::new("sha256", TEXT, |args| Ok(hex(&Sha256::digest(args.text(0))).into())),
    Function::new("sha512", TEXT, |args| Ok(hex(&Sha512::digest(args.text(0))).into())),
    Function::new("uuidv4", &[], |args| Ok(uuid((args.ctx.random)(), 4).into())),
    Function::new("uuidv5", &[("namespace", Kind::Text), ("name", Kind::Text)], |args| {
        uuid_v5(args.text(0), args.text(1))
    }),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bcrypt_hash(args: &Args<'_>) -> Result<Value, String> {
    let cost = if args.len() > 1 { args.int(1)? } else { BCRYPT_COST };
    if !(4..=BCRYPT_COST_LIMIT).contains(&cost) {
        return Err(format!("the cost must lie between 4 and {BCRYPT_COST_LIMIT}"));
    }
    if !args.ctx.spend(BCRYPT_ROUND_STEPS << cost) {
        return Err("the file asks for more hashing than is allowed for one file".to_owned());
    }
    let cost = u32::try_from(cost).map_err(|e| e.to_string())?;
    let hash = bcrypt::hash_with_salt(args.text(0), cost, (args.ctx.random)());
    hash.map(|parts| parts.format_for_version(bcrypt::Version::TwoA).into())
        .map_err(|e| e.to_string())
}

fn rsa_decrypt(args: &Args<'_>) -> Result<Value, String> {
    let key = args.text(1);
    if key.len() > RSA_KEY_BYTES || !args.ctx.spend(RSA_STEPS) {
        return Err("the key is too long, or the file decrypts too much".to_owned());
    }
    let text = STANDARD.decode(args.text(0)).map_err(|_| "the ciphertext is not base64")?;
    let key = RsaPrivateKey::from_pkcs1_pem(key)
        .or_else(|_| RsaPrivateKey::from_pkcs8_pem(key))
        .map_err(|_| "the key is not an RSA private key in PEM form")?;
    let plain = key.decrypt(Pkcs1v15Encrypt, &text).map_err(|_| "failed to decrypt")?;
    String::from_utf8(plain).map(Value::String).map_err(|_| "the result is not text".to_owned())
}

fn uuid(mut bytes: [u8; 16], version: u8) -> String {
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let text = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

fn uuid_v5(namespace: &str, name: &str) -> Result<Value, String> {
    let namespace = match namespace {
        "dns" => "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "url" => "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
        "oid" => "6ba7b812-9dad-11d1-80b4-00c04fd430c8",
        "x500" => "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
        other => other,
    };
    let invalid = "the namespace must be dns, url, oid, x500 or a UUID";
    let digits: String = namespace.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.is_ascii() {
        return Err(invalid.to_owned());
    }
    let value = u128::from_str_radix(&digits, 16).map_err(|_| invalid)?;
    let digest = Sha1::new().chain_update(value.to_be_bytes()).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ok(uuid(bytes, 5).into())
}
