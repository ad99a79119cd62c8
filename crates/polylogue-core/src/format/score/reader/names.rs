//! Every name in the templates and expressions of a score is one that there is: variables and what is in them, filters,
//! tests, and the fields that filters are given. All of them are looked at, whether or not a play would come by.

use minijinja::{
    machinery::{
        ast::{CallArg, Expr, Filter, Stmt},
        parse,
    },
    syntax::SyntaxConfig,
};

use super::{
    kinds::{Kind, Known},
    meant,
};

/// Filters that count votes. What they are given is a field of the replies.
const VOTES: &str = "borda tally all any mean median spread";
const FILTERS: &str = "abs attr batch bool by capitalize chain count d default dictsort e escape first float groupby \
                       int items join last length lines list lower map max min reject rejectattr replace reverse \
                       round safe select selectattr slice sort split string sum title trim unique upper zip";
const TESTS: &str = "boolean defined divisibleby endingwith eq equalto escaped even false filter float ge greaterthan \
                     gt in int integer iterable le lessthan lower lt mapping ne none number odd safe sameas sequence \
                     startingwith string test true undefined upper";

fn is_one_of(name: &str, words: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// What is wrong with the names of a template, each with its line in it. A template that cannot be read has none.
pub(super) fn problems(template: &str, syntax: SyntaxConfig, known: Vec<Known>) -> Vec<(u32, String)> {
    let Ok(template) = parse(template, "", syntax) else { return Vec::new() };
    let known = known.into_iter().map(|(name, kind)| (name.to_string(), kind)).collect();
    let mut names = Names { known: vec![known], problems: Vec::new() };
    names.statement(&template);
    names.problems
}

struct Names {
    /// What there is, the innermost last.
    known: Vec<Vec<(String, Kind)>>,
    problems: Vec<(u32, String)>,
}

impl Names {
    fn wrong(&mut self, at: &Expr<'_>, problem: String) {
        self.problems.push((u32::from(at.span().start_line), problem));
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn within(&mut self, known: Vec<(String, Kind)>, statements: &[Stmt<'_>]) {
        self.known.push(known);
        self.statements(statements);
        self.known.pop();
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emitted) => drop(self.kind(&emitted.expr)),
            Stmt::EmitRaw(_) => {}
            Stmt::ForLoop(each) => {
                let one = self.kind(&each.iter).one();
                self.known.push(vec![("loop".to_owned(), Kind::of_loop())]);
                self.assign(&each.target, one);
                each.filter_expr.iter().for_each(|only_if| drop(self.kind(only_if)));
                self.statements(&each.body);
                self.known.pop();
                self.within(Vec::new(), &each.else_body);
            }
            Stmt::IfCond(cond) => {
                self.kind(&cond.expr);
                self.statements(&cond.true_body);
                self.statements(&cond.false_body);
            }
            Stmt::WithBlock(with) => {
                self.known.push(Vec::new());
                for (target, value) in &with.assignments {
                    let value = self.kind(value);
                    self.assign(target, value);
                }
                self.statements(&with.body);
                self.known.pop();
            }
            Stmt::Set(set) => {
                let value = self.kind(&set.expr);
                self.assign(&set.target, value);
            }
            Stmt::SetBlock(set) => {
                set.filter.iter().for_each(|filter| drop(self.kind(filter)));
                self.within(Vec::new(), &set.body);
                self.assign(&set.target, Kind::Plain);
            }
            Stmt::AutoEscape(block) => self.within(Vec::new(), &block.body),
            Stmt::FilterBlock(block) => {
                self.kind(&block.filter);
                self.within(Vec::new(), &block.body);
            }
            Stmt::Do(call) => {
                self.kind(&call.call.expr);
                self.arguments(&call.call.args);
            }
        }
    }

    fn assign(&mut self, target: &Expr<'_>, kind: Kind) {
        match target {
            Expr::Var(variable) => {
                let innermost = self.known.last_mut().expect("there is always one");
                match innermost.iter_mut().find(|(name, _)| name == variable.id) {
                    Some((_, known)) if *known == kind => {}
                    // It is this or that.
                    Some((_, known)) => *known = Kind::Any,
                    None => innermost.push((variable.id.to_owned(), kind)),
                }
            }
            Expr::List(list) => list.items.iter().for_each(|item| self.assign(item, Kind::Any)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.assign(item, Kind::Any)),
            _ => {}
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) {
        for argument in arguments {
            match argument {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => drop(self.kind(value)),
            }
        }
    }

    /// What an expression comes to.
    fn kind(&mut self, expr: &Expr<'_>) -> Kind {
        match expr {
            Expr::Var(variable) => self.variable(expr, variable.id),
            Expr::Const(_) => Kind::Plain,
            Expr::Slice(slice) => {
                [&slice.start, &slice.stop, &slice.step].into_iter().flatten().for_each(|end| drop(self.kind(end)));
                self.kind(&slice.expr)
            }
            Expr::UnaryOp(op) => {
                self.kind(&op.expr);
                Kind::Plain
            }
            Expr::BinOp(op) => {
                self.kind(&op.left);
                self.kind(&op.right);
                Kind::Any
            }
            Expr::Compare(compare) => {
                self.kind(&compare.expr);
                compare.ops.iter().for_each(|op| drop(self.kind(&op.expr)));
                Kind::Plain
            }
            Expr::IfExpr(either) => {
                self.kind(&either.test_expr);
                let yes = self.kind(&either.true_expr);
                let no = either.false_expr.as_ref().map_or_else(|| yes.clone(), |no| self.kind(no));
                if yes == no { yes } else { Kind::Any }
            }
            Expr::Filter(filter) => self.filter(expr, filter),
            Expr::Test(test) => {
                self.kind(&test.expr);
                self.arguments(&test.args);
                let is_sign = !test.name.starts_with(|c: char| c.is_ascii_alphabetic());
                if !is_sign && !is_one_of(test.name, TESTS) {
                    let meant = meant(test.name, TESTS.split(' '));
                    self.wrong(expr, format!("there is no test `{}`{meant}", test.name));
                }
                Kind::Plain
            }
            Expr::GetAttr(attr) => {
                let of = self.kind(&attr.expr);
                self.field(expr, &of, attr.name, &called(&attr.expr))
            }
            Expr::GetItem(item) => {
                let of = self.kind(&item.expr);
                self.kind(&item.subscript_expr);
                match (&of, text(&item.subscript_expr)) {
                    (Kind::Fields(_), Some(name)) => self.field(expr, &of, &name, &called(&item.expr)),
                    _ => of.one(),
                }
            }
            Expr::Call(call) => {
                self.arguments(&call.args);
                match &call.expr {
                    Expr::Var(function) if function.id == "range" => return Kind::several(Kind::Plain),
                    called => drop(self.kind(called)),
                }
                Kind::Any
            }
            Expr::List(list) => {
                list.items.iter().for_each(|item| drop(self.kind(item)));
                Kind::several(Kind::Any)
            }
            Expr::Tuple(tuple) => {
                tuple.items.iter().for_each(|item| drop(self.kind(item)));
                Kind::several(Kind::Any)
            }
            Expr::Map(map) => {
                map.keys.iter().chain(&map.values).for_each(|item| drop(self.kind(item)));
                Kind::Any
            }
        }
    }

    fn variable(&mut self, expr: &Expr<'_>, name: &str) -> Kind {
        let known = self.known.iter().rev().flatten();
        if let Some((_, kind)) = known.clone().find(|(known, _)| known == name) {
            return kind.clone();
        }
        let names: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
        let near = meant(name, names.iter().copied());
        let instead = if near.is_empty() { format!(" here; there is {}", names.join(", ")) } else { near };
        self.wrong(expr, format!("there is no `{name}`{instead}"));
        Kind::Any
    }

    fn field(&mut self, expr: &Expr<'_>, of: &Kind, name: &str, called: &str) -> Kind {
        of.field(name, called).unwrap_or_else(|problem| {
            self.wrong(expr, problem);
            Kind::Any
        })
    }

    /// A field of the items of a list, such as `reply.severity`.
    fn path(&mut self, expr: &Expr<'_>, of: &Kind, path: &str) -> Kind {
        let mut kind = of.one();
        for name in path.split('.').map(str::trim) {
            kind = match name.parse::<usize>() {
                Ok(_) => kind.one(),
                Err(_) => self.field(expr, &kind, name, "it"),
            };
        }
        kind
    }

    fn filter(&mut self, expr: &Expr<'_>, filter: &Filter<'_>) -> Kind {
        let of = filter.expr.as_ref().map_or(Kind::Plain, |of| self.kind(of));
        self.arguments(&filter.args);
        let name = filter.name;
        if !is_one_of(name, FILTERS) && !is_one_of(name, VOTES) {
            let near = meant(name, FILTERS.split(' ').chain(VOTES.split(' ')));
            let votes = format!("; those for votes are {}", VOTES.replace(' ', ", "));
            let instead = if near.is_empty() { votes } else { near };
            self.wrong(expr, format!("there is no filter `{name}`{instead}"));
            return Kind::Any;
        }
        let first = filter.args.iter().find_map(|argument| match argument {
            CallArg::Pos(value) => text(value),
            _ => None,
        });
        let attribute = filter.args.iter().find_map(|argument| match argument {
            CallArg::Kwarg("attribute", value) => text(value),
            _ => None,
        });
        match (name, first, attribute) {
            (name, Some(field), _) if is_one_of(name, VOTES) && matches!(of, Kind::Several(_)) => {
                self.path(expr, &of, &format!("reply.{field}"));
            }
            ("selectattr" | "rejectattr", Some(path), _) => drop(self.path(expr, &of, &path)),
            ("map", _, Some(path)) => return Kind::several(self.path(expr, &of, &path)),
            ("map", Some(filter), _) if !is_one_of(&filter, FILTERS) => {
                let meant = meant(&filter, FILTERS.split(' '));
                self.wrong(expr, format!("there is no filter `{filter}`{meant}"));
            }
            (_, _, Some(paths)) => paths.split(',').for_each(|path| drop(self.path(expr, &of, path))),
            _ => {}
        }
        match name {
            "borda" => Kind::several(Kind::row("a place of `borda`", &["name", "points"])),
            "tally" => Kind::several(Kind::row("a row of `tally`", &["value", "count"])),
            "first" | "last" | "min" | "max" => of.one(),
            "by" | "list" | "reject" | "rejectattr" | "reverse" | "select" | "selectattr" | "sort" | "unique" => of,
            "attr" | "batch" | "chain" | "d" | "default" | "dictsort" | "groupby" | "items" | "map" | "slice"
            | "sum" | "zip" => Kind::Any,
            "lines" | "split" => Kind::several(Kind::Plain),
            _ => Kind::Plain,
        }
    }
}

/// The words of a text that is written out.
fn text(expr: &Expr<'_>) -> Option<String> {
    expr.as_const().and_then(|value| value.as_str().map(str::to_owned))
}

/// What a score calls something by.
fn called(expr: &Expr<'_>) -> String {
    fn path(expr: &Expr<'_>) -> Option<String> {
        match expr {
            Expr::Var(variable) => Some(variable.id.to_owned()),
            Expr::GetAttr(attr) => path(&attr.expr).map(|of| format!("{of}.{}", attr.name)),
            _ => None,
        }
    }
    path(expr).map_or_else(|| "it".to_owned(), |path| format!("`{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::score::compiled;

    /// What is known here is what there is.
    #[test]
    fn filters_and_tests_are_those_of_the_expressions() {
        let environment = compiled::environment();
        let holds = |expression: &str| {
            environment.compile_expression(expression).unwrap().eval(minijinja::Value::default()).unwrap().is_true()
        };
        for filter in FILTERS.split(' ').chain(VOTES.split(' ')) {
            assert!(holds(&format!("'{filter}' is filter")), "{filter}");
        }
        for test in TESTS.split(' ') {
            assert!(holds(&format!("'{test}' is test")), "{test}");
        }
    }
}
