//! Completions in bash, zsh and fish, with the scripts that the program prints.

use std::fs;
use std::process::Command;

use crate::support::{CommandResult, Harbour, Sandbox, skipped};

/// The shells, each with the arguments that make it run a script. The first argument of the script is a file with
/// completions, which the script loads. The other arguments are a command line. The script prints the values that
/// complete its last word.
const SHELLS: [(&str, &[&str]); 3] = [
    (
        "bash",
        &[
            "-c",
            // Separates words at `:`, `=` and `@`, and completes the text after the separator, as Bash does.
            r#"source "$1"; shift; COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_WORDS=()
            for word; do
                last="$word"; count=${#COMP_WORDS[@]}
                while [[ "$word" =~ ^([^:=@]*)([:=@]+)(.*)$ ]]; do
                    word="${BASH_REMATCH[3]}"
                    if [[ -n "${BASH_REMATCH[1]}" ]]; then COMP_WORDS+=("${BASH_REMATCH[1]}"); fi
                    COMP_WORDS+=("${BASH_REMATCH[2]}")
                done
                if [[ -n "$word" || ${#COMP_WORDS[@]} == $count ]]; then COMP_WORDS+=("$word"); fi
            done
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); if [[ "$last" == @* ]]; then word="$last"; fi
            # Completes paths as Bash does after the function.
            compopt() { case "$2" in
                default) COMPREPLY+=($(compgen -f -- "$word")) ;;
                dirnames) COMPREPLY+=($(compgen -d -- "$word")) ;;
            esac; }
            _prep prep "$word"
            for reply in "${COMPREPLY[@]}"; do printf '%s\n' "${last%"$word"}$reply"; done"#,
            "bash",
        ],
    ),
    (
        "zsh",
        &[
            "-f",
            "-c",
            // Makes the script the body of the function `_prep`, as zsh does at the first completion.
            r#"compdef() { :; }; _describe() { for value in "${(@P)3}"; do print -- "${value//\\:/:}"; done }
            compset() { IPREFIX="$2"; PREFIX="${PREFIX#$2}"; }
            _files() { if [[ "$1" == -/ ]]; then found=($PREFIX*(N/)); else found=($PREFIX*(N)); fi
                for path in $found; do print -- "$IPREFIX$path"; done }
            functions[_prep]="$(<"$1")"; shift; words=("$@"); CURRENT=$#; PREFIX="${words[-1]}"; _prep; true"#,
            "zsh",
        ],
    ),
    (
        "fish",
        &[
            "-c",
            r#"source $argv[1]; complete -C (string join ' ' -- $argv[2..]) | string split -f 1 \t; true"#,
        ],
    ),
];

/// Command lines, each with the values that complete its last word.
const CASES: &[(&[&str], &[&str])] = &[
    (&["run", "spaceship"], &["spaceship-titanic"]),
    (&["run", "own-s"], &["own-spaceships"]),
    (&["run", "own-spaceships", "own-s"], &[]),
    (&["grade", "spaceship"], &["spaceship-titanic"]),
    (&["grade", "spaceship-titanic", "sub"], &["submission.csv"]),
    // An id is expected only once.
    (&["grade", "spaceship-titanic", "spaceship"], &[]),
    (&["diff", "spaceship"], &["spaceship-titanic"]),
    (
        &["diff", "spaceship-titanic", "fix"],
        &["fixed", "fixed:parties"],
    ),
    (&["diff", "spaceship-titanic", "v1", "@"], &["@0", "@1"]),
    (
        &["why", "own-spaceships", "public/t"],
        &["public/test.csv", "public/train.csv"],
    ),
    (&["remove", "sp"], &["spaceship-titanic"]),
    (&["remove", "own"], &[]),
    (&["remove", "spaceship-titanic", "sp"], &[]),
    (&["pack", "add", "ya"], &["yard"]),
    // A source is a directory.
    (&["run", "--source", "ya"], &["yard"]),
    (&["run", "--source", "sub"], &[]),
    (&["completions", "bash", "-o", "sub"], &["submission.csv"]),
    (&["run", "--pipelines", "yard", "ship"], &["ships"]),
    (&["report", "--grading", "sub"], &["submission.csv"]),
    (&["run", "--set", "l"], &["lite", "low"]),
    (&["run", "ya"], &["yard/ships"]),
    (&["run", "--set", "ya"], &["yard", "yard/small"]),
    (&["pack", "remove", "y"], &["yard"]),
    (&["run", "--variant", "fi"], &["fixed"]),
    (&["run", "--variant=fi"], &["--variant=fixed"]),
    (
        &["run", "random-acts-of-pizza", "--variant", "fixed:"],
        &["fixed:108"],
    ),
    (
        &["diff", "random-acts-of-pizza", "v1", "fixed:1"],
        &["fixed:108"],
    ),
    (&["run", "--source=ya"], &["--source=yard"]),
    (
        &["report", "--grading", "mine=sub"],
        &["mine=submission.csv"],
    ),
    (&["run", "--remote", "file:///t"], &["file:///tmp/remote"]),
    (&["pipeline", "show", "own-s"], &["own-spaceships"]),
    (
        &["pipeline", "show", "own-spaceships", "t"],
        &["test", "train"],
    ),
];

/// Requests the values that complete the last of `words`. Each line of the answer contains a kind, a value and a description.
fn answer(sandbox: &Sandbox, words: &[&str]) -> String {
    let mut command = sandbox.command(&["--", "prep"]);
    let command = command.args(words).env("COMPLETE", "zsh");
    CommandResult::of(command).code(0).stdout
}

#[test]
fn an_empty_word_is_completed_with_values_and_not_with_options() {
    let sandbox = Sandbox::new();
    let values = answer(&sandbox, &["run", ""]);
    assert!(values.contains("value\tspaceship-titanic\t\n"), "{values}");
    assert!(!values.contains("--"), "{values}");
    assert!(answer(&sandbox, &[""]).contains("value\tgrade\tGrade"));
    // `config` has only options.
    assert!(answer(&sandbox, &["config", ""]).contains("value\t--remote\t"));
    assert_eq!(
        answer(&sandbox, &["run", "--source", ""]),
        "directory\t\t\n"
    );
    let paths = answer(&sandbox, &["report", "--grading", "mine=sub"]);
    assert_eq!(paths, "file\tmine=\t\n");
}

#[test]
fn completions_work_despite_a_mistake_in_the_settings() {
    let sandbox = Sandbox::new();
    sandbox.write("prep.toml", "nonsense = [");
    sandbox.prep(&["completions", "zsh"]).code(0);
    sandbox.prep(&["completions", "man", "-o", "man1"]).code(0);
    let found = answer(&sandbox, &["run", "spaceship"]);
    assert_eq!(found, "value\tspaceship-titanic\t\n");
}

/// The shells complete paths themselves, so they keep `~` and quote special characters.
#[test]
fn shells_quote_the_paths_that_they_complete() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    fs::create_dir_all(sandbox.path("bin")).expect("a directory");
    fs::create_dir_all(sandbox.path("home/bundles of Ann")).expect("a directory");
    std::os::unix::fs::symlink(program, sandbox.path("bin/prep")).expect("a link");
    sandbox.write("my file.csv", "id\n");
    sandbox.write("prep.toml", "[remote]\nurl = \"file:///tmp/team x\"\n");
    let keys = "prep grade spaceship-titanic my\\ f\t\nprep plan --source ~/bun\t\nprep plan --remote file:///tmp/te\t\nexit\n";
    for (shell, set_up) in [
        ("bash --norc", "source <(prep completions bash)\n"),
        (
            "zsh -f",
            "autoload -Uz compinit && compinit -D -u; source <(prep completions zsh)\n",
        ),
    ] {
        let name = shell.split(' ').next().unwrap_or_default();
        let are_installed = ["script", name].iter().all(|program| {
            let mut command = Command::new(program);
            command.arg("--version").output().is_ok()
        });
        if !are_installed {
            skipped(&format!("script or {shell} is not installed"));
            continue;
        }
        let keys = sandbox.write("keys", format!("{set_up}{keys}"));
        let mut command = Command::new("script");
        command
            .args(["-qec", &format!("{shell} -i"), "/dev/null"])
            .stdin(fs::File::open(keys).expect("the keys"))
            .current_dir(sandbox.path(""))
            .env("HOME", sandbox.path("home"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", sandbox.path("bin").display()),
            );
        let shown = CommandResult::of(&mut command).stdout;
        for expected in [r"my\ file.csv", r"~/bundles\ of\ Ann", r"/tmp/team\ x"] {
            assert!(shown.contains(expected), "{shell}: {shown}");
        }
    }
}

#[test]
fn manual_pages_have_sections_and_describe_all_options() {
    let sandbox = Sandbox::new();
    sandbox.prep(&["completions", "man", "-o", "man1"]).code(0);
    let page = |name: &str| fs::read_to_string(sandbox.path("man1").join(name)).expect("a page");
    let main = page("prep.1");
    for part in [
        "\\fBprep\\fR [OPTIONS] <COMMAND>\n",
        ".SH \"EXAMPLES\"\n.nf\nprep demo  ",
        ".fi\n.SH NOTES\n",
        ".SH \"EXIT STATUS\"\n.nf\n0    success\n",
        ".SH VERSION\n",
    ] {
        assert!(main.contains(part), "{part}: {main}");
    }
    for heading in ["ENVIRONMENT", "FILES"] {
        assert!(
            main.contains(&format!(".SH \"{heading}\"\n.nf\n")),
            "{main}"
        );
    }
    let see_also = ".SH \"SEE ALSO\"\n.nf\nprep\\-cache(1)\nprep(1): exit codes";
    assert!(page("prep-cache-gc.1").contains(see_also));
    for entry in fs::read_dir(sandbox.path("man1")).expect("pages") {
        let path = entry.expect("entry").path();
        let page = fs::read_to_string(&path).expect("a page");
        let refers = page.contains("\nprep(1): exit codes, environment variables, files\n");
        assert_eq!(refers, !path.ends_with("prep.1"), "{page}");
        assert!(!page.contains("EXTRA"), "{page}");
        let headings = page.lines().filter(|line| line.starts_with(".SH "));
        assert!(headings.map(str::len).max() < Some(40), "{page}");
        // A page with this text has an option without a description.
        assert!(!page.contains("\n\n.TP"), "{page}");
        assert_eq!(
            page.matches("\n.nf\n").count(),
            page.matches("\n.fi\n").count(),
            "{page}"
        );
    }
    let mut man = Command::new("man");
    man.args(["-l", "prep.1"])
        .current_dir(sandbox.path("man1"))
        .env("MANWIDTH", "120");
    if man.output().is_err() {
        return skipped("man is not installed");
    }
    let shown = CommandResult::of(&mut man).code(0).stdout;
    let example = "prep plan --lite                     show what a run would do\n";
    assert!(shown.contains(example), "{shown}");
}

#[test]
fn shells_complete_ids_paths_and_option_values() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).expect("a directory");
    std::os::unix::fs::symlink(program, bin.join("prep")).expect("a link");
    sandbox.pipeline("own-spaceships", Harbour::PIPELINE);
    sandbox.write("submission.csv", "id\n");
    sandbox.write("data/spaceship-titanic/spaceship-titanic.zip", "");
    let pack = "name: yard\nversion: 1\nsets: { small: [ships] }\ncompetitions: { ships: {} }\n";
    sandbox.write("yard/pack.yaml", pack);
    sandbox.write("yard/ships/pipeline.yaml", Harbour::PIPELINE);
    sandbox.prep(&["pack", "add", "yard"]).code(0);
    sandbox.write("data/prep.toml", "[remote]\nurl = 'file:///tmp/remote'\n");
    for (shell, arguments) in SHELLS {
        let script = format!("complete.{shell}");
        sandbox.prep(&["completions", shell, "-o", &script]).code(0);
        for (words, expected) in CASES {
            let inner = sandbox.command(&[]);
            let mut command = Command::new(shell);
            command
                .args(arguments)
                .args([&script, "prep"])
                .args(*words)
                .current_dir(sandbox.path(""))
                .envs(
                    inner
                        .get_envs()
                        .filter_map(|(name, value)| Some((name, value?))),
                )
                .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
            if command.output().is_err() {
                skipped(&format!("{shell} is not installed"));
                break;
            }
            let CommandResult { stdout, stderr, .. } = CommandResult::of(&mut command).code(0);
            let lines = stdout.lines().map(|line| line.trim().trim_end_matches('/'));
            let mut found: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            found.sort_unstable();
            assert_eq!(found, *expected, "{shell}: {words:?}: {stderr}");
        }
    }
}
