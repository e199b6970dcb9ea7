//! Users of the host by name, with all their groups.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Records longer than this are refused.
const RECORD_BYTES_MAX: usize = 1 << 20;
/// The kernel's own limit of groups per process.
const GROUPS_MAX: usize = 65_536;

/// What a process needs to become that user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub home: String,
}

#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("unknown user {name}")]
    Unknown { name: String },
    #[error("cannot look up user {name}")]
    Lookup { name: String, source: io::Error },
}

/// Asks the host's user database, whatever stands behind it.
pub fn lookup_user(name: &str) -> Result<User, UserError> {
    let unknown = || UserError::Unknown { name: name.to_owned() };
    let failed = |source| UserError::Lookup { name: name.to_owned(), source };
    let c_name = CString::new(name).map_err(|_| unknown())?;
    let mut buffer = vec![0u8; 1024];
    loop {
        let mut record = MaybeUninit::<libc::passwd>::uninit();
        let mut found: *mut libc::passwd = ptr::null_mut();
        // SAFETY: all pointers are valid for the call and the buffer's true length is given.
        let code = unsafe {
            libc::getpwnam_r(
                c_name.as_ptr(),
                record.as_mut_ptr(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                &mut found,
            )
        };
        if code == libc::ERANGE && buffer.len() < RECORD_BYTES_MAX {
            buffer.resize(buffer.len() * 4, 0);
            continue;
        }
        if found.is_null() {
            return Err(match code {
                0 | libc::ENOENT | libc::ESRCH => unknown(),
                code => failed(io::Error::from_raw_os_error(code)),
            });
        }
        // SAFETY: a result that is not null points to `record`, which the call has filled in; its
        // strings end with zero and live in `buffer`, which is still alive.
        let (uid, gid, home) = unsafe {
            let record = record.assume_init_ref();
            (record.pw_uid, record.pw_gid, CStr::from_ptr(record.pw_dir).to_owned())
        };
        let groups = groups_of(&c_name, gid).map_err(failed)?;
        return Ok(User { uid, gid, groups, home: home.to_string_lossy().into_owned() });
    }
}

fn groups_of(name: &CStr, gid: u32) -> io::Result<Vec<u32>> {
    let mut groups = vec![0u32; 64];
    loop {
        let mut count = groups.len() as libc::c_int;
        // SAFETY: `groups` has room for `count` entries, and the call writes no more than that.
        let code =
            unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &mut count) };
        if code >= 0 {
            groups.truncate(count.max(0) as usize);
            return Ok(groups);
        }
        if groups.len() >= GROUPS_MAX {
            return Err(io::Error::other("the user is in too many groups"));
        }
        groups.resize((groups.len() * 4).min(GROUPS_MAX), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_and_a_made_up_name_is_not() {
        let root = lookup_user("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert!(root.groups.contains(&0));
        assert!(matches!(lookup_user("no-such-user"), Err(UserError::Unknown { .. })));
        assert!(matches!(lookup_user("nul\0name"), Err(UserError::Unknown { .. })));
    }
}
