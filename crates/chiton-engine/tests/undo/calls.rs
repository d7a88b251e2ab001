//! System calls as they are, old ones too, which no library makes any more.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What a call gave, or the number of its error.
pub type Answer = Result<i64, i32>;

/// An argument of a call.
pub trait Argument {
    fn value(&self) -> i64;
}

impl Argument for i64 {
    fn value(&self) -> i64 {
        *self
    }
}

impl Argument for i32 {
    fn value(&self) -> i64 {
        i64::from(*self)
    }
}

impl Argument for u32 {
    fn value(&self) -> i64 {
        i64::from(*self)
    }
}

impl Argument for OwnedFd {
    fn value(&self) -> i64 {
        i64::from(self.as_raw_fd())
    }
}

impl Argument for CString {
    fn value(&self) -> i64 {
        self.as_ptr().expose_provenance().cast_signed() as i64
    }
}

impl Argument for &[u8] {
    fn value(&self) -> i64 {
        self.as_ptr().expose_provenance().cast_signed() as i64
    }
}

/// Makes a call. Pointers among the arguments are to memory that is borrowed for as long.
#[expect(unsafe_code, reason = "tests make every call that there is")]
pub fn call(number: libc::c_long, arguments: &[&dyn Argument]) -> Answer {
    let at = |index: usize| arguments.get(index).map_or(0, |argument| argument.value());
    // SAFETY: memory that the kernel is given is borrowed by `arguments`; it writes to none of it.
    let answer = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if answer >= 0 { Ok(answer) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
}

/// A call that gives a descriptor.
#[expect(unsafe_code, reason = "the kernel gives a number")]
pub fn open(number: libc::c_long, arguments: &[&dyn Argument]) -> Result<OwnedFd, i32> {
    let answer = call(number, arguments)?;
    // SAFETY: the kernel has just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(answer).expect("a descriptor")) })
}

/// Writes to a file through memory that is shared with it.
#[expect(unsafe_code, reason = "memory that is a file")]
pub fn write_by_memory(file: &OwnedFd, length: usize, at: usize, bytes: &[u8]) -> Answer {
    // SAFETY: a new mapping of as many bytes as the file has, which is written to within these and given back.
    unsafe {
        let flags = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let memory = libc::mmap(std::ptr::null_mut(), length, flags.0, flags.1, file.as_raw_fd(), 0);
        if memory == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0));
        }
        let count = bytes.len().min(length - at);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.cast::<u8>().add(at), count);
        libc::munmap(memory, length);
    }
    Ok(0)
}
