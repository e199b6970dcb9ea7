//! The network openraft asks for. There is one server, so every call says so; the transport
//! between servers replaces this file and nothing else.

use std::future::Future;
use std::io;

use openraft::RaftNetworkFactory;
use openraft::alias::{SnapshotOf, VoteOf};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::network::v2::RaftNetworkV2;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};

use crate::raft_types::Types;
use crate::snapshot::SnapshotData;

pub(crate) struct SingleServer;

fn unreachable() -> Unreachable<Types> {
    Unreachable::new(&io::Error::new(io::ErrorKind::Unsupported, "single server: no transport"))
}

impl RaftNetworkFactory<Types> for SingleServer {
    type Network = SingleServer;

    async fn new_client(&mut self, _: u64, _: &openraft::impls::EmptyNode) -> SingleServer {
        SingleServer
    }
}

impl RaftNetworkV2<Types> for SingleServer {
    type SnapshotData = SnapshotData;

    async fn append_entries(
        &mut self,
        _: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn vote(
        &mut self,
        _: VoteRequest<Types>,
        _: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn full_snapshot(
        &mut self,
        _: VoteOf<Types>,
        _: SnapshotOf<Types, SnapshotData>,
        _: impl Future<Output = ReplicationClosed> + Send + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        Err(StreamingError::Unreachable(unreachable()))
    }
}
