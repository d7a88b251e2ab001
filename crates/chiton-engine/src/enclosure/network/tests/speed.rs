//! How fast it is beside a connection without it: `cargo test -p chiton-engine --lib speed -- --ignored --nocapture`.

use super::servers;
use super::stage::{HOST, Stage, outside, plan, run_here};

#[test]
#[ignore = "measures, and takes a while"]
fn the_relay_beside_a_direct_connection() {
    outside("speed::the_relay_beside_a_direct_connection", || {
        servers::http(&format!("{HOST}:80"), None);
        let stage = Stage::set(&plan(&[("allowed.test", None)], &[("allowed.test", &[HOST])]));
        let large =
            |host: &str| format!("curl -sS -o /dev/null -w '%{{speed_download}}' http://{host}/bytes/2000000000");
        let small = |host: &str| {
            format!(
                "python3 -c '
import socket, time
def took():
    start = time.perf_counter()
    s = socket.create_connection((\"{host}\", 80))
    s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
    while s.recv(4096): pass
    return time.perf_counter() - start
all = sorted(took() for _ in range(300))
print(round(all[30] * 1000000), round(all[150] * 1000000))'"
            )
        };
        let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap().trim().to_owned();
        for _ in 0..3 {
            println!(
                "bytes per second: direct {}, relayed {}",
                text(run_here(&large(HOST))),
                stage.prints(&large("allowed.test"))
            );
        }
        println!("small request, µs p10 p50: direct {}", text(run_here(&small(HOST))));
        println!("small request, µs p10 p50: relayed, by address {}", stage.prints(&small(HOST)).trim());
        println!("small request, µs p10 p50: relayed, by name {}", stage.prints(&small("allowed.test")).trim());
    });
}
