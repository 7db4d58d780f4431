//! Compiles an expression so that operators that can make large values are checked first.
//!
//! `+`, `*`, `~` and `[a:b]` become calls: the expression language has them as instructions, evaluates them
//! while it compiles if both sides are literals, and has no limit but its own. A call around the searched side
//! of a comparison, an `in` or an `[n]` charges for the search.

use super::number::is_too_large;
use minijinja::{
    AutoEscape, Environment, Error, Value,
    machinery::{
        CodeGenerator,
        ast::{
            BinOp, BinOpKind, Call, CallArg, Compare, CompareOp, Const, Expr, Filter, GetAttr, GetItem,
            IfExpr, List, Map, Slice, Spanned, Test, Tuple, UnaryOp, UnaryOpKind, Var,
        },
        eval, make_string_output, parse_expr,
    },
};
use std::collections::BTreeSet;

/// `a + b`
pub(super) const PLUS: &str = "+";
/// `a * b`
pub(super) const TIMES: &str = "*";
/// `a ~ b`
pub(super) const TILDE: &str = "~";
/// `a[b:c:d]`
pub(super) const PART: &str = "[:]";
/// The right operand of `==`, `<`, `in` and the like. It is charged in full.
pub(super) const LOOKED_THROUGH: &str = "==";
/// The left operand of these. A comparison reads no more of it than of the right one.
pub(super) const COMPARED: &str = "=";
/// An operand of `-`, `/` and the like.
pub(super) const NUMBER: &str = "0";
/// The value that an `[n]` indexes.
pub(super) const READ_OF: &str = "[]";

/// The value of a source. `None` cannot occur: it would mean that the source has no value.
pub(super) fn evaluate(
    environment: &Environment<'_>,
    source: &str,
    root: Value,
) -> Result<Option<Value>, Error> {
    let parsed = parse_expr(source)?;
    let mut code = CodeGenerator::new("<expression>", source);
    code.compile_expr(&guarded(&parsed));
    let (instructions, blocks) = code.finish();
    let mut nowhere = String::new();
    let mut out = make_string_output(&mut nowhere);
    eval(environment, &instructions, root, &blocks, &mut out, AutoEscape::None).map(|(value, _)| value)
}

/// Returns the variables that a source reads and the functions that it calls.
///
/// # Errors
/// The source does not parse.
pub fn variables(source: &str) -> Result<BTreeSet<String>, Error> {
    let parsed = parse_expr(source)?;
    let mut found = BTreeSet::new();
    collect(&parsed, &mut found);
    Ok(found)
}

fn collect(expression: &Expr<'_>, found: &mut BTreeSet<String>) {
    if let Expr::Var(variable) = expression {
        found.insert(variable.id.to_owned());
    }
    for part in parts(expression) {
        collect(part, found);
    }
}

fn parts<'e, 's>(expression: &'e Expr<'s>) -> Vec<&'e Expr<'s>> {
    let arguments = |args: &'e [CallArg<'s>]| {
        args.iter().map(|argument| match argument {
            CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value) => value,
        })
    };
    match expression {
        Expr::Var(_) | Expr::Const(_) => Vec::new(),
        Expr::Slice(slice) => {
            [Some(&slice.expr), slice.start.as_ref(), slice.stop.as_ref(), slice.step.as_ref()]
                .into_iter()
                .flatten()
                .collect()
        }
        Expr::UnaryOp(operator) => vec![&operator.expr],
        Expr::BinOp(operator) => vec![&operator.left, &operator.right],
        Expr::Compare(compare) => {
            core::iter::once(&compare.expr).chain(compare.ops.iter().map(|next| &next.expr)).collect()
        }
        Expr::IfExpr(choice) => {
            [Some(&choice.test_expr), Some(&choice.true_expr), choice.false_expr.as_ref()]
                .into_iter()
                .flatten()
                .collect()
        }
        Expr::Filter(filter) => filter.expr.iter().chain(arguments(&filter.args)).collect(),
        Expr::Test(test) => core::iter::once(&test.expr).chain(arguments(&test.args)).collect(),
        Expr::GetAttr(read) => vec![&read.expr],
        Expr::GetItem(read) => vec![&read.expr, &read.subscript_expr],
        Expr::Call(call) => core::iter::once(&call.expr).chain(arguments(&call.args)).collect(),
        Expr::List(list) => list.items.iter().collect(),
        Expr::Tuple(list) => list.items.iter().collect(),
        Expr::Map(map) => map.keys.iter().chain(&map.values).collect(),
    }
}

