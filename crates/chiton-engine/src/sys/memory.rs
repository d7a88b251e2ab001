//! Giving back what a process that mostly waits does not need.

use std::fs;

/// Lets go of the pages of program code that are mapped but not in use right now: they are clean copies of files, and
/// those that are needed again come back by themselves. A keeper that has started its command needs few of them.
pub(crate) fn release_code() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.contains('/')) {
        let Some((start, end)) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')) else { continue };
        let parse = |text| usize::from_str_radix(text, 16).ok();
        if let (Some(start), Some(end)) = (parse(start), parse(end)) {
            // SAFETY: the range is a whole executable, read-only file mapping of this process; its pages are never
            // written, so dropping them loses nothing: the next use reads the same file again.
            unsafe {
                libc::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTNEED);
            }
        }
    }
}
