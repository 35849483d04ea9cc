//! Values as a server knows them.

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::fault::words;
use crate::db::{Fault, Row, Value};

pub(super) fn row(row: &tokio_postgres::Row) -> Result<Row, Fault> {
    let value = |(at, column): (usize, &tokio_postgres::Column)| {
        let read = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at).map(Value::from),
            Type::INT4 => row
                .try_get::<_, Option<i32>>(at)
                .map(|n| Value::from(n.map(i64::from))),
            // What a function gives that gives nothing.
            Type::VOID => Ok(Value::Null),
            Type::BOOL => row.try_get::<_, Option<bool>>(at).map(Value::from),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map(Value::from),
            _ => row.try_get::<_, Option<String>>(at).map(Value::from),
        };
        read.map_err(|e| Fault::Damaged(words(&e)))
    };
    let values = row.columns().iter().enumerate().map(value);
    Ok(Row(values.collect::<Result<_, _>>()?))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(n) if *of == Type::INT4 => i32::try_from(*n)?.to_sql(of, out),
            Self::Int(n) => n.to_sql(of, out),
            Self::Text(t) => t.to_sql(of, out),
            Self::Blob(b) => b.to_sql(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
