//! What the tests of Chiton share: cases as data and as tests with a name, bash as the oracle, a client that speaks to
//! the server in lines, dice that fall the same way in every run, a look at the processes of the machine, and
//! real ways to another machine with the program that is carried there.

pub mod carried;
pub mod cases;
pub mod dice;
pub mod oracle;
pub mod processes;
pub mod transports;
#[cfg(feature = "trials")]
pub mod trials;
pub mod wire;

pub use carried::carried_program;
