//! Over real sockets: a hoster that cuts connections, and comes back.

use abide::core::refusal::RefusalKind;
use abide_acceptance::script::{Script, cut, ok};
use abide_config::{Setup, Use};
use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};

use crate::*;

#[tokio::test]
async fn c01_over_the_wire_a_cut_connection_holds_for_five_seconds() {
    let script = Script::new(|n| if n == 0 { cut() } else { ok() });
    let server = Server::start(Provider::new(script), ServerOptions::default()).unwrap();
    let hosts = format!("\n[providers.hoster]\nhosts = [\"{}\"]\n", server.address());
    let setup = Setup::from_text("abide.toml", &(POLICY.to_owned() + &hosts), Use::Call).unwrap();
    let client = setup.client(setup.governor().build().unwrap()).unwrap();
    let url = format!("{}/file", server.url());
    let failed = client.get(&url).send().await.unwrap_err();
    assert_eq!(failed.turned().unwrap().refusal.attempts, 1);
    let s = client.provider("hoster").state();
    assert_eq!((s.failures, s.available), (1, false));
    let left = s.retry_at.unwrap().since(client.governor().clock().wall());
    assert!(left <= secs(5) && left > secs(4), "{left:?}");
    let refused = client.get(&url).send().await.unwrap_err();
    assert_eq!(refused.turned().unwrap().refusal.kind, RefusalKind::Held);
    assert_eq!(server.truth().requests, 1, "the second was not sent");
    // Somebody knows better and lifts it: one request goes first, and heals.
    client.governor().lift("hoster");
    client.get(&url).send().await.unwrap();
    assert!(client.provider("hoster").state().healthy);
}
