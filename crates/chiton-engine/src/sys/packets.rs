//! Datagrams with the address they were sent to, and a look at packets that refuse something.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with, sockopt};

/// Room for one control message of either family.
const CONTROL_BYTES: usize = 64;

/// Aligned as a header has to be.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Makes [`receive_datagram`] know the address that each datagram was sent to.
pub(crate) fn report_destinations(socket: impl AsFd) -> io::Result<()> {
    if sockopt::socket_domain(&socket)? == AddressFamily::INET6 {
        set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &1i32)
    } else {
        set_option(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, &1i32)
    }
}

/// Makes a socket lead to this machine and no further. Only who has rights over the network can undo that.
pub(crate) fn bind_to_loopback(socket: impl AsFd) -> io::Result<()> {
    set_option(&socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, b"lo\0")
}

/// Receives one datagram: its length, who sent it, and to which address. A socket for both families sees addresses of
/// IPv4 as mapped ones.
pub(crate) fn receive_datagram(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr, IpAddr)> {
    // SAFETY: all of these are plain data for which zero is a value; the kernel writes at most the lengths that are
    // given, into memory that lives across the call. The control messages are walked by the macros made for it, within
    // the length that the kernel reported, and each is read as the type that its level and kind say.
    unsafe {
        let mut name: libc::sockaddr_storage = mem::zeroed();
        let mut control = Control([0; CONTROL_BYTES]);
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = length_of::<libc::sockaddr_storage>();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;

        let read = libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0);
        let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;

        let mut destination = None;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info: libc::in6_pktinfo = libc::CMSG_DATA(header).cast::<libc::in6_pktinfo>().read_unaligned();
                    destination = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info: libc::in_pktinfo = libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().read_unaligned();
                    destination = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        let from = read_name(&name).ok_or_else(|| io::Error::other("a datagram without a sender"))?;
        let to = destination.ok_or_else(|| io::Error::other("a datagram without a destination"))?;
        Ok((read, from, to))
    }
}

/// Sends one datagram, from an address that was received as a destination.
pub(crate) fn send_datagram(socket: impl AsFd, bytes: &[u8], to: SocketAddr, from: IpAddr) -> io::Result<()> {
    // SAFETY: the structures are plain data that is filled in before the call and lives across it. The control message
    // is written by the macros made for it, into a buffer that is larger than the space it takes.
    let sent = unsafe {
        let (mut name, name_length) = write_name(to);
        let mut control = Control([0; CONTROL_BYTES]);
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = name_length;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;

        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let space = match from {
            IpAddr::V6(from) => {
                let info = libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: from.octets() }, ipi6_ifindex: 0 };
                write_control(header, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info)
            }
            IpAddr::V4(from) => {
                let own = libc::in_addr { s_addr: from.to_bits().to_be() };
                let info =
                    libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: own, ipi_addr: libc::in_addr { s_addr: 0 } };
                write_control(header, libc::IPPROTO_IP, libc::IP_PKTINFO, info)
            }
        };
        message.msg_controllen = space as _;
        libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes one control message and gives the space that it takes.
///
/// # Safety
///
/// `header` begins a buffer with room for the message.
unsafe fn write_control<T>(header: *mut libc::cmsghdr, level: i32, kind: i32, value: T) -> u32 {
    let length = length_of::<T>();
    // SAFETY: the caller gives a buffer with room for a header and this value.
    unsafe {
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
        libc::CMSG_SPACE(length)
    }
}

fn read_name(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that this is what was written into the larger storage.
            let name: libc::sockaddr_in = unsafe { (&raw const *name).cast::<libc::sockaddr_in>().read() };
            let address = Ipv4Addr::from_bits(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddrV4::new(address, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name: libc::sockaddr_in6 = unsafe { (&raw const *name).cast::<libc::sockaddr_in6>().read() };
            let address = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(
                SocketAddrV6::new(address, u16::from_be(name.sin6_port), name.sin6_flowinfo, name.sin6_scope_id).into(),
            )
        }
        _ => None,
    }
}

