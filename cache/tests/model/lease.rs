//! A model of leases: at most one process has an exclusive lock, and the lock of a dead process becomes free.
//!
//! A resumed process checks its lease before it continues, and is treated as a holder only after this check. A process
//! that is never suspended is never silent.

use crate::model::search::{Model, check};

/// The rules of the protocol. A test disables rules to show that the protocol needs them.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A holder is dead if its process id now belongs to a process that started later.
    compares_start_times: bool,
    /// A process on this machine is also dead if it is silent.
    silence_means_dead: bool,
    /// Before a file is removed, it is renamed and read again.
    compares_before_removing: bool,
    /// If a file disappears while the directory is examined, the directory is listed again.
    lists_again: bool,
    /// After writing a heartbeat, a process checks that its file still has its name.
    verifies_heartbeat: bool,
    /// A heartbeat is repeated if it took too long.
    measures_heartbeat: bool,
    /// A process does not wait for processes that requested the lock after its first listing.
    ignores_later: bool,
}

const RULES: Rules = Rules {
    compares_start_times: true,
    silence_means_dead: true,
    compares_before_removing: true,
    lists_again: true,
    verifies_heartbeat: true,
    measures_heartbeat: true,
    ignores_later: true,
};

/// A file in the directory, named after the process that announced itself, or `RENAMED` plus the process that renamed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct File {
    name: usize,
    holder: usize,
    heartbeat: u8,
    has_lock: bool,
    /// The process removed the file, or tried to, and now requests the lock with another file.
    is_abandoned: bool,
    /// All processes that check the file have seen the same content for too long.
    is_silent: bool,
}

const RENAMED: usize = 100;

/// If a process refers to a file that has been removed, the reference becomes `OLD` plus that process. Otherwise it would
/// name the next file of the file's owner, because in the model, all files of a process have the same name.
const OLD: usize = 200;

/// The next step of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Next {
    Announce,
    List,
    /// The files to read, and the processes found so far that only request the lock.
    Examine(Vec<usize>, Vec<usize>),
    /// Renames the file of a dead holder. Fields: the file's name, the heartbeat in it, and the fields of `Examine`.
    Rename(usize, u8, Vec<usize>, Vec<usize>),
    /// Compares the heartbeat in the renamed file with the earlier one. Same fields as `Rename`.
    Compare(usize, u8, Vec<usize>, Vec<usize>),
    /// Opens the file for a heartbeat. The next step writes to the opened file, whose name may change in between.
    Open,
    Write,
    Verify,
    Hold,
    Withdraw,
    Release,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    Runs,
    Suspended,
    Dead,
    /// The process is dead, and another process now has its id.
    Reused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    next: Next,
    status: Status,
    is_shared: bool,
    /// The processes that requested the lock at the first listing. This process waits only for these processes.
    rivals: Option<Vec<usize>>,
    heartbeats: u8,
    /// Whether the process was not suspended since it opened its file for the last heartbeat.
    is_timely: bool,
    /// Whether the process knows that it has the lock.
    is_certain: bool,
    may_be_suspended: bool,
    may_die: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    files: Vec<File>,
    processes: Vec<Process>,
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed in counterexamples")]
enum Step {
    Process(usize, Next),
    Suspended(usize),
    WokenUp(usize),
    Died(usize),
    NumberIsReused(usize),
    Silent(usize),
}

struct Leases {
    rules: Rules,
    processes: Vec<Process>,
}

impl State {
    fn file(&mut self, name: usize) -> Option<&mut File> {
        self.files.iter_mut().find(|file| file.name == name)
    }

    fn remove(&mut self, name: usize) {
        self.files.retain(|file| file.name != name);
    }

    /// Removes the file of a process. The next file of this process gets a new name, which no process refers to yet.
    fn withdraw(&mut self, number: usize) {
        self.remove(number);
        for file in self.files.iter_mut().filter(|file| file.holder == number) {
            file.is_abandoned = true;
        }
        for (other, process) in self.processes.iter_mut().enumerate() {
            if let Some(rivals) = &mut process.rivals {
                rivals.retain(|rival| *rival != number);
            }
            match &mut process.next {
                Next::Rename(name, ..) | Next::Compare(name, ..) if *name == number => {
                    *name = OLD + other;
                }
                _ => {}
            }
            if let Next::Examine(names, _)
            | Next::Rename(_, _, names, _)
            | Next::Compare(_, _, names, _) = &mut process.next
            {
                for name in names.iter_mut().filter(|name| **name == number) {
                    *name = OLD + other;
                }
            }
        }
    }
}

impl Leases {
    fn is_dead(&self, state: &State, file: &File) -> bool {
        let is_gone = match state.processes[file.holder].status {
            Status::Dead => true,
            Status::Reused => self.rules.compares_start_times,
            Status::Runs | Status::Suspended => false,
        };
        is_gone || (file.is_silent && self.rules.silence_means_dead)
    }

