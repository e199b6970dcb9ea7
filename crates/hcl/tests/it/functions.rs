//! Every function at least once, most of all at its edges.

use crate::{Disk, check, evaluate};

#[test]
fn numbers() {
    check(&[
        ("abs(-4)", "4"),
        ("ceil(1.2)", "2"),
        ("floor(-1.2)", "-2"),
        ("log(8, 2)", "3"),
        (
            "log(0, 2)",
            "Error in function call: Call to function \"log\" failed: the result is not a number.",
        ),
        ("max(1, 9, \"3\")", "9"),
        ("min(4, 2)", "2"),
        ("parseint(\"ff\", 16)", "255"),
        ("parseint(\"-Z\", 62)", "-61"),
        (
            "parseint(\"8\", 8)",
            "Error in function call: Call to function \"parseint\" failed: cannot parse \"8\" as a base 8 integer.",
        ),
        ("pow(2, 10)", "1024"),
        ("pow(2, 0.5) > 1.41", "true"),
        ("signum(-3)", "-1"),
    ]);
}

#[test]
fn collections() {
    check(&[
        ("chunklist([1, 2, 3], 2)", "[[1,2],[3]]"),
        ("coalesce(null, \"\", \"b\")", "\"\""),
        ("coalesce(null, 1, \"b\")", "\"1\""),
        ("coalescelist([], [1])", "[1]"),
        ("compact([\"a\", \"\", null, \"b\"])", "[\"a\",\"b\"]"),
        ("concat([1], [], [2])", "[1,2]"),
        ("contains(var.list, \"b\")", "true"),
        ("distinct([\"a\", \"b\", \"a\"])", "[\"a\",\"b\"]"),
        ("element(var.list, 4)", "\"b\""),
        (
            "element([], 0)",
            "Error in function call: Call to function \"element\" failed: cannot use element on an empty list.",
        ),
        ("flatten([[1], [2, [3, []]]])", "[1,2,3]"),
        ("index(var.map, \"z\")", "\"y\""),
        ("index(var.list, 1)", "\"b\""),
        ("keys({ z = 1, a = 2 })", "[\"a\",\"z\"]"),
        ("values({ z = 1, a = 2 })", "[2,1]"),
        ("length({ z = 1 })", "1"),
        (
            "length(\"four\")",
            "Error in function call: Call to function \"length\" failed: collection must be a list, a map or a tuple.",
        ),
        ("lookup(var.map, \"no\", \"d\")", "\"d\""),
        ("lookup(var.map, \"k\")", "\"v\""),
        ("merge({ a = 1, b = 1 }, null, { b = 2 })", "{\"a\":1,\"b\":2}"),
        ("range(3)", "[0,1,2]"),
        ("range(1, 4)", "[1,2,3]"),
        ("range(4, 1, -2)", "[4,2]"),
        (
            "range(100000)",
            "Error in function call: Call to function \"range\" failed: more than 1024 values were generated.",
        ),
        ("reverse([1, 2])", "[2,1]"),
        ("reverse(\"abc\")", "\"cba\""),
        ("setintersection([\"b\", \"a\"], [\"a\", \"b\", \"c\"])", "[\"a\",\"b\"]"),
        ("setproduct([1, 2], [\"a\"])", "[[1,\"a\"],[2,\"a\"]]"),
        ("setunion([\"b\"], [\"a\", \"b\"])", "[\"a\",\"b\"]"),
        ("slice(var.list, 1, 3)", "[\"b\",\"c\"]"),
        ("sort([\"c\", \"a\"])", "[\"a\",\"c\"]"),
        ("zipmap([\"x\", \"y\"], [1, 2])", "{\"x\":1,\"y\":2}"),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("chomp(\"line\\r\\n\\n\")", "\"line\""),
        ("indent(2, \"a\\nb\")", "\"a\\n  b\""),
        ("join(\"+\", [\"a\"], [\"b\", 1])", "\"a+b+1\""),
        ("lower(\"ÄB\")", "\"äb\""),
        ("upper(\"äb\")", "\"ÄB\""),
        ("regex_replace(\"a1b22\", \"[0-9]+\", \"#\")", "\"a#b#\""),
        ("regex_replace(\"ab\", \"(a)(?P<x>b)\", \"$${x}$1\")", "\"ba\""),
        ("replace(\"a-b-c\", \"-\", \"_\")", "\"a_b_c\""),
        ("split(\",\", \"x,y\")", "[\"x\",\"y\"]"),
        ("strlen(\"äö\")", "2"),
        ("strrev(\"abc\")", "\"cba\""),
        ("substr(\"abcdef\", 2, 3)", "\"cde\""),
        ("substr(\"abcdef\", -2, -1)", "\"ef\""),
        ("title(\"hello wor-ld\")", "\"Hello Wor-Ld\""),
        ("trim(\"??x??\", \"?\")", "\"x\""),
        ("trimprefix(\"foobar\", \"foo\")", "\"bar\""),
        ("trimsuffix(\"foobar\", \"bar\")", "\"foo\""),
        ("trimspace(\" x \")", "\"x\""),
    ]);
}

