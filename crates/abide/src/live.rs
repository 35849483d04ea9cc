//! Changing how a provider is treated while requests wait and are out.
//!
//! Holds, balances and what was learned stay: a limit that did not change goes on where it was,
//! one that did takes over what was spent.

use std::sync::Arc;

use abide_core::policy::{Mode, ProviderPolicy};

use crate::governor::Governor;
use crate::judging::Judging;
use crate::policies::Treatment;
use crate::shard::Shard;

impl Shard {
    /// Whether what is decided is done.
    pub fn mode(self: &Arc<Self>) -> Mode {
        self.with(|s, _| s.machine.policy().mode)
    }

    /// Changes how its gates behave. Who waits and may go by the new policy goes at once.
    ///
    /// ```
    /// let governor = abide::Governor::builder().build().unwrap();
    /// let shop = governor.provider("shop.example");
    /// shop.change(|policy| policy.provider.concurrency = 2);
    /// ```
    pub fn change(self: &Arc<Self>, change: impl FnOnce(&mut ProviderPolicy)) {
        let local = self.with(|s, now| {
            let mut policy = s.machine.policy().clone();
            change(&mut policy);
            let local = policy.local;
            s.machine.change_policy(now, policy);
            local
        });
        // Whoever depends on our network hears how it is.
        if self.is_local_from_now(local)
            && !local
            && let Some(news) = self.shared().outage.news(self.shared().clock.now())
        {
            self.tell(news);
        }
    }

    /// Treats it so from now on.
    pub(crate) fn treat(self: &Arc<Self>, treatment: Treatment) {
        let Treatment {
            mut policy,
            classify,
            call,
            unpaced,
        } = treatment;
        self.judge_by(Judging {
            classify,
            call,
            unpaced,
        });
        self.change(|old| {
            policy.local |= old.local;
            *old = policy;
        });
    }

    /// Changes whether what is decided is done.
    pub fn set_mode(self: &Arc<Self>, mode: Mode) {
        self.change(|policy| policy.mode = mode);
    }
}

impl Governor {
    /// Treats every provider met so far as it is configured now. Holds, balances and what was learned
    /// stay; whose an address is, is asked anew.
    pub fn reconsider(&self) {
        self.forget_addresses();
        for shard in self.all() {
            let treatment = self.treatment(shard.name(), shard.profile());
            shard.treat(treatment);
        }
    }

    /// Changes whether what is decided is done, for every provider known so far.
    pub fn set_mode(&self, mode: Mode) {
        for shard in self.all() {
            shard.set_mode(mode);
        }
    }
}
