#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| abide_fuzz::recordings(data));
