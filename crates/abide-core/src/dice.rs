//! Mixing bits; no randomness of its own.

/// Spreads a number over 64 bits (the finaliser of SplitMix64), so that a counter makes ids that
/// look random under a random seed.
pub(crate) const fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ (n >> 31)
}
