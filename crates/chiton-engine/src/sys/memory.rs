//! Giving back memory that a process that mostly waits does not need, and reading that of another one.

use std::fs;

/// Gives back the pages of program files that are mapped but not in use right now: code and constants. They are clean
/// copies, and those that are needed again are read again by the kernel. A keeper that has started its command needs few.
pub(crate) fn release_files() {
    let Ok(maps) = fs::read_to_string("/proc/self/smaps") else { return };
    let mut candidate = None;
    for line in maps.lines() {
        if let Some(range) = file_mapping(line) {
            candidate = Some(range);
        } else if line.starts_with(|first: char| first.is_ascii_digit() || first.is_ascii_lowercase()) {
            candidate = None;
        } else if let Some(rest) = line.strip_prefix("Anonymous:") {
            // Pages that were written, by the linker for instance, are not copies any more.
            if let Some((start, length)) = candidate.take().filter(|_| rest.trim() == "0 kB") {
                // SAFETY: the range is a whole mapping of a file that this process may only read or execute, none of
                // whose pages was ever written; the next use reads the same file again.
                unsafe {
                    libc::madvise(std::ptr::with_exposed_provenance_mut(start), length, libc::MADV_DONTNEED);
                }
            }
        }
    }
}

/// Gives back what was freed. Only glibc has to be told.
pub(crate) fn release_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has all threads use one heap. By default glibc gives each its own, and keeps what is freed there. Other libraries do this
/// by themselves.
pub(crate) fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time; threads that have a heap keep it.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Start and length of a mapping of a file that cannot be written, from its line in `smaps`.
fn file_mapping(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let fixed = matches!(fields.next()?, "r-xp" | "r--p");
    (fixed && fields.nth(3)?.starts_with('/')).then_some((start, end - start))
}

/// Reads the memory of another process, whose thread this is; how much of it could be read. `None` where that is nothing.
pub(crate) fn read_of(thread: i32, address: u64, bytes: &mut [u8]) -> Option<usize> {
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = std::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?);
    let there = libc::iovec { iov_base: there, iov_len: bytes.len() };
    // SAFETY: what is here lives across the call and is as long as it says; what is there is looked at by the kernel alone.
    let count = unsafe { libc::process_vm_readv(thread, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(count).ok()
}
