//! How a program with glibc inside looks up names.

/// Has no plug-in of the machine's own C library loaded.
#[cfg(all(target_feature = "crt-static", target_env = "gnu"))]
pub(crate) fn configure() {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        /// Takes the place of a line of `/etc/nsswitch.conf`, for this process. Copies both texts.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    // These services are parts of libc itself, since glibc 2.34.
    for (database, services) in [(c"hosts", c"files dns"), (c"passwd", c"files"), (c"group", c"files")] {
        // SAFETY: both are texts that end with a NUL, and nothing else of this process runs yet. A database that it does not
        // know is an error, and changes nothing.
        unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}

/// The C library is the machine's own, and so are its plug-ins.
#[cfg(not(all(target_feature = "crt-static", target_env = "gnu")))]
pub(crate) fn configure() {}
