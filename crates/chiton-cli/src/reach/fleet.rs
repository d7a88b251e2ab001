//! fleets
