//! What may be said of the gateway, of upstreams and of chains, and how mistakes are told.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

use std::time::Duration;

use abide_config::{Config, File, Secret, show};

fn load(text: &str) -> Result<Config, String> {
    let file = File {
        path: "abide.toml".to_owned(),
        text: text.to_owned(),
    };
    Config::load(Some(&file), [], []).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })
}

#[test]
fn a_section_and_variables_say_how_the_gateway_is() {
    let text =
        "[gateway]\nlisten = \"unix:/run/a.sock\"\ndrain = \"5s\"\nallow_from = [\"10.0.0.0/8\"]\n";
    let file = File {
        path: "abide.toml".to_owned(),
        text: text.to_owned(),
    };
    let env = [("ABIDE_GATEWAY_DRAIN".to_owned(), "7s".to_owned())];
    let gateway = Config::load(Some(&file), env, []).unwrap().gateway();
    assert_eq!(gateway.listen, "unix:/run/a.sock");
    assert_eq!(gateway.drain, Duration::from_secs(7));
    assert_eq!(gateway.allow_from, ["10.0.0.0/8"]);
    assert_eq!(gateway.threads, 2);
    assert_eq!(gateway.access_log.as_deref(), Some("-"));
    assert_eq!(gateway.advertise_cap, None);
}

#[test]
fn mistakes_are_told_with_their_place_and_what_was_meant() {
    for (text, told) in [
        (
            "[gateway]\nlisten_on = \"x\"\n",
            "abide.toml:2:1: unknown key \"listen_on\"; did you mean \"listen\"?",
        ),
        (
            "[gateway]\ndrain = \"soon\"\n",
            "abide.toml:2:9: gateway.drain: expected a duration",
        ),
        ("[gateway]\npatience = \"1s\"\n", "unknown key \"patience\""),
        (
            "[defaults]\ngateway.drain = \"1s\"\n",
            "gateway.drain is the gateway's; put it into [gateway]",
        ),
        (
            "[providers.a]\nupstream = \"ftp://x\"\n",
            "abide.toml:2:12: upstream: expected an address",
        ),
        (
            "[providers.a]\nupstream = \"https://u:p@x/\"\n",
            "upstream: expected an address",
        ),
        (
            "[providers.a.upstream]\nurl = \"https://x\"\nproxi = \"http://y\"\n",
            "abide.toml:3:1: upstream: unknown key \"proxi\"; did you mean \"proxy\"?",
        ),
        (
            "[providers.a.upstream]\nurl = \"https://x\"\ncert = \"c\"\n",
            "`cert` and `key` need each other",
        ),
        (
            "[providers.a.upstream]\nurl = \"https://x\"\ncredential = {}\n",
            "abide.toml:3:14: credential: expected",
        ),
        (
            "[[chain]]\nname = \"b\"\npath = \"/x/{a}\"\nmembers = [{ provider = \"p\", path = \"/{c}\" }]\n",
            "the chain's `path` has no {c}",
        ),
        (
            "[[chain]]\nname = \"b\"\nmembers = []\n",
            "it needs `members`",
        ),
        (
            "[providers.b]\nrate = \"1/s\"\n[[chain]]\nname = \"b\"\nmembers = [{ provider = \"p\" }]\n",
            "\"b\" is the name of a provider too",
        ),
    ] {
        let errors = load(text).unwrap_err();
        assert!(errors.contains(told), "{text}\n{errors}");
    }
}

#[test]
fn an_upstream_says_where_its_provider_is_and_how_it_is_reached() {
    let config = load(
        "[providers.shop.upstream]\nurl = \"https://api.shop.example/v1\"\naliases = [\"Shop.localhost\"]\n\
         credential = { env = \"SHOP\", prefix = \"Bearer \" }\n",
    )
    .unwrap();
    let (name, upstream) = config.upstreams().next().unwrap();
    assert_eq!(name, "shop");
    assert_eq!(upstream.aliases, ["shop.localhost"]);
    let credential = upstream.credential.as_ref().unwrap();
    assert_eq!(credential.header, "authorization");
    assert_eq!(credential.from, Secret::Env("SHOP".to_owned()));
    // Requests to its address are its own, whoever sends them.
    assert_eq!(config.provider_of("api.shop.example", 443), Some("shop"));
}

#[test]
fn a_token_is_not_shown() {
    let config = load("[gateway]\nclient_token = \"0123456789abcdef\"\n").unwrap();
    let shown = show(&config);
    assert!(shown.contains("client_token = \"…\""), "{shown}");
    assert!(!shown.contains("0123456789abcdef"));
}
