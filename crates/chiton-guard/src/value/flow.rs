//! What flows from one command to the next: its text where that is known, and where it comes from.

/// What a command prints, or a file or a variable holds.
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub(crate) struct Flow {
    /// The very text, where it is known.
    pub(crate) text: Option<String>,
    /// What is known of it otherwise.
    pub(crate) labels: Labels,
    /// Where it lists files: the places they lie in.
    pub(crate) roots: Vec<FoundBelow>,
    /// Stretches of it that are known where the whole text is not, in order: `{ cat script; echo more; }`.
    pub(crate) stretches: Vec<String>,
    /// The program that these bytes are, where they are those of a file in a directory of programs.
    pub(crate) program: Option<String>,
}

/// Where something lies that a search found, and how much of that place it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FoundBelow {
    /// Everything below this directory.
    Everything(String),
    /// Some of what is below it.
    Some(String),
}

impl FoundBelow {
    pub(crate) fn directory(&self) -> &str {
        match self {
            Self::Everything(directory) | Self::Some(directory) => directory,
        }
    }
}

/// A set of facts about a [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub(crate) struct Labels(u16);

impl Labels {
    /// Came over the network.
    pub(crate) const DOWNLOADED: Self = Self(1);
    /// Was decoded, decrypted or otherwise put together.
    pub(crate) const DECODED: Self = Self(2);
    /// Holds credentials.
    pub(crate) const SECRET: Self = Self(4);
    /// Is a file on this machine, as it stands.
    pub(crate) const FILE: Self = Self(8);
    /// Lists all processes.
    pub(crate) const PROCESSES: Self = Self(16);
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self(32);
    /// Shell settings printed by a well-known tool for `eval`.
    pub(crate) const SETTINGS: Self = Self(64);
    /// A path in a temporary directory.
    pub(crate) const TEMPORARY: Self = Self(128);
    /// A number, a date or a name.
    pub(crate) const PLAIN: Self = Self(256);
    /// The id of a chosen process.
    pub(crate) const CHOSEN: Self = Self(512);
    /// What a shell prints that somebody else types into.
    pub(crate) const SHELL: Self = Self(1024);
    /// Holds credentials that nobody shows without asking.
    pub(crate) const KEPT: Self = Self(2048);
    /// Somebody will write it while the command runs, and it is judged then.
    pub(crate) const LATER: Self = Self(4096);
    /// Was written to a file by an earlier command of the session.
    pub(crate) const RECENT: Self = Self(8192);
    /// Never ends.
    pub(crate) const ENDLESS: Self = Self(16384);
    /// Holds credentials that are not in a file which the command names: a program told them, or a variable holds them.
    pub(crate) const TOLD: Self = Self(32768);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Flow {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(crate) fn labelled(labels: Labels) -> Self {
        Self { labels, ..Self::default() }
    }

    pub(crate) fn unknown() -> Self {
        Self::labelled(Labels::UNKNOWN)
    }

    pub(crate) fn empty() -> Self {
        Self::known("")
    }

    /// What the next command reads: whoever judges later input does not see it pass there.
    #[must_use]
    pub(crate) fn passed_on(mut self) -> Self {
        if self.labels.has(Labels::LATER) {
            self.labels = self.labels.with(Labels::UNKNOWN);
        }
        self
    }

    /// Both, one after the other.
    #[must_use]
    pub(crate) fn then(mut self, other: &Self) -> Self {
        if other.text.as_deref() == Some("") && other.labels == Labels::default() {
            return self;
        }
        if self.text.as_deref() == Some("") && self.labels == Labels::default() {
            return other.clone();
        }
        self.program = None;
        self.text = match (self.text.take(), &other.text) {
            (Some(first), Some(second)) if first.len() + second.len() <= LONGEST_KNOWN => Some(first + second),
            (first, second) => {
                self.stretches.extend(first);
                self.stretches.extend(second.iter().chain(&other.stretches).cloned());
                self.bound_stretches();
                None
            }
        };
        self.labels = self.labels.with(other.labels);
        for root in &other.roots {
            if !self.roots.contains(root) {
                self.roots.push(root.clone());
            }
        }
        self
    }

    /// One or the other.
    #[must_use]
    pub(crate) fn or(self, other: &Self) -> Self {
        if self == *other {
            return self;
        }
        let mut either = self.then(other);
        either.text = None;
        either.labels = either.labels.with(Labels::UNKNOWN);
        either
    }

    /// What a file holds after `flow` was added to it, where nobody knows what it held before.
    pub(crate) fn added_to_a_file(flow: &Self) -> Self {
        Self::labelled(Labels::FILE).then(flow)
    }

    /// The same after a program has changed it in a way that nobody follows.
    #[must_use]
    pub(crate) fn changed(mut self) -> Self {
        if !self.stretches.is_empty() {
            self.labels = self.labels.with(Labels::UNKNOWN);
        }
        Self { text: None, stretches: Vec::new(), program: None, ..self }
    }

    /// How many bytes of it are known.
    pub(crate) fn length(&self) -> usize {
        self.text.as_ref().map_or(0, String::len) + self.stretches.iter().map(String::len).sum::<usize>()
    }

    /// Beyond a limit nothing is known any more.
    fn bound_stretches(&mut self) {
        const MOST_STRETCHES: usize = 32;
        if self.length() > LONGEST_KNOWN {
            self.stretches.clear();
            self.labels = self.labels.with(Labels::UNKNOWN);
        }
        if self.stretches.len() > MOST_STRETCHES {
            self.stretches = vec![self.stretches.join("\n")];
        }
    }
}

/// Text beyond this is not carried along.
pub(crate) const LONGEST_KNOWN: usize = 256 << 10;
