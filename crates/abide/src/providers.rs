//! Which providers there are at run time, and where they were found.
//!
//! An address is looked up in the catalogue once, and its provider remembered by what was written:
//! asking the catalogue takes longer than everything else about a plain request. An address whose
//! path has a say in whose it is is looked up each time.

use std::collections::HashMap;
use std::sync::Arc;

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
use crate::shard::Handle;
use crate::target::{self, Gates};

/// How many providers are remembered; idle ones make room. Each is a few KiB.
const REMEMBERED: usize = 10_000;

/// How many addresses are remembered, each in some hundred bytes. When they are too many all are
/// forgotten, which costs each a lookup.
const ADDRESSES: usize = 4096;

/// The providers at run time.
#[derive(Debug, Default)]
pub(crate) struct Providers {
    named: HashMap<Arc<str>, Handle>,
    found: HashedMap<u64, Arc<Found>>,
}

/// The provider of an address.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) handle: Handle,
    pub(crate) profile: Arc<Profile>,
    /// The host in its normal form.
    pub(crate) host: Arc<str>,
    /// It is this machine.
    pub(crate) loopback: bool,
    /// What the gate of its host is keyed by, where its provider has several.
    part: Option<Credential>,
    written: Arc<str>,
    port: (Option<u16>, u16),
    /// The gates of the account that sent last, where that decides them: most programs have one.
    last: RwLock<Option<(Option<Credential>, Gates)>>,
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
    /// The gates of a request to it. `named` is its account where the request does not tell.
    pub(crate) fn gates(
        &self,
        names: &Names,
        method: &Method,
        place: &Place<'_>,
        headers: &HeaderMap,
        named: Option<&str>,
    ) -> Gates {
        let account = match named {
            Some(name) => Some(target::named_account(names, name)),
            None => account(names, &self.profile, place, headers),
        };
        let lasts = self.profile.gates().are_for_all();
        if lasts
            && let Some((of, gates)) = &*self.last.read()
            && *of == account
        {
            return gates.clone();
        }
        let mut gates = target::gates(names, &self.profile, method, place, headers, account);
        if let Some(part) = self.part {
            target::add_host(&mut gates, part);
        }
        if lasts && let Some(mut last) = self.last.try_write() {
            *last = Some((account, gates.clone()));
        }
        gates
    }

    pub(crate) fn new(
        handle: Handle,
        profile: Arc<Profile>,
        place: &Place<'_>,
        written: &str,
        part: Option<Credential>,
    ) -> Self {
        let host: Arc<str> = place.host.into();
        Self {
            handle,
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
        self.named.get(name)
    }

    pub(crate) fn all(&self) -> Vec<Handle> {
        self.named.values().map(Arc::clone).collect()
    }

    /// Adds a provider; where there are too many, one that nobody would miss goes.
    pub(crate) fn add(&mut self, handle: &Handle) {
        if self.named.len() >= REMEMBERED {
            // What was found keeps its provider.
            self.found.clear();
            let mut all = self.named.values();
            let idle = all.find(|s| Arc::strong_count(s) == 1 && s.is_idle());
            if let Some(name) = idle.map(|s| Arc::clone(s.name())) {
                self.named.remove(&name);
            }
        }
        self.named
            .insert(Arc::clone(handle.name()), Arc::clone(handle));
    }

    /// The provider of an address that was found before.
    pub(crate) fn found(&self, key: u64, place: &Place<'_>) -> Option<Arc<Found>> {
        let found = self.found.get(&key)?;
        let same = *found.written == *place.host && found.port == (place.port, place.effective);
        same.then(|| Arc::clone(found))
    }

    pub(crate) fn remember(&mut self, key: u64, found: Arc<Found>) {
        // Only of a provider that is still there: there must not be two of a name.
        let current = self.named.get(found.handle.name());
        if !current.is_some_and(|current| Arc::ptr_eq(current, &found.handle)) {
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
    use url::Url;

    use super::*;
    use crate::Governor;

    fn route(governor: &Governor, url: &str) -> (Handle, crate::Target) {
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
        assert!(providers.found.len() <= ADDRESSES);
    }
}
