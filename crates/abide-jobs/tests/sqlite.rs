//! The conformance suite on SQLite: in a file, and in memory.

mod cases;
mod common;

macro_rules! on_sqlite {
    ($of:ident, $case:ident) => {
        mod $case {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_a_file() {
                crate::cases::$of::$case(crate::common::Scene::sqlite()).await;
            }

            #[tokio::test]
            async fn in_memory() {
                crate::cases::$of::$case(crate::common::Scene::memory()).await;
            }
        }
    };
}

every_case!(on_sqlite);
