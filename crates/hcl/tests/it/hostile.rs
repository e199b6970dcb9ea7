//! Texts that try to use up memory or time end in a problem, soon.

use crate::fixed;
use hcl::{EvalContext, Limits, read, variables};
use std::fmt::Write as _;

/// The summary of the first problem.
fn problem(text: &str) -> String {
    let body = match hcl::parse("t", text, &Limits::default()) {
        Ok(body) => body,
        Err(problems) => return problems[0].summary.clone(),
    };
    let mut ctx = EvalContext::new(&body, &Limits::default(), &fixed);
    let (_, mut problems) = variables::resolve(&body, &mut ctx, &[]);
    let (_, more) = read(&body, &ctx, |fields| {
        fields.ignore_blocks(&variables::BLOCKS);
        fields.value_or_null("x");
        fields.blocks("b", &[], |_| ());
    });
    problems.extend(more);
    problems.first().map_or_else(|| "fine".to_owned(), |problem| problem.summary.clone())
}

#[test]
fn doubling_locals_reach_the_limit() {
    let mut text = "locals {\n  a0 = \"0123456789abcdef\"\n".to_owned();
    for i in 1..40 {
        let _ = writeln!(text, "  a{i} = \"${{local.a{0}}}${{local.a{0}}}\"", i - 1);
    }
    text.push_str("}\n");
    assert_eq!(problem(&text), "Evaluation limit reached");
    let lists = text.replace("\"${", "[").replace("}${", ", ").replace("}\"", "]");
    assert_ne!(problem(&lists), "fine");
}

#[test]
fn deep_values_and_wide_loops_reach_a_limit() {
    let mut text = "locals {\n  a0 = 1\n".to_owned();
    for i in 1..4000 {
        let _ = writeln!(text, "  a{i} = [local.a{}]", i - 1);
    }
    text.push_str("}\n");
    assert_eq!(problem(&text), "Value nested too deeply");
    let nested = "x = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]";
    assert_eq!(problem(nested), "Evaluation limit reached");
    assert_ne!(problem("x = setproduct(range(1000), range(1000), range(1000))"), "fine");
    assert_ne!(problem("x = indent(999999999999, \"a\\nb\")"), "fine");
    assert_ne!(problem("x = format(\"%999999999d\", 1)"), "fine");
    assert_ne!(problem("x = [for a in range(1000) : bcrypt(\"a\", 12)]"), "fine");
    assert_ne!(problem("x = regex_replace(\"a\", \"((a{900}){900}){900}\", \"\")"), "fine");
}

#[test]
fn values_larger_than_their_text_are_paid_for_before_they_are_built() {
    let defaults = format!(
        "variable \"v\" {{\n  type = list(object({{ a = optional(string, \"{}\") }}))\n  default = [{}]\n}}\n",
        "x".repeat(10_000),
        "{},".repeat(20_000)
    );
    assert_ne!(problem(&defaults), "fine");
    let mut bomb = "a0: &a0 [x, x]\\n".to_owned();
    for i in 1..40 {
        let _ = write!(bomb, "a{i}: &a{i} [*a{0}, *a{0}]\\n", i - 1);
    }
    assert_eq!(problem(&format!("x = yamldecode(\"{bomb}\")")), "Error in function call");
    let wide = format!("x = csvdecode(\"{}{}\")", "n".repeat(100_000), "\\n1".repeat(100_000));
    assert_ne!(problem(&wide), "fine");
    let references = "$1".repeat(10_000);
    let text = format!("x = regex_replace(\"{}\", \"(.*)\", \"{references}\")", "t".repeat(20_000));
    assert_ne!(problem(&text), "fine");
}

#[test]
fn deepest_allowed_nesting_of_every_form_fits_the_stack() {
    let forms = [
        ("[", "]"),
        ("(", ")"),
        ("{ a = ", " }"),
        ("upper(", ")"),
        ("\"${", "}\""),
        ("\"%{ if true }${", "}%{ endif }\""),
        ("[for x in [1] : ", "]"),
        ("{ for x in [1] : x => ", " }"),
        ("true ? ", " : 1"),
        ("!", ""),
        ("1 + (", ")"),
        ("[0][", "]"),
        ("try(", ")"),
        ("1 + 1 + 1 + [", "][0]"),
    ];
    for (open, close) in forms {
        for depth in 1..70 {
            problem(&format!("x = {}1{}", open.repeat(depth), close.repeat(depth)));
        }
    }
    for depth in 1..70 {
        problem(&format!("{}{}", "b {\n".repeat(depth), "}\n".repeat(depth)));
    }
    problem(&format!("x = {}1", "1 + ".repeat(128)));
}

proptest::proptest! {
    #[test]
    fn no_soup_of_tokens_makes_it_panic(
        words in proptest::collection::vec(proptest::sample::select(SOUP), 1..40)
    ) {
        problem(&words.concat());
        problem(&format!("x = {}\n", words.concat()));
        let _ = hcl::parse_config("t", &words.concat());
    }
}

