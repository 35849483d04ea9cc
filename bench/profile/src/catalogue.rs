//! The catalogue: made at every start, asked at every new address.

use std::hint::black_box;

use abide_profile::Catalogue;
use serde_json::{Map, Value};

use crate::put;
use crate::stopwatch::median;

pub(crate) fn measure(batches: usize, figures: &mut Map<String, Value>) {
    let built = median(batches, 10, || {
        black_box(Catalogue::built_in());
    });
    put(figures, "catalogue.built_in_ns".to_owned(), built);
    let every = median(batches.min(5), 1, || {
        let all = Catalogue::built_in();
        for name in all.names() {
            black_box(all.get(name));
        }
    });
    put(figures, "catalogue.built_in_and_every_ns".to_owned(), every);
    let all = Catalogue::built_in();
    for (name, host, path) in [
        ("known", "api.github.com", "/repos"),
        ("below", "a.b.service.example.org", "/"),
        ("with_path", "discord.com", "/api/v10/gateway"),
    ] {
        let found = median(batches, 500, || {
            black_box(all.find(black_box(host), 443, path));
        });
        put(figures, format!("catalogue.find.{name}_ns"), found);
    }
}
