//! A short soak, through the command: hosts are processes, and they are killed.

use std::process::Command;

#[test]
fn a_short_soak_breaks_no_invariant() {
    let soak = Command::new(env!("CARGO_BIN_EXE_onewindow-soak"))
        .args(["run", "--hosts", "8", "--callers", "2", "--acquires", "2500"])
        // The component would take each process seconds to load.
        .args(["--native", "--era-seconds", "6", "--kill-every-ms", "1000"])
        .output()
        .expect("it runs");
    let out = String::from_utf8_lossy(&soak.stdout);
    let err = String::from_utf8_lossy(&soak.stderr);
    assert!(soak.status.success(), "{out}{err}");
    let count = |name: &str| {
        let line = out.lines().find(|line| line.trim_start().starts_with(name));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("no {name:?} in:\n{out}"))
    };
    assert_eq!(count("violations"), 0, "{out}");
    assert_eq!(count("entities that admitted a fresh host"), 4, "{out}");
    // A soak in which nothing happened would prove nothing.
    for happened in ["admitted", "windows opened", "doublings", "hosts killed", "500, carried out"] {
        assert!(count(happened) > 0, "{happened}:\n{out}");
    }
}