/// What the soup is cooked from.
const SOUP: &[&str] = &[
    "x",
    " = ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "${",
    "%{",
    "~",
    "if ",
    "for ",
    "in ",
    " : ",
    "=>",
    "...",
    ".",
    "*",
    "1",
    "-",
    "é",
    "<<EOT\n",
    "<<-E\n",
    "EOT\n",
    "E\n",
    "\n",
    " ",
    "#",
    "/*",
    "*/",
    "\\",
    "endif",
    "endfor",
    "else",
    "null",
    "true",
    "? ",
    "b ",
    "dynamic ",
    "\"b\" ",
    "variable ",
    "locals ",
    "local.",
    "var.",
    "upper",
    "try",
    ",",
    "$$",
    "0x1",
    "9999999999999999999999999",
];

#[test]
fn dynamic_blocks_are_counted_over_the_whole_file() {
    let block = "dynamic \"b\" {\n  for_each = range(1000)\n  content {}\n}\n";
    assert_eq!(problem(&block.repeat(5)), "fine");
    assert_eq!(problem(&block.repeat(15)), "Too many dynamic blocks");
}

#[test]
fn problems_are_cut_off_at_a_number_that_can_be_read() {
    let text: String = (0..1000).map(|i| format!("a{i} = 1\n")).collect();
    let body = hcl::parse("t", &text, &Limits::default()).expect("good syntax");
    let ctx = EvalContext::new(&body, &Limits::default(), &fixed);
    let ((), problems) = read(&body, &ctx, |_| ());
    assert_eq!(problems.len(), hcl::limits::DIAGNOSTICS);
}

/// The summary of the first problem of a text in the JSON spelling, read with a schema like a job's.
fn json_problem(text: &str) -> String {
    fn reader(fields: &mut hcl::Fields<'_>) {
        fields.value_or_null("x");
        fields.blocks("b", &["name"], |inner| inner.string_map("meta"));
    }
    let schema = hcl::Schema::of(reader).with_variables();
    let body = match hcl::parse_json("t", text, &schema, &Limits::default()) {
        Ok(body) => body,
        Err(problems) => return format!("{} ({})", problems[0].summary, problems.len()),
    };
    let mut ctx = EvalContext::new(&body, &Limits::default(), &fixed);
    let (_, mut problems) = variables::resolve(&body, &mut ctx, &[]);
    let (_, more) = read(&body, &ctx, |fields| {
        fields.ignore_blocks(&variables::BLOCKS);
        reader(fields);
    });
    problems.extend(more);
    let count = problems.len();
    problems
        .first()
        .map_or_else(|| "fine".to_owned(), |first| format!("{} ({count})", first.summary))
}

#[test]
fn the_json_spelling_has_the_same_limits() {
    assert_eq!(json_problem(&format!("{{\"x\": {}", "[".repeat(100_000))), "Nesting too deep (1)");
    assert_eq!(json_problem(&format!("{{{}}}", " ".repeat(2 << 20))), "File too large (1)");
    let names = |count: usize, value: &str| -> String {
        let items: Vec<String> = (0..count).map(|at| format!("\"k{at}\": {value}")).collect();
        items.join(",")
    };
    assert_eq!(json_problem(&format!("{{\"x\": {{{}}}}}", names(5000, "1"))), "Too many items (1)");
    // Many problems in one long line: no more are kept than anybody reads, and each is found fast.
    let many = format!("{{{}}}", names(4000, "\"${a b}\""));
    assert_eq!(json_problem(&many), "Invalid interpolation (100)");
    let many = format!("{{\"b\": {{\"n\": {{\"meta\": [1], {}}}}}}}", names(4000, "1"));
    assert_eq!(json_problem(&many), "Unsuitable value type (100)");
    let blocks: Vec<String> = (0..20_000).map(|at| format!("\"b{at}\": {{}}")).collect();
    assert_eq!(json_problem(&format!("{{\"b\": {{{}}}}}", blocks.join(","))), "fine");
    let doubling: Vec<String> = (1..40)
        .map(|at| format!("\"a{at}\": \"${{local.a{0}}}${{local.a{0}}}\"", at - 1))
        .collect();
    let text = format!("{{\"locals\": {{\"a0\": \"0123456789abcdef\", {}}}}}", doubling.join(","));
    assert!(json_problem(&text).starts_with("Evaluation limit reached"), "{}", json_problem(&text));
}

#[test]
fn saying_what_is_wrong_takes_linear_time() {
    // One line each, so that whatever looks at whole lines for each bracket would not end.
    for piece in ["{}", "[]", "\"${a}\" ", "(", "\"${", "<<E\n", "a = \"", "}", "\"\\\""] {
        let text = format!("{} x = {} ?", " ".repeat(200_000), piece.repeat(200_000));
        assert_ne!(problem(&text), "fine", "{piece}");
    }
}
