//! Plain tables: columns two spaces apart, and `key = value` lists.

/// What stands for an empty value.
pub(crate) const NONE: &str = "<none>";

/// A table being built.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|text| (*text).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// True without rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The text, without a line break at the end. Empty cells read `<none>`.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let shown = |cell: &String| if cell.is_empty() { NONE.to_owned() } else { cell.clone() };
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            line.trim_end().to_owned()
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A list of `key = value` lines being built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    pairs: Vec<(String, String)>,
}

impl Pairs {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, key: &str, value: impl ToString) -> &mut Self {
        self.pairs.push((key.to_owned(), value.to_string()));
        self
    }

    /// True without lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The text with the signs below one another. Empty values read `<none>`.
    pub(crate) fn render(&self) -> String {
        let width = self.pairs.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
        let line = |(key, value): &(String, String)| {
            let value = if value.is_empty() { NONE } else { value };
            format!("{key:<width$} = {value}").trim_end().to_owned()
        };
        self.pairs.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The text with every line that is not empty moved to the right.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let line = |line: &str| {
        if line.is_empty() { String::new() } else { format!("{:by$}{line}", "") }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["ID", "Status", "Note"]);
        table.row(["job-with-name", "run", ""]);
        table.row(["é", "pending", "x"]);
        expect![[r#"
            ID             Status   Note
            job-with-name  run      <none>
            é              pending  x"#]]
        .assert_eq(&table.render());
    }

    #[test]
    fn pairs_line_up_at_the_sign() {
        let mut pairs = Pairs::new();
        pairs.add("ID", "a").add("Submit Date", 3).add("Note", "");
        expect![[r#"
            ID          = a
            Submit Date = 3
            Note        = <none>"#]]
        .assert_eq(&pairs.render());
    }
}