    fn run(&self, state: &mut State, number: usize, next: Next) -> Next {
        let rules = self.rules;
        match next {
            Next::Announce => {
                state.processes[number].rivals = None;
                state.files.push(File {
                    name: number,
                    holder: number,
                    heartbeat: state.processes[number].heartbeats,
                    has_lock: false,
                    is_abandoned: false,
                    is_silent: false,
                });
                Next::List
            }
            Next::List => {
                let is_shared = state.processes[number].is_shared;
                let others = state.files.iter().filter(|file| {
                    file.name != number && !(is_shared && state.processes[file.holder].is_shared)
                });
                Next::Examine(others.map(|file| file.name).collect(), Vec::new())
            }
            Next::Examine(mut names, mut requesting) => {
                let Some(name) = names.pop() else {
                    let is_free = requesting.is_empty();
                    requesting.sort_unstable();
                    state.processes[number].rivals = Some(requesting);
                    return match is_free {
                        true => Next::Open,
                        false => Next::List,
                    };
                };
                let Some(file) = state.file(name).cloned() else {
                    return match rules.lists_again {
                        true => Next::List,
                        false => Next::Examine(names, requesting),
                    };
                };
                if self.is_dead(state, &file) {
                    return Next::Rename(name, file.heartbeat, names, requesting);
                }
                let rivals = &state.processes[number].rivals;
                let is_later = rivals
                    .as_ref()
                    .is_some_and(|rivals| file.is_abandoned || !rivals.contains(&file.holder));
                match file.has_lock {
                    false if is_later && rules.ignores_later => Next::Examine(names, requesting),
                    false if file.name > number => {
                        requesting.push(file.holder);
                        Next::Examine(names, requesting)
                    }
                    _ => Next::Withdraw,
                }
            }
            Next::Rename(name, heartbeat, names, requesting) => {
                if !rules.compares_before_removing {
                    state.remove(name);
                    return Next::Examine(names, requesting);
                }
                match state.file(name) {
                    None => Next::List,
                    Some(file) => {
                        file.name = RENAMED + number;
                        Next::Compare(name, heartbeat, names, requesting)
                    }
                }
            }
            Next::Compare(name, heartbeat, names, requesting) => match state.file(RENAMED + number)
            {
                Some(file) if file.heartbeat != heartbeat => {
                    file.name = name;
                    Next::List
                }
                Some(_) => {
                    state.remove(RENAMED + number);
                    Next::Examine(names, requesting)
                }
                None => Next::List,
            },
            Next::Open => {
                state.processes[number].is_timely = true;
                match state.file(number) {
                    Some(_) => Next::Write,
                    None => Next::Ended,
                }
            }
            Next::Write => {
                let process = &mut state.processes[number];
                process.heartbeats += 1;
                let heartbeat = process.heartbeats;
                let own = |file: &&mut File| file.holder == number && !file.is_abandoned;
                for file in state.files.iter_mut().filter(own) {
                    file.heartbeat = heartbeat;
                    file.has_lock = true;
                    file.is_silent = false;
                }
                match rules.verifies_heartbeat {
                    true => Next::Verify,
                    false => self.hold(state, number),
                }
            }
            Next::Verify => match state.file(number) {
                Some(_) => self.hold(state, number),
                None => Next::Ended,
            },
            Next::Hold if state.processes[number].is_certain => Next::Release,
            Next::Hold => Next::Open,
            Next::Withdraw => {
                state.withdraw(number);
                Next::Announce
            }
            Next::Release => {
                state.remove(number);
                Next::Ended
            }
            Next::Ended => Next::Ended,
        }
    }

    fn hold(&self, state: &mut State, number: usize) -> Next {
        let process = &mut state.processes[number];
        process.is_certain = process.is_timely || !self.rules.measures_heartbeat;
        Next::Hold
    }
}

impl Model for Leases {
    type State = State;
    type Step = Step;

