//! Generates queries clause by clause, and computes their rows at the same time.

use std::cmp::Ordering;
use std::rc::Rc;

use super::table::{Data, data};
use super::value::{Kind, Value, and, in_order, or};

pub type Row = Vec<Value>;
type Compute = Rc<dyn Fn(&[Value]) -> Value>;

/// An expression: its text, and a function that computes its value from a row of the scope.
#[derive(Clone)]
pub struct Expr {
    pub text: String,
    compute: Compute,
}

impl Expr {
    pub fn new(text: impl Into<String>, compute: impl Fn(&[Value]) -> Value + 'static) -> Expr {
        let (text, compute) = (text.into(), Rc::new(compute) as Compute);
        Expr { text, compute }
    }

    pub fn of(&self, row: &[Value]) -> Value {
        (self.compute)(row)
    }
}

/// A column that expressions can use.
#[derive(Clone)]
pub struct Column {
    /// The column in a query: `alias.name`.
    pub text: String,
    pub name: String,
    pub kind: Kind,
    /// The index of the column in a row.
    pub place: usize,
}

/// A SELECT and its rows.
pub struct Table {
    pub text: String,
    pub columns: Vec<(String, Kind)>,
    pub rows: Vec<Row>,
    /// Whether the rows are sorted by ORDER BY. If so, the query cannot be joined or sorted again.
    pub sorted: bool,
}

/// A query with its invalid clauses, and the rows that a valid query must return.
pub struct GeneratedQuery {
    pub text: String,
    /// The invalid clauses. Empty for a valid query.
    pub foreign: Vec<String>,
    names: Vec<String>,
    rows: Vec<Row>,
}

impl GeneratedQuery {
    /// Returns the column names and the rows, one line each.
    pub fn printed(&self) -> Vec<String> {
        let line = |row: &Row| {
            let cells: Vec<String> = row.iter().map(Value::literal).collect();
            cells.join(" | ")
        };
        let lines = self.rows.iter().map(line);
        std::iter::once(self.names.join(" | "))
            .chain(lines)
            .collect()
    }
}

pub struct Generator {
    state: u64,
    tables: Vec<Data>,
    aliases: usize,
    /// The invalid clauses that were inserted so far.
    foreign: Vec<String>,
    /// Probability in thousandths that an invalid clause is inserted where one is possible.
    rate: u64,
    /// Whether the first table has so many rows that operators need temporary files.
    pub is_large: bool,
    /// Whether the current SELECT already calls an aggregate with an ORDER BY.
    pub has_sorting_call: bool,
}

impl Generator {
    pub fn new(seed: u64, is_large: bool) -> Generator {
        let mut generator = Generator {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            tables: data(is_large),
            aliases: 0,
            foreign: Vec::new(),
            rate: 0,
            is_large,
            has_sorting_call: false,
        };
        let is_foreign = !is_large && generator.chance(35);
        generator.rate = if is_foreign { 80 } else { 0 };
        generator
    }

    pub fn query(mut self) -> GeneratedQuery {
        let table = match self.below(20) {
            0 | 1 => self.union(),
            2 => self.set_operation(),
            3 => self.unnested(),
            _ => self.select(2),
        };
        let mut text = table.text;
        let suffix = self.foreign(&[
            "FOR UPDATE",
            "FOR SHARE",
            "FORMAT JSON",
            "SETTINGS a = 1",
            "FETCH FIRST 2 ROWS ONLY",
            "FOR XML RAW",
        ]);
        text.push_str(&suffix);
        GeneratedQuery {
            text,
            foreign: self.foreign,
            names: table.columns.into_iter().map(|(name, _)| name).collect(),
            rows: table.rows,
        }
    }

    pub fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap() % limit
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// With the probability `rate`, returns a space and an invalid clause of `of`. Otherwise returns an empty string.
    pub fn foreign(&mut self, of: &[&str]) -> String {
        if self.next() % 1000 >= self.rate {
            return String::new();
        }
        let found = self.one(of).to_owned();
        self.foreign.push(found.clone());
        format!(" {found}")
    }

