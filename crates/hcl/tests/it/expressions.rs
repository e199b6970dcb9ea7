//! Each form of expression, with the conversions of HCL.

use crate::check;

#[test]
fn operators_convert_texts_to_numbers_and_bools() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("\"1\" + 2", "3"),
        ("(1 + 2) * 3", "9"),
        ("7 % 4", "3"),
        ("7 / 2", "3.5"),
        ("-var.n", "-5"),
        ("0.1 + 0.2", "0.3"),
        ("99999999999999999999999 - 1 == 99999999999999999999998", "true"),
        ("18446744073709551615", "18446744073709551615"),
        ("var.n >= 5 && !(var.n < 5)", "true"),
        ("\"true\" || false", "true"),
        ("\"1\" == 1", "false"),
        ("1 == 1.0", "true"),
        ("[1, \"a\"] == [1, \"a\"]", "true"),
        ("null == var.none", "true"),
        (
            "true && \"maybe\"",
            "Invalid operand: Unsuitable value for right operand: bool required.",
        ),
        ("[] + 1", "Invalid operand: Unsuitable value for left operand: a number is required."),
        ("4 / 0", "Division by zero: Numbers cannot be divided by zero."),
    ]);
}

#[test]
fn conditionals_bring_both_results_to_one_type() {
    check(&[
        ("var.yes ? 1 : 2", "1"),
        ("\"false\" ? 1 : 2", "2"),
        ("true ? 1 : \"a\"", "\"1\""),
        ("true ? null : \"a\"", "null"),
        ("true ? [\"a\"] : []", "[\"a\"]"),
        ("true ? \"fine\" : var.missing", "\"fine\""),
        (
            "true ? 1 : [1]",
            "Inconsistent conditional result types: The true and false result expressions must have \
             consistent types; one is a number, the other a list.",
        ),
        (
            "\"yes\" ? [\"a\"] : [\"b\"]",
            "Incorrect condition type: The condition expression must be of type bool.",
        ),
    ]);
}

#[test]
fn for_expressions_make_lists_objects_and_groups() {
    check(&[
        ("[for x in var.list : upper(x)]", "[\"A\",\"B\",\"C\"]"),
        ("[for i, x in var.list : \"${i}${x}\" if i > 0]", "[\"1b\",\"2c\"]"),
        ("[for k, v in { b = 1, a = 2 } : \"${k}${v}\"]", "[\"a2\",\"b1\"]"),
        ("{ for u in var.users : u.name => u.age }", "{\"ada\":36,\"bob\":25}"),
        (
            "{ for x in [\"aa\", \"ab\", \"b\"] : substr(x, 0, 1) => x... }",
            "{\"a\":[\"aa\",\"ab\"],\"b\":[\"b\"]}",
        ),
        (
            "{ for x in [1, 2] : \"k\" => x }",
            "Duplicate object key: Two items have the key \"k\"; with \"...\" behind the value they are \
             grouped.",
        ),
        ("[for x in null : x]", "Iteration over null value: A null value cannot be iterated over."),
        (
            "[for x in 1 : x]",
            "Iteration over non-iterable value: A number cannot be iterated over; a list or object can.",
        ),
    ]);
}

#[test]
fn traversals_index_and_splat() {
    check(&[
        ("var.users[1].name", "\"bob\""),
        ("var.users.0.name", "\"ada\""),
        ("var.map[\"k\"]", "\"v\""),
        ("var.list[\"1\"]", "\"b\""),
        ("var.users[*].name", "[\"ada\",\"bob\"]"),
        ("var.users.*.age", "[36,25]"),
        ("var.users.*.name[0]", "\"ada\""),
        ("var.users[*].name[0]", "Invalid index: A string has no elements."),
        ("var.none[*].x", "[]"),
        ("var.map[*].k", "[\"v\"]"),
        ("{ a = { b = [1, 2] } }.a.b[1]", "2"),
        ("[[\"a\"], [\"b\"]][1][0]", "\"b\""),
        (
            "var.list[3]",
            "Invalid index: The given index or key does not identify an element in this collection value.",
        ),
        (
            "var.sx",
            "Unsupported attribute: The file has no variable named \"sx\". Did you mean \"s\"?",
        ),
        (
            "var.none.x",
            "Attempt to get attribute from null value: This value is null, so it does not have any \
             attributes.",
        ),
        ("vat.n", "Unknown variable: There is no variable named \"vat\". Did you mean \"var\"?"),
    ]);
}

#[test]
fn objects_take_every_spelling_of_keys() {
    check(&[
        ("{ b = 1, a : 2, \"c d\" = 3 }", "{\"a\":2,\"b\":1,\"c d\":3}"),
        ("{ (var.s) = 1, \"${var.s}2\" = 2 }", "{\"text\":1,\"text2\":2}"),
        ("{ 1 = true }", "{\"1\":true}"),
        ("{ (null) = 1 }", "Invalid object key: A key must be a string, not null."),
    ]);
}

#[test]
fn calls_expand_lists_and_try_is_lazy() {
    check(&[
        ("max([1, 9, 3]...)", "9"),
        ("try(var.missing, var.list[9], \"last\")", "\"last\""),
        ("can(var.missing)", "false"),
        ("can(var.n)", "true"),
        (
            "max(1...)",
            "Invalid expanding argument value: The expression before \"...\" must be a list.",
        ),
        (
            "shout(1)",
            "Call to unknown function: There is no function named \"shout\". Did you mean \"sort\"?",
        ),
        (
            "replace(\"a\")",
            "Not enough function arguments: Function \"replace\" expects 3 argument(s). Missing value \
             for \"substr\".",
        ),
        (
            "upper([\"x\"])",
            "Invalid function argument: Invalid value for \"str\" parameter of \"upper\": string required.",
        ),
        (
            "upper(\"a\", 1)",
            "Too many function arguments: Function \"upper\" expects only 1 argument(s).",
        ),
    ]);
}
