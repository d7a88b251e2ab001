//! What a byte of a command is, for code that wants to put something there or to take it away.

use crate::tree::Span;

/// How a byte is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quoting {
    /// Not at all: what is put here is split and matched against file names.
    #[default]
    Bare,
    /// Inside `"…"`.
    Double,
    /// Inside `'…'`.
    Single,
    /// Inside `$'…'`.
    Ansi,
    /// The character after a backslash, or the backslash.
    Escaped,
    /// In the body of a here document whose delimiter is bare: expanded, not split.
    HereExpanded,
    /// In the body of a here document whose delimiter is quoted: nothing in it is special.
    HereLiteral,
}

/// What a byte is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// An operator, a reserved word or a blank.
    #[default]
    Syntax,
    /// The name of a command.
    CommandName,
    /// An argument of a command.
    Argument,
    /// The name of a variable that is assigned to, or the operator after it.
    AssignmentName,
    /// The value that is assigned.
    AssignmentValue,
    /// What a redirection points at.
    RedirectionTarget,
    /// The word after `<<`.
    HereDelimiter,
    /// The word after `<<<`.
    HereString,
    /// The body of a here document.
    HereBody,
    /// `$((…))`, `((…))`, a subscript, an offset.
    Arithmetic,
    /// Inside `${…}`: the name or the word of the operation.
    Parameter,
    /// A word that a loop, `case` or `[[` looks at.
    Subject,
    /// A comment.
    Comment,
}

/// What a byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// How it is protected.
    pub quoting: Quoting,
    /// What it is part of.
    pub role: Role,
    /// How many substitutions (`$(…)`, backticks, `<(…)`) are around it.
    pub substitutions: usize,
    /// How many of them are backticks, in which backslashes are read twice.
    pub backticks: usize,
    /// The innermost region it lies in.
    pub span: Span,
}

/// The regions of a text.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// In the order of their ends, so what contains comes after what is contained.
    regions: Vec<(Span, Region)>,
    /// A here document ends with the text, not with its delimiter: bash warns of that.
    pub(super) has_open_here: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Region {
    Quoting(Quoting),
    Role(Role),
    Substitution,
    Backtick,
}

impl Places {
    pub(super) fn note(&mut self, span: Span, region: Region) {
        self.regions.push((span, region));
    }

    pub(super) fn count(&self) -> usize {
        self.regions.len()
    }

    /// Forgets what was noted by an attempt that came to nothing.
    pub(super) fn forget_after(&mut self, count: usize) {
        self.regions.truncate(count);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.regions.extend(other.regions);
        self.has_open_here |= other.has_open_here;
    }

    /// Whether a here document is without its end.
    pub fn has_open_here(&self) -> bool {
        self.has_open_here
    }

    /// What the byte at `position` is.
    pub fn at(&self, position: usize) -> Place {
        let mut around: Vec<_> =
            self.regions.iter().filter(|(span, _)| span.start <= position && position < span.end).collect();
        around.reverse();
        // Stable, so of two equal regions the one noted later, which is the outer one, stays in front.
        around.sort_by_key(|(span, _)| (span.start, usize::MAX - span.end));
        let mut place = Place::default();
        for (span, region) in around {
            place.span = *span;
            match region {
                Region::Quoting(quoting) => place.quoting = *quoting,
                Region::Role(role) => (place.role, place.quoting) = (*role, quoting_within(*role, place.quoting)),
                Region::Substitution | Region::Backtick => {
                    place.substitutions += 1;
                    place.backticks += usize::from(matches!(region, Region::Backtick));
                    (place.role, place.quoting) = (Role::Syntax, Quoting::Bare);
                }
            }
        }
        place
    }
}

/// A word inside `${…}` or an arithmetic expression lies in the quotes around it; every other word starts anew.
fn quoting_within(role: Role, outer: Quoting) -> Quoting {
    if matches!(role, Role::Parameter | Role::Arithmetic | Role::HereBody) { outer } else { Quoting::Bare }
}
