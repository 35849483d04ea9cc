//! What goes into a database and comes out: whole numbers, texts and bytes, the same in every
//! engine. Truth is 0 or 1, times are nanoseconds since 1970.

use abide::core::WallTime;

use super::Fault;

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// The values of a row, in the order in which they were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    pub(crate) fn int(&self, at: usize) -> Result<i64, Fault> {
        self.opt_int(at)?
            .ok_or_else(|| wrong(at, "a number", &Value::Null))
    }

    pub(crate) fn opt_int(&self, at: usize) -> Result<Option<i64>, Fault> {
        match self.at(at) {
            Value::Null => Ok(None),
            Value::Int(n) => Ok(Some(*n)),
            other => Err(wrong(at, "a number", other)),
        }
    }

    /// A count; what is below nothing reads as nothing.
    pub(crate) fn count(&self, at: usize) -> Result<u32, Fault> {
        Ok(u32::try_from(self.int(at)?.max(0)).unwrap_or(u32::MAX))
    }

    pub(crate) fn flag(&self, at: usize) -> Result<bool, Fault> {
        Ok(self.int(at)? != 0)
    }

    pub(crate) fn time(&self, at: usize) -> Result<WallTime, Fault> {
        Ok(WallTime::from_unix_nanos(self.int(at)?))
    }

    pub(crate) fn opt_time(&self, at: usize) -> Result<Option<WallTime>, Fault> {
        Ok(self.opt_int(at)?.map(WallTime::from_unix_nanos))
    }

    pub(crate) fn text(&self, at: usize) -> Result<String, Fault> {
        self.opt_text(at)?
            .ok_or_else(|| wrong(at, "a text", &Value::Null))
    }

    pub(crate) fn opt_text(&self, at: usize) -> Result<Option<String>, Fault> {
        match self.at(at) {
            Value::Null => Ok(None),
            Value::Text(t) => Ok(Some(t.clone())),
            other => Err(wrong(at, "a text", other)),
        }
    }

    pub(crate) fn opt_blob(&self, at: usize) -> Result<Option<Vec<u8>>, Fault> {
        match self.at(at) {
            Value::Null => Ok(None),
            Value::Blob(b) => Ok(Some(b.clone())),
            other => Err(wrong(at, "bytes", other)),
        }
    }

    fn at(&self, at: usize) -> &Value {
        self.0.get(at).unwrap_or(&Value::Null)
    }
}

fn wrong(at: usize, wanted: &str, found: &Value) -> Fault {
    let found = match found {
        Value::Null => "nothing",
        Value::Int(_) => "a number",
        Value::Text(_) => "a text",
        Value::Blob(_) => "bytes",
    };
    Fault::Damaged(format!("column {at} has {found} where {wanted} belongs"))
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<u32> for Value {
    fn from(n: u32) -> Self {
        Self::Int(i64::from(n))
    }
}

impl From<u8> for Value {
    fn from(n: u8) -> Self {
        Self::Int(i64::from(n))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Int(i64::from(b))
    }
}

impl From<WallTime> for Value {
    fn from(t: WallTime) -> Self {
        Self::Int(t.as_unix_nanos())
    }
}

impl From<&str> for Value {
    fn from(t: &str) -> Self {
        Self::Text(t.to_owned())
    }
}

impl From<String> for Value {
    fn from(t: String) -> Self {
        Self::Text(t)
    }
}

impl From<Vec<u8>> for Value {
    fn from(b: Vec<u8>) -> Self {
        Self::Blob(b)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}
