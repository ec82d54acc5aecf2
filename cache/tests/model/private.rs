//! A model of private objects (`src/objects/private.rs`, `src/objects/link.rs`): a mapped file never has a public name. A
//! process whose steps are no longer chosen is a dead process.

use crate::model::search::{Model, check};

/// The rules of the protocol. If one of them is disabled, the search must find a violation.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// The linker examines the file that it linked, and not the file that it opened.
    examines_linked_file: bool,
    /// The linker links under a temporary name first.
    links_temporary_name: bool,
    /// The marker checks that the remaining name is the store's.
    checks_store_name: bool,
    /// A mark is never removed.
    keeps_marks: bool,
}

const RULES: Rules = Rules {
    examines_linked_file: true,
    links_temporary_name: true,
    checks_store_name: true,
    keeps_marks: true,
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct File {
    is_marked: bool,
    temporary_names: usize,
    public_names: usize,
}

/// The next step of a process. Files are identified by their index in [`State::files`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Process {
    MarkerOpens,
    MarkerExamines(usize),
    Marks(usize),
    Counts(usize),
    ChecksName(usize),
    Unmarks(usize),
    Copies,
    Replaces(usize),
    HasMapped(usize),
    LinkerOpens,
    LinkerExamines(usize),
    Links(usize),
    ExaminesLink { opened: usize, linked: usize },
    RemovesLink(usize),
    Publishes(usize),
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    stored: Option<usize>,
    files: Vec<File>,
    processes: Vec<Process>,
    /// How many more times the object may be collected.
    collections: usize,
}

impl State {
    fn links(&self, file: usize) -> usize {
        let names = &self.files[file];
        usize::from(self.stored == Some(file)) + names.temporary_names + names.public_names
    }

