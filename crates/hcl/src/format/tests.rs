//! Texts in, formatted texts out; each result must be its own formatted form.

use super::format;
use crate::Limits;
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let once = format("t", text, &Limits::default()).unwrap_or_else(|found| panic!("{found:?}"));
    let twice = format("t", &once, &Limits::default()).expect("the result is valid");
    assert_eq!(once, twice, "a second run must change nothing");
    expected.assert_eq(&once);
}

#[test]
fn lines_are_indented_and_columns_aligned() {
    check(
        r#"job "j" {
datacenters=["dc1","dc2"]
      type="service"   # kind
  count  = 1 // how many

meta={
a=1
"long name"  =  2
}
    group "g" { count = 2 }
   args = [
   "a",
        "b"
   ]
}
"#,
        expect![[r#"
            job "j" {
              datacenters = ["dc1", "dc2"]
              type        = "service" # kind
              count       = 1         // how many

              meta = {
                a           = 1
                "long name" = 2
              }
              group "g" { count = 2 }
              args = [
                "a",
                "b"
              ]
            }
        "#]],
    );
}

#[test]
fn comments_texts_and_heredocs_stay_as_they_are() {
    check(
        r#"  /* a
     b */
a {
      #keep   this
t="  ${ x  }  a=b "
  data = <<EOH
  a=1
      ${ f( 1,2 ) }
}
   EOH
 z=1
indented = <<-E
        x
    E
}
"#,
        expect![[r#"
            /* a
                 b */
            a {
              #keep   this
              t        = "  ${ x  }  a=b "
              data     = <<EOH
              a=1
                  ${ f( 1,2 ) }
            }
               EOH
              z        = 1
              indented = <<-E
                    x
                E
            }
        "#]],
    );
}

#[test]
fn expressions_get_the_spaces_of_their_operators() {
    check(
        r#"a=-1+2*-(3-x)
b=!c&&d||e==f?g:h
c = [for k,v in  {a=1}:upper( v )if v!=""]
d = {for k in [1,2]:k=>k...}
e = x . y [ 0 ].z[*] .w.*.v
f=concat( [1] , y... )
g = [ ]
h = { }
i = x[-1]
j = a ? [1] : [2]
k = provider::f (1)
l = "a" == "b" ? {x=1}:{ y : 2 }
m = 1.5e-3+2
"#,
        expect![[r#"
            a = -1 + 2 * -(3 - x)
            b = !c && d || e == f ? g : h
            c = [for k, v in { a = 1 } : upper(v) if v != ""]
            d = { for k in [1, 2] : k => k... }
            e = x.y[0].z[*].w.*.v
            f = concat([1], y...)
            g = []
            h = {}
            i = x[-1]
            j = a ? [1] : [2]
            k = provider::f(1)
            l = "a" == "b" ? { x = 1 } : { y : 2 }
            m = 1.5e-3 + 2
        "#]],
    );
}

#[test]
fn each_line_that_opens_brackets_indents_once() {
    check(
        "a = merge({\nb = 1\n}, {\nc = [[\n1\n]]\n})\nblock {\n\n\n  }\n",
        expect![[r#"
            a = merge({
              b = 1
              }, {
              c = [[
                1
              ]]
            })
            block {


            }
        "#]],
    );
}

#[test]
fn line_ends_are_kept() {
    let limits = Limits::default();
    assert_eq!(format("t", "a=1\r\nbb =2", &limits).expect("valid"), "a  = 1\r\nbb = 2");
    assert_eq!(format("t", "", &limits).expect("valid"), "");
    assert_eq!(format("t", "# ä\n", &limits).expect("valid"), "# ä\n");
    assert!(format("t", "a = {", &limits).is_err());
}