    pub fn foreign_count(&self) -> usize {
        self.foreign.len()
    }

    /// Forgets all invalid clauses but the first `count`. The query must not use the expressions that contain the others.
    pub fn forget_foreign(&mut self, count: usize) {
        self.foreign.truncate(count);
    }

    pub fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    fn union(&mut self) -> Table {
        let kinds = [Kind::Integer, Kind::Text];
        let mut parts = Vec::new();
        let mut rows = Vec::new();
        let mut columns = Vec::new();
        for _ in 0..2 + self.below(3) {
            let (from, scope, source) = self.table();
            let exprs: Vec<Expr> = kinds
                .iter()
                .map(|kind| self.expr(*kind, &scope, 1))
                .collect();
            let names: Vec<String> = (0..kinds.len()).map(|place| format!("c{place}")).collect();
            let items = exprs.iter().zip(&names);
            let items: Vec<String> = items
                .map(|(expr, name)| format!("{} AS {name}", expr.text))
                .collect();
            parts.push(format!("SELECT {} FROM {from}", items.join(", ")));
            rows.extend(
                source
                    .iter()
                    .map(|row| exprs.iter().map(|expr| expr.of(row)).collect::<Row>()),
            );
            columns = names.into_iter().zip(kinds).collect();
        }
        let by_name = self.foreign(&["BY NAME"]);
        Table {
            text: parts.join(&format!(" UNION ALL{by_name} ")),
            columns,
            rows,
            sorted: false,
        }
    }

    /// Generates a table of FROM. Returns its text, its columns and its rows.
    pub fn table(&mut self) -> (String, Vec<Column>, Vec<Row>) {
        // The table `e` is empty, and so are most queries over it. Therefore it is rare.
        let which = match self.below(12) {
            0 => 2,
            _ if self.is_large => 0,
            n => n % 2,
        };
        self.table_of(which)
    }

    fn table_of(&mut self, which: usize) -> (String, Vec<Column>, Vec<Row>) {
        let alias = self.alias();
        let data = &self.tables[which];
        let (name, rows) = (data.name.clone(), data.rows.clone());
        let columns = data
            .columns
            .iter()
            .map(|(name, kind)| (name.clone(), *kind));
        let scope = scope(&alias, columns, 0);
        let suffix = self.foreign(&[
            "TABLESAMPLE BERNOULLI (50)",
            "PARTITION (p)",
            "WITH ORDINALITY",
            "SAMPLE 0.5",
        ]);
        // TABLESAMPLE and SAMPLE follow the alias. The other clauses precede it.
        let text = if suffix.contains("SAMPLE") {
            format!("{name} AS {alias}{suffix}")
        } else {
            format!("{name}{suffix} AS {alias}")
        };
        (text, scope, rows)
    }

