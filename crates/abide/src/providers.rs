//! Which providers there are at run time, and where they were found.
//!
//! An address is looked up in the catalogue once, and its provider remembered by what was written:
//! asking the catalogue takes longer than everything else about a plain request. An address whose
//! path has a say in whose it is is looked up each time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use abide_core::gate::HashedMap;
use abide_core::outage::{OutageNews, is_loopback};
use abide_core::provider::News;
use abide_profile::Profile;
use http::{HeaderMap, Method};
use parking_lot::RwLock;

use crate::account::account;
use crate::names::{Credential, Names};
use crate::outage::Audience;
use crate::place::Place;
use crate::shard::{Handle, Shard};
use crate::target::{self, Gates, Known, Target};

/// How many providers are remembered; those that nobody needs make room. Each is a few KiB. Only
/// providers of the catalogue and of the configuration may be more, as long as all are in use.
const REMEMBERED: usize = 10_000;

/// How many are looked at for one that can make room, before newcomers share one: bounds the cost
/// of a newcomer.
const LOOKS: usize = 16;

/// The name of the provider that origins share while there is no room for one of their own.
pub(crate) const OTHERS: &str = "*";

/// How many addresses are remembered, each in some hundred bytes. When they are too many all are
/// forgotten, which costs each a lookup.
const ADDRESSES: usize = 4096;

/// The providers at run time.
#[derive(Debug, Default)]
pub(crate) struct Providers {
    named: HashMap<Arc<str>, Handle>,
    /// Their names, in the order in which it is their turn to make room.
    turns: VecDeque<Arc<str>>,
    /// What origins share while there is no room.
    others: Option<Handle>,
    found: HashedMap<u64, Arc<Found>>,
}

/// The provider of an address.
#[derive(Debug)]
pub(crate) struct Found {
    /// Not owned: an address keeps nobody from making room.
    handle: Weak<Shard>,
    pub(crate) profile: Arc<Profile>,
    /// Its name.
    provider: Arc<str>,
    /// The host in its normal form.
    pub(crate) host: Arc<str>,
    /// It is this machine.
    pub(crate) loopback: bool,
    /// What the gate of its host is keyed by, where its provider has several.
    part: Option<Credential>,
    written: Arc<str>,
    port: (Option<u16>, u16),
    /// Of the account that sent last: most programs have one.
    last: RwLock<Option<Last>>,
}

/// What is remembered of the account that sent last.
#[derive(Debug)]
struct Last {
    /// Its name within this process.
    mark: Option<u128>,
    account: Option<Credential>,
    /// Its gates, where nothing else decides them.
    gates: Option<Gates>,
    /// Else those that are the same whatever is asked for.
    known: Arc<Known>,
}

/// The providers of a governor.
pub(crate) type Shards = RwLock<Providers>;

impl Audience for Shards {
    fn hear(&self, news: OutageNews) {
        // Told one by one, after the list was let go.
        let all = self.read().all();
        for shard in all {
            if !shard.is_local() {
                shard.tell(News::Outage(news));
            }
        }
    }
}

impl Found {
    /// The provider of its requests, before their gates are put `to` its target.
    pub(crate) fn target(&self, handle: &Handle) -> Target {
        Target {
            provider: Arc::clone(handle.name()),
            gates: Gates::new(),
            loopback: self.loopback,
            profile: Arc::clone(&self.profile),
        }
    }

    /// Adds the gates of a request to it, whose target has none yet. `named` is its account where
    /// the request does not tell. They are put where they are to be: there is room for the gates of
    /// most requests, and moving it about costs more than finding them.
    pub(crate) fn gates(
        &self,
        names: &Names,
        method: &Method,
        place: &Place<'_>,
        headers: &HeaderMap,
        named: Option<&str>,
        gates: &mut Gates,
    ) {
        let place = &Place {
            host: &self.host,
            ..*place
        };
        // Only its name within this process, until its gates are not those of the last.
        let mark = match named {
            Some(name) => Some(names.short(&target::account_parts(name))),
            None => account(&self.profile, place, headers, |parts| names.short(parts)),
        };
        let last = match &*self.last.read() {
            Some(last) if last.mark == mark => match &last.gates {
                Some(known) => return gates.extend_from_slice(known),
                None => Some((last.account, Arc::clone(&last.known))),
            },
            _ => None,
        };
        let (account, known) = last.unwrap_or_else(|| {
            let account = match named {
                Some(name) => Some(target::named_account(names, name)),
                None => account(&self.profile, place, headers, |parts| {
                    names.credential(parts)
                }),
            };
            (account, Arc::default())
        });
        let mut new = Known::default();
        target::gates(
            names,
            &self.provider,
            &self.profile,
            (method, place, headers),
            account,
            (&known, &mut new),
            gates,
        );
        if let Some(part) = self.part {
            target::add_host(gates, names, &self.provider, part);
        }
        if !new.is_empty()
            && let Some(mut last) = self.last.try_write()
        {
            let lasts = self.profile.gates().are_for_all();
            *last = Some(Last {
                mark,
                account,
                gates: lasts.then(|| gates.clone()),
                known: Arc::new(new.join(&known)),
            });
        }
    }

