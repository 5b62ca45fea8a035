// Closures, trait objects, panics that are caught, collections.
use std::collections::HashMap;
use std::panic;

trait Step {
    fn run(&self, n: u64) -> u64;
}
struct Add(u64);
struct Twice(Box<dyn Step>);
impl Step for Add {
    fn run(&self, n: u64) -> u64 {
        (0..n).map(|i| std::hint::black_box(i).wrapping_mul(self.0)).fold(0, u64::wrapping_add)
    }
}
impl Step for Twice {
    fn run(&self, n: u64) -> u64 {
        self.0.run(n) ^ self.0.run(n / 2)
    }
}

#[inline(never)]
fn fail(n: u32) -> u32 {
    if n == 0 {
        panic::resume_unwind(Box::new(7u32));
    }
    std::hint::black_box(fail(n - 1)) + 1
}

fn main() {
    let mut step: Box<dyn Step> = Box::new(Add(3));
    for _ in 0..5 {
        step = Box::new(Twice(step));
    }
    let mut total = 0u64;
    for round in 0..400u64 {
        total ^= step.run(1000);
        let mut words: HashMap<String, Vec<u64>> = HashMap::new();
        for i in 0..200 {
            words.entry(format!("{}", i * round % 97)).or_default().push(i);
        }
        let mut sorted: Vec<_> = words.iter().map(|(k, v)| (v.len(), k.clone())).collect();
        sorted.sort_by(|a, b| b.cmp(a));
        total += sorted.len() as u64;
        total += panic::catch_unwind(|| fail(20)).unwrap_or(1) as u64;
    }
    println!("{}", total);
}
