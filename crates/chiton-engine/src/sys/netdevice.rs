//! Switching a network device on.

use std::ffi::CStr;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Switches a device of this network namespace on.
pub(crate) fn switch_on(name: &CStr) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: plain data.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *place = byte.cast_signed();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the flags of a device fit a short")]
    let on = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    request.ifr_ifru.ifru_flags = on;
    // SAFETY: the structure lives across the call, and the kernel reads the flags in it.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