    pub(crate) fn new(
        handle: &Handle,
        profile: Arc<Profile>,
        place: &Place<'_>,
        written: &str,
        part: Option<Credential>,
    ) -> Self {
        let host: Arc<str> = place.host.into();
        Self {
            handle: Arc::downgrade(handle),
            provider: Arc::clone(handle.name()),
            profile,
            loopback: is_loopback(place.host),
            part,
            written: match place.host == written {
                true => Arc::clone(&host),
                false => written.into(),
            },
            host,
            port: (place.port, place.effective),
            last: RwLock::default(),
        }
    }
}

impl Providers {
    pub(crate) fn get(&self, name: &str) -> Option<&Handle> {
        self.named.get(name).filter(|handle| handle.turn().give())
    }

    pub(crate) fn all(&self) -> Vec<Handle> {
        let all = self.named.values().chain(&self.others);
        all.map(Arc::clone).collect()
    }

    pub(crate) fn others(&self) -> Option<Handle> {
        self.others.clone()
    }

    /// What origins share from now on; the one that was quicker, if there was one.
    pub(crate) fn share(&mut self, handle: Handle) -> Handle {
        Arc::clone(self.others.get_or_insert(handle))
    }

    pub(crate) fn has_room(&self) -> bool {
        self.named.len() < REMEMBERED
    }

    /// Those whose turn it is to make room: what they are at has to be asked under no other lock
    /// than their own. Those that nobody asked for since their last turn come first.
    pub(crate) fn candidates(&mut self) -> Vec<Handle> {
        let (mut all, mut asked) = (Vec::new(), Vec::new());
        for _ in 0..LOOKS.min(self.turns.len()) {
            let Some(name) = self.turns.pop_front() else {
                break;
            };
            if let Some(handle) = self.named.get(&name) {
                let was_asked = handle.turn().comes();
                if Arc::strong_count(handle) == 1 {
                    let to = if was_asked { &mut asked } else { &mut all };
                    to.push(Arc::clone(handle));
                }
            }
            self.turns.push_back(name);
        }
        all.append(&mut asked);
        all
    }

    /// Forgets a provider, unless somebody has it in hand or asked for it meanwhile.
    pub(crate) fn forget(&mut self, handle: &Handle) -> bool {
        let known = self.named.get(handle.name());
        // The list's own, and that of whoever makes room.
        let gone = known.is_some_and(|known| Arc::ptr_eq(known, handle))
            && Arc::strong_count(handle) <= 2
            && handle.turn().forget();
        if gone {
            self.named.remove(handle.name());
            // It was looked at a moment ago, so it is among the last.
            if let Some(at) = self.turns.iter().rposition(|name| name == handle.name()) {
                self.turns.remove(at);
            }
        }
        gone
    }

    /// Adds a provider. Where there is one of its name already, that is the one; where there is
    /// no room and `bounded` is set, there is none.
    pub(crate) fn add(&mut self, handle: &Handle, bounded: bool) -> Option<Handle> {
        if let Some(known) = self.get(handle.name()) {
            return Some(Arc::clone(known));
        }
        if bounded && !self.has_room() {
            return None;
        }
        self.turns.push_back(Arc::clone(handle.name()));
        self.named
            .insert(Arc::clone(handle.name()), Arc::clone(handle));
        Some(Arc::clone(handle))
    }

    /// The provider of an address that was found before.
    pub(crate) fn found(&self, key: u64, place: &Place<'_>) -> Option<(Handle, Arc<Found>)> {
        let found = self.found.get(&key)?;
        let same = *found.written == *place.host && found.port == (place.port, place.effective);
        if !same {
            return None;
        }
        let handle = found
            .handle
            .upgrade()
            .filter(|handle| handle.turn().give())?;
        Some((handle, Arc::clone(found)))
    }

    /// Whose an address is may have changed.
    pub(crate) fn forget_addresses(&mut self) {
        self.found.clear();
    }

