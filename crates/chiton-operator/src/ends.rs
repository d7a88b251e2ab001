//! The beginning and the end of a task's output, however long it is, in fixed memory.

use chiton_engine::capture::HeadTail;
use chiton_engine::limits::ViewLimits;
use chiton_engine::render::TextView;
use chiton_engine::tasks::{Cursor, Output, Part, ReadError, ReadRequest};
use chiton_engine::{Stream, Task};

/// What is read at once where all of it has to be passed through.
const STEP: u64 = 1 << 20;

/// Output as it is shown: each stream, and both in the order of arrival.
pub(crate) struct Ends {
    pub(crate) stdout: TextView,
    pub(crate) stderr: TextView,
    pub(crate) output: TextView,
    /// Bytes between the beginning and the end.
    pub(crate) left_out: u64,
    pub(crate) not_kept: u64,
    /// Where the beginning ends in all output.
    pub(crate) end: u64,
    /// Where the first of the bytes is that were left out; the same where none were.
    pub(crate) rest: u64,
}

/// What the read of one stretch becomes before anybody sees it.
pub(crate) type Mask<'a> = &'a dyn Fn(String) -> String;

impl Ends {
    /// All of `output`, which is no longer than there is room for.
    pub(crate) fn whole(output: &Output, mask: Mask<'_>) -> Self {
        let view = |text| TextView { head: mask(text), tail: None, omitted: 0 };
        Self {
            stdout: view(output.of(Stream::Stdout)),
            stderr: view(output.of(Stream::Stderr)),
            output: view(output.to_text()),
            left_out: output.left_out,
            not_kept: output.not_kept,
            end: output.end,
            rest: output.rest,
        }
    }

    /// What is new to the reader at `cursor`, who has read all of it then.
    pub(crate) fn of_new(task: &Task, cursor: &mut Cursor, limit: u64, mask: Mask<'_>) -> Result<Self, ReadError> {
        let begun = cursor.stdout + cursor.stderr;
        let half = usize::try_from(limit / 2).unwrap_or(usize::MAX);
        let room = || HeadTail::new(ViewLimits { head: half, tail: half });
        let (mut stdout, mut stderr, mut both) = (room(), room(), room());

        let request = ReadRequest { part: Part::New, limit: STEP, ..ReadRequest::default() };
        // Only what there is now, and not what arrives while we read it.
        let (mut left, mut not_kept) = (None, 0);
        loop {
            let output = task.read(cursor, &request)?;
            stdout.push(mask(output.of(Stream::Stdout)).as_bytes());
            stderr.push(mask(output.of(Stream::Stderr)).as_bytes());
            both.push(mask(output.to_text()).as_bytes());
            not_kept += output.not_kept;
            let still = left.unwrap_or(output.left_out + STEP).saturating_sub(STEP);
            if output.left_out == 0 || still == 0 {
                break;
            }
            left = Some(still);
        }

        let left_out = both.omitted();
        let [stdout, stderr, output] = [stdout, stderr, both].map(TextView::from);
        let end = begun + output.head.len() as u64;
        Ok(Self { stdout, stderr, output, left_out, not_kept, end, rest: end })
    }

    /// A part of the output, for a reader that stays where it is.
    pub(crate) fn of_part(task: &Task, part: &Part, limit: u64, mask: Mask<'_>) -> Result<Self, ReadError> {
        let read = |part: Part, limit| {
            task.read(&mut Cursor::default(), &ReadRequest { part, limit, ..ReadRequest::default() })
        };
        let whole = read(part.clone(), limit)?;
        if whole.left_out == 0 {
            return Ok(Self::whole(&whole, mask));
        }

        let beginning = read(part.clone(), limit / 2)?;
        // From the first read: the task may have printed more since.
        let last = whole.end + whole.left_out;
        let end = read(Part::Bytes(last.saturating_sub(limit / 2).max(beginning.end)..last), limit)?;
        let omitted = last.saturating_sub(beginning.end + limit / 2);
        let view = |of: &dyn Fn(&Output) -> String| TextView {
            head: mask(of(&beginning)),
            tail: Some(mask(of(&end))),
            omitted,
        };
        Ok(Self {
            stdout: view(&|output| output.of(Stream::Stdout)),
            stderr: view(&|output| output.of(Stream::Stderr)),
            output: view(&Output::to_text),
            left_out: omitted,
            not_kept: whole.not_kept + end.not_kept,
            end: beginning.end,
            rest: beginning.end,
        })
    }
}
