//! Measures how well a model edits docs: runs a task on a copy of the files, publishes nothing, and compares the result
//! with the change that people made.

mod candidate;
mod compare;
mod observer;
mod result;
mod run;

pub use candidate::Candidate;
pub use compare::{Changes, Matched};
pub use result::{Outcome, Summary, TaskResult};
pub use run::{Ended, EvalTask, check_change, run};
