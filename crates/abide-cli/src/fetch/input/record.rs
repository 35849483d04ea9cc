//! One record of the input, read as a request.

use abide::core::queue::Urgency;
use abide::run::Wanted;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::csv;
use super::place::Bad;
use super::template::{Template, shown};
use crate::fetch::args::Format;

/// One item, as its record says.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) id: String,
    pub(crate) url: Url,
    pub(crate) priority: u8,
    pub(crate) wanted: Wanted,
}

/// Reads records.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    format: Format,
    headers: HeaderMap,
    template: Option<Template>,
    id_column: Option<usize>,
    columns: usize,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Option<serde_json::Value>,
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: serde_json::Map<String, serde_json::Value>,
    body: Option<serde_json::Value>,
    priority: Option<u8>,
    cost: Option<u32>,
    patience: Option<serde_json::Value>,
}

impl Parser {
    pub(crate) fn new(format: Format, headers: HeaderMap) -> Self {
        Self {
            format,
            headers,
            template: None,
            id_column: None,
            columns: 0,
        }
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Takes in a CSV's header row.
    pub(crate) fn header(
        &mut self,
        raw: &[u8],
        template: Option<&str>,
        id: Option<&str>,
    ) -> Result<(), String> {
        let columns = csv::header(raw).map_err(|b| format!("line 1, {b}"))?;
        let Some(template) = template else {
            return Err(format!(
                "CSV needs --url 'https://…/{{{{column}}}}'; the columns are: {}",
                shown(&columns)
            ));
        };
        self.columns = columns.len();
        self.template = Some(Template::new(template, &columns)?);
        self.id_column = match id {
            Some(name) => match columns.iter().position(|c| c == name) {
                Some(i) => Some(i),
                None => {
                    let known = shown(&columns);
                    return Err(format!(
                        "--id: no column {name:?} in the input; it has: {known}"
                    ));
                }
            },
            None => columns.iter().position(|c| c.eq_ignore_ascii_case("id")),
        };
        Ok(())
    }

    /// Whether a line holds no record at all.
    pub(crate) fn is_blank(&self, raw: &[u8]) -> bool {
        let mut rest = raw.trim_ascii().iter();
        match rest.next() {
            None => true,
            Some(b'#') => self.format == Format::Urls,
            Some(_) => false,
        }
    }

    /// Reads a record.
    pub(crate) fn parse(&self, raw: &[u8], line: u32) -> Result<Parsed, Bad> {
        match self.format {
            Format::Urls => {
                let text = text(raw)?;
                self.finish(line.to_string(), url(text.trim())?, Line::default())
            }
            Format::Jsonl => self.json(raw, line),
            Format::Csv => {
                let row = csv::row(raw)?;
                if row.len() > self.columns {
                    let (n, most) = (row.len(), self.columns);
                    return Err(Bad::whole(format!("{n} fields under a header of {most}")));
                }
                let Some(template) = &self.template else {
                    return Err(Bad::whole("CSV without its header"));
                };
                let address = template.fill(&row).map_err(Bad::whole)?;
                let id = self.id_column.and_then(|c| row.get(c));
                let id = match id.map(|v| String::from_utf8_lossy(v).trim().to_owned()) {
                    Some(id) if !id.is_empty() => id,
                    _ => line.to_string(),
                };
                self.finish(id, url(&address)?, Line::default())
            }
        }
    }

    fn json(&self, raw: &[u8], line: u32) -> Result<Parsed, Bad> {
        let read: Line = serde_json::from_slice(raw.trim_ascii()).map_err(|e| {
            let text = e.to_string();
            let why = text
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .to_owned();
            Bad::new(e.column(), why)
        })?;
        let id = match &read.id {
            None | Some(serde_json::Value::Null) => line.to_string(),
            Some(serde_json::Value::String(s)) if !s.is_empty() => s.clone(),
            Some(serde_json::Value::Number(n)) => n.to_string(),
            Some(_) => {
                return Err(Bad::whole("id must be a text or a number"));
            }
        };
        let address = url(read.url.trim())?;
        self.finish(id, address, read)
    }

    fn finish(&self, id: String, url: Url, line: Line) -> Result<Parsed, Bad> {
        let mut headers = self.headers.clone();
        for (name, value) in &line.headers {
            let value = value
                .as_str()
                .ok_or_else(|| Bad::whole(format!("header {name} must be a text")))?;
            let (name, value) = header_pair(name, value).map_err(Bad::whole)?;
            headers.insert(name, value);
        }
        let body = match line.body {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::String(s)) => Some(Bytes::from(s)),
            Some(other) => {
                headers
                    .entry(http::header::CONTENT_TYPE)
                    .or_insert(HeaderValue::from_static("application/json"));
                Some(Bytes::from(other.to_string()))
            }
        };
        if headers.keys().any(is_framing) {
            return Err(Bad::whole(
                "Content-Length, Transfer-Encoding, Connection and Host are set by abide",
            ));
        }
        let method = match &line.method {
            Some(m) => Method::from_bytes(m.to_ascii_uppercase().as_bytes())
                .map_err(|_| Bad::whole("method: not a method's name"))?,
            None if body.is_some() => Method::POST,
            None => Method::GET,
        };
        if method == Method::CONNECT {
            return Err(Bad::whole("CONNECT opens tunnels; it fetches nothing"));
        }
        let patience = match line.patience {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::Number(n)) => {
                let secs = n.as_f64().filter(|s| (0.0..=1e9).contains(s));
                let secs =
                    secs.ok_or_else(|| Bad::whole(format!("patience {n}: not in 0..1e9")))?;
                Some(std::time::Duration::from_secs_f64(secs))
            }
            Some(serde_json::Value::String(s)) => {
                Some(abide_config::duration(&s).map_err(|_| {
                    Bad::whole("patience: no time; write a number of seconds, or 250ms, 30s, 5m")
                })?)
            }
            Some(_) => return Err(Bad::whole("patience: neither a text nor a number")),
        };
        let priority = line.priority.unwrap_or(3);
        if priority > 7 {
            return Err(Bad::whole(format!(
                "priority {priority}: it goes from 0 (first) to 7"
            )));
        }
        if line.cost == Some(0) {
            return Err(Bad::whole("cost 0: a request costs 1 at least"));
        }
        let wanted = Wanted {
            method,
            url: url.clone(),
            headers,
            body,
            urgency: Urgency::BULK,
            cost: line.cost.unwrap_or(1),
            patience,
            safety: None,
            name: None,
        };
        Ok(Parsed {
            id,
            url,
            priority,
            wanted,
        })
    }
}

