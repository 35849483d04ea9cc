//! A limit that was learned, as a section of `abide.toml` that keeps it from the beginning.

use std::time::Duration;

use abide_core::control::{Learned, Limit};

/// The section of a provider that keeps this limit: what the first run paid refusals for, the next
/// one is told.
///
/// A window with boundaries is kept as one that slides, since a configuration knows no phase:
/// never more, and hardly less.
pub fn section(provider: &str, learned: &Learned) -> String {
    let lines = match learned.limit {
        Limit::Bucket { interval, burst } => {
            format!("rate = \"{}\"\nburst = {burst}\n", rate(interval))
        }
        Limit::Sliding { count, period } | Limit::Fixed { count, period, .. } => {
            format!("limits = [\"{count}/{}\"]\n", span(period))
        }
        Limit::AtOnce { count } => format!("concurrency = {count}\n"),
        _ => String::new(),
    };
    format!("# {learned}\n{}{lines}", head(provider))
}

/// The head of a provider's section. An origin that nobody knew gets a name made of its host's.
fn head(provider: &str) -> String {
    if !provider.contains(['.', ':', '[']) {
        return format!("[providers.{provider}]\n");
    }
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = provider.chars().map(kept).take(64).collect();
    format!("[providers.{name}]\nhosts = [{provider:?}]\n")
}

/// So many in a time that makes them whole, or nearly, and never more.
fn rate(interval: Duration) -> String {
    let each = interval.as_secs_f64().max(1e-9);
    for (unit, seconds) in [("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)] {
        let count = seconds / each;
        if count >= 10.0 || (count >= 1.0 && (count - count.round()).abs() < 1e-6) {
            return format!("{:.0}/{unit}", (count + 1e-6).floor());
        }
    }
    format!("1/{}", span(interval))
}

fn span(period: Duration) -> String {
    let millis = period.as_millis().max(1);
    if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn learned(limit: Limit) -> Learned {
        Learned {
            limit,
            refusals: 3,
            at: None,
        }
    }

    #[test]
    fn a_learned_limit_is_a_section_to_be_pasted() {
        let text = section(
            "api.example.org",
            &learned(Limit::Fixed {
                count: 100,
                period: Duration::from_secs(2),
                phase: Duration::ZERO,
            }),
        );
        assert_eq!(
            text,
            "# looks like 100 requests per 2s, fixed window; 3 refusals spent to learn it\n\
             [providers.api-example-org]\nhosts = [\"api.example.org\"]\nlimits = [\"100/2s\"]\n"
        );
    }

    #[test]
    fn what_is_offered_is_understood() {
        let limits = [
            Limit::Bucket {
                interval: Duration::from_millis(20),
                burst: 10,
            },
            Limit::Bucket {
                interval: Duration::from_secs(7),
                burst: 1,
            },
            Limit::Sliding {
                count: 57,
                period: Duration::from_millis(1_300),
            },
            Limit::AtOnce { count: 4 },
        ];
        for limit in limits {
            let text = section("api.example.org:8080", &learned(limit));
            let setup = crate::Setup::from_text("abide.toml", &text, crate::Use::Fetch);
            assert!(setup.is_ok(), "{text}: {:?}", setup.err());
        }
    }
}
