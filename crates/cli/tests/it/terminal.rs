//! Tests the output on a pseudo terminal.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Client, Serving, home};

/// Runs a command whose standard error is a terminal of this width, and with `with_data` also its standard output.
/// Returns the exit code and what the terminal got.
pub(crate) fn run_on_terminal(mut command: Command, columns: u16, with_data: bool) -> (Option<i32>, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let terminal = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
    let data = if with_data { Stdio::from(terminal.try_clone().unwrap()) } else { Stdio::null() };
    let mut child = command.stdout(data).stderr(terminal).spawn().unwrap();
    drop(command);
    let reading = std::thread::spawn(move || {
        let mut output = Vec::new();
        // The end is an error, because the other side is closed.
        let _ = File::from(master).read_to_end(&mut output);
        output
    });
    let code = child.wait().unwrap().code();
    (code, String::from_utf8(reading.join().unwrap()).unwrap())
}

/// The lines as they look after everything was drawn over.
fn visible_lines(output: &str) -> Vec<&str> {
    let ends = output.split("\r\n").map(|line| line.rsplit("\r\x1b[2K").next().unwrap());
    ends.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_terminal_shows_each_step_once_and_within_its_width() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let watch = |prompt: &str, settings: &[(&str, &str)], columns| {
        let mut command = client.docwright();
        command.env("TERM", "xterm").env("LANG", "C.UTF-8").envs(settings.iter().copied());
        command.args(["job", "create", &client.project, prompt, "--watch"]);
        run_on_terminal(command, columns, false)
    };
    let (code, output) = watch("Replace \"one\" with \"eins\".", &[], 40);
    assert_eq!(code, Some(0));
    let rows = visible_lines(&output);
    for step in ["created", "started", "fetched", "edit", "pushing", "opening", "ended"] {
        let matching = rows.iter().filter(|row| row.contains(&format!("s  {step}")));
        assert_eq!(matching.count(), 1, "{step}: {rows:?}");
    }
    let (steps, hints): (Vec<&str>, Vec<&str>) = rows.iter().partition(|row| row.starts_with('\x1b'));
    let merge = format!("To merge it: docwright pull merge {} 1", client.project);
    assert!(hints.len() == 2 && hints[1] == merge, "{hints:?}");
    for row in steps {
        let text = row.strip_prefix("\x1b[32m✓\x1b[0m ").unwrap_or_else(|| panic!("{row:?}"));
        let fits = text.chars().count() + 2 < 40 || text.contains("s  ended ");
        assert!(fits && !text.contains('\x1b'), "{row:?}");
    }

    let (code, output) = watch("Write a poem.", &[], 80);
    assert_eq!(code, Some(3));
    assert!(visible_lines(&output).last().unwrap().starts_with("\x1b[31m✗\x1b[0m "), "{output:?}");

    let (_, output) = watch("Write a poem.", &[("NO_COLOR", "1"), ("LC_ALL", "C")], 80);
    assert!(!output.contains("\x1b[3"), "{output:?}");
    assert!(visible_lines(&output).last().unwrap().starts_with("x "), "{output:?}");

    let (_, output) = watch("Write a poem.", &[("TERM", "dumb")], 80);
    assert!(!output.contains('\x1b') && output.contains("  ended "), "{output:?}");
    let why = output.rsplit("  ended ").next().unwrap().trim();

    let (_, output) = watch("Write a poem.", &[], 40);
    assert!(why.len() > 40 && visible_lines(&output).last().unwrap().ends_with(why), "{why}: {output:?}");
}
