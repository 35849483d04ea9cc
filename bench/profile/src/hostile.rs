//! Bodies made to cost as much as they can, as large as they are looked at.

use std::hint::black_box;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, classify};
use abide_core::signal::read;
use abide_core::{Instant, Moment, Skew, WallTime};
use abide_fuzz::hostile::{KINDS, STATUSES, bodies};
use abide_profile::Catalogue;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};

use crate::put;
use crate::stopwatch::{median, time};

const FEW: [&str; 6] = ["generic", "github", "gemini", "openai", "discord", "ebay"];

pub(crate) fn measure(quick: bool, show: bool, figures: &mut Map<String, Value>) {
    let all = Catalogue::built_in();
    let names = match quick {
        true => FEW.to_vec(),
        false => all.names(),
    };
    let at = Moment::new(
        Instant::from_secs(1000),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let policy = ClassifyPolicy::default();
    let (mut worst, mut which) = (0.0_f64, String::new());
    for (body, bytes) in bodies() {
        let (mut most, mut whom) = (0.0_f64, String::new());
        for name in &names {
            let Some(profile) = all.get(name) else {
                continue;
            };
            for (status, kind) in STATUSES.iter().flat_map(|s| KINDS.map(|k| (*s, k))) {
                let headers =
                    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
                let signal = read(status, &headers, at, &mut Skew::new());
                let request = RequestView {
                    method: &Method::GET,
                    path: "/",
                    accepts_json: true,
                };
                let answer = Answer {
                    signal: &signal,
                    headers: &headers,
                    sample: Some(&bytes),
                    complete: true,
                    trailers: None,
                };
                let judge = || {
                    let rules = &**profile.rules();
                    black_box(classify(&request, black_box(&answer), Some(rules), &policy));
                };
                // Once for what is made when it is first needed; then the better of two, and of
                // more where it matters.
                judge();
                let mut ns = time(judge).min(time(judge));
                if ns > most {
                    ns = median(5, 1, judge);
                }
                if ns > most {
                    (most, whom) = (ns, format!("{name} {} {kind}", status.as_u16()));
                }
            }
        }
        if show {
            println!("{body:<28} {most:>12.0} {whom}");
        }
        if most > worst {
            (worst, which) = (most, format!("{body}: {whom}"));
        }
    }
    put(figures, "hostile.worst_ns".to_owned(), worst);
    figures.insert("hostile.worst".to_owned(), Value::from(which));
    let yardstick = abide_fuzz::hostile::yardstick();
    let parse = median(21, 1, || {
        black_box(serde_json::from_slice::<Value>(black_box(&yardstick)).is_ok());
    });
    put(figures, "hostile.parse_plain_64k_ns".to_owned(), parse);
    let ratio = (10.0 * worst / parse).round() / 10.0;
    figures.insert("hostile.worst_to_parse".to_owned(), Value::from(ratio));
}