    /// Generates FROM. Returns its text, its columns, its rows, and whether the rows are sorted by ORDER BY.
    fn from(&mut self, depth: usize) -> (String, Vec<Column>, Vec<Row>, bool) {
        let is_constant = self.chance(8);
        let (mut text, mut scope, mut rows, sorted) = if is_constant {
            let (text, scope, rows) = self.constants();
            (text, scope, rows, false)
        } else if depth > 0 && self.chance(35) {
            let inner = self.select(depth - 1);
            let alias = self.alias();
            let scope = scope(&alias, inner.columns.iter().cloned(), 0);
            (
                format!("({}) AS {alias}", inner.text),
                scope,
                inner.rows,
                inner.sorted,
            )
        } else {
            let (text, scope, rows) = self.table();
            (text, scope, rows, false)
        };
        if sorted || !(is_constant || self.chance(35)) {
            return (text, scope, rows, sorted);
        }
        // A join of two large tables would compare too many pairs.
        let (other, right, right_rows) = match self.is_large && !is_constant {
            true => self.table_of(1),
            false => self.table(),
        };
        let width = scope.len();
        let right: Vec<Column> = right
            .into_iter()
            .map(|column| Column {
                place: column.place + width,
                ..column
            })
            .collect();
        let both: Vec<Column> = scope.iter().chain(&right).cloned().collect();
        let kinds = [
            "JOIN",
            "LEFT JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN",
            "CROSS JOIN",
        ];
        let kind = match is_constant && self.chance(75) {
            true => "LEFT JOIN",
            false => self.one(&kinds[..if self.is_large { 4 } else { 5 }]),
        };
        let foreign = self.foreign_count();
        let condition = self.join_condition(&scope, &right, &both);
        if kind == "CROSS JOIN" {
            self.forget_foreign(foreign);
        }
        let global = self.foreign(&["GLOBAL", "NATURAL"]);
        text = format!("{text}{global} {kind} {other}");
        if kind != "CROSS JOIN" {
            text = format!("{text} ON {}", condition.text);
        }
        let mut joined = Vec::new();
        for left in &rows {
            let found = right_rows
                .iter()
                .map(|right| [left.as_slice(), right].concat());
            let found: Vec<Row> = found
                .filter(|row| kind == "CROSS JOIN" || condition.of(row).is_true())
                .collect();
            match kind {
                "LEFT SEMI JOIN" if !found.is_empty() => joined.push(left.clone()),
                "LEFT ANTI JOIN" if found.is_empty() => joined.push(left.clone()),
                "LEFT SEMI JOIN" | "LEFT ANTI JOIN" => {}
                "LEFT JOIN" if found.is_empty() => {
                    let missing = vec![Value::Missing; right.len()];
                    joined.push([left.as_slice(), &missing].concat());
                }
                _ => joined.extend(found),
            }
        }
        rows = joined;
        if !kind.contains("SEMI") && !kind.contains("ANTI") {
            scope = both;
        }
        (text, scope, rows, false)
    }

    /// Generates a subquery with rows of constants.
    fn constants(&mut self) -> (String, Vec<Column>, Vec<Row>) {
        let kinds = [Kind::Integer, Kind::Text];
        let mut rows: Vec<Row> = Vec::new();
        let mut selects = Vec::new();
        for _ in 0..2 + self.below(3) {
            let cells = kinds.map(|kind| self.literal(kind));
            rows.push(cells.iter().map(|cell| cell.of(&[])).collect());
            selects.push(format!(
                "SELECT {} AS a, {} AS b",
                cells[0].text, cells[1].text
            ));
        }
        let alias = self.alias();
        let names = ["a".to_owned(), "b".to_owned()];
        let scope = scope(&alias, names.into_iter().zip(kinds), 0);
        let text = format!("({}) AS {alias}", selects.join(" UNION ALL "));
        (text, scope, rows)
    }

    fn join_condition(&mut self, left: &[Column], right: &[Column], both: &[Column]) -> Expr {
        let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
        let pairs: Vec<_> = pairs.filter(|(a, b)| a.kind == b.kind).collect();
        let equal = pairs.get(self.below(pairs.len().max(1))).map(|(a, b)| {
            let (place, other) = (a.place, b.place);
            Expr::new(format!("{} = {}", a.text, b.text), move |row| {
                let order = row[place].compare(&row[other]);
                Value::from(order.map(|order| order == Ordering::Equal))
            })
        });
        match equal {
            Some(equal) if self.is_large || self.chance(70) => equal,
            Some(equal) => {
                let more = self.boolean(both, 1);
                Expr::new(format!("{} AND {}", equal.text, more.text), move |row| {
                    Value::from(and(equal.of(row).truth(), more.of(row).truth()))
                })
            }
            None => self.boolean(both, 1),
        }
    }

