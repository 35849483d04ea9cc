//! Writes docs/gateway-api.json to standard output.

fn main() {
    print!("{}", abide_gateway::api_document());
}
