//! The command, as a person or a supervisor runs it: output, exit codes, the end.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

const LIMIT: [&str; 2] = ["--limit", "session=3/5h"];

fn onewindow(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onewindow"));
    command.args(arguments).stdin(Stdio::null());
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"] {
        command.env_remove(name);
    }
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = onewindow(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A database file that is removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("onewindow-cli-{}-{name}.db", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.path()));
        }
    }
}

#[test]
fn acquire_answers_by_its_exit_code() {
    let file = File::new("acquire");
    let acquire = |amount, more: &[&str]| {
        let arguments = ["acquire", "user-1", "gpt-4", amount, "--data", file.path()];
        run(&[&arguments, &LIMIT[..], more].concat())
    };
    let (code, printed, _) = acquire("session=1", &[]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.starts_with("admitted  user-1 on gpt-4\n  session  2 of 3 left, resets "), "{printed}");
    assert!(!printed.contains('\u{1b}'), "no colours where there is no terminal: {printed:?}");

    let (code, printed, _) = acquire("session=2", &["--native", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["admitted"]), (0, &Value::Bool(true)));

    let (code, printed, _) = acquire("session=1", &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.starts_with("rejected  user-1 on gpt-4; ask again in "), "{printed}");

    let (code, printed, _) = acquire("session=4", &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("can ever hold"), "{printed}");

    let (code, printed, _) = acquire("other=1", &[]);
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("\"other\" is neither configured nor on the stored item"), "{printed}");

    let (code, printed, _) = run(&["preview", "user-1", "gpt-4", "--data", file.path()]);
    assert_eq!(code, 0);
    assert!(printed.starts_with("user-1 on gpt-4, 1 shard\n  session  0 of 3 left, resets "), "{printed}");
    assert!(printed.contains("live"), "{printed}");

    let (code, printed, _) = run(&["preview", "user-1", "gpt-4", "--data", file.path(), "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["limits"][0]["shards"][0]["state"]), (0, &Value::from("live")));
}

#[test]
fn the_table_is_created_once() {
    let file = File::new("table");
    for expected in [true, false] {
        let (code, printed, fault) = run(&["table", "create", "--data", file.path(), "--json"]);
        assert_eq!(code, 0, "{fault}");
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed, serde_json::json!({ "table": "onewindow", "created": expected }));
    }
}

#[test]
fn what_is_wrong_is_said_with_code_2() {
    for (arguments, says) in [
        (&["acquire", "user-1", "gpt-4", "session=1"][..], "expected --endpoint URL"),
        (&["acquire", "user-1", "gpt-4", "session", "--data", "unused"], "expected NAME=TOKENS"),
        (&["acquire", "user-1", "gpt-4", "session=1", "--limit", "session=1/x"], "the period \"x\""),
        (&["preview", "user-1", "gpt-4", "--endpoint", "http://127.0.0.1:1"], "AWS_ACCESS_KEY_ID"),
        (&["preview", "user-1", "gpt-4", "--data", "/nowhere/at/all.db"], "/nowhere/at/all.db"),
        (&["table", "create", "--data", "a", "--endpoint", "b"], "cannot be used with"),
        (&["serve", "--listen", "somewhere"], "somewhere"),
        (&["component", "/nowhere/at/all.wasm"], "/nowhere/at/all.wasm"),
        (&["unheard-of"], "unheard-of"),
    ] {
        let (code, printed, fault) = run(arguments);
        assert_eq!((code, printed.as_str()), (2, ""), "{arguments:?}: {fault}");
        assert!(fault.contains(says), "{arguments:?}: {fault}");
    }
}

#[test]
fn the_component_is_written_as_it_is_embedded() {
    let file = std::env::temp_dir().join(format!("onewindow-cli-{}.wasm", std::process::id()));
    let (code, printed, _) = run(&["component", file.to_str().unwrap()]);
    let written = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, 0);
    assert!(printed.contains(&format!("{} bytes", written.len())), "{printed}");
    assert!(written == onewindow_host::engine::component::BINARY);
}

#[cfg(unix)]
#[tokio::test]
async fn a_dynamodb_of_its_own_is_one_for_others_too() {
    let mut database = onewindow(&["dynamodb", "--listen", "127.0.0.1:0", "--table", "other"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(database.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let endpoint = first.strip_prefix("listening ").unwrap_or_else(|| panic!("{first}"));
    let arguments = ["acquire", "user-1", "gpt-4", "session=1", "--table", "other", "--endpoint", endpoint];
    let keys = [("AWS_ACCESS_KEY_ID", "any"), ("AWS_SECRET_ACCESS_KEY", "any")];
    let acquired = onewindow(&[&arguments, &LIMIT[..]].concat()).envs(keys).output().unwrap();
    assert_eq!(acquired.status.code(), Some(0), "{acquired:?}");
    let asked = Command::new("kill").args(["-TERM", &database.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(database.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn serve_ends_when_it_is_asked_to() {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--limit", "session=3/5h", "--namespace", "ns"];
    let mut server = onewindow(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first.strip_prefix("serving ").unwrap_or_else(|| panic!("{first}")).to_owned();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let health = http.get(format!("{url}/healthz")).send().await.unwrap();
    assert_eq!(health.status(), 200);
    let body = r#"{"entity":"user-1","resource":"gpt-4","consume":{"session":1}}"#;
    let answer = http.post(format!("{url}/acquire")).body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains(r#"{\"n\":\"ns\""#));
    drop(http);
    let asked = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}
