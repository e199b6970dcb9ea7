# comment
a = -1 + 2 * -(3 - x) # trailing
b = [for k, v in { a = 1 } : upper(v) if v != ""]
c = { for k in [1, 2] : k => k... }
d = merge({
  x = 1 // one
  long = 2
  }, {
  "y" : <<-E
      in ${ x } heredoc
    E
})
block "label" ident { one = 1 }
/* block
   comment */ e = x.y[0].z[*].w.*.v ? !true : "t ${ "nested ${ deep }" }"