    fn select(&mut self, depth: usize) -> Table {
        let (from, scope, mut rows, sorted) = self.from(depth);
        let mut clauses = format!("FROM {from}");
        if self.chance(50) {
            let condition = self.condition(&scope, sorted);
            rows.retain(|row| condition.of(row).is_true());
            let word = if self.foreign(&["PREWHERE"]).is_empty() {
                "WHERE"
            } else {
                "PREWHERE"
            };
            clauses = format!("{clauses} {word} {}", condition.text);
        }
        let mut table = match self.below(16) {
            0..3 if !sorted => self.grouped(&clauses, &scope, &rows),
            3 if !sorted => self.distinct(&clauses, &scope, &rows),
            4..7 if !sorted => self.windowed(&clauses, &scope, &rows),
            7 if !sorted => self.totalled(&clauses, &scope, &rows),
            8 if !sorted => self.keyed(&clauses, &scope, &rows),
            _ => self.projected(&clauses, &scope, &rows),
        };
        table.sorted |= sorted;
        if !table.sorted && self.chance(35) {
            self.order(&mut table);
        } else {
            let constant = self.foreign(&["ORDER BY 'b'", "ORDER BY 1 + 1", "ORDER BY NULL"]);
            table.text.push_str(&constant);
        }
        if self.chance(20) {
            let count = self.below(6);
            let skip = if self.chance(50) { self.below(3) } else { 0 };
            let offset = if skip > 0 {
                format!(" OFFSET {skip}")
            } else {
                String::new()
            };
            let by = if offset.is_empty() {
                self.foreign(&["BY 1"])
            } else {
                String::new()
            };
            table.text = format!("{} LIMIT {count}{offset}{by}", table.text);
            table.rows = table.rows.into_iter().skip(skip).take(count).collect();
        }
        table
    }

    fn condition(&mut self, scope: &[Column], sorted: bool) -> Expr {
        let integers: Vec<&Column> = scope
            .iter()
            .filter(|column| column.kind == Kind::Integer)
            .collect();
        if sorted || integers.is_empty() || !self.chance(15) {
            return self.boolean(scope, 2);
        }
        let column = integers[self.below(integers.len())];
        let keys: Vec<Value> = self.tables[1]
            .rows
            .iter()
            .map(|row| row[0].clone())
            .collect();
        let (not, place, negated) = if self.chance(50) {
            (" NOT", column.place, true)
        } else {
            ("", column.place, false)
        };
        Expr::new(
            format!("{}{not} IN (SELECT key FROM u)", column.text),
            move |row| {
                if row[place] == Value::Missing {
                    return Value::Missing;
                }
                let found = keys.iter().any(|key| key.same(&row[place]));
                Value::Boolean(found != negated)
            },
        )
    }

    /// Generates a SELECT of expressions. `clauses` are its clauses from FROM on, and `rows` are the rows of these clauses.
    pub fn projected(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let owners: Vec<&str> = scope
            .iter()
            .filter_map(|column| column.text.split('.').next())
            .collect();
        let single = owners.windows(2).all(|pair| pair[0] == pair[1]);
        if single && self.chance(30) {
            return self.everything(clauses, scope, rows);
        }
        let mut items = Vec::new();
        let mut exprs = Vec::new();
        let mut columns = Vec::new();
        for place in 0..1 + self.below(4) {
            let name = format!("c{place}");
            let (expr, kind) = if self.chance(40) && !scope.is_empty() {
                let column = scope[self.below(scope.len())].clone();
                let at = column.place;
                (
                    Expr::new(column.text, move |row| row[at].clone()),
                    column.kind,
                )
            } else {
                let kind = self.kind();
                (self.expr(kind, scope, 2), kind)
            };
            items.push(format!("{} AS {name}", expr.text));
            exprs.push(expr);
            columns.push((name, kind));
        }
        let into = self.foreign(&["INTO z"]);
        Table {
            text: format!("SELECT {}{into} {clauses}", items.join(", ")),
            columns,
            rows: rows
                .iter()
                .map(|row| exprs.iter().map(|expr| expr.of(row)).collect())
                .collect(),
            sorted: false,
        }
    }

