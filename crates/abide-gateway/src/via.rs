//! The gateway's name in `Via`, by which a request that comes round in a circle is known.

use http::header::HeaderMap;

/// Whether this gateway handed the request on before: its name stands in `Via`.
pub(crate) fn came_before(headers: &HeaderMap, name: &str) -> bool {
    let values = headers.get_all(http::header::VIA).iter();
    values
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|hop| hop.split_whitespace().nth(1) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gw_a_loop_is_seen_by_our_own_name() {
        let of = |via: &str| {
            came_before(
                &[(http::header::VIA, via.parse().unwrap())]
                    .into_iter()
                    .collect(),
                "abide-1f",
            )
        };
        assert!(of("1.1 abide-1f"));
        assert!(of("1.0 squid (squid/6), 2 abide-1f"));
        assert!(!of("1.1 abide-2e"));
        assert!(!of("1.1 (abide-1f)"));
    }
}
