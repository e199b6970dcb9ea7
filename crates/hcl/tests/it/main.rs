//! The language as its users see it: short texts in, values or problems out.

mod config;
mod expressions;
mod fields;
mod functions;
mod hostile;
mod templates;
mod variables;

use hcl::{Diagnostic, EvalContext, Files, Limits, Value, read};

/// Sixteen bytes that stand for random ones.
fn fixed() -> [u8; 16] {
    [7; 16]
}

/// A context's file system with three files.
struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "a.txt" => Ok(b"content\n".to_vec()),
            "/home/u/b.bin" => Ok(vec![0xff, 0]),
            path => Err(format!("no file {path}")),
        }
    }

    fn exists(&self, path: &str) -> bool {
        self.read(path).is_ok()
    }

    fn list(&self, _directory: &str) -> Result<Vec<String>, String> {
        Ok(["x.hcl", "d/y.hcl", "d/e/z.txt"].map(str::to_owned).to_vec())
    }

    fn working_directory(&self) -> String {
        "/work/jobs".to_owned()
    }

    fn home_directory(&self) -> Option<String> {
        Some("/home/u".to_owned())
    }
}

/// Evaluates an expression among a few known names.
fn evaluate(expr: &str, files: Option<&dyn Files>) -> Result<Value, Diagnostic> {
    let text = format!("x = {expr}\n");
    let body = hcl::parse("t", &text, &Limits::default()).map_err(|mut all| all.remove(0))?;
    let mut ctx = EvalContext::new(&body, &Limits::default(), &fixed);
    if let Some(files) = files {
        ctx = ctx.with_files(files);
    }
    let json = serde_json::json!({
        "n": 5, "s": "text", "list": ["a", "b", "c"], "none": null, "yes": true,
        "users": [{ "name": "ada", "age": 36 }, { "name": "bob", "age": 25 }],
        "map": { "k": "v", "z": "y" },
    });
    ctx.set("var", Value::from(&json));
    let (value, problems) = read(&body, &ctx, |fields| fields.value_or_null("x"));
    match problems.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(value.expect("no problem, so there is a value")),
    }
}

/// Evaluates each expression; the result is JSON, or a problem's summary and detail.
fn check(cases: &[(&str, &str)]) {
    for (expr, expected) in cases {
        let found = match evaluate(expr, None) {
            Ok(value) => serde_json::Value::from(&value).to_string(),
            Err(problem) => format!("{}: {}", problem.summary, problem.detail),
        };
        assert_eq!(found, *expected, "{expr}");
    }
}
