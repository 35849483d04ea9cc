//! The header names that are read, as one table.
//!
//! Names go by their first byte, so that a head full of other headers costs a few comparisons.
//! Further dialects belong to profiles.

/// Which of the separately told quotas a header speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// `X-RateLimit-*`
    X,
    /// `X-Rate-Limit-*`
    XDashed,
    /// `RateLimit-*`, the trio of the older drafts.
    Draft,
    /// `X-RateLimit-*-Requests`
    Requests,
    /// `X-RateLimit-*-Tokens`
    Tokens,
}

/// How many groups there are.
pub(super) const GROUPS: usize = 5;

/// What a quota header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Limit,
    Remaining,
    Reset,
    ResetAfter,
    Interval,
}

/// A header that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Age,
    ContentType,
    Date,
    Location,
    Quota(Group, Part),
    RateLimit,
    RateLimitPolicy,
    RetryAfter,
    /// Counts milliseconds.
    RetryAfterMillis,
    /// `X-RateLimit-Retry-After`
    RetryAfterX,
}

/// Looks a lower-case name up.
pub(super) fn known(name: &[u8]) -> Option<Known> {
    match name.first()? {
        b'a' => (name == b"age").then_some(Known::Age),
        b'c' => (name == b"content-type").then_some(Known::ContentType),
        b'd' => (name == b"date").then_some(Known::Date),
        b'l' => (name == b"location").then_some(Known::Location),
        b'r' => match name {
            b"retry-after" => Some(Known::RetryAfter),
            b"retry-after-ms" => Some(Known::RetryAfterMillis),
            b"ratelimit" => Some(Known::RateLimit),
            b"ratelimit-policy" => Some(Known::RateLimitPolicy),
            _ => quota(Group::Draft, name.strip_prefix(b"ratelimit-")?),
        },
        b'x' => x(name.strip_prefix(b"x-")?),
        _ => None,
    }
}

fn x(name: &[u8]) -> Option<Known> {
    if let Some(part) = name.strip_prefix(b"ratelimit-") {
        return match part {
            b"retry-after" => Some(Known::RetryAfterX),
            _ => quota(Group::X, part),
        };
    }
    if let Some(part) = name.strip_prefix(b"rate-limit-") {
        return quota(Group::XDashed, part);
    }
    match name {
        b"ms-retry-after-ms" | b"amz-retry-after" => Some(Known::RetryAfterMillis),
        _ => None,
    }
}

fn quota(group: Group, part: &[u8]) -> Option<Known> {
    let plain = |part: &[u8]| match part {
        b"limit" => Some(Part::Limit),
        b"remaining" => Some(Part::Remaining),
        b"reset" => Some(Part::Reset),
        _ => None,
    };
    let (group, part) = match part {
        b"reset-after" => (group, Part::ResetAfter),
        b"interval" => (group, Part::Interval),
        _ if group != Group::X => (group, plain(part)?),
        _ => match (
            part.strip_suffix(b"-requests"),
            part.strip_suffix(b"-tokens"),
        ) {
            (Some(part), _) => (Group::Requests, plain(part)?),
            (_, Some(part)) => (Group::Tokens, plain(part)?),
            _ => (group, plain(part)?),
        },
    };
    Some(Known::Quota(group, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_its_names() {
        let reset = |g| Some(Known::Quota(g, Part::Reset));
        for (name, expected) in [
            ("age", Some(Known::Age)),
            ("date", Some(Known::Date)),
            ("location", Some(Known::Location)),
            ("content-type", Some(Known::ContentType)),
            ("retry-after", Some(Known::RetryAfter)),
            ("retry-after-ms", Some(Known::RetryAfterMillis)),
            ("x-ms-retry-after-ms", Some(Known::RetryAfterMillis)),
            ("x-amz-retry-after", Some(Known::RetryAfterMillis)),
            ("x-ratelimit-retry-after", Some(Known::RetryAfterX)),
            ("x-ratelimit-reset", reset(Group::X)),
            ("x-rate-limit-reset", reset(Group::XDashed)),
            ("ratelimit-reset", reset(Group::Draft)),
            ("x-ratelimit-reset-requests", reset(Group::Requests)),
            ("x-ratelimit-reset-tokens", reset(Group::Tokens)),
            (
                "x-ratelimit-reset-after",
                Some(Known::Quota(Group::X, Part::ResetAfter)),
            ),
            (
                "x-rate-limit-interval",
                Some(Known::Quota(Group::XDashed, Part::Interval)),
            ),
            ("ratelimit", Some(Known::RateLimit)),
            ("ratelimit-policy", Some(Known::RateLimitPolicy)),
            ("x-ratelimit-used", None),
            ("x-ratelimit", None),
            ("x-request-id", None),
            ("retry-afterwards", None),
            ("dates", None),
            ("", None),
        ] {
            assert_eq!(known(name.as_bytes()), expected, "{name}");
        }
    }
}
