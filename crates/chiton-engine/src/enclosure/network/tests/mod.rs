//! Real programs in a network of their own, and servers in another one that stands for the internet. Nothing leaves either.

mod promises;
mod servers;
mod speed;
mod stage;
