//! A HAR file, or one entry of it: request, answer, and when it came.

use std::time::Duration;

use abide::core::WallTime;
use base64::Engine as _;
use http::StatusCode;
use serde_json::Value;

use super::input::{Given, put, time};

/// The answers of a HAR file, or the one of an entry. Each may be unusable for a reason of its
/// own.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Result<Given, String>>, String> {
    let told: Value = serde_json::from_slice(text)
        .map_err(|e| format!("line {}, column {}: is no JSON", e.line(), e.column()))?;
    let entries = match (&told["log"]["entries"], &told["response"]) {
        (Value::Array(all), _) => all.iter().map(entry).collect(),
        (_, Value::Object(_)) => vec![entry(&told)],
        _ => {
            let what =
                "is JSON, yet neither a HAR file (log.entries) nor an entry of one (response)";
            return Err(what.to_owned());
        }
    };
    if entries.is_empty() {
        return Err("log.entries is empty".to_owned());
    }
    Ok(entries)
}

fn entry(told: &Value) -> Result<Given, String> {
    let (request, response) = (&told["request"], &told["response"]);
    let number = response["status"].as_u64().unwrap_or(0);
    let status = u16::try_from(number).ok();
    let status = status.and_then(|s| StatusCode::from_u16(s).ok());
    let status = status.ok_or_else(|| format!("has no answer (its status is {number})"))?;
    let mut given = Given {
        status,
        ..Given::default()
    };
    for (i, header) in list(&response["headers"]).enumerate() {
        let text = |key: &str| header[key].as_str().unwrap_or_default();
        // `:status` of HTTP/2 is no header.
        if text("name").starts_with(':') {
            continue;
        }
        // Several lines of one name come joined by line ends from some browsers.
        for line in text("value").split('\n') {
            if let Err(why) = put(&mut given.headers, text("name").as_bytes(), line.as_bytes()) {
                given
                    .remarks
                    .push(format!("response.headers[{}] {why}: passed over", i + 1));
            }
        }
    }
    given.method = request["method"].as_str().and_then(|m| m.parse().ok());
    given.url = request["url"].as_str().and_then(|u| u.parse().ok());
    let posted = request["postData"]["text"].as_str();
    given.request_body = posted.map(|t| t.as_bytes().to_vec());
    let accepts = list(&request["headers"]).filter(|h| {
        h["name"]
            .as_str()
            .is_some_and(|n| n.eq_ignore_ascii_case("accept"))
    });
    let accepts: Vec<&str> = accepts.filter_map(|h| h["value"].as_str()).collect();
    given.json = accepts == ["application/json"];
    given.now = came(told);
    body(&response["content"], &mut given);
    Ok(given)
}

/// When the answer was complete.
fn came(told: &Value) -> Option<WallTime> {
    let began = time(told["startedDateTime"].as_str()?)?;
    let millis = told["time"].as_f64().unwrap_or(0.0);
    let took = Duration::try_from_secs_f64(millis / 1000.0);
    Some(began.after(took.unwrap_or_default()))
}

fn body(content: &Value, given: &mut Given) {
    let Some(text) = content["text"].as_str() else {
        // Browsers leave out what is empty, and also what they have forgotten.
        let empty = content["size"].as_i64() == Some(0);
        given.body = empty.then(Vec::new);
        if !empty {
            let what = "the body was not recorded; rules about bodies are left out";
            given.remarks.push(what.to_owned());
        }
        return;
    };
    if content["encoding"].as_str() != Some("base64") {
        given.body = Some(text.as_bytes().to_vec());
        return;
    }
    match base64::engine::general_purpose::STANDARD.decode(text.trim()) {
        Ok(bytes) => given.body = Some(bytes),
        Err(_) => given
            .remarks
            .push("response.content.text is no base64; rules about bodies are left out".to_owned()),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_json_can_be_read() {
        for text in [
            "{}",
            "[]",
            "null",
            "{\"log\": 5}",
            "{\"log\": {\"entries\": {}}}",
            "{\"log\": {\"entries\": []}}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for entry in [
            r#"{"response": {}}"#,
            r#"{"response": {"status": 0}}"#,
            r#"{"response": {"status": 70000}}"#,
            r#"{"response": {"status": "429"}}"#,
        ] {
            assert!(parse(entry.as_bytes()).unwrap()[0].is_err(), "{entry}");
        }
        let odd = r#"{"startedDateTime": 5, "time": -1, "request": [], "response": {"status": 429,
            "headers": [5, {"name": "a b"}, {"name": ":status", "value": "429"}], "content": {"text": "!", "encoding": "base64"}}}"#;
        let given = parse(odd.as_bytes()).unwrap().remove(0).unwrap();
        assert_eq!(
            (given.headers.len(), given.body, given.now),
            (0, None, None)
        );
    }

    #[test]
    fn an_answer_came_when_it_was_complete() {
        let told = r#"{"startedDateTime": "2026-03-10T13:00:00+01:00", "time": 1500.5, "response": {"status": 200}}"#;
        let given = parse(told.as_bytes()).unwrap().remove(0).unwrap();
        assert_eq!(given.now, time("2026-03-10T12:00:01.5005Z"));
    }
}
