//! Standard input and output, without a thread for each.
//!
//! 1. The library waits for pipes without a thread.
//! 2. Many clients, all that run on Node.js among them, start a server with sockets instead. For those the library has two
//!    threads, which a message is handed to and fro. Here each read and write says for itself that it does not wait, so
//!    nothing has to be changed about the socket, which belongs to others, too.
//! 3. The rest, like a file, is left to the library.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::transport::io::{StdioReader, StdioWriter};
use rustix::fs::FileType;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// Where messages come from.
pub(crate) enum Input {
    Socket(AsyncFd<OwnedFd>),
    Other(StdioReader),
}

/// Where messages go.
pub(crate) enum Output {
    Socket(AsyncFd<OwnedFd>),
    Other(StdioWriter),
}

/// Standard input and output.
pub(crate) fn standard() -> (Input, Output) {
    let sockets = socket(io::stdin(), Interest::READABLE).zip(socket(io::stdout(), Interest::WRITABLE));
    if let Some((input, output)) = sockets {
        return (Input::Socket(input), Output::Socket(output));
    }
    let (input, output) = rmcp::transport::stdio_pipes();
    (Input::Other(input), Output::Other(output))
}

/// `stream`, if it is a socket that can be waited for.
fn socket(stream: impl AsFd, interest: Interest) -> Option<AsyncFd<OwnedFd>> {
    let data = rustix::fs::fstat(&stream).ok()?;
    let is_socket = FileType::from_raw_mode(data.st_mode) == FileType::Socket;
    let own = is_socket.then(|| stream.as_fd().try_clone_to_owned().ok()).flatten()?;
    AsyncFd::with_interest(own, interest).ok()
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = match self.get_mut() {
            Self::Socket(socket) => socket,
            Self::Other(reader) => return Pin::new(reader).poll_read(context, into),
        };
        loop {
            let mut ready = ready!(socket.poll_read_ready(context))?;
            let received = ready.try_io(|socket| Ok(recv(socket, into.initialize_unfilled(), RecvFlags::DONTWAIT)?.0));
            match received {
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(received) => {
                    into.advance(received?);
                    return Poll::Ready(Ok(()));
                }
                Err(_not_ready) => {}
            }
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let socket = match self.get_mut() {
            Self::Socket(socket) => socket,
            Self::Other(writer) => return Pin::new(writer).poll_write(context, bytes),
        };
        loop {
            let mut ready = ready!(socket.poll_write_ready(context))?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match ready.try_io(|socket| Ok(send(socket, bytes, flags)?)) {
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(sent) => return Poll::Ready(sent),
                Err(_not_ready) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            // What was sent is sent.
            Self::Socket(_) => Poll::Ready(Ok(())),
            Self::Other(writer) => Pin::new(writer).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Socket(_) => Poll::Ready(Ok(())),
            Self::Other(writer) => Pin::new(writer).poll_shutdown(context),
        }
    }
}
