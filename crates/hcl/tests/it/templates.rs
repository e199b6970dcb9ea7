//! Texts with interpolations, directives, strip marks, heredocs and runtime names.

use crate::check;

#[test]
fn interpolations_become_text_and_a_single_one_keeps_its_type() {
    check(&[
        ("\"${var.n}\"", "5"),
        ("\"n=${var.n}\"", "\"n=5\""),
        ("\"${var.yes}!\"", "\"true!\""),
        ("\"$${not} %%{not} $ % {\"", "\"${not} %{not} $ % {\""),
        ("\"tab\\tnl\\nquote\\\"back\\\\u\\u00e9\"", "\"tab\\tnl\\nquote\\\"back\\\\ué\""),
        ("\"${\"inner ${var.s}\"} outer\"", "\"inner text outer\""),
        (
            "\"a${var.none}\"",
            "Invalid template interpolation value: The expression result is null. Cannot include a \
             null value in a string template.",
        ),
        (
            "\"a${var.list}\"",
            "Invalid template interpolation value: Cannot include a list in a string template: \
             string required. join(\", \", list) makes a text of a list, jsonencode(value) of \
             anything.",
        ),
    ]);
}

#[test]
fn names_only_the_client_knows_stay_as_written() {
    check(&[
        (
            "\"${attr.kernel.name}-${node.unique.name}\"",
            "\"${attr.kernel.name}-${node.unique.name}\"",
        ),
        ("\"${NOMAD_PORT_http}\"", "\"${NOMAD_PORT_http}\""),
        ("\"${env[\"X\"]}\"", "\"${env[\\\"X\\\"]}\""),
        ("\"${meta.my-key}${var.n}\"", "\"${meta.my-key}5\""),
        ("\"${ device.attr.x }\"", "\"${ device.attr.x }\""),
        ("\"${anything.else}\"", "\"${anything.else}\""),
        ("attr.cpu.arch", "\"${attr.cpu.arch}\""),
        ("NOMAD_TASK_DIR", "\"${NOMAD_TASK_DIR}\""),
        ("[for meta in [\"m\"] : \"${meta}\"]", "[\"m\"]"),
        (
            "\"${upper(unknown.x)}\"",
            "Unknown variable: There is no variable named \"unknown\". A variable is written var.unknown, a local value local.unknown, and a text stands in quotes: \"unknown\".",
        ),
    ]);
}

#[test]
fn directives_choose_and_repeat() {
    check(&[
        ("\"%{ if var.yes }a%{ else }b%{ endif }\"", "\"a\""),
        ("\"%{ if !var.yes }a%{ endif }.\"", "\".\""),
        ("\"%{ for x in var.list }<${x}>%{ endfor }\"", "\"<a><b><c>\""),
        ("\"%{ for i, x in var.list }${i}${x}%{ endfor }\"", "\"0a1b2c\""),
        ("\"a  ${~ var.s ~}  b\"", "\"atextb\""),
        ("\"%{ for x in var.list ~} ${x}, %{~ endfor }\"", "\"a,b,c,\""),
    ]);
}

#[test]
fn heredocs_keep_or_lose_their_indentation() {
    check(&[
        ("<<EOT\ntop\n  in \\n ${var.n}\nEOT", "\"top\\n  in \\\\n 5\\n\""),
        ("<<-EOT\n    a\n      b\n    EOT", "\"a\\n  b\\n\""),
        ("<<EOT\nEOT", "\"\""),
        (
            "<<EOT\n%{ for x in var.list ~}\n  - ${x}\n%{ endfor ~}\nend\nEOT",
            "\"  - a\\n  - b\\n  - c\\nend\\n\"",
        ),
        ("<<EOT\na\n  ${~ var.n ~}  \nb\nEOT", "\"a\\n5b\\n\""),
        ("<<EOT\n$${x} ${NOMAD_X}\nEOT", "\"${x} ${NOMAD_X}\\n\""),
    ]);
}
