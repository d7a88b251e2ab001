//! A curve as a picture: both axes logarithmic, readable on light and on dark paper.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
/// Where the paper of the plot begins and ends.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 616.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 284.0;

/// Colours for both kinds of paper.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#444c56}.title{font-size:15px;font-weight:600}\
.number{font-size:11px;text-anchor:middle}.grid{stroke:#d0d7de;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}\
.line{fill:none;stroke:#0969da;stroke-width:2}.point{fill:#0969da}\
@media(prefers-color-scheme:dark){text{fill:#c9d1d9}.grid{stroke:#30363d}.axis{stroke:#8b949e}\
.line{stroke:#58a6ff}.point{fill:#58a6ff}}";

/// What a picture shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plot<'a> {
    /// Above it.
    pub(crate) title: &'a str,
    /// Below it.
    pub(crate) across: &'a str,
    /// Beside it.
    pub(crate) up: &'a str,
    /// Points from left to right. Nothing is drawn of one that is below 0; a place of 0 stands at the left edge.
    pub(crate) points: &'a [(f64, f64)],
}

/// One axis: which powers of ten it spans.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis with room for all values above 0, from one whole power of ten to another.
    fn new(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let logs = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) =
            logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
        if low > high {
            return Self { from: 0.0, to: 1.0, start, end };
        }
        // A hair of tolerance: the logarithm of 1000 is not quite 3.
        let (from, to) = ((low + 1e-9).floor(), (high - 1e-9).ceil());
        Self { from, to: to.max(from + 1.0), start, end }
    }

    /// The same with a place for 0 before its beginning.
    fn with_zero(mut self, needed: bool) -> Self {
        if needed {
            self.from -= 1.0;
        }
        self
    }

    fn place(&self, value: f64) -> f64 {
        let log = if value > 0.0 { value.log10() } else { self.from };
        self.start + (log - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Whole powers of ten on it, not too many.
    fn ticks(&self) -> Vec<f64> {
        let step = ((self.to - self.from) / 8.0).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut power = self.from;
        while power <= self.to + 1e-9 {
            ticks.push(10f64.powf(power));
            power += step;
        }
        ticks
    }
}

/// The picture.
pub(crate) fn svg(plot: &Plot<'_>) -> String {
    let Plot { title, across, up, points } = plot;
    let zero = points.iter().any(|(x, _)| *x <= 0.0);
    let horizontal = Axis::new(points.iter().map(|(x, _)| *x), LEFT, RIGHT).with_zero(zero);
    let vertical = Axis::new(points.iter().map(|(_, y)| *y), BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\n\
         <style>{STYLE}</style>\n<text class=\"title\" x=\"{LEFT}\" y=\"24\">{0}</text>\n",
        escaped(title)
    );
    for (index, tick) in horizontal.ticks().into_iter().enumerate() {
        let x = horizontal.place(tick);
        let label = if zero && index == 0 { "0".to_owned() } else { short(tick) };
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", BOTTOM + 18.0);
    }
    for tick in vertical.ticks() {
        let y = vertical.place(tick);
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>");
        let (x, y) = (LEFT - 8.0, y + 4.0);
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", short(tick));
    }
    let _ = writeln!(svg, "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>");
    let middle = f64::midpoint(LEFT, RIGHT);
    let _ =
        writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", HEIGHT - 14.0, escaped(across));
    let middle = f64::midpoint(TOP, BOTTOM);
    let turned = format!("transform=\"rotate(-90 18 {middle})\"");
    let _ = writeln!(svg, "<text x=\"18\" y=\"{middle}\" text-anchor=\"middle\" {turned}>{}</text>", escaped(up));
    draw(&mut svg, points, &horizontal, &vertical);
    svg.push_str("</svg>\n");
    svg
}

/// The line and its points, each with its number.
fn draw(svg: &mut String, points: &[(f64, f64)], horizontal: &Axis, vertical: &Axis) {
    let drawn: Vec<(f64, f64)> = points.iter().copied().filter(|(_, y)| *y > 0.0).collect();
    let corners = drawn.iter().map(|(x, y)| format!("{:.1},{:.1}", horizontal.place(*x), vertical.place(*y)));
    let _ = writeln!(svg, "<polyline class=\"line\" points=\"{}\"/>", corners.collect::<Vec<_>>().join(" "));
    for (x, y) in drawn {
        let (across, up) = (horizontal.place(x), vertical.place(y));
        let numbers = format!("<title>{}: {y:.3}</title>", short(x));
        let _ = writeln!(svg, "<circle class=\"point\" cx=\"{across:.1}\" cy=\"{up:.1}\" r=\"4\">{numbers}</circle>");
        let (above, number) = (up - 10.0, figures(y));
        let _ = writeln!(svg, "<text class=\"number\" x=\"{across:.1}\" y=\"{above:.1}\">{number}</text>");
    }
}

/// A number with two or three figures.
fn figures(number: f64) -> String {
    match number {
        ..1.0 => format!("{number:.2}"),
        1.0..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A number in few signs: 10 k, 5 M, 0.1.
pub(crate) fn short(number: f64) -> String {
    match number {
        1e9.. => format!("{} G", trimmed(number / 1e9)),
        1e6.. => format!("{} M", trimmed(number / 1e6)),
        1e4.. => format!("{} k", trimmed(number / 1e3)),
        _ => trimmed(number),
    }
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is closed, in the right order.
    fn is_well_formed(svg: &str) -> bool {
        let mut open: Vec<&str> = Vec::new();
        for part in svg.split('<').skip(1) {
            let Some((tag, _)) = part.split_once('>') else { return false };
            if tag.matches('"').count() % 2 != 0 {
                return false;
            }
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            if tag.starts_with('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        open.is_empty()
    }

    #[test]
    fn a_picture_is_well_formed_whatever_it_shows() {
        let curves: [&[(f64, f64)]; 4] =
            [&[], &[(0.0, 1.0)], &[(1.0, 2.0), (1000.0, 2.5)], &[(0.0, 0.1), (10.0, 1.0), (1e9, 2000.0), (1e10, -1.0)]];
        for points in curves {
            let svg = svg(&Plot { title: "a < b & \"c\"", across: "x", up: "ms", points });
            assert!(is_well_formed(&svg), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert_eq!(svg.matches("<circle").count(), points.iter().filter(|(_, y)| *y > 0.0).count());
        }
        assert!(!is_well_formed("<svg><text></svg>"));
    }

    #[test]
    fn points_lie_within_the_axes() {
        let axis = Axis::new([3.0, 4000.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.from, axis.to), (0.0, 4.0));
        assert!((axis.place(100.0) - 50.0).abs() < 1e-9);
        let zero = Axis::new([10.0, 1000.0].into_iter(), 0.0, 90.0).with_zero(true);
        assert!((zero.place(0.0)).abs() < 1e-9 && (zero.place(10.0) - 30.0).abs() < 1e-9);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.001, 0.1, 5.0, 1000.0, 10_000.0, 1e7, 1e9].map(short),
            ["0.001", "0.1", "5", "1000", "10 k", "10 M", "1 G"]
        );
    }
}
