//! One connection to an agent.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use supervisor::protocol::{
    HEADER_BYTES, LAUNCH_BYTES_MAX, Launch, MESSAGE_BYTES_MAX, Reply, Request, frame_bytes,
};

/// Bytes read at once after the launch; requests are small.
const READ_BYTES: usize = 512;

pub(crate) struct Connection {
    socket: OwnedFd,
    received: Vec<u8>,
    /// Set once the peer has attached; until then nothing is sent unasked.
    pub(crate) attached: bool,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, received: Vec::new(), attached: false }
    }

    /// Waits for the first request of the inherited connection.
    pub(crate) fn receive_launch(&mut self) -> Option<Launch> {
        let mut frame = Vec::new();
        self.read_up_to(&mut frame, HEADER_BYTES)?;
        let length = frame_bytes(&frame, LAUNCH_BYTES_MAX).ok()??;
        self.read_up_to(&mut frame, length)?;
        match Request::decode(&frame).ok()? {
            Request::Launch(launch) => {
                self.attached = true;
                Some(*launch)
            }
            _ => None,
        }
    }

    fn read_up_to(&self, frame: &mut Vec<u8>, length: usize) -> Option<()> {
        let mut filled = frame.len();
        frame.resize(length.max(filled), 0);
        while filled < length {
            match recv(&self.socket, &mut frame[filled..], RecvFlags::empty()) {
                Ok((0, _)) => return None,
                Ok((count, _)) => filled += count,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(())
    }

    /// Takes what has arrived; `false` when the connection has ended or makes no sense.
    pub(crate) fn receive(&mut self) -> bool {
        let mut buffer = [0; READ_BYTES];
        match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => false,
            Ok((count, _)) => {
                self.received.extend_from_slice(&buffer[..count]);
                self.received.len() <= MESSAGE_BYTES_MAX + READ_BYTES
            }
            Err(Errno::INTR | Errno::AGAIN) => true,
            Err(_) => false,
        }
    }

    /// The next whole request; an error when the bytes make no sense.
    pub(crate) fn next_request(&mut self) -> Result<Option<Request>, ()> {
        let length = frame_bytes(&self.received, MESSAGE_BYTES_MAX).map_err(|_| ())?;
        let Some(length) = length.filter(|length| *length <= self.received.len()) else {
            return Ok(None);
        };
        let request = Request::decode(&self.received[..length]).map_err(|_| ())?;
        self.received.drain(..length);
        Ok(Some(request))
    }

    /// Never waits: `false` when the peer does not take it, who is then given up.
    pub(crate) fn send(&self, reply: &Reply) -> bool {
        let bytes = reply.encode();
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match send(&self.socket, &bytes, flags) {
                Err(Errno::INTR) => {}
                other => return other == Ok(bytes.len()),
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