    /// Generates a SELECT of `*`, sometimes with EXCLUDE or REPLACE.
    fn everything(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let mut kept: Vec<(String, Kind, Expr)> = scope
            .iter()
            .map(|column| {
                let at = column.place;
                let expr = Expr::new(&column.text, move |row| row[at].clone());
                (column.name.clone(), column.kind, expr)
            })
            .collect();
        let mut text = "*".to_owned();
        if kept.len() > 1 && self.chance(30) {
            let gone = kept.remove(self.below(kept.len()));
            text = format!("* EXCLUDE ({})", gone.0);
        }
        if self.chance(30) {
            let place = self.below(kept.len());
            let expr = self.expr(kept[place].1, scope, 1);
            let typo = self.foreign(&["typo"]);
            let name = if typo.is_empty() {
                &kept[place].0
            } else {
                "typo"
            };
            text = format!("{text} REPLACE ({} AS {name})", expr.text);
            kept[place].2 = expr;
        }
        let wild = self.foreign(&["RENAME (id AS z)", "ILIKE 'a%'", "EXCEPT (id)"]);
        Table {
            text: format!("SELECT {text}{wild} {clauses}"),
            rows: rows
                .iter()
                .map(|row| kept.iter().map(|(_, _, expr)| expr.of(row)).collect())
                .collect(),
            columns: kept
                .into_iter()
                .map(|(name, kind, _)| (name, kind))
                .collect(),
            sorted: false,
        }
    }

    /// Adds an ORDER BY.
    fn order(&mut self, table: &mut Table) {
        let place = self.below(table.columns.len());
        let descending = self.chance(50);
        let (direction, mut missing_first) = if descending {
            (" DESC", true)
        } else {
            ("", false)
        };
        let nulls = match self.below(3) {
            0 => {
                missing_first = true;
                " NULLS FIRST"
            }
            1 => {
                missing_first = false;
                " NULLS LAST"
            }
            _ => "",
        };
        let name = &table.columns[place].0;
        let fill = self.foreign(&["WITH FILL", ", 'x'"]);
        table.text = format!("{} ORDER BY {name}{direction}{nulls}{fill}", table.text);
        table
            .rows
            .sort_by(|a, b| in_order(&a[place], &b[place], descending, missing_first));
        table.sorted = true;
    }

    pub fn kind(&mut self) -> Kind {
        [Kind::Integer, Kind::Number, Kind::Text, Kind::Boolean][self.below(4)]
    }

    /// Returns a column of this kind, if there is one.
    pub fn column_of(&mut self, kind: Kind, scope: &[Column]) -> Option<Expr> {
        let fitting: Vec<&Column> = scope.iter().filter(|column| column.kind == kind).collect();
        if fitting.is_empty() {
            return None;
        }
        let column = fitting[self.below(fitting.len())];
        let place = column.place;
        Some(Expr::new(&column.text, move |row| row[place].clone()))
    }

    pub fn expr(&mut self, kind: Kind, scope: &[Column], depth: usize) -> Expr {
        if depth == 0 || self.chance(30) {
            if let Some(column) = self.column_of(kind, scope) {
                return column;
            }
            return self.literal(kind);
        }
        if self.chance(15) {
            return self.choice(kind, scope, depth);
        }
        match kind {
            Kind::Integer => self.integer(scope, depth),
            Kind::Number => {
                let (a, b) = (
                    self.expr(kind, scope, depth - 1),
                    self.expr(kind, scope, depth - 1),
                );
                Expr::new(format!("({} + {})", a.text, b.text), move |row| {
                    match (a.of(row), b.of(row)) {
                        (Value::Number(a), Value::Number(b)) => Value::Number(a + b),
                        _ => Value::Missing,
                    }
                })
            }
            Kind::Text => self.text(scope, depth),
            Kind::Boolean => self.boolean(scope, depth),
        }
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        match kind {
            Kind::Integer => {
                let value = i64::try_from(self.below(7)).unwrap();
                Expr::new(value.to_string(), move |_| Value::Integer(value))
            }
            Kind::Number => {
                let value = self.below(8) as f64 / 2.0 + 0.25;
                Expr::new(format!("{value:?}"), move |_| Value::Number(value))
            }
            Kind::Text => {
                let value = self.one(&["a", "b", "B", "x", "it''s"]);
                Expr::new(format!("'{value}'"), move |_| {
                    Value::Text(value.replace("''", "'"))
                })
            }
            Kind::Boolean => {
                let value = self.chance(50);
                Expr::new(value.to_string(), move |_| Value::Boolean(value))
            }
        }
    }

