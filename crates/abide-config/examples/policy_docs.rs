//! Writes docs/policy.md to standard output.

fn main() {
    print!("{}", abide_config::docs());
}
