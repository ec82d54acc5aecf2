//! Breadth-first search through all states of a model.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

pub trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Step: Debug;

    /// Returns the states in which the search starts.
    fn starts(&self) -> Vec<Self::State>;

    /// Returns all possible next steps, each with the state to which it leads.
    fn steps(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;

    /// Describes how `state` violates the condition that the protocol guarantees. `None` if it does not.
    fn violation(&self, state: &Self::State) -> Option<String>;

    /// Returns whether the protocol has ended in this state. Every state must have a path to such a state.
    fn is_goal(&self, state: &Self::State) -> bool;
}

#[derive(Debug)]
pub struct Counterexample {
    pub violation: String,
    pub steps: Vec<String>,
}

struct Visited {
    /// Index of the previous state on a shortest path, and of the step that leads from there. `None` for a start.
    from: Option<(usize, usize)>,
    /// Indices of all states from which a step leads to this state.
    before: Vec<usize>,
    is_goal: bool,
}

/// Visits all states, and returns how many there are. Fails if `model` reports a violation for a state, or if no goal can
/// be reached from a state.
pub fn check<M: Model>(model: &M) -> Result<usize, Counterexample> {
    let mut numbers: HashMap<M::State, usize> = HashMap::new();
    let mut states: Vec<M::State> = Vec::new();
    let mut visited: Vec<Visited> = Vec::new();
    let starts = model.starts().into_iter();
    let mut found: Vec<_> = starts.map(|start| (None, start)).collect();
    let mut next = 0;
    loop {
        for (from, state) in found.drain(..) {
            let number = *numbers.entry(state).or_insert_with_key(|state| {
                states.push(state.clone());
                visited.push(Visited {
                    from,
                    before: Vec::new(),
                    is_goal: model.is_goal(state),
                });
                visited.len() - 1
            });
            visited[number]
                .before
                .extend(from.map(|(before, _)| before));
        }
        let Some(state) = states.get(next) else { break };
        if let Some(violation) = model.violation(state) {
            return Err(counterexample(model, &states, &visited, next, violation));
        }
        let steps = model.steps(state).into_iter().enumerate();
        found.extend(steps.map(|(step, (_, state))| (Some((next, step)), state)));
        next += 1;
    }
    match stuck(&visited) {
        None => Ok(states.len()),
        Some(number) => {
            let violation = "the goal cannot be reached".to_owned();
            Err(counterexample(model, &states, &visited, number, violation))
        }
    }
}

/// Returns the index of a state from which no goal can be reached, if there is one.
fn stuck(visited: &[Visited]) -> Option<usize> {
    let mut reaches: Vec<bool> = visited.iter().map(|state| state.is_goal).collect();
    let mut unprocessed: Vec<usize> = (0..visited.len()).filter(|state| reaches[*state]).collect();
    while let Some(state) = unprocessed.pop() {
        for before in &visited[state].before {
            if !std::mem::replace(&mut reaches[*before], true) {
                unprocessed.push(*before);
            }
        }
    }
    reaches.iter().position(|reaches| !reaches)
}

/// Returns the steps of a shortest path to the state with the index `number`.
fn counterexample<M: Model>(
    model: &M,
    states: &[M::State],
    visited: &[Visited],
    number: usize,
    violation: String,
) -> Counterexample {
    let mut steps = Vec::new();
    let mut state = number;
    while let Some((before, step)) = visited[state].from {
        let (step, _) = model.steps(&states[before]).swap_remove(step);
        steps.push(format!("{step:?}"));
        state = before;
    }
    steps.reverse();
    let violation = format!("{violation}: {:?}", states[number]);
    Counterexample { violation, steps }
}