    fn starts(&self) -> Vec<State> {
        let holder = File {
            name: 0,
            holder: 0,
            heartbeat: 0,
            has_lock: true,
            is_abandoned: false,
            is_silent: false,
        };
        let is_held = self.processes[0].next == Next::Hold;
        vec![State {
            files: is_held.then_some(holder).into_iter().collect(),
            processes: self.processes.clone(),
        }]
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        let mut push = |step, state: State| steps.push((step, state));
        for (number, process) in state.processes.iter().enumerate() {
            let with = |status| {
                let mut next = state.clone();
                next.processes[number].status = status;
                next
            };
            match process.status {
                Status::Runs if process.next != Next::Ended => {
                    let mut next = state.clone();
                    let after = self.run(&mut next, number, process.next.clone());
                    next.processes[number].next = after;
                    next.files.sort();
                    push(Step::Process(number, process.next.clone()), next);
                    if process.may_be_suspended {
                        let mut next = with(Status::Suspended);
                        next.processes[number].may_be_suspended = false;
                        next.processes[number].is_certain = false;
                        next.processes[number].is_timely = false;
                        push(Step::Suspended(number), next);
                    }
                    if process.may_die {
                        push(Step::Died(number), with(Status::Dead));
                    }
                }
                Status::Runs => {}
                Status::Suspended => push(Step::WokenUp(number), with(Status::Runs)),
                Status::Dead => push(Step::NumberIsReused(number), with(Status::Reused)),
                Status::Reused => {}
            }
        }
        for (index, file) in state.files.iter().enumerate() {
            let holder = &state.processes[file.holder];
            // A process with a lost lease writes no more, although its file may exist again.
            let is_quiet =
                holder.status != Status::Runs || holder.next == Next::Ended || file.is_abandoned;
            if is_quiet && !file.is_silent {
                let mut next = state.clone();
                next.files[index].is_silent = true;
                push(Step::Silent(file.holder), next);
            }
        }
        steps
    }

    fn violation(&self, state: &State) -> Option<String> {
        let holders = state.processes.iter().filter(|process| {
            process.status == Status::Runs
                && process.is_certain
                && matches!(process.next, Next::Hold | Next::Release)
        });
        let (all, shared) = holders.fold((0, 0), |(all, shared), process| {
            (all + 1, shared + usize::from(process.is_shared))
        });
        if all > 1 && shared < all {
            return Some("two holders".to_owned());
        }
        let is_refused = |process: &Process| process.next == Next::Withdraw;
        let all_share = state.processes.iter().all(|process| process.is_shared);
        (all_share && state.processes.iter().any(is_refused))
            .then(|| "a process that requests a shared lock does not get it".to_owned())
    }

    fn is_goal(&self, state: &State) -> bool {
        state.processes.iter().all(|process| {
            process.next == Next::Ended || matches!(process.status, Status::Dead | Status::Reused)
        })
    }
}

fn process(is_shared: bool) -> Process {
    Process {
        next: Next::Announce,
        status: Status::Runs,
        is_shared,
        rivals: None,
        heartbeats: 0,
        is_timely: false,
        is_certain: false,
        may_be_suspended: false,
        may_die: false,
    }
}

fn suspendable(is_shared: bool) -> Process {
    Process {
        may_be_suspended: true,
        ..process(is_shared)
    }
}

fn killable(is_shared: bool) -> Process {
    Process {
        may_die: true,
        ..process(is_shared)
    }
}

fn with_lock(process: Process) -> Process {
    Process {
        next: Next::Hold,
        is_certain: true,
        ..process
    }
}

fn models(rules: Rules) -> impl Iterator<Item = Leases> {
    [
        vec![
            with_lock(suspendable(false)),
            process(false),
            process(false),
        ],
        vec![
            with_lock(killable(false)),
            suspendable(false),
            process(false),
        ],
        vec![
            with_lock(killable(false)),
            suspendable(false),
            suspendable(false),
        ],
        vec![killable(false), process(false), process(false)],
        vec![process(false), suspendable(false), process(false)],
        vec![suspendable(true), process(true), process(false)],
        vec![killable(true), process(true), suspendable(false)],
        vec![suspendable(true), process(true), process(true)],
    ]
    .into_iter()
    .map(move |processes| Leases { rules, processes })
}

#[test]
fn lock_is_exclusive_and_always_becomes_free() {
    let states: usize = models(RULES).map(|model| check(&model).unwrap()).sum();
    assert!(states > 10_000, "{states} states");
}

#[test]
fn every_rule_is_necessary() {
    let rules = RULES;
    for (rule, wrong, rules) in [
        (
            "compares_start_times, silence_means_dead",
            "goal",
            Rules {
                compares_start_times: false,
                silence_means_dead: false,
                ..rules
            },
        ),
        (
            "compares_before_removing",
            "two holders",
            Rules {
                compares_before_removing: false,
                ..rules
            },
        ),
        (
            "lists_again",
            "two holders",
            Rules {
                lists_again: false,
                ..rules
            },
        ),
        (
            "verifies_heartbeat",
            "two holders",
            Rules {
                verifies_heartbeat: false,
                ..rules
            },
        ),
        (
            "measures_heartbeat",
            "two holders",
            Rules {
                measures_heartbeat: false,
                ..rules
            },
        ),
    ] {
        let found = models(rules).find_map(|model| check(&model).err());
        let found = found.expect(rule);
        assert!(found.violation.contains(wrong), "{rule}: {found:?}");
    }
}
