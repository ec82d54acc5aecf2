//! A former protocol of leases, in which the names of the lock file and of a second file were used repeatedly. A process
//! that was suspended at the wrong time could remove the file of another holder. The search finds this defect.

use crate::model::search::{Model, check};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct File {
    holder: usize,
    is_silent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    Create,
    Read,
    /// Creates the second file. The field is the number of the silent holder of the lock file.
    CreateBreaker(usize),
    ReadBreaker,
    Compare(usize),
    Remove,
    RemoveBreaker,
    Hold,
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    next: Next,
    is_suspended: bool,
    may_be_suspended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    lock: Option<File>,
    breaker: Option<File>,
    processes: Vec<Process>,
}

struct Breaker;

fn run(state: &mut State, number: usize, next: Next) -> Next {
    let own_file = File {
        holder: number,
        is_silent: false,
    };
    match next {
        Next::Create if state.lock.is_none() => {
            state.lock = Some(own_file);
            Next::Hold
        }
        Next::Create => Next::Read,
        Next::Read => match &state.lock {
            Some(file) if file.is_silent => Next::CreateBreaker(file.holder),
            _ => Next::Create,
        },
        Next::CreateBreaker(found) if state.breaker.is_none() => {
            state.breaker = Some(own_file);
            Next::Compare(found)
        }
        Next::CreateBreaker(_) => Next::ReadBreaker,
        Next::ReadBreaker => {
            if state.breaker.as_ref().is_some_and(|file| file.is_silent) {
                state.breaker = None;
            }
            Next::Create
        }
        Next::Compare(found) => match &state.lock {
            Some(file) if file.holder == found => Next::Remove,
            _ => Next::RemoveBreaker,
        },
        Next::Remove => {
            state.lock = None;
            Next::RemoveBreaker
        }
        Next::RemoveBreaker => {
            state.breaker = None;
            Next::Create
        }
        Next::Hold | Next::Dead => next,
    }
}

impl Model for Breaker {
    type State = State;
    type Step = String;

    fn starts(&self) -> Vec<State> {
        let process = |next, may_be_suspended| Process {
            next,
            is_suspended: false,
            may_be_suspended,
        };
        vec![State {
            lock: Some(File {
                holder: 0,
                is_silent: true,
            }),
            breaker: None,
            processes: vec![
                process(Next::Dead, false),
                process(Next::Create, true),
                process(Next::Create, false),
                process(Next::Create, false),
            ],
        }]
    }

    fn steps(&self, state: &State) -> Vec<(String, State)> {
        let mut steps = Vec::new();
        for (number, process) in state.processes.iter().enumerate() {
            let mut next = state.clone();
            if process.is_suspended {
                next.processes[number].is_suspended = false;
                steps.push((format!("{number} wakes up"), next.clone()));
                next.processes[number].is_suspended = true;
                for file in [&mut next.lock, &mut next.breaker].into_iter().flatten() {
                    file.is_silent |= file.holder == number;
                }
                steps.push((format!("{number} is silent"), next));
                continue;
            }
            next.processes[number].next = run(&mut next, number, process.next);
            steps.push((format!("{number} {:?}", process.next), next));
            if process.may_be_suspended {
                let mut next = state.clone();
                next.processes[number].is_suspended = true;
                next.processes[number].may_be_suspended = false;
                steps.push((format!("{number} is suspended"), next));
            }
        }
        steps
    }

    fn violation(&self, state: &State) -> Option<String> {
        // Process 0 is dead, and process 1 may be suspended at any time. Only two holders among the others are a violation.
        let holders = state.processes.iter().skip(2);
        let holders = holders.filter(|process| process.next == Next::Hold);
        (holders.count() > 1).then(|| "two holders".to_owned())
    }

    fn is_goal(&self, _: &State) -> bool {
        true
    }
}

#[test]
fn search_finds_two_holders_in_the_former_protocol() {
    let found = check(&Breaker).expect_err("two holders");
    assert!(found.violation.contains("two holders"), "{found:?}");
}
