//! What the tests of Chiton share: cases as data, bash as the oracle, and a look at the processes of the machine.

pub mod cases;
pub mod oracle;
pub mod processes;