#[test]
fn format_follows_the_verbs_of_go() {
    check(&[
        ("format(\"%s-%03d-%q\", \"x\", 7, \"q\")", "\"x-007-\\\"q\\\"\""),
        ("format(\"%5s|%-5s|%.1s\", \"ab\", \"ab\", \"ab\")", "\"   ab|ab   |a\""),
        ("format(\"%x %X %#x %b %o\", 255, 255, 255, 5, 8)", "\"ff FF 0xff 101 10\""),
        ("format(\"%.2f %e %g %+d\", 3.14159, 1500, 1.5, 3)", "\"3.14 1.500000e+03 1.5 +3\""),
        ("format(\"%v %v %v\", [1, \"a\"], true, 1000000)", "\"[1,\\\"a\\\"] true 1000000\""),
        ("format(\"%#v %t%%\", \"a\", false)", "\"\\\"a\\\" false%\""),
        ("format(\"%[2]s %[1]s\", \"a\", \"b\")", "\"b a\""),
        ("format(\"%06.2f\", -1.5)", "\"-01.50\""),
        (
            "format(\"%s\")",
            "Error in function call: Call to function \"format\" failed: not enough arguments for %s: there is no argument 1.",
        ),
        (
            "format(\"x\", 1)",
            "Error in function call: Call to function \"format\" failed: too many arguments; only 0 used by the format.",
        ),
        ("formatlist(\"<%s%s>\", [\"p\", \"q\"], \"!\")", "[\"<p!>\",\"<q!>\"]"),
    ]);
}

#[test]
fn encodings() {
    check(&[
        ("base64encode(\"hello\")", "\"aGVsbG8=\""),
        ("base64decode(\"aGVsbG8=\")", "\"hello\""),
        ("csvdecode(\"a,b\\n1,2\\n\")", "[{\"a\":\"1\",\"b\":\"2\"}]"),
        (
            "jsonencode({ b = [1, true, null, 1.5], a = \"<x>\" })",
            "\"{\\\"a\\\":\\\"\\\\u003cx\\\\u003e\\\",\\\"b\\\":[1,true,null,1.5]}\"",
        ),
        ("jsondecode(\"{\\\"k\\\": [10, 20]}\").k[1]", "20"),
        ("urlencode(\"a b&c\")", "\"a+b%26c\""),
        ("yamldecode(\"k: [v, 1, true, null]\")", "{\"k\":[\"v\",1,true,null]}"),
        (
            "yamlencode({ a = [1, { b = \"x\" }], c = {} })",
            "\"\\\"a\\\":\\n- 1\\n- \\\"b\\\": \\\"x\\\"\\n\\\"c\\\": {}\\n\"",
        ),
        ("convert(\"5\", number)", "5"),
        ("convert([\"b\", \"a\", \"b\"], set(string))", "[\"a\",\"b\"]"),
        ("convert([1, \"a\"], list(string))", "[\"1\",\"a\"]"),
        (
            "convert({ a = 1 }, object({ a = string, b = optional(number, 3) }))",
            "{\"a\":\"1\",\"b\":3}",
        ),
        (
            "convert(\"x\", number)",
            "Invalid function argument: Cannot convert the value: a number is required.",
        ),
    ]);
}

