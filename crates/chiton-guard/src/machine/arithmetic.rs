//! Integer arithmetic of the shell, where all of it is known.

/// The value of `text`; none if it is not plain arithmetic. Variables are looked up with `value`.
pub(crate) fn evaluate(text: &str, value: &mut dyn FnMut(&str) -> Option<i64>) -> Option<i64> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, value, depth: 0 };
    let result = parser.ternary()?;
    parser.blanks();
    (parser.at == parser.text.len()).then_some(result)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    value: &'a mut dyn FnMut(&str) -> Option<i64>,
    depth: usize,
}

/// Operators by strength, weakest first; within a level the longer ones come first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, text: &str) -> bool {
        self.blanks();
        let here = self.text[self.at..].starts_with(text.as_bytes());
        if here {
            self.at += text.len();
        }
        here
    }

    fn ternary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 40 {
            return None;
        }
        let condition = self.binary(0)?;
        let result = if self.take("?") {
            let yes = self.ternary()?;
            if !self.take(":") {
                return None;
            }
            let no = self.ternary()?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Some(result)
    }

    fn binary(&mut self, level: usize) -> Option<i64> {
        let Some(operators) = LEVELS.get(level) else { return self.power() };
        let mut left = self.binary(level + 1)?;
        'again: loop {
            self.blanks();
            for operator in *operators {
                if !self.here(operator) {
                    continue;
                }
                self.at += operator.len();
                let right = self.binary(level + 1)?;
                left = apply(operator, left, right)?;
                continue 'again;
            }
            return Some(left);
        }
    }

    /// Whether `operator` stands here and is not the start of a longer one or of an assignment.
    fn here(&self, operator: &str) -> bool {
        let rest = &self.text[self.at..];
        let next = rest.get(operator.len()).copied().unwrap_or(b' ');
        let longer =
            operator.len() == 1 && (next == operator.as_bytes()[0] && "|&<>*".contains(operator) || next == b'=');
        rest.starts_with(operator.as_bytes()) && !longer
    }

    fn power(&mut self) -> Option<i64> {
        let base = self.unary()?;
        if !self.take("**") {
            return Some(base);
        }
        self.depth += 1;
        let exponent = if self.depth > 40 { None } else { self.power() }?;
        self.depth -= 1;
        base.checked_pow(u32::try_from(exponent).ok()?)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 40 {
            return None;
        }
        let result = if self.take("-") {
            self.unary()?.checked_neg()?
        } else if self.take("+") {
            self.unary()?
        } else if self.take("!") {
            i64::from(self.unary()? == 0)
        } else if self.take("~") {
            !self.unary()?
        } else if self.take("(") {
            let inner = self.ternary()?;
            if !self.take(")") {
                return None;
            }
            inner
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Some(result)
    }

    fn operand(&mut self) -> Option<i64> {
        self.blanks();
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'#')) {
            self.at += 1;
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        if word.is_empty() {
            return None;
        }
        if !word.starts_with(|first: char| first.is_ascii_digit()) {
            return (self.value)(word);
        }
        if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            return i64::from_str_radix(hex, 16).ok();
        }
        if let Some((base, digits)) = word.split_once('#') {
            let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
            return i64::from_str_radix(digits, base).ok();
        }
        if word.len() > 1 && word.starts_with('0') { i64::from_str_radix(word, 8).ok() } else { word.parse().ok() }
    }
}

fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    let shift = || u32::try_from(right).ok().filter(|bits| *bits < 64);
    Some(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<<" => left.checked_shl(shift()?)?,
        ">>" => left.checked_shr(shift()?)?,
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn known_arithmetic_is_computed() {
        let cases = [
            ("1+2*3", Some(7)),
            ("(1+2)*3", Some(9)),
            ("7%4 == 3 && 1", Some(1)),
            ("0x10 + 010 + 2#11", Some(27)),
            ("1 ? 5 : 6", Some(5)),
            ("-3 << 1", Some(-6)),
            ("x + 1", Some(42)),
            ("1 / 0", None),
            ("x = 1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(evaluate(text, &mut |name| (name == "x").then_some(41)), expected, "{text}");
        }
    }
}
