//! A mutex whose lock is always granted.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A value that one thread at a time may use.
///
/// The standard mutex is poisoned when a thread panics while it holds the lock, and every later user has to say what
/// it does about that. Here the answer is always the same: go on. Each critical section leaves its value usable at
/// every step, and a server that still runs commands after a panic is worth more than one that refuses them all.
#[derive(Default)]
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits until nobody else uses the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, which nobody else can use now.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others use the value until one of them says that it `changed`, or `most` has passed.
    pub fn wait<'a>(held: MutexGuard<'a, T>, changed: &Condvar, most: Duration) -> MutexGuard<'a, T> {
        changed.wait_timeout(held, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl<T: fmt::Debug> fmt::Debug for Lock<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_panic_under_the_lock_does_not_lock_anybody_out() {
        let count = Arc::new(Lock::new(1));
        let shared = Arc::clone(&count);
        let panicked = std::thread::spawn(move || {
            let mut held = shared.lock();
            *held = 2;
            panic!("under the lock");
        });

        assert!(panicked.join().is_err());
        assert_eq!(*count.lock(), 2);
    }
}
