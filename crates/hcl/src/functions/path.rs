//! Functions on paths and files; files come from the host, if it grants any.

use super::{Args, Function, Kind};
use crate::context::Files;
use crate::value::Value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

/// Largest file that the functions read, in bytes.
const FILE_BYTES: usize = 4 << 20;

const PATH: &[super::Param] = &[("path", Kind::Text)];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("abspath", PATH, |args| {
        let path = args.text(0);
        let absolute = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", files(args)?.working_directory())
        };
        Ok(clean(&absolute).into())
    }),
    Function::new("basename", PATH, |args| {
        let path = args.text(0);
        let trimmed = path.trim_end_matches('/');
        Ok(match (path, trimmed) {
            ("", _) => ".".into(),
            (_, "") => "/".into(),
            (_, path) => path.rsplit('/').next().unwrap_or(path).into(),
        })
    }),
    Function::new("dirname", PATH, |args| {
        let path = args.text(0);
        Ok(clean(path.rfind('/').map_or("", |end| &path[..=end])).into())
    }),
    Function::new("file", PATH, |args| {
        let bytes = read(args)?;
        let text = String::from_utf8(bytes);
        text.map(Value::String)
            .map_err(|_| "the file is not UTF-8 text; filebase64 reads it".to_owned())
    }),
    Function::new("filebase64", PATH, |args| Ok(STANDARD.encode(read(args)?).into())),
    Function::new("fileexists", PATH, |args| {
        let files = files(args)?;
        Ok(Value::Bool(files.exists(&expand(files, args.text(0))?)))
    }),
    Function::new("fileset", &[("path", Kind::Text), ("pattern", Kind::Text)], |args| {
        let files = files(args)?;
        let pattern = glob(args.text(1))?;
        let mut found = files.list(&expand(files, args.text(0))?)?;
        found.retain(|path| pattern.is_match(path));
        found.sort();
        Ok(Value::List(found.into_iter().map(Value::String).collect()))
    }),
    Function::new("pathexpand", PATH, |args| Ok(expand(files(args)?, args.text(0))?.into())),
];

fn files<'a>(args: &Args<'a>) -> Result<&'a dyn Files, String> {
    args.ctx.files.ok_or_else(|| "file functions are available on the command line only".to_owned())
}

fn read(args: &Args<'_>) -> Result<Vec<u8>, String> {
    let files = files(args)?;
    let bytes = files.read(&expand(files, args.text(0))?)?;
    if bytes.len() > FILE_BYTES {
        return Err(format!("the file has more than {FILE_BYTES} bytes"));
    }
    Ok(bytes)
}

fn expand(files: &dyn Files, path: &str) -> Result<String, String> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(path.to_owned());
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err("cannot expand the home directory of another user".to_owned());
    }
    let home = files.home_directory().ok_or("the home directory is not known")?;
    Ok(format!("{home}{rest}"))
}

/// Removes `.`, `..` and doubled slashes without looking at the file system.
fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// A glob pattern with `*`, `**`, `?`, `[...]` and `{a,b}` as a regular expression.
fn glob(pattern: &str) -> Result<Regex, String> {
    let mut out = String::from("^");
    let mut chars = pattern.chars().peekable();
    let mut braces = 0;
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.peek() == Some(&'*') => {
                chars.next();
                if chars.peek() == Some(&'/') {
                    chars.next();
                    out.push_str("(?:.*/)?");
                } else {
                    out.push_str(".*");
                }
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => {
                out.push('[');
                if matches!(chars.peek(), Some('!' | '^')) {
                    chars.next();
                    out.push('^');
                }
                for c in chars.by_ref() {
                    if c == '[' || c == '&' || c == '~' {
                        out.push('\\');
                    }
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '{' => {
                braces += 1;
                out.push_str("(?:");
            }
            '}' if braces > 0 => {
                braces -= 1;
                out.push(')');
            }
            ',' if braces > 0 => out.push('|'),
            '\\' => {
                let c = chars.next().unwrap_or('\\');
                out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            }
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('$');
    Regex::new(&out).map_err(|_| format!("invalid pattern {pattern:?}"))
}