// A function per kind keeps stack frames small: `---1` nests at every byte, and the stack of a thread is 2 MiB.

fn guarded<'s>(expression: &Expr<'s>) -> Expr<'s> {
    match expression {
        Expr::Var(variable) => Expr::Var(Spanned::new(Var { id: variable.id }, variable.span())),
        Expr::Const(constant) => constant_of(constant),
        Expr::Slice(slice) => part(slice),
        Expr::UnaryOp(operator) => unary(operator),
        Expr::BinOp(operator) => binary(operator),
        Expr::Compare(compare) => comparison(compare),
        Expr::IfExpr(choice) => conditional(choice),
        Expr::Filter(filter) => filtered(filter),
        Expr::Test(test) => tested(test),
        Expr::GetAttr(read) => attribute(read),
        Expr::GetItem(read) => item(read),
        Expr::Call(call) => called(call),
        Expr::List(list) => Expr::List(Spanned::new(List { items: all(&list.items) }, list.span())),
        Expr::Tuple(list) => Expr::Tuple(Spanned::new(Tuple { items: all(&list.items) }, list.span())),
        Expr::Map(map) => mapping(map),
    }
}

fn all<'s>(items: &[Expr<'s>]) -> Vec<Expr<'s>> {
    items.iter().map(guarded).collect()
}

fn constant_of<'s>(constant: &Spanned<Const>) -> Expr<'s> {
    Expr::Const(Spanned::new(Const { value: constant.value.clone() }, constant.span()))
}

fn part<'s>(slice: &Spanned<Slice<'s>>) -> Expr<'s> {
    let none = || Expr::Const(Spanned::new(Const { value: Value::from(()) }, slice.span()));
    let bound = |bound: &Option<Expr<'s>>| bound.as_ref().map_or_else(none, guarded);
    let operands = vec![guarded(&slice.expr), bound(&slice.start), bound(&slice.stop), bound(&slice.step)];
    call(PART, operands, slice.span())
}

fn unary<'s>(operator: &Spanned<UnaryOp<'s>>) -> Expr<'s> {
    #[expect(clippy::needless_match, reason = "the kind cannot be copied in another way")]
    let op = match operator.op {
        UnaryOpKind::Not => UnaryOpKind::Not,
        UnaryOpKind::Neg => UnaryOpKind::Neg,
    };
    let expr = match op {
        UnaryOpKind::Not => guarded(&operator.expr),
        UnaryOpKind::Neg => number(guarded(&operator.expr), operator.span()),
    };
    Expr::UnaryOp(Spanned::new(UnaryOp { op, expr }, operator.span()))
}

fn binary<'s>(operator: &Spanned<BinOp<'s>>) -> Expr<'s> {
    let (left, right) = (guarded(&operator.left), guarded(&operator.right));
    let name = match operator.op {
        BinOpKind::Add => PLUS,
        BinOpKind::Mul => TIMES,
        BinOpKind::Concat => TILDE,
        op @ (BinOpKind::Eq
        | BinOpKind::Ne
        | BinOpKind::Lt
        | BinOpKind::Lte
        | BinOpKind::Gt
        | BinOpKind::Gte
        | BinOpKind::In) => {
            let left = call(COMPARED, vec![left], operator.span());
            let right = call(LOOKED_THROUGH, vec![right], operator.span());
            return Expr::BinOp(Spanned::new(BinOp { op, left, right }, operator.span()));
        }
        op @ (BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem | BinOpKind::Pow) => {
            let left = number(left, operator.span());
            let right = number(right, operator.span());
            return Expr::BinOp(Spanned::new(BinOp { op, left, right }, operator.span()));
        }
        op => return Expr::BinOp(Spanned::new(BinOp { op, left, right }, operator.span())),
    };
    call(name, vec![left, right], operator.span())
}

