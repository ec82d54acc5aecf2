//! Tests that thresholds, medals and directions computed from leaderboards equal those of published reports.

use std::path::Path;

use prep_grade::report::medals::{Leaderboard, LeaderboardError};

#[test]
fn thresholds_and_medals_match_published_reports() {
    let text = include_str!("data/reports.csv");
    let mut checked = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [id, score, gold, silver, bronze, median, medal, above, lower] = fields[..] else {
            panic!("{line}")
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../pipelines")
            .join(id)
            .join("leaderboard.csv");
        let board = Leaderboard::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let thresholds = board.thresholds();
        let found = [
            thresholds.gold,
            thresholds.silver,
            thresholds.bronze,
            thresholds.median,
        ];
        let expected = [gold, silver, bronze, median].map(|value| value.parse::<f64>().unwrap());
        assert_eq!(found, expected, "{line}");
        assert_eq!(board.is_lower_better(), lower == "true", "{line}");
        let medals = score
            .parse()
            .map(|score| board.medals(score))
            .unwrap_or_default();
        assert_eq!(
            [medals.gold, medals.silver, medals.bronze],
            ["gold", "silver", "bronze"].map(|m| m == medal),
            "{line}"
        );
        assert_eq!(medals.above_median, above == "true", "{line}");
        checked += 1;
    }
    assert!(checked > 200);
}

#[test]
fn medal_ranks_depend_on_the_number_of_teams() {
    // Columns: number of teams, ranks for gold, silver and bronze. The score of a team is its rank, so lower is better.
    let table = [
        (1, 1, 1, 1),
        (9, 1, 1, 3),
        (99, 9, 19, 39),
        (100, 10, 20, 40),
        (249, 10, 49, 99),
        (250, 10, 50, 100),
        (999, 11, 50, 100),
        (1000, 12, 50, 100),
        (4000, 18, 200, 400),
    ];
    for (teams, gold, silver, bronze) in table {
        let board = Leaderboard::new((1..=teams).map(f64::from).collect()).unwrap();
        let found = board.thresholds();
        assert_eq!(
            [found.gold, found.silver, found.bronze],
            [gold, silver, bronze].map(f64::from),
            "{teams} teams"
        );
        assert_eq!(found.median, f64::from(teams + 1) / 2.0);
    }
}

#[test]
fn ties_earn_a_medal_and_nan_earns_none() {
    let board = Leaderboard::new((1..=99).map(f64::from).collect()).unwrap();
    assert!(board.medals(9.0).gold && !board.medals(9.0).silver);
    assert!(board.medals(9.5).silver && board.medals(39.0).bronze && !board.medals(39.5).any());
    assert!(board.medals(49.0).above_median && !board.medals(50.0).above_median);
    assert_eq!(
        board.medals(f64::NAN),
        prep_grade::report::medals::Medals::default()
    );
    assert!(board.medals(f64::NEG_INFINITY).gold);
}

#[test]
fn a_leaderboard_can_have_other_columns() {
    let expected = Leaderboard::parse("score\n0.9\n0.5\n").unwrap();
    for text in [
        "score,name\n0.9,a\n0.5,b\n",
        "name,score\n\"a, \"\"b\"\"\",0.9\nc,0.5\n",
        "\u{feff}Score\n0.9\n0.5\n",
        "Team, SCORE\r\na, 0.9\r\n\r\nb, 0.5\r\n",
    ] {
        assert_eq!(Leaderboard::parse(text), Ok(expected.clone()), "{text}");
    }
    assert_eq!(
        Leaderboard::parse("name,score\na,1\nb\n"),
        Err(LeaderboardError::Score {
            line: 3,
            found: String::new()
        })
    );
}

#[test]
fn invalid_leaderboards_are_errors() {
    assert_eq!(Leaderboard::parse("score\n"), Err(LeaderboardError::Empty));
    assert!(matches!(
        Leaderboard::parse("rank\n1\n"),
        Err(LeaderboardError::Header { .. })
    ));
    assert_eq!(
        Leaderboard::parse("score\n1\nx\n"),
        Err(LeaderboardError::Score {
            line: 3,
            found: "x".to_owned()
        })
    );
}