fn text(raw: &[u8]) -> Result<&str, Bad> {
    std::str::from_utf8(raw).map_err(|e| Bad::new(e.valid_up_to() + 1, "not UTF-8"))
}

fn url(text: &str) -> Result<Url, Bad> {
    let text = text.trim_start_matches('\u{feff}');
    if text.len() > LONGEST_URL {
        return Err(Bad::new(1, "a URL of more than 60 KiB"));
    }
    let url = Url::parse(text).map_err(|e| Bad::new(1, format!("not a URL: {e}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        "http" | "https" => Err(Bad::new(1, "a URL without a host")),
        other => Err(Bad::new(
            1,
            format!("{other}: only http and https are fetched"),
        )),
    }
}

/// Headers that say where a message ends or who it is for: wrong ones stall or split requests.
fn is_framing(name: &HeaderName) -> bool {
    use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, UPGRADE};
    [CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, UPGRADE].contains(name)
}

/// The longest address, in bytes: what HTTP libraries and servers refuse beyond.
const LONGEST_URL: usize = 60 * 1024;

/// A header, checked.
pub(crate) fn header_pair(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.trim().as_bytes())
        .map_err(|_| format!("{name:?} is no header name"))?;
    let mut value = HeaderValue::from_str(value.trim())
        .map_err(|_| format!("header {name}: its value has characters no header may have"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(line: &str) -> Result<Parsed, Bad> {
        Parser::new(Format::Jsonl, HeaderMap::new()).parse(line.as_bytes(), 7)
    }

    #[test]
    fn a_request_is_read_with_all_its_fields() {
        let p = json(
            r#"{"id":5,"method":"put","url":"https://a.example/","headers":{"X-A":"b"},
               "body":{"k":1},"priority":0,"cost":3,"patience":"90s"}"#,
        )
        .unwrap();
        assert_eq!((p.id.as_str(), p.priority, p.wanted.cost), ("5", 0, 3));
        assert_eq!(p.wanted.method, Method::PUT);
        assert_eq!(p.wanted.body.unwrap(), r#"{"k":1}"#);
        assert_eq!(p.wanted.headers["content-type"], "application/json");
        assert_eq!(p.wanted.patience.unwrap().as_secs(), 90);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(
            json(r#"{"url":"https://a.example/""#).unwrap_err().column,
            27
        );
        assert!(
            json(r#"{"uri":"https://a.example/"}"#)
                .unwrap_err()
                .why
                .contains("uri")
        );
        assert!(
            json(r#"{"url":"ftp://a.example/"}"#)
                .unwrap_err()
                .why
                .contains("http")
        );
        assert!(json(r#"{"url":"https://a.example/","priority":9}"#).is_err());
        assert!(json(r#"{"url":"https://a.example/","headers":{"a b":"c"}}"#).is_err());
    }

    #[test]
    fn an_item_without_an_id_is_its_line() {
        let p = Parser::new(Format::Urls, HeaderMap::new());
        assert_eq!(p.parse(b" https://a.example/x \r\n", 12).unwrap().id, "12");
        assert!(p.is_blank(b"  \r\n") && p.is_blank(b"# a comment\n"));
    }
}
