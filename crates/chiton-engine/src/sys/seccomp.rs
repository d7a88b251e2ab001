//! Filters on system calls, and being asked about some of them.
//!
//! A filter is a list of [`Rule`]s; the first one that fits a call decides, and a call that none fits is allowed. It sees
//! the number of the call and its arguments, never what they point to. A call that is [`Verdict::Asked`] waits until
//! whoever holds the [`Listener`] has answered it.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It fails with this number.
    Fails(i32),
    /// The holder of the listener is asked.
    Asked,
}

/// When a rule fits. Arguments are compared by their lower 32 bits: all that are tested here are narrower than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// One of these bits is set in this argument.
    AnyBit(usize, u32),
    /// This argument has that value.
    Is(usize, u32),
    /// This argument has none of these values.
    IsNoneOf(usize, &'static [u32]),
}

/// What becomes of one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) call: libc::c_long,
    pub(crate) when: When,
    pub(crate) verdict: Verdict,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xC000_00F3;

/// On `x86_64`, calls with this bit are those of the x32 interface: the same ones under other numbers.
const OTHER_INTERFACE: u32 = 0x4000_0000;

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const CALL_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;

/// Where the lower half of an argument stands in what a filter sees; all machines that we know are little-endian.
fn argument_offset(index: usize) -> u32 {
    16 + 8 * u32::try_from(index).expect("a call has six arguments")
}

fn instruction(code: u16, k: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_true, jf: if_false, k }
}

impl Verdict {
    fn number(self) -> u32 {
        match self {
            Self::Fails(error) => libc::SECCOMP_RET_ERRNO | (error.unsigned_abs() & 0xffff),
            Self::Asked => libc::SECCOMP_RET_USER_NOTIF,
        }
    }
}

/// The program of a filter.
pub(crate) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let not_there = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
        let mut program = vec![
            // Programs for another processor, whose calls have other numbers.
            instruction(LOAD, ARCHITECTURE_OFFSET, 0, 0),
            instruction(JUMP_IF_EQUAL, ARCHITECTURE, 1, 0),
            instruction(RETURN, not_there, 0, 0),
            instruction(LOAD, CALL_OFFSET, 0, 0),
            instruction(JUMP_IF_AT_LEAST, OTHER_INTERFACE, 0, 1),
            instruction(RETURN, not_there, 0, 0),
        ];
        // Sorted by their calls; the rules of one call stay in their order.
        let mut sorted: Vec<&Rule> = rules.iter().collect();
        sorted.sort_by_key(|rule| rule.call);
        let calls: Vec<&[&Rule]> = sorted.chunk_by(|one, other| one.call == other.call).collect();
        program.extend(search(&calls));
        Self(program)
    }

    /// Lays the filter on this process, for good. It can gain no rights any more by then (`no_new_privs`).
    pub(crate) fn install(&mut self) -> io::Result<()> {
        self.load(0).map(|_| ())
    }

    /// The same, and gives the descriptor by which calls are answered. Fails with `EBUSY` where somebody further up
    /// answers calls already: there can be only one.
    pub(crate) fn install_with_listener(&mut self) -> io::Result<OwnedFd> {
        let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // A kernel before 5.19 does not know the second flag. With it, a call that is being looked at is not given up for
        // a signal that does not kill.
        let number = match self.load(listens | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.load(listens)?,
            answer => answer?,
        };
        // SAFETY: the kernel has just made this descriptor for us alone.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }

    fn load(&mut self, flags: libc::c_ulong) -> io::Result<RawFd> {
        let length = libc::c_ushort::try_from(self.0.len()).expect("a filter is short");
        let program = libc::sock_fprog { len: length, filter: self.0.as_mut_ptr() };
        // SAFETY: the program and what it points to live across the call.
        let answer =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
        let number = RawFd::try_from(answer).ok().filter(|number| *number >= 0);
        number.ok_or_else(io::Error::last_os_error)
    }
}

/// What finds the rules of a call among these, by halves at first: a filter is gone through at every call, and once for
/// every call that there is when it is laid on a process.
fn search(calls: &[&[&Rule]]) -> Vec<libc::sock_filter> {
    const FEW: usize = 16;
    if calls.len() <= FEW {
        return one_of_few(calls);
    }
    let (lower, upper) = calls.split_at(calls.len() / 2);
    let first = number(upper[0]);
    let (lower, upper) = (search(lower), search(upper));
    let length = u32::try_from(lower.len()).expect("a filter is short");
    let choice = [instruction(JUMP_IF_AT_LEAST, first, 0, 1), instruction(JUMP, length, 0, 0)];
    choice.into_iter().chain(lower).chain(upper).collect()
}

