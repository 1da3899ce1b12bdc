//! Runs `docwright ranges`: lists the address ranges of agents, and checks files with new ones.

use std::process::ExitCode;

use serde_json::{Value, json};
use store::DataDir;
use traffic::{AddressRanges, BadRangeFile, RangeList, RangeSource, check_range_file};

use crate::args::{CheckRanges, Ranges, RangesCommand};
use crate::output;
use crate::settings::Sources;

pub(crate) fn run(sources: &Sources, args: Ranges) -> anyhow::Result<ExitCode> {
    if let Some(RangesCommand::Check(args)) = &args.command {
        return check(args);
    }
    let settings = sources.admin_settings(&args.data)?;
    let (ranges, bad) = AddressRanges::load(&DataDir::at(&settings.data).ranges());
    match args.json {
        true => output::print_json(&ranges.lists().iter().map(to_json).collect::<Vec<_>>())?,
        false => print_lists(ranges.lists())?,
    }
    bad.iter().for_each(print_problems);
    Ok(ExitCode::from(u8::from(!bad.is_empty())))
}

fn check(args: &CheckRanges) -> anyhow::Result<ExitCode> {
    let (mut lists, mut is_good) = (Vec::new(), true);
    for result in args.files.iter().map(|path| check_range_file(path)) {
        match result {
            Ok(list) => lists.push(list),
            Err(bad) => {
                is_good = false;
                print_problems(&bad);
            }
        }
    }
    if !lists.is_empty() {
        print_lists(&lists)?;
    }
    Ok(ExitCode::from(u8::from(!is_good)))
}

fn print_lists(lists: &[RangeList]) -> anyhow::Result<()> {
    let row = |list: &RangeList| {
        let date = list.date.clone().unwrap_or_default();
        [list.name.clone(), kind(list).to_owned(), list.ranges.to_string(), source(list), date]
    };
    output::print_table(["NAME", "KIND", "RANGES", "SOURCE", "DATE"], lists.iter().map(row))
}

fn print_problems(bad: &BadRangeFile) {
    for problem in &bad.problems {
        output::print_message(format!("{}: {problem}", bad.path.display()));
    }
}

fn to_json(list: &RangeList) -> Value {
    json!({
        "name": list.name,
        "kind": kind(list),
        "ranges": list.ranges,
        "source": source(list),
        "date": list.date,
    })
}

fn kind(list: &RangeList) -> &'static str {
    if list.is_proxy { "proxy" } else { "product" }
}

fn source(list: &RangeList) -> String {
    match &list.source {
        RangeSource::Shipped => "shipped".to_owned(),
        RangeSource::File(path) => path.display().to_string(),
    }
}
