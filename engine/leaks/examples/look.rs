fn main() {
    let mut args = std::env::args().skip(1);
    let root = std::path::PathBuf::from(args.next().unwrap());
    let place = prep_leaks::Place {
        public: root.join("public"),
        bundle: args.next().filter(|one| !one.is_empty()).map(Into::into),
        answers: root.join(args.next().unwrap_or("private/answers.csv".into())),
        sample: root.join(args.next().unwrap_or("public/sample_submission.csv".into())),
        temp: std::env::temp_dir(),
        limits: prep_contents::Limits::default(),
    };
    match prep_leaks::find(&place, &Default::default()) {
        Ok(report) => println!("{}", serde_json::to_string(&report).unwrap()),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3)
        }
    }
}