/// What goes through the calls one by one. Every instruction is translated when a filter is laid on a process, so calls
/// that end alike share the instruction that ends them, behind those that compare.
fn one_of_few(calls: &[&[&Rule]]) -> Vec<libc::sock_filter> {
    let mut endings = vec![libc::SECCOMP_RET_ALLOW];
    let mut comparing: Vec<(libc::sock_filter, Option<usize>)> = Vec::new();
    for rules in calls {
        let first = rules[0];
        if first.when == When::Always {
            let ending = first.verdict.number();
            let place = endings.iter().position(|known| *known == ending).unwrap_or_else(|| {
                endings.push(ending);
                endings.len() - 1
            });
            comparing.push((instruction(JUMP_IF_EQUAL, number(rules), 0, 0), Some(place)));
        } else {
            let body: Vec<_> = rules.iter().flat_map(|rule| rule.body()).collect();
            let allow = instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
            let length = u8::try_from(body.len() + 1).expect("the rules of a call are few");
            let all = [instruction(JUMP_IF_EQUAL, number(rules), 0, length)].into_iter().chain(body).chain([allow]);
            comparing.extend(all.map(|instruction| (instruction, None)));
        }
    }
    let count = comparing.len();
    let compared = comparing.into_iter().enumerate().map(|(index, (mut instruction, ending))| {
        if let Some(ending) = ending {
            instruction.jt = u8::try_from(count - index - 1 + ending).expect("few calls are few instructions");
        }
        instruction
    });
    compared.chain(endings.iter().map(|ending| instruction(RETURN, *ending, 0, 0))).collect()
}

/// The number of the call that these rules are about.
fn number(rules: &[&Rule]) -> u32 {
    u32::try_from(rules[0].call).expect("system calls have small numbers")
}

impl Rule {
    /// What decides once the number of the call fits. Falls through with the number loaded again.
    fn body(&self) -> Vec<libc::sock_filter> {
        let verdict = instruction(RETURN, self.verdict.number(), 0, 0);
        let load = |index| instruction(LOAD, argument_offset(index), 0, 0);
        let again = instruction(LOAD, CALL_OFFSET, 0, 0);
        match self.when {
            When::Always => vec![verdict],
            When::AnyBit(index, bits) => {
                vec![load(index), instruction(JUMP_IF_ANY_BIT, bits, 0, 1), verdict, again]
            }
            When::Is(index, value) => {
                vec![load(index), instruction(JUMP_IF_EQUAL, value, 0, 1), verdict, again]
            }
            When::IsNoneOf(index, values) => {
                let past_verdict = |place: usize| u8::try_from(values.len() - place).expect("a short list");
                let compare = values.iter().enumerate().map(|(place, value)| {
                    // Over the comparisons that follow and the verdict.
                    instruction(JUMP_IF_EQUAL, *value, past_verdict(place), 0)
                });
                [load(index)].into_iter().chain(compare).chain([verdict, again]).collect()
            }
        }
    }
}

/// Where calls are answered.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

/// A call that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedCall {
    id: u64,
    /// The thread that made it.
    pub(crate) thread: i32,
    pub(crate) call: libc::c_long,
    pub(crate) arguments: [u64; 6],
}

/// Where a descriptor is put that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    /// At this number, in place of what is there; otherwise at the first that is free.
    pub(crate) at: Option<i32>,
    pub(crate) is_closed_on_exec: bool,
}

/// What is answered to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    /// It goes on as if nobody had been asked. What it points to is read again by then, and may be something else.
    GoesOn,
    /// It fails with this number.
    Fails(i32),
    /// It has been carried out for it.
    Done,
    /// It gives this descriptor, see [`Listener::give`].
    Gives(i32),
}

