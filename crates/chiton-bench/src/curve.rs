//! What a curve says: flat, linear, or worse.

use serde_json::{Value, json};

use crate::plot::{self, Plot, short};
use crate::table::millis;

/// Below this ratio of the last point to the first one, noise is all there is.
const FLAT: f64 = 1.5;
/// A power above this, from the last point but one to the last, is more than linear.
const LINEAR: f64 = 1.2;

/// Latency against the size of something.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The name of its picture.
    pub(crate) name: &'static str,
    /// What it is about.
    pub(crate) title: &'static str,
    /// What grows.
    pub(crate) across: &'static str,
    /// Sizes and seconds.
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a curve goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It does not matter how large it is.
    Flat,
    /// Twice the size costs at most twice as much.
    Linear,
    /// Twice the size costs more than that.
    Worse,
}

impl Growth {
    fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Linear => "linear",
            Self::Worse => "**worse than linear**",
        }
    }
}

impl Curve {
    /// The last point against the first one.
    fn ratio(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some((_, first)), Some((_, last))) if *first > 0.0 => last / first,
            _ => 1.0,
        }
    }

    /// What one more costs, in seconds.
    fn each(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) if last.0 > first.0 => (last.1 - first.1) / (last.0 - first.0),
            _ => 0.0,
        }
    }

    /// How it goes: by its end, where what grows outweighs what every call costs.
    pub(crate) fn growth(&self) -> Growth {
        let end = &self.points[self.points.len().saturating_sub(2)..];
        match slope(end) {
            _ if self.ratio() <= FLAT => Growth::Flat,
            ..=LINEAR => Growth::Linear,
            _ => Growth::Worse,
        }
    }

    /// A line of a table.
    pub(crate) fn to_line(&self) -> String {
        let points = self.points.iter().map(|(x, y)| format!("{}: {}", short(*x), millis(*y)));
        let points = points.collect::<Vec<_>>().join(", ");
        let (slope, ratio, growth) = (slope(&self.points), self.ratio(), self.growth().word());
        let each = match growth {
            "flat" => "–".to_owned(),
            _ if self.each() < 1e-6 => format!("{:.1} ns", self.each() * 1e9),
            _ => format!("{:.1} µs", self.each() * 1e6),
        };
        format!("| {} | {points} | {ratio:.1} | {slope:.2} | {each} | {growth} |", self.across)
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        let points: Vec<Value> = self.points.iter().map(|(x, y)| json!([x, y * 1e3])).collect();
        json!({
            "name": self.name, "across": self.across, "points_ms": points, "slope": slope(&self.points),
            "last_to_first": self.ratio(), "each_us": self.each() * 1e6, "growth": self.growth().word(),
        })
    }

    /// Its picture.
    pub(crate) fn svg(&self) -> String {
        let points: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (*x, y * 1e3)).collect();
        plot::svg(&Plot { title: self.title, across: self.across, up: "p50 of a call, ms", points: &points })
    }
}

/// Curves as a table.
pub(crate) fn markdown(curves: &[Curve]) -> String {
    let head =
        "| grows | p50 in ms at each size | last ÷ first | slope | each one more | |\n|---|---|---|---|---|---|\n";
    let lines: Vec<String> = curves.iter().map(|curve| curve.to_line() + "\n").collect();
    format!("\n### How cost grows\n\n{head}{}", lines.concat())
}

/// How a value grows with another: `y` is about `x` to the power of this.
///
/// A straight line through the logarithms. 0 where there are fewer than two points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (middle_x, middle_y) = (mean(|point| point.0), mean(|point| point.1));
    let along: f64 = logs.iter().map(|(x, y)| (x - middle_x) * (y - middle_y)).sum();
    let across: f64 = logs.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    if across > 0.0 { along / across } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(time: impl Fn(f64) -> f64) -> Curve {
        let points = [0.0, 10.0, 100.0, 1000.0, 10_000.0].map(|x| (x, time(x))).to_vec();
        Curve { name: "test", title: "test", across: "things", points }
    }

    #[test]
    fn a_curve_is_flat_linear_or_worse() {
        for (time, growth) in [
            (&(|_| 2.0) as &dyn Fn(f64) -> f64, Growth::Flat),
            (&|x| 2.0 + x / 100_000.0, Growth::Flat),
            (&|x| 2.0 + x, Growth::Linear),
            (&|x| 2.0 + x.sqrt(), Growth::Linear),
            (&|x| 2.0 + x * x, Growth::Worse),
        ] {
            assert_eq!(curve(time).growth(), growth, "{}", curve(time).to_line());
        }
    }

    #[test]
    fn a_line_says_what_one_more_costs() {
        let line = curve(|x| 0.002 + x * 1e-6).to_line();
        assert!(line.starts_with("| things | 0: 2.00, 10: 2.01, 100: 2.10, 1000: 3.00, 10 k: 12.00 | 6.0 |"), "{line}");
        assert!(line.ends_with("| 1.0 µs | linear |"), "{line}");
    }

    #[test]
    fn the_slope_is_the_power() {
        for power in [0.0, 0.5, 1.0, 2.0] {
            let points = [1.0, 10.0, 100.0].map(|x: f64| (x, 3.0 * x.powf(power)));
            assert!((slope(&points) - power).abs() < 1e-9, "{power}");
        }
        assert!(slope(&[(1.0, 1.0)]).abs() < 1e-9);
    }
}
