//! An executable that is nothing but a keeper, for programs that cannot call `serve_if_asked` in their `main`.

fn main() -> std::process::ExitCode {
    chiton_engine::serve_always()
}