    pub(crate) fn remember(&mut self, key: u64, handle: &Handle, found: Arc<Found>) {
        // Only of a provider that is still there: there must not be two of a name.
        let current = self.named.get(handle.name());
        if !current.is_some_and(|current| Arc::ptr_eq(current, handle)) {
            return;
        }
        if self.found.len() >= ADDRESSES {
            self.found.clear();
        }
        self.found.insert(key, found);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use abide_core::{Instant, WallTime};
    use url::Url;

    use super::*;
    use crate::Governor;

    fn route(governor: &Governor, url: &str) -> (Handle, Target) {
        let url = Url::parse(url).unwrap();
        let place = Place::of_url(&url).unwrap();
        governor
            .route(&Method::GET, &place, &HeaderMap::new(), None)
            .unwrap()
    }

    #[test]
    fn a_remembered_address_leads_where_a_lookup_does() {
        let governor = Governor::builder().seed(7).build().unwrap();
        for _ in 0..3 {
            for url in [
                "https://api.github.com/user",
                "https://api.github.com./search/code",
                "https://openlibrary.org/x?key=1",
                "https://openlibrary.org/x?key=2",
                "https://a.example/",
                "https://a.example:8443/",
                "http://a.example:443/",
                "https://ec2.eu-west-1.amazonaws.com/",
                "https://www.googleapis.com/youtube/v3/videos",
                "https://www.googleapis.com/books/v1/volumes",
                "https://www.googleapis.com/drive/v3/files",
            ] {
                let (handle, target) = route(&governor, url);
                let parsed = Url::parse(url).unwrap();
                let known = governor.target(&Method::GET, &parsed, &HeaderMap::new());
                assert_eq!(Some(&target), known.as_ref(), "{url}");
                assert!(
                    Arc::ptr_eq(target.profile(), known.unwrap().profile()),
                    "{url}"
                );
                assert_eq!(handle.name(), &target.provider, "{url}");
                assert!(
                    Arc::ptr_eq(&handle, &governor.provider_of(&target)),
                    "{url}"
                );
            }
        }
    }

    #[test]
    fn accounts_that_take_turns_keep_their_gates() {
        let governor = Governor::builder().seed(7).build().unwrap();
        let gates = |key| route(&governor, &format!("https://a.example/?key={key}")).1;
        let (one, two) = (gates(1), gates(2));
        assert_ne!(one, two);
        for _ in 0..3 {
            assert_eq!(
                (gates(1), gates(1), gates(2)),
                (one.clone(), one.clone(), two.clone())
            );
        }
    }

    #[test]
    fn what_was_found_is_of_a_provider_that_is_there() {
        let governor = Governor::builder().seed(7).build().unwrap();
        for n in 0..REMEMBERED + ADDRESSES {
            let url = format!("https://h{n}.example/");
            let (handle, target) = route(&governor, &url);
            assert!(Arc::ptr_eq(&handle, &governor.provider_of(&target)));
            assert!(Arc::ptr_eq(&handle, &route(&governor, &url).0));
        }
        let providers = governor.providers();
        assert_eq!(providers.named.len(), REMEMBERED, "idle ones made room");
        assert_eq!(providers.turns.len(), REMEMBERED);
        assert!(providers.others.is_none());
        assert!(providers.found.len() <= ADDRESSES);
    }

    #[derive(Debug)]
    struct ByHand(AtomicU64);

    impl crate::clock::Clock for ByHand {
        fn now(&self) -> Instant {
            Instant::from_secs(self.0.load(Ordering::Relaxed))
        }

        fn wall(&self) -> WallTime {
            WallTime::from_unix_secs(1_773_144_000)
        }
    }

    #[test]
    fn inv12_who_refused_once_and_was_never_asked_again_makes_room() {
        let clock = Arc::new(ByHand(AtomicU64::new(1_000)));
        let governor = Governor::builder().seed(7).clock(clock.clone());
        let governor = governor.build().unwrap();
        let refused = crate::Said::rate_limited().after(Duration::from_secs(60));
        for n in 0..REMEMBERED {
            governor.report(&format!("h{n}.example"), &refused);
        }
        let (handle, _) = route(&governor, "https://new.example/");
        assert_eq!(&**handle.name(), OTHERS, "all are held");
        assert!(Arc::ptr_eq(
            &handle,
            &route(&governor, "https://newer.example/").0
        ));
        let known = governor.provider("h0.example");
        assert!(known.view().iter().any(|g| g.hold.is_some()));
        // One that has profile and limits of its own never shares them with others.
        assert_eq!(&**governor.provider("github").name(), "github");
        drop((handle, known));
        clock.0.fetch_add(61, Ordering::Relaxed);
        for n in 0..100 {
            let (handle, _) = route(&governor, &format!("https://new{n}.example/"));
            assert_eq!(&**handle.name(), &format!("new{n}.example"));
        }
        let providers = governor.providers();
        assert!(providers.named.len() <= REMEMBERED + 1);
        assert_eq!(providers.turns.len(), providers.named.len());
    }

    #[test]
    fn what_a_program_says_of_its_providers_may_ask_the_governor() {
        static GOVERNOR: OnceLock<Governor> = OnceLock::new();
        let ask = || {
            GOVERNOR
                .get()
                .map(|g| (g.held(), g.provider("other.example")))
        };
        let governor = Governor::builder()
            .profiled_by(move |name| {
                if name != "other.example" {
                    ask();
                }
                None
            })
            .treated_by(move |name, _, _| {
                if name != "other.example" {
                    ask();
                }
                crate::Treatment::default()
            });
        let governor = GOVERNOR.get_or_init(|| governor.build().unwrap());
        let (told, hears) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(Arc::clone(governor.provider("a.example").name())));
        let name = hears
            .recv_timeout(Duration::from_secs(20))
            .expect("it hangs");
        assert_eq!(&*name, "a.example");
    }
}