fn call<'s>(name: &'static str, operands: Vec<Expr<'s>>, span: minijinja::machinery::Span) -> Expr<'s> {
    let expr = Expr::Var(Spanned::new(Var { id: name }, span));
    let args = operands.into_iter().map(CallArg::Pos).collect();
    Expr::Call(Spanned::new(Call { expr, args }, span))
}

/// A literal is a number already, unless it is too large.
fn number<'s>(side: Expr<'s>, span: minijinja::machinery::Span) -> Expr<'s> {
    match side {
        Expr::Const(constant) if !is_too_large(&constant.value) => Expr::Const(constant),
        other => call(NUMBER, vec![other], span),
    }
}

fn comparison<'s>(compare: &Spanned<Compare<'s>>) -> Expr<'s> {
    let side = |side| call(LOOKED_THROUGH, vec![guarded(side)], compare.span());
    let ops = compare.ops.iter().map(|next| CompareOp { op: next.op, expr: side(&next.expr) }).collect();
    let expr = call(COMPARED, vec![guarded(&compare.expr)], compare.span());
    Expr::Compare(Spanned::new(Compare { expr, ops }, compare.span()))
}

fn conditional<'s>(choice: &Spanned<IfExpr<'s>>) -> Expr<'s> {
    let built = IfExpr {
        test_expr: guarded(&choice.test_expr),
        true_expr: guarded(&choice.true_expr),
        false_expr: choice.false_expr.as_ref().map(guarded),
    };
    Expr::IfExpr(Spanned::new(built, choice.span()))
}

fn arguments<'s>(args: &[CallArg<'s>]) -> Vec<CallArg<'s>> {
    let argument = |argument: &CallArg<'s>| match argument {
        CallArg::Pos(value) => CallArg::Pos(guarded(value)),
        CallArg::Kwarg(name, value) => CallArg::Kwarg(name, guarded(value)),
        CallArg::PosSplat(value) => CallArg::PosSplat(guarded(value)),
        CallArg::KwargSplat(value) => CallArg::KwargSplat(guarded(value)),
    };
    args.iter().map(argument).collect()
}

fn filtered<'s>(filter: &Spanned<Filter<'s>>) -> Expr<'s> {
    let expr = filter.expr.as_ref().map(guarded);
    let built = Filter { name: filter.name, expr, args: arguments(&filter.args) };
    Expr::Filter(Spanned::new(built, filter.span()))
}

fn tested<'s>(test: &Spanned<Test<'s>>) -> Expr<'s> {
    let built = Test { name: test.name, expr: guarded(&test.expr), args: arguments(&test.args) };
    Expr::Test(Spanned::new(built, test.span()))
}

fn attribute<'s>(read: &Spanned<GetAttr<'s>>) -> Expr<'s> {
    Expr::GetAttr(Spanned::new(GetAttr { expr: guarded(&read.expr), name: read.name }, read.span()))
}

fn item<'s>(read: &Spanned<GetItem<'s>>) -> Expr<'s> {
    let of = call(READ_OF, vec![guarded(&read.expr)], read.span());
    let built = GetItem { expr: of, subscript_expr: guarded(&read.subscript_expr) };
    Expr::GetItem(Spanned::new(built, read.span()))
}

fn called<'s>(call: &Spanned<Call<'s>>) -> Expr<'s> {
    let built = Call { expr: guarded(&call.expr), args: arguments(&call.args) };
    Expr::Call(Spanned::new(built, call.span()))
}

fn mapping<'s>(map: &Spanned<Map<'s>>) -> Expr<'s> {
    Expr::Map(Spanned::new(Map { keys: all(&map.keys), values: all(&map.values) }, map.span()))
}
