//! Says of each line `NAME<tab>VALUE` on standard input what the variable looks like.

use chiton_redact::look::look;

fn main() {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Some((name, value)) = line.split_once('\t') else { continue };
        println!("{:?}\t{name}\t{value}", look(name, value.replace("\\n", "\n").as_bytes()));
    }
}
