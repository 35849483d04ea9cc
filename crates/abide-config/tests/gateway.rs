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

#[test]
fn inv11_a_mistake_in_an_address_shows_no_password() {
    let upstream = |told: &str| format!("[providers.shop]\nupstream = {told}\n");
    let section = |key: &str, told: &str| {
        format!("[providers.shop.upstream]\nurl = \"https://a.example\"\n{key} = \"{told}\"\n")
    };
    for text in [
        upstream("\"https://me:hunter2@api.shop.example\""),
        upstream("{ url = \"https://me:hunter2@api.shop.example\" }"),
        upstream("\"https://api.shop.example?key=hunter2\""),
        upstream("\"me:hunter2@api.shop.example\""),
        section("proxy", "https://me:hunter2@proxy.example"),
        section("proxy", "ftp://me:hunter2@proxy.example:3128"),
        "[providers.shop]\nhosts = [\"https://me:hunter2@api.shop.example\"]\n".to_owned(),
        "[gateway]\nclient_token = [\"hunter2hunter2hunter2\"]\n".to_owned(),
        "[gateway]\nadvertise_cap = \"https://me:hunter2@x\"\n".to_owned(),
    ] {
        let why = load(&text).unwrap_err();
        assert!(!why.contains("hunter2"), "{why}");
        assert!(why.starts_with("abide.toml:"), "{why}");
    }
}

#[test]
fn upstreams_and_chains_are_shown_without_secrets() {
    let text = "[providers.shop.upstream]\nurl = \"https://api.shop.example\"\n\
                proxy = \"http://me:hunter2@proxy.example:3128\"\naliases = [\"shop.localhost\"]\n\
                credential = { env = \"SHOP\", prefix = \"Bearer \" }\nprivate = true\nhead = \"45s\"\n\
                [[chain]]\nname = \"book\"\nmembers = [{ provider = \"shop\", local = true }]\n";
    let config = load(text).unwrap();
    let json = abide_config::show_json(&config);
    let upstream = &json["providers"]["shop"]["upstream"];
    assert_eq!(upstream["origin"], "abide.toml:2:7");
    let value = &upstream["value"];
    assert_eq!(value["url"], "https://api.shop.example/");
    assert_eq!(value["proxy"], "http://…@proxy.example:3128");
    assert_eq!(value["aliases"][0], "shop.localhost");
    assert_eq!(value["credential"]["env"], "SHOP");
    assert_eq!(value["private"], true);
    assert_eq!(value["head"], "45s");
    assert_eq!(json["chain"][0]["members"][0]["provider"], "shop");
    let text = show(&config);
    assert!(text.contains("[[chain]]") && text.contains("aliases = [\"shop.localhost\"]"));
    assert!(!format!("{json} {text} {config:?}").contains("hunter2"));
}

#[test]
fn a_variable_moves_a_provider_and_leaves_the_rest_of_its_section() {
    let file = File {
        path: "abide.toml".to_owned(),
        text: "[providers.my-shop.upstream]\nurl = \"https://a.example\"\nprivate = true\n"
            .to_owned(),
    };
    let with =
        |name: &str, url: &str| Config::load(Some(&file), [(name.to_owned(), url.to_owned())], []);
    let config = with("ABIDE_UPSTREAM_MY_SHOP", "http://b.example:81").unwrap();
    let (name, upstream) = config.upstreams().next().unwrap();
    assert_eq!(
        (name, upstream.url().as_str()),
        ("my-shop", "http://b.example:81/")
    );
    assert!(upstream.private);
    assert_eq!(config.provider_of("b.example", 81), Some("my-shop"));
    let config = with("ABIDE_UPSTREAM_OTHER", "http://c.example").unwrap();
    assert!(config.upstreams().any(|(name, _)| name == "other"));
    let wrong = with("ABIDE_UPSTREAM_OTHER", "http://me:hunter2@c.example").unwrap_err();
    assert!(
        wrong[0].to_string().starts_with("ABIDE_UPSTREAM_OTHER: "),
        "{wrong:?}"
    );
    assert!(!wrong[0].to_string().contains("hunter2"), "{wrong:?}");
    assert!(with("ABIDE_UPSTREAM_a b", "http://c.example").is_err());
}
