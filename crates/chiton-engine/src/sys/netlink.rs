//! Setting up a network namespace: a few messages to the kernel's routing socket.
//!
//! Every number is written into the message by hand; there is no unsafe code in this file.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// The loopback interface is the first one of every network namespace.
const LOOPBACK: u32 = 1;

const HEADER: usize = 16;
const ERROR_MESSAGE: u16 = 2;
const FLAG_REQUEST: u16 = 1;
const FLAG_ACKNOWLEDGE: u16 = 4;
const FLAG_CREATE: u16 = 0x400;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;

const INTERFACE_UP: u32 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ROUTE_OUT: u16 = 4;
const TABLE_LOCAL: u8 = 255;
const PROTOCOL_BOOT: u8 = 3;
const SCOPE_HOST: u8 = 254;
const TYPE_LOCAL: u8 = 2;

/// The kernel's routing socket of the network namespace in which it was opened.
pub(crate) struct RoutingSocket(OwnedFd);

impl RoutingSocket {
    pub(crate) fn open() -> io::Result<Self> {
        // Routing is the protocol with the number 0, which is the one that is meant where none is named.
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// Makes the loopback interface work.
    pub(crate) fn bring_up_loopback(&self) -> io::Result<()> {
        let mut body = vec![0; 4];
        body.extend_from_slice(&LOOPBACK.to_ne_bytes());
        body.extend_from_slice(&INTERFACE_UP.to_ne_bytes());
        body.extend_from_slice(&INTERFACE_UP.to_ne_bytes());
        self.request(NEW_LINK, 0, &body)
    }

    /// Gives the loopback interface one more address.
    pub(crate) fn add_address(&self, address: Ipv4Addr) -> io::Result<()> {
        let mut body = vec![family(address.into()), 32, 0, 0];
        body.extend_from_slice(&LOOPBACK.to_ne_bytes());
        attribute(&mut body, ADDRESS_LOCAL, address.octets());
        self.request(NEW_ADDRESS, FLAG_CREATE, &body)
    }

    /// Makes every address of a kind one of this machine: what is sent to it arrives here. `any` is the address of that
    /// kind that stands for all.
    pub(crate) fn make_every_address_local(&self, any: IpAddr) -> io::Result<()> {
        let mut body = vec![family(any), 0, 0, 0, TABLE_LOCAL, PROTOCOL_BOOT, SCOPE_HOST, TYPE_LOCAL, 0, 0, 0, 0];
        attribute(&mut body, ROUTE_OUT, LOOPBACK.to_ne_bytes());
        self.request(NEW_ROUTE, FLAG_CREATE, &body)
    }

    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(HEADER + body.len()).map_err(io::Error::other)?;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(FLAG_REQUEST | FLAG_ACKNOWLEDGE | flags).to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(body);

        // A socket that is bound to nobody sends to the kernel, which answers before the call returns.
        send(&self.0, &message, SendFlags::empty())?;
        let mut answer = [0; 1024];
        let (read, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        read_answer(&answer[..read])
    }
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    u8::try_from(family.as_raw()).unwrap_or(0)
}

/// Appends a value of four bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: [u8; 4]) {
    body.extend_from_slice(&8u16.to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(&value);
}

fn read_answer(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(ERROR_MESSAGE), Some(0)) => Ok(()),
        (Some(ERROR_MESSAGE), Some(code)) => Err(io::Error::from_raw_os_error(-code)),
        _ => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer about the network was not understood"))
        }
    }
}