#[test]
fn hashes_and_uuids() {
    check(&[
        ("md5(\"x\")", "\"9dd4e461268c8034f5c8564e155c67a6\""),
        ("sha1(\"x\")", "\"11f6ad8ec52a2984abaafd7c3b516503785c2072\""),
        ("sha256(\"x\")", "\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\""),
        ("substr(sha512(\"x\"), 0, 16)", "\"a4abd4448c49562d\""),
        ("uuidv4()", "\"07070707-0707-4707-8707-070707070707\""),
        ("uuidv5(\"dns\", \"www.example.com\")", "\"2ed6657d-e927-568b-95e1-2665a8aea6a2\""),
        ("substr(bcrypt(\"x\", 4), 0, 7)", "\"$2a$04$\""),
        (
            "bcrypt(\"x\", 31)",
            "Error in function call: Call to function \"bcrypt\" failed: the cost must lie between 4 and 12.",
        ),
        (
            "rsadecrypt(\"eA==\", \"no key\")",
            "Error in function call: Call to function \"rsadecrypt\" failed: the key is not an RSA private key in PEM form.",
        ),
    ]);
}

#[test]
fn networks() {
    check(&[
        ("cidrhost(\"10.0.0.0/8\", 5)", "\"10.0.0.5\""),
        ("cidrhost(\"10.0.0.0/24\", -1)", "\"10.0.0.255\""),
        ("cidrhost(\"fd00::/64\", 255)", "\"fd00::ff\""),
        (
            "cidrhost(\"10.0.0.0/30\", 4)",
            "Error in function call: Call to function \"cidrhost\" failed: prefix of 30 does not accommodate a host numbered 4.",
        ),
        ("cidrnetmask(\"10.0.0.0/12\")", "\"255.240.0.0\""),
        ("cidrsubnet(\"10.0.0.0/8\", 8, 2)", "\"10.2.0.0/16\""),
        (
            "cidrsubnets(\"10.1.0.0/16\", 4, 4, 8, 4)",
            "[\"10.1.0.0/20\",\"10.1.16.0/20\",\"10.1.32.0/24\",\"10.1.48.0/20\"]",
        ),
        (
            "cidrsubnets(\"10.0.0.0/31\", 1, 1, 1)",
            "Error in function call: Call to function \"cidrsubnets\" failed: not enough room is left in the network.",
        ),
    ]);
}

#[test]
fn dates() {
    check(&[
        (
            "formatdate(\"EEEE, DD-MMM-YY hh:mm:ss ZZZ\", \"2018-01-02T23:12:01Z\")",
            "\"Tuesday, 02-Jan-18 23:12:01 UTC\"",
        ),
        (
            "formatdate(\"D MMMM 'at' H aa Z ZZZZ\", \"2018-01-02T23:12:01+02:00\")",
            "\"2 January at 11 pm +02:00 +0200\"",
        ),
        ("timeadd(\"2017-11-22T23:59:00Z\", \"10m\")", "\"2017-11-23T00:09:00Z\""),
        (
            "timeadd(\"x\", \"10m\")",
            "Error in function call: Call to function \"timeadd\" failed: \"x\" is not a timestamp in the form of RFC 3339.",
        ),
    ]);
}

#[test]
fn files_come_from_the_host_or_not_at_all() {
    check(&[
        (
            "file(\"/etc/hostname\")",
            "Error in function call: Call to function \"file\" failed: file functions are available on the command line only.",
        ),
        ("basename(\"/a/b.txt\")", "\"b.txt\""),
        ("dirname(\"/a/b/../c.txt\")", "\"/a\""),
        ("dirname(\"c.txt\")", "\".\""),
        ("abspath(\"/a/../b\")", "\"/b\""),
    ]);
    let cases = [
        ("file(\"a.txt\")", "\"content\\n\""),
        ("filebase64(\"~/b.bin\")", "\"/wA=\""),
        ("fileexists(\"a.txt\")", "true"),
        ("fileexists(\"b.txt\")", "false"),
        ("fileset(\".\", \"**/*.hcl\")", "[\"d/y.hcl\",\"x.hcl\"]"),
        ("fileset(\".\", \"*.{hcl,txt}\")", "[\"x.hcl\"]"),
        ("pathexpand(\"~/x\")", "\"/home/u/x\""),
        ("abspath(\"x/./y\")", "\"/work/jobs/x/y\""),
    ];
    for (expr, expected) in cases {
        let value = evaluate(expr, Some(&Disk)).expect("the file is there");
        assert_eq!(serde_json::Value::from(&value).to_string(), expected, "{expr}");
    }
}