    /// Generates coalesce or CASE.
    fn choice(&mut self, kind: Kind, scope: &[Column], depth: usize) -> Expr {
        let (a, b) = (
            self.expr(kind, scope, depth - 1),
            self.expr(kind, scope, depth - 1),
        );
        if self.chance(50) {
            let text = format!("coalesce({}, {})", a.text, b.text);
            return Expr::new(text, move |row| match a.of(row) {
                Value::Missing => b.of(row),
                value => value,
            });
        }
        let condition = self.boolean(scope, depth - 1);
        let text = format!(
            "CASE WHEN {} THEN {} ELSE {} END",
            condition.text, a.text, b.text
        );
        Expr::new(text, move |row| {
            if condition.of(row).is_true() {
                a.of(row)
            } else {
                b.of(row)
            }
        })
    }

    fn integer(&mut self, scope: &[Column], depth: usize) -> Expr {
        let a = self.expr(Kind::Integer, scope, depth - 1);
        let text = self.foreign(&["text in arithmetic"]);
        if !text.is_empty() {
            return Expr::new(format!("({} + 'a')", a.text), |_| Value::Missing);
        }
        let constant = self.foreign(&["division by zero"]);
        if !constant.is_empty() {
            return Expr::new(format!("({} / 0)", a.text), |_| Value::Missing);
        }
        let operator = self.one(&["+", "-", "*", "/", "%"]);
        let b = if operator == "/" || operator == "%" {
            let divisor = 1 + i64::try_from(self.below(4)).unwrap();
            Expr::new(divisor.to_string(), move |_| Value::Integer(divisor))
        } else {
            self.expr(Kind::Integer, scope, depth - 1)
        };
        Expr::new(format!("({} {operator} {})", a.text, b.text), move |row| {
            let (Value::Integer(a), Value::Integer(b)) = (a.of(row), b.of(row)) else {
                return Value::Missing;
            };
            Value::Integer(match operator {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                _ => a % b,
            })
        })
    }

    fn text(&mut self, scope: &[Column], depth: usize) -> Expr {
        let a = self.expr(Kind::Text, scope, depth - 1);
        let clause = self.foreign(&["FILTER (WHERE true)", "OVER ()", "::CHAR(1)"]);
        match self.below(4) {
            0 => Expr::new(format!("upper({}){clause}", a.text), move |row| {
                match a.of(row) {
                    Value::Text(text) => Value::Text(text.to_uppercase()),
                    other => other,
                }
            }),
            1 => Expr::new(format!("lower({}){clause}", a.text), move |row| {
                match a.of(row) {
                    Value::Text(text) => Value::Text(text.to_lowercase()),
                    other => other,
                }
            }),
            2 => {
                let b = self.expr(Kind::Integer, scope, depth - 1);
                let text = format!("(reverse({}){clause} || {})", a.text, b.text);
                Expr::new(text, move |row| match (a.of(row), b.of(row)) {
                    (Value::Text(a), Value::Integer(b)) => {
                        Value::Text(format!("{}{b}", a.chars().rev().collect::<String>()))
                    }
                    _ => Value::Missing,
                })
            }
            _ => {
                let b = self.expr(Kind::Text, scope, depth - 1);
                let text = format!("(trim({}){clause} || {})", a.text, b.text);
                Expr::new(text, move |row| match (a.of(row), b.of(row)) {
                    (Value::Text(a), Value::Text(b)) => {
                        Value::Text(format!("{}{b}", a.trim_matches(' ')))
                    }
                    _ => Value::Missing,
                })
            }
        }
    }

