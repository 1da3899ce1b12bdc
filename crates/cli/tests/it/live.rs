//! A watched job on a real terminal, of a pseudo kind.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Client, Serving, home};

/// What a terminal of this width is sent while the command's words go there.
fn on_a_terminal(command: Command, columns: u16) -> (Option<i32>, String) {
    shown(command, columns, false)
}

/// The same, with its data, when that goes there, too.
pub(crate) fn shown(mut command: Command, columns: u16, data: bool) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).and_then(|()| unlockpt(&ours)).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let theirs = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
    let data = if data { Stdio::from(theirs.try_clone().unwrap()) } else { Stdio::null() };
    let mut child = command.stdout(data).stderr(theirs).spawn().unwrap();
    drop(command);
    let reading = std::thread::spawn(move || {
        let mut seen = Vec::new();
        // The end is an error: nobody holds the other side any more.
        let _ = File::from(ours).read_to_end(&mut seen);
        seen
    });
    let code = child.wait().unwrap().code();
    (code, String::from_utf8(reading.join().unwrap()).unwrap())
}

/// What is left on the lines once everything was drawn over.
fn lines(seen: &str) -> Vec<&str> {
    let ends = seen.split("\r\n").map(|line| line.rsplit("\r\x1b[2K").next().unwrap());
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
        on_a_terminal(command, columns)
    };
    let (code, seen) = watch("Replace \"one\" with \"eins\".", &[], 40);
    assert_eq!(code, Some(0));
    let shown = lines(&seen);
    for step in ["created", "started", "fetched", "edit", "pushing", "opening", "ended"] {
        let rows = shown.iter().filter(|row| row.contains(&format!("s  {step}")));
        assert_eq!(rows.count(), 1, "{step}: {shown:?}");
    }
    for row in &shown {
        let text = row.strip_prefix("\x1b[32m✓\x1b[0m ").unwrap_or_else(|| panic!("{row:?}"));
        let fits = text.chars().count() + 2 < 40 || text.contains("s  ended ");
        assert!(fits && !text.contains('\x1b'), "{row:?}");
    }

    let (code, seen) = watch("Write a poem.", &[], 80);
    assert_eq!(code, Some(3));
    assert!(lines(&seen).last().unwrap().starts_with("\x1b[31m✗\x1b[0m "), "{seen:?}");

    let (_, seen) = watch("Write a poem.", &[("NO_COLOR", "1"), ("LC_ALL", "C")], 80);
    assert!(!seen.contains("\x1b[3"), "{seen:?}");
    assert!(lines(&seen).last().unwrap().starts_with("x "), "{seen:?}");

    let (_, seen) = watch("Write a poem.", &[("TERM", "dumb")], 80);
    assert!(!seen.contains('\x1b') && seen.contains("  ended "), "{seen:?}");
    let why = seen.rsplit("  ended ").next().unwrap().trim();

    let (_, seen) = watch("Write a poem.", &[], 40);
    assert!(why.len() > 40 && lines(&seen).last().unwrap().ends_with(why), "{why}: {seen:?}");
}