    fn add(&mut self, file: File) -> usize {
        self.files.push(file);
        self.files.len() - 1
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed in counterexamples")]
enum Step {
    Process(usize, Process),
    PublicNameIsRemoved,
    ObjectIsCollected,
    ObjectIsWrittenAgain,
}

struct Private {
    rules: Rules,
    processes: Vec<Process>,
    collections: usize,
}

impl Private {
    fn run(&self, state: &mut State, process: &Process) -> Process {
        use Process::*;
        let rules = self.rules;
        match *process {
            MarkerOpens => state.stored.map_or(Ended, MarkerExamines),
            MarkerExamines(file) => {
                let (is_marked, links) = (state.files[file].is_marked, state.links(file));
                match (is_marked, links) {
                    (true, _) if rules.checks_store_name => Counts(file),
                    (true, 0..=1) => HasMapped(file),
                    (_, 0..=1) => Marks(file),
                    _ => Copies,
                }
            }
            Marks(file) => {
                state.files[file].is_marked = true;
                Counts(file)
            }
            Counts(file) => match state.links(file) {
                1 if rules.checks_store_name => ChecksName(file),
                0..=1 => HasMapped(file),
                _ if rules.keeps_marks => Copies,
                _ => Unmarks(file),
            },
            ChecksName(file) if state.stored == Some(file) => HasMapped(file),
            ChecksName(_) => Copies,
            Unmarks(file) => {
                state.files[file].is_marked = false;
                Copies
            }
            Copies => Replaces(state.add(File {
                is_marked: true,
                temporary_names: 1,
                public_names: 0,
            })),
            Replaces(file) => {
                state.files[file].temporary_names -= 1;
                state.stored = Some(file);
                HasMapped(file)
            }
            LinkerOpens => state.stored.map_or(Ended, LinkerExamines),
            LinkerExamines(file) if state.files[file].is_marked => Ended,
            LinkerExamines(file) => Links(file),
            Links(opened) => {
                let Some(linked) = state.stored else {
                    return Ended;
                };
                match rules.links_temporary_name {
                    true => state.files[linked].temporary_names += 1,
                    false => state.files[linked].public_names += 1,
                }
                ExaminesLink { opened, linked }
            }
            ExaminesLink { opened, linked } => {
                let is_refused = match rules.examines_linked_file {
                    true => state.files[linked].is_marked || linked != opened,
                    false => state.files[opened].is_marked,
                };
                match (is_refused, rules.links_temporary_name) {
                    (true, _) => RemovesLink(linked),
                    (false, true) => Publishes(linked),
                    (false, false) => Ended,
                }
            }
            RemovesLink(linked) => {
                match rules.links_temporary_name {
                    true => state.files[linked].temporary_names -= 1,
                    false => state.files[linked].public_names -= 1,
                }
                Ended
            }
            Publishes(linked) => {
                state.files[linked].temporary_names -= 1;
                state.files[linked].public_names += 1;
                Ended
            }
            HasMapped(_) | Ended => Ended,
        }
    }
}

impl Model for Private {
    type State = State;
    type Step = Step;

    fn starts(&self) -> Vec<State> {
        let start = |public_names| State {
            stored: Some(0),
            files: vec![File {
                public_names,
                ..File::default()
            }],
            processes: self.processes.clone(),
            collections: self.collections,
        };
        vec![start(0), start(1)]
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        for (number, process) in state.processes.iter().enumerate() {
            if *process != Process::Ended {
                let mut next = state.clone();
                next.processes[number] = self.run(&mut next, process);
                steps.push((Step::Process(number, process.clone()), next));
            }
        }
        for (number, file) in state.files.iter().enumerate() {
            if file.public_names > 0 {
                let mut next = state.clone();
                next.files[number].public_names -= 1;
                steps.push((Step::PublicNameIsRemoved, next));
            }
        }
        let mut next = state.clone();
        if next.stored.take().is_none() {
            next.stored = Some(next.add(File::default()));
            steps.push((Step::ObjectIsWrittenAgain, next));
        } else if state.collections > 0 {
            next.collections -= 1;
            steps.push((Step::ObjectIsCollected, next));
        }
        steps
    }

    fn violation(&self, state: &State) -> Option<String> {
        state.processes.iter().find_map(|process| match process {
            Process::HasMapped(file) if state.files[*file].public_names > 0 => {
                Some(format!("file {file} is mapped and has a public name"))
            }
            _ => None,
        })
    }

    fn is_goal(&self, state: &State) -> bool {
        state
            .processes
            .iter()
            .all(|process| *process == Process::Ended)
    }
}

/// Number of markers, of linkers, and of collections of the object.
const SIZES: [(usize, usize, usize); 3] = [(2, 1, 1), (1, 2, 1), (2, 2, 0)];

fn models(rules: Rules) -> impl Iterator<Item = Private> {
    SIZES
        .into_iter()
        .map(move |(markers, linkers, collections)| {
            let mut processes = vec![Process::MarkerOpens; markers];
            processes.extend(vec![Process::LinkerOpens; linkers]);
            Private {
                rules,
                processes,
                collections,
            }
        })
}

#[test]
fn mapped_object_never_has_a_public_name() {
    let states = models(RULES).map(|model| check(&model).unwrap());
    let states: usize = states.sum();
    assert!(states > 10_000, "{states} states");
}

#[test]
fn every_rule_is_necessary() {
    for (rule, rules) in [
        (
            "examines_linked_file",
            Rules {
                examines_linked_file: false,
                ..RULES
            },
        ),
        (
            "links_temporary_name",
            Rules {
                links_temporary_name: false,
                ..RULES
            },
        ),
        (
            "checks_store_name",
            Rules {
                checks_store_name: false,
                ..RULES
            },
        ),
        (
            "keeps_marks",
            Rules {
                keeps_marks: false,
                ..RULES
            },
        ),
    ] {
        let found = models(rules).find_map(|model| check(&model).err());
        let found = found.expect(rule);
        assert!(found.violation.contains("public name"), "{found:?}");
        assert!(found.steps.len() < 20, "{found:?}");
    }
}