    pub fn boolean(&mut self, scope: &[Column], depth: usize) -> Expr {
        if depth == 0 {
            let column = self.column_of(Kind::Boolean, scope);
            return column.unwrap_or_else(|| self.literal(Kind::Boolean));
        }
        let branch = self.below(8);
        if branch == 6 {
            let b = self.boolean(scope, depth - 1);
            let c = self.boolean(scope, depth - 1);
            let is_and = self.chance(50);
            let word = if is_and { "AND" } else { "OR" };
            return Expr::new(format!("({} {word} {})", b.text, c.text), move |row| {
                let (b, c) = (b.of(row).truth(), c.of(row).truth());
                Value::from(if is_and { and(b, c) } else { or(b, c) })
            });
        }
        if branch == 7 {
            let b = self.boolean(scope, depth - 1);
            return Expr::new(format!("(NOT {})", b.text), move |row| {
                Value::from(b.of(row).truth().map(|truth| !truth))
            });
        }
        let kind = [Kind::Integer, Kind::Number, Kind::Text][self.below(3)];
        let a = self.expr(kind, scope, depth - 1);
        if !self.foreign(&["text and number"]).is_empty() {
            let text = match kind {
                Kind::Text => format!("({} = 1)", a.text),
                _ => format!("({} IN ('1', '2'))", a.text),
            };
            return Expr::new(text, |_| Value::Missing);
        }
        match branch {
            0 => Expr::new(format!("({} IS NULL)", a.text), move |row| {
                Value::Boolean(a.of(row) == Value::Missing)
            }),
            1 => {
                let b = self.expr(kind, scope, depth - 1);
                let text = format!("({} IS DISTINCT FROM {})", a.text, b.text);
                Expr::new(text, move |row| Value::Boolean(!a.of(row).same(&b.of(row))))
            }
            2 => {
                let items: Vec<Expr> = (0..1 + self.below(3)).map(|_| self.literal(kind)).collect();
                let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
                let text = format!("({} IN ({}))", a.text, texts.join(", "));
                Expr::new(text, move |row| match a.of(row) {
                    Value::Missing => Value::Missing,
                    value => Value::Boolean(items.iter().any(|item| item.of(row).same(&value))),
                })
            }
            3 => {
                let (low, high) = (self.literal(kind), self.literal(kind));
                let text = format!("({} BETWEEN {} AND {})", a.text, low.text, high.text);
                Expr::new(text, move |row| {
                    let value = a.of(row);
                    let from = value
                        .compare(&low.of(row))
                        .map(|order| order != Ordering::Less);
                    let to = value
                        .compare(&high.of(row))
                        .map(|order| order != Ordering::Greater);
                    Value::from(and(from, to))
                })
            }
            _ => {
                let b = self.expr(kind, scope, depth - 1);
                let operator = self.one(&["=", "<>", "<", "<=", ">", ">="]);
                Expr::new(format!("({} {operator} {})", a.text, b.text), move |row| {
                    let order = a.of(row).compare(&b.of(row));
                    Value::from(order.map(|order| match operator {
                        "=" => order == Ordering::Equal,
                        "<>" => order != Ordering::Equal,
                        "<" => order == Ordering::Less,
                        "<=" => order != Ordering::Greater,
                        ">" => order == Ordering::Greater,
                        _ => order != Ordering::Less,
                    }))
                })
            }
        }
    }
}

/// Returns the columns of a table as `alias.name`, with indices from `start` on.
pub fn scope(
    alias: &str,
    columns: impl Iterator<Item = (String, Kind)>,
    start: usize,
) -> Vec<Column> {
    let column = |(index, (name, kind)): (usize, (String, Kind))| Column {
        text: format!("{alias}.{name}"),
        name,
        kind,
        place: start + index,
    };
    columns.enumerate().map(column).collect()
}
