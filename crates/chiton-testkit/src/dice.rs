//! Numbers that look random and are the same in every run, so that a failure can be seen again.

/// A linear congruential generator, with the constants of Knuth's MMIX.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice whose every throw follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`, which is not zero.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The low bits repeat soon; the upper ones are good.
        let upper = usize::try_from(self.0 >> 33).expect("31 bits fit into any usize there is");
        upper % sides
    }

    /// One of several.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.roll(choices.len())]
    }
}
