//! A program held in memory: sealed, so that nobody can change what will be executed, and shared
//! by all processes that run it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Kernels before 6.3 do not know the flag and make every such file executable.
const MFD_EXEC: MemfdFlags = MemfdFlags::from_bits_retain(0x10);

/// Puts a program image into a sealed file without a name.
pub fn sealed_program(name: &str, image: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = match memfd_create(name, flags | MFD_EXEC) {
        Err(rustix::io::Errno::INVAL) => memfd_create(name, flags)?,
        other => other?,
    };
    let mut file = File::from(descriptor);
    file.write_all(image)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_program_cannot_be_changed() {
        let mut file = File::from(sealed_program("test", b"text").unwrap());
        assert!(file.write_all(b"more").is_err());
    }
}
