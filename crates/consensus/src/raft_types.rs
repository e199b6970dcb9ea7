//! The types openraft is instantiated with, and their form inside a log record.

use std::fmt;
use std::io;

use bytes::Bytes;
use openraft::entry::RaftEntry;
use openraft::vote::RaftLeaderId;
use serde::{Deserialize, Serialize};

openraft::declare_raft_types!(
    pub(crate) Types:
        D = Data,
        R = Data,
        NodeId = u64,
        Node = openraft::impls::EmptyNode,
        LeaderId = openraft::impls::leader_id_std::LeaderId<u64, u64>,
);

type LeaderId = openraft::impls::leader_id_std::LeaderId<u64, u64>;
pub(crate) type LogId = openraft::alias::LogIdOf<Types>;
pub(crate) type Vote = openraft::alias::VoteOf<Types>;
pub(crate) type RaftLogEntry = openraft::alias::EntryOf<Types>;
pub(crate) type Payload = openraft::alias::PayloadOf<Types>;
pub(crate) type StoredMembership = openraft::alias::StoredMembershipOf<Types>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<Types>;

/// Opaque bytes of an entry, and of the answer to one.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Data(pub(crate) Bytes);

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a record carries; the numbers are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Blank = 1,
    Normal = 2,
    Membership = 3,
}

impl Kind {
    pub(crate) fn from_byte(byte: u8) -> Option<Kind> {
        match byte {
            1 => Some(Kind::Blank),
            2 => Some(Kind::Normal),
            3 => Some(Kind::Membership),
            _ => None,
        }
    }
}

pub(crate) fn log_id(term: u64, index: u64) -> LogId {
    // The node does not matter: a term has one leader, and the id keeps the term only.
    LogId::new(LeaderId::new(term, 0).to_committed(), index)
}

/// Splits an entry into the parts of a record.
pub(crate) fn to_parts(entry: RaftLogEntry) -> io::Result<(LogId, Kind, Bytes)> {
    let id = entry.log_id;
    Ok(match entry.payload {
        Payload::Blank => (id, Kind::Blank, Bytes::new()),
        Payload::Normal(data) => (id, Kind::Normal, data.0),
        Payload::Membership(membership) => {
            let bytes = rmp_serde::to_vec_named(&membership).map_err(io::Error::other)?;
            (id, Kind::Membership, bytes.into())
        }
    })
}

/// Builds an entry from the parts of a record.
pub(crate) fn from_parts(id: LogId, kind: Kind, payload: Bytes) -> io::Result<RaftLogEntry> {
    let payload = match kind {
        Kind::Blank => Payload::Blank,
        Kind::Normal => Payload::Normal(Data(payload)),
        Kind::Membership => Payload::Membership(
            rmp_serde::from_slice(&payload)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?,
        ),
    };
    Ok(RaftLogEntry::new(id, payload))
}
