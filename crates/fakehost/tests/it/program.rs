//! Tests the fake host as a program.

use std::io::BufRead;
use std::process::{Command, Stdio};

use crate::client::http;

#[tokio::test]
async fn the_program_prints_its_address_and_stops_on_sigterm() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fakehost"))
        .args(["--kind", "gitea", "--token", "full", "--token", "old=expired", "--repository", "acme/docs"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    std::io::BufReader::new(program.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = format!("{}/api/v1/repos/acme/docs", url.trim());
    let status =
        async |token: &str| http().get(&url).bearer_auth(token).send().await.unwrap().status().as_u16();
    let statuses = (status("full").await, status("old").await);
    Command::new("kill").arg(program.id().to_string()).status().unwrap();
    assert!(program.wait().unwrap().success());
    assert_eq!(statuses, (200, 401));
}
