//! The filters with which expressions count votes. Each takes the replies of a phase, and the field that it is about.

use minijinja::{Environment, Error, ErrorKind, Value, value::ValueKind};

/// Adds them to those that are there.
pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("borda", borda);
    environment.add_filter("tally", tally);
    environment.add_filter("all", |replies: Value, field: String| Ok::<_, Error>(all(&values(&replies, &field)?)));
    environment.add_filter("any", |replies: Value, field: String| {
        Ok::<_, Error>(values(&replies, &field)?.iter().any(Value::is_true))
    });
    environment.add_filter("mean", |replies: Value, field: String| Ok::<_, Error>(mean(&numbers(&replies, &field)?)));
    environment
        .add_filter("median", |replies: Value, field: String| Ok::<_, Error>(median(numbers(&replies, &field)?)));
    environment
        .add_filter("spread", |replies: Value, field: String| Ok::<_, Error>(spread(&numbers(&replies, &field)?)));
    environment.add_filter("by", by);
}

/// What each reply has in this field. A reply without it has no vote.
fn values(replies: &Value, field: &str) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for reply in replies.try_iter()? {
        let form = reply.get_attr("reply")?;
        if form.is_undefined() || form.is_none() {
            return Err(Error::new(ErrorKind::InvalidOperation, "the replies of that phase are plain text"));
        }
        let value = form.get_attr(field)?;
        match value.is_undefined() {
            true => return Err(Error::new(ErrorKind::UndefinedError, format!("its replies have no field `{field}`"))),
            false if value.is_none() => {}
            false => found.push(value),
        }
    }
    Ok(found)
}

fn numbers(replies: &Value, field: &str) -> Result<Vec<f64>, Error> {
    let number = |value: Value| {
        let number = f64::try_from(value).ok().filter(|number| number.is_finite());
        number.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("`{field}` is no number")))
    };
    values(replies, field)?.into_iter().map(number).collect()
}

/// The best first: everybody who ranks gives the last of theirs one point, the one before it two, and so on.
fn borda(replies: Value, field: String) -> Result<Value, Error> {
    let mut points: Vec<(Value, i64)> = Vec::new();
    for ranking in values(&replies, &field)? {
        if ranking.kind() != ValueKind::Seq {
            return Err(Error::new(ErrorKind::InvalidOperation, format!("`{field}` is no order")));
        }
        let ranked: Vec<Value> = ranking.try_iter()?.collect();
        let most = ranked.len() as i64;
        for (at, name) in ranked.into_iter().enumerate() {
            add(&mut points, name, most - at as i64);
        }
    }
    Ok(listed(points, "name", "points"))
}

/// How often each was said, the most frequent first.
fn tally(replies: Value, field: String) -> Result<Value, Error> {
    let mut counts = Vec::new();
    for value in values(&replies, &field)? {
        match value.kind() {
            ValueKind::Seq => value.try_iter()?.for_each(|value| add(&mut counts, value, 1)),
            _ => add(&mut counts, value, 1),
        }
    }
    Ok(listed(counts, "value", "count"))
}

fn add(sums: &mut Vec<(Value, i64)>, of: Value, more: i64) {
    match sums.iter_mut().find(|(known, _)| *known == of) {
        Some((_, sum)) => *sum += more,
        None => sums.push((of, more)),
    }
}

/// The highest first; equals in the order of their names, so that the order of arrival decides nothing.
fn listed(mut sums: Vec<(Value, i64)>, what: &'static str, sum: &'static str) -> Value {
    sums.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.to_string().cmp(&b.to_string())));
    let rows = sums.into_iter().map(|(value, count)| Value::from_pairs([(what, value), (sum, Value::from(count))]));
    rows.collect::<Vec<Value>>().into()
}

fn all(values: &[Value]) -> bool {
    !values.is_empty() && values.iter().all(Value::is_true)
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| rounded(numbers.iter().sum::<f64>() / numbers.len() as f64))
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        _ if numbers.is_empty() => None,
        0 => Some(rounded(f64::midpoint(numbers[middle - 1], numbers[middle]))),
        _ => Some(numbers[middle]),
    }
}

/// How far the lowest and the highest are apart.
fn spread(numbers: &[f64]) -> Option<f64> {
    let least = numbers.iter().copied().reduce(f64::min)?;
    let most = numbers.iter().copied().reduce(f64::max)?;
    Some(rounded(most - least))
}

/// Without the digits that only binary fractions have.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// The replies of a seat, or of a role by its name.
fn by(replies: Value, whom: Value) -> Result<Value, Error> {
    let (name, of): (String, &[&str]) = match whom.as_str() {
        Some(name) => (name.to_owned(), &["name", "role"]),
        None => (whom.get_attr("name")?.to_string(), &["name"]),
    };
    let is_theirs = |reply: &Value| of.iter().any(|of| reply.get_attr(of).is_ok_and(|of| of.as_str() == Some(&name)));
    Ok(replies.try_iter()?.filter(is_theirs).collect::<Vec<Value>>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_are_counted() {
        let mut environment = Environment::new();
        add_to(&mut environment);
        let reply = |name: &str, fields: Vec<(&'static str, Value)>| {
            let (name, role) = (Value::from(name), Value::from("jury"));
            Value::from_pairs([("name", name), ("role", role), ("reply", Value::from_pairs(fields))])
        };
        let order = |names: &[&str]| names.iter().map(|name| Value::from(*name)).collect::<Vec<_>>().into();
        let vote: Vec<Value> = vec![
            reply("ann", vec![("ranking", order(&["ben", "cem"])), ("agree", true.into()), ("much", 40.into())]),
            reply("ben", vec![("ranking", order(&["cem", "ann"])), ("agree", true.into()), ("much", 0.5.into())]),
            reply("cem", vec![("ranking", order(&["ben", "ann"])), ("agree", false.into()), ("much", 10.into())]),
        ];
        for (expression, value) in [
            (
                "vote | borda('ranking')",
                "[{'name': 'ben', 'points': 4}, {'name': 'cem', 'points': 3}, {'name': 'ann', 'points': 2}]",
            ),
            ("vote | tally('agree') | first", "{'count': 2, 'value': True}"),
            ("(vote | tally('ranking') | first).count", "2"),
            ("vote | all('agree')", "False"),
            ("vote | any('agree')", "True"),
            ("[] | all('agree')", "False"),
            ("vote | mean('much')", "16.833333"),
            ("vote | median('much')", "10.0"),
            ("vote | spread('much')", "39.5"),
            ("[] | mean('much')", "None"),
            ("vote | by('ann') | length", "1"),
            ("vote | by(vote[1]) | mean('much')", "0.5"),
            ("vote | by('jury') | length", "3"),
        ] {
            let compiled = environment.compile_expression(expression).unwrap();
            let found = compiled.eval(Value::from_pairs([("vote", Value::from(vote.clone()))]));
            assert_eq!(found.unwrap().to_string(), value, "{expression}");
        }
        for (expression, problem) in [
            ("vote | mean('agrees')", "no field `agrees`"),
            ("vote | mean('ranking')", "`ranking` is no number"),
            ("vote | borda('agree')", "`agree` is no order"),
        ] {
            let compiled = environment.compile_expression(expression).unwrap();
            let found = compiled.eval(Value::from_pairs([("vote", Value::from(vote.clone()))]));
            assert!(found.unwrap_err().to_string().contains(problem), "{expression}");
        }
    }
}