fn write_name(name: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: plain data for which zero is a value; both kinds of names fit into the storage, whose alignment is theirs.
    unsafe {
        let mut storage: libc::sockaddr_storage = mem::zeroed();
        match name {
            SocketAddr::V4(name) => {
                let place = (&raw mut storage).cast::<libc::sockaddr_in>();
                (*place).sin_family = family(libc::AF_INET);
                (*place).sin_port = name.port().to_be();
                (*place).sin_addr.s_addr = name.ip().to_bits().to_be();
                (storage, length_of::<libc::sockaddr_in>())
            }
            SocketAddr::V6(name) => {
                let place = (&raw mut storage).cast::<libc::sockaddr_in6>();
                (*place).sin6_family = family(libc::AF_INET6);
                (*place).sin6_port = name.port().to_be();
                (*place).sin6_addr.s6_addr = name.ip().octets();
                (*place).sin6_scope_id = name.scope_id();
                (storage, length_of::<libc::sockaddr_in6>())
            }
        }
    }
}

fn family(number: i32) -> libc::sa_family_t {
    libc::sa_family_t::try_from(number).unwrap_or(0)
}

fn length_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0)
}

fn set_option<T>(socket: impl AsFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads exactly the bytes of `value`, which live across the call.
    let answer = unsafe { libc::setsockopt(descriptor, level, option, (&raw const *value).cast(), length_of::<T>()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a socket that sees the packets by which the kernel of this network namespace refuses something: resets of TCP,
/// and messages that a port of UDP is closed. What it gives begins with the header of IP.
pub(crate) fn watch_refusals() -> io::Result<OwnedFd> {
    let protocol = u32::from(u16::try_from(libc::ETH_P_ALL).unwrap_or(3).to_be());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = std::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
    let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, protocol)?;

    // On the loopback interface every packet leaves and arrives: once is enough.
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
    let mut filter = refusal_filter();
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap_or(0), filter: filter.as_mut_ptr() };
    set_option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
    Ok(socket)
}

/// A program for the kernel's packet filter: lets only refusals through. It only saves work; whoever reads the packets
/// looks at them again.
fn refusal_filter() -> [libc::sock_filter; 22] {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_BYTE_BEHIND_HEADER: u16 = 0x50;
    const LOAD_HEADER_LENGTH: u16 = 0xb1;
    const AND: u16 = 0x54;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;

    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    [
        step(LOAD_BYTE, 0, 0, 0),
        step(AND, 0xf0, 0, 0),
        step(JUMP_EQUAL, 0x40, 1, 0),
        step(JUMP_EQUAL, 0x60, 9, 17),
        // IPv4, whose header has a length of its own.
        step(LOAD_HEADER_LENGTH, 0, 0, 0),
        step(LOAD_BYTE, 9, 0, 0),
        step(JUMP_EQUAL, 6, 0, 2),
        step(LOAD_BYTE_BEHIND_HEADER, 13, 0, 0),
        step(JUMP_SET, 0x04, 11, 12),
        step(JUMP_EQUAL, 1, 0, 11),
        step(LOAD_BYTE_BEHIND_HEADER, 0, 0, 0),
        step(JUMP_EQUAL, 3, 0, 9),
        step(RETURN, 2048, 0, 0),
        // IPv6.
        step(LOAD_BYTE, 6, 0, 0),
        step(JUMP_EQUAL, 6, 0, 2),
        step(LOAD_BYTE, 40 + 13, 0, 0),
        step(JUMP_SET, 0x04, 3, 4),
        step(JUMP_EQUAL, 58, 0, 3),
        step(LOAD_BYTE, 40, 0, 0),
        step(JUMP_EQUAL, 1, 0, 1),
        step(RETURN, 2048, 0, 0),
        step(RETURN, 0, 0, 0),
    ]
}
