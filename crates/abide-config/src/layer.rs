//! One source of values: what is set in it, and where.

use std::collections::BTreeMap;

use crate::error::Origin;
use crate::value::Value;

/// Values by key, each with its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layer(BTreeMap<&'static str, (Value, Origin)>);

impl Layer {
    pub(crate) fn set(&mut self, key: &'static str, value: Value, origin: Origin) {
        self.0.insert(key, (value, origin));
    }

    pub(crate) fn get(&self, key: &str) -> Option<&(Value, Origin)> {
        self.0.get(key)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}