impl Listener {
    /// From the descriptor that [`Filter::install_with_listener`] gave.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        const WAKES_ON_THE_SAME_PROCESSOR: u64 = 1;
        // A kernel before 6.6 does not know it, and is a little slower.
        // SAFETY: a plain number.
        unsafe {
            libc::ioctl(descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, WAKES_ON_THE_SAME_PROCESSOR);
        }
        Self(descriptor)
    }

    /// The next call that waits. To be asked where polling says that there is one; `None` where it is gone by now.
    pub(crate) fn next(&self) -> Option<AskedCall> {
        // SAFETY: plain data; the kernel wants it zeroed and fills it in.
        let mut asked: libc::seccomp_notif = unsafe { mem::zeroed() };
        // SAFETY: the structure lives across the call.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) };
        (answer == 0).then(|| AskedCall {
            id: asked.id,
            thread: asked.pid.cast_signed(),
            call: libc::c_long::from(asked.data.nr),
            arguments: asked.data.args,
        })
    }

    /// Whether a call still waits. What was read of its thread's memory before counts only if it does: otherwise the
    /// number may be another process's.
    pub(crate) fn is_waiting(&self, call: &AskedCall) -> bool {
        // SAFETY: the number lives across the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id) == 0 }
    }

    /// Gives the process that made a call a copy of a descriptor; the number that it has there.
    pub(crate) fn add(&self, call: &AskedCall, descriptor: BorrowedFd<'_>, placed: Placed) -> Result<i32, i32> {
        self.add_with(call, descriptor, placed, 0)
    }

    /// The same, and answers the call with that number. What is still to be answered, where the kernel did not do both at
    /// once.
    pub(crate) fn give(&self, call: &AskedCall, descriptor: BorrowedFd<'_>, placed: Placed) -> Option<CallAnswer> {
        match self.add_with(call, descriptor, placed, libc::SECCOMP_ADDFD_FLAG_SEND) {
            Ok(_) => None,
            // A kernel before 5.14.
            Err(libc::EINVAL) => {
                Some(self.add(call, descriptor, placed).map_or_else(CallAnswer::Fails, CallAnswer::Gives))
            }
            Err(error) => Some(CallAnswer::Fails(error)),
        }
    }

    fn add_with(
        &self,
        call: &AskedCall,
        descriptor: BorrowedFd<'_>,
        placed: Placed,
        flags: libc::c_ulong,
    ) -> Result<i32, i32> {
        let set = if placed.at.is_some() { libc::SECCOMP_ADDFD_FLAG_SETFD } else { 0 };
        let given = libc::seccomp_notif_addfd {
            id: call.id,
            flags: u32::try_from(set | flags).unwrap_or(0),
            srcfd: descriptor.as_raw_fd().cast_unsigned(),
            newfd: placed.at.unwrap_or(0).cast_unsigned(),
            newfd_flags: if placed.is_closed_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: the structure lives across the call.
        let number = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const given) };
        if number >= 0 { Ok(number) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)) }
    }

    /// Answers it. That it is gone by now does not matter.
    pub(crate) fn answer(&self, call: &AskedCall, answer: CallAnswer) {
        let (val, error, flags) = match answer {
            CallAnswer::GoesOn => (0, 0, 1),
            CallAnswer::Fails(error) => (0, -error, 0),
            CallAnswer::Done => (0, 0, 0),
            CallAnswer::Gives(number) => (i64::from(number), 0, 0),
        };
        let response = libc::seccomp_notif_resp { id: call.id, val, error, flags };
        // SAFETY: the structure lives across the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel makes of a filter.
    fn carry_out(filter: &Filter, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut place, mut value) = (0, 0);
        loop {
            let step = filter.0[place];
            place += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                LOAD => {
                    value = match step.k {
                        CALL_OFFSET => call,
                        ARCHITECTURE_OFFSET => ARCHITECTURE,
                        offset => arguments[(offset as usize - 16) / 8],
                    }
                }
                JUMP => place += step.k as usize,
                JUMP_IF_EQUAL => place += jump(value == step.k),
                JUMP_IF_AT_LEAST => place += jump(value >= step.k),
                JUMP_IF_ANY_BIT => place += jump(value & step.k != 0),
                RETURN => return step.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    fn expected(rules: &[Rule], call: u32, arguments: [u32; 6]) -> u32 {
        let fits = |rule: &&Rule| {
            u32::try_from(rule.call) == Ok(call)
                && match rule.when {
                    When::Always => true,
                    When::AnyBit(index, bits) => arguments[index] & bits != 0,
                    When::Is(index, value) => arguments[index] == value,
                    When::IsNoneOf(index, values) => !values.contains(&arguments[index]),
                }
        };
        rules.iter().find(fits).map_or(libc::SECCOMP_RET_ALLOW, |rule| rule.verdict.number())
    }

    #[test]
    fn a_filter_decides_every_call_as_the_first_rule_that_fits_says() {
        let own = |watched| {
            crate::enclosure::filter::rules(crate::enclosure::filter::FilterOptions {
                internet: crate::protocol::InternetSockets::Kept { proxy: 1 },
                watched,
                keeps: watched,
            })
        };
        let rule = |call, when, error| Rule { call, when, verdict: Verdict::Fails(error) };
        let twice = vec![
            rule(3, When::Is(0, 1), 7),
            rule(9, When::Always, 1),
            rule(3, When::AnyBit(1, 4), 8),
            rule(3, When::IsNoneOf(2, &[0, 2]), 9),
        ];
        let values = [0, 1, 2, 3, 4, 10, 64, 0o1101, libc::AF_INET.unsigned_abs(), 0x5412, u32::MAX];
        for rules in [own(true), own(false), twice, Vec::new()] {
            let filter = Filter::new(&rules);
            for call in 0..700 {
                for value in values {
                    for index in 0..6 {
                        let mut arguments = [0; 6];
                        arguments[index] = value;
                        let (found, wanted) = (carry_out(&filter, call, arguments), expected(&rules, call, arguments));
                        assert_eq!(found, wanted, "call {call}, argument {index} is {value:#x}");
                    }
                }
            }
        }
    }
}
