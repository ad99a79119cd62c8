//! The S3 server of the tests as a program, for tests that are not in Rust. It prints its address, its bucket, a key and
//! the secret, then the number of objects for every byte that it reads, and ends with its standard input.

#[path = "../tests/support/bucket.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod bucket;

use std::io::{Read, stdin};

fn main() {
    let mut served = bucket::Bucket::start();
    println!("http://{} {} {} {}", served.at(), bucket::NAME, bucket::ACCESS_KEY, bucket::SECRET_KEY);
    let mut byte = [0];
    while stdin().read(&mut byte).is_ok_and(|read| read == 1) {
        println!("{}", served.keys().len());
    }
    served.stop();
}
