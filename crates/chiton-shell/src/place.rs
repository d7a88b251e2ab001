//! What a byte of a command is, by the regions that the parser notes on its way.

use crate::span::Span;

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
    /// `$((…))`, `((…))`, `$[…]`, an offset.
    Arithmetic,
    /// The subscript of an array, with which bash calculates.
    Index,
    /// Inside `${…}`: the name or the word of the operation.
    Parameter,
    /// A word that a loop, `case` or `[[` looks at.
    Subject,
    /// A comment.
    Comment,
}

/// Something around a byte in which bash expands text more than once, or calculates with it. Quotes and substitutions
/// inside it do not end that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enclosure {
    /// `${…}`.
    Parameter,
    /// The subscript of an array.
    Index,
    /// An arithmetic expression.
    Arithmetic,
}

/// What a byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// How it is protected.
    pub quoting: Quoting,
    /// What it is part of.
    pub role: Role,
    /// The outermost enclosure around it.
    pub enclosure: Option<Enclosure>,
    /// How many substitutions (`$(…)`, backticks, `<(…)`) are around it.
    pub substitutions: usize,
    /// How many of them are backticks, in which backslashes are read twice.
    pub backticks: usize,
    /// Whether any of those backticks stand in double quotes or in a here document, where bash reads backslashes
    /// differently again.
    pub backticks_in_quotes: bool,
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
    /// Why bash might read the text differently, where that is possible.
    doubt: Option<&'static str>,
    /// Where, and why, nobody can say for certain how bash reads the text.
    uncertain: Option<Uncertain>,
}

/// A place that cannot be read for certain. Bash may run something there that the tree does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncertain {
    /// Where.
    pub span: Span,
    /// Why, as a part of a sentence: "a here document begins …".
    pub why: &'static str,
}

/// How much had been noted at some time.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    regions: usize,
    open: bool,
    doubt: Option<&'static str>,
    uncertain: Option<Uncertain>,
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

    /// Notes why bash might read the text differently. The first reason stays.
    pub(super) fn note_doubt(&mut self, why: &'static str) {
        self.doubt = self.doubt.or(Some(why));
    }

    /// Notes that the text at `span` cannot be read for certain. The first place stays.
    pub(super) fn note_uncertain(&mut self, span: Span, why: &'static str) {
        self.note_doubt(why);
        self.uncertain = self.uncertain.or(Some(Uncertain { span, why }));
    }

    /// What has been noted up to now.
    pub(super) fn noted(&self) -> Noted {
        Noted { regions: self.regions.len(), open: self.has_open_here, doubt: self.doubt, uncertain: self.uncertain }
    }

    /// Forgets what was noted since by an attempt that came to nothing.
    pub(super) fn forget(&mut self, noted: Noted) {
        self.regions.truncate(noted.regions);
        (self.has_open_here, self.doubt, self.uncertain) = (noted.open, noted.doubt, noted.uncertain);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.regions.extend(other.regions);
        self.has_open_here |= other.has_open_here;
        self.doubt = self.doubt.or(other.doubt);
        self.uncertain = self.uncertain.or(other.uncertain);
    }

    /// The first place that cannot be read for certain: a verdict on the text must not be built on the tree alone.
    pub fn uncertain(&self) -> Option<Uncertain> {
        self.uncertain
    }

    /// Whether a here document is without its end.
    pub fn has_open_here(&self) -> bool {
        self.has_open_here
    }

    /// Why bash might read the text differently than this parse does. `None` for nearly every text: only constructs
    /// count that bash itself reads in more than one way.
    pub fn doubt(&self) -> Option<&'static str> {
        self.doubt.or(self.has_open_here.then_some("a here document is never closed"))
    }

    /// What the byte at `position` is.
    pub fn at(&self, position: usize) -> Place {
        let mut around: Vec<_> = self.regions.iter().filter(|(span, _)| span.contains(position)).collect();
        around.reverse();
        // Stable, so of two equal regions the one noted later, which is the outer one, stays in front.
        around.sort_by_key(|(span, _)| (span.start, usize::MAX - span.end));

        let mut place = Place::default();
        for (span, region) in around {
            place.enter(*span, *region);
        }
        place
    }
}

impl Place {
    /// Goes one region further in.
    fn enter(&mut self, span: Span, region: Region) {
        self.span = span;
        match region {
            Region::Quoting(quoting) => self.quoting = quoting,
            Region::Role(role) => {
                (self.role, self.quoting) = (role, quoting_within(role, self.quoting));
                self.enclosure = self.enclosure.or(enclosure_of(role));
            }
            Region::Substitution => self.enter_substitution(),
            Region::Backtick => {
                self.backticks += 1;
                self.backticks_in_quotes |= matches!(self.quoting, Quoting::Double | Quoting::HereExpanded);
                self.enter_substitution();
            }
        }
    }

    fn enter_substitution(&mut self) {
        self.substitutions += 1;
        (self.role, self.quoting) = (Role::Syntax, Quoting::Bare);
    }
}

/// A word inside `${…}` or an arithmetic expression lies in the quotes around it; every other word starts anew.
fn quoting_within(role: Role, outer: Quoting) -> Quoting {
    let keeps = matches!(role, Role::Parameter | Role::Arithmetic | Role::Index | Role::HereBody);
    if keeps { outer } else { Quoting::Bare }
}

fn enclosure_of(role: Role) -> Option<Enclosure> {
    match role {
        Role::Parameter => Some(Enclosure::Parameter),
        Role::Index => Some(Enclosure::Index),
        Role::Arithmetic => Some(Enclosure::Arithmetic),
        _ => None,
    }
}
