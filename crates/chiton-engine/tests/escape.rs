//! Ways out of a sandbox, each tried from inside: as the user that the tests run as and as an ordinary one, with
//! namespaces and without. `cargo test -p chiton-engine --test escape 'hard_link'`.
#![cfg(test)]

mod harness;

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::sandbox::report::RefusedAccess;
use chiton_testkit::trials::{self, Threads, Trial};
use harness::{Harness, enclosed, runtime};

/// Prints OPEN where it got out. `O` is a folder outside, `S` a hidden one, `P` a process outside, `N` the number of a file
/// that it has open, `U` a socket outside, `A` one without a path; `call` makes a system call and raises where that fails.
const PRELUDE: &str = r"
import ctypes, os, sys, socket, struct, signal, time
O, S, P, N, U, A = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5], sys.argv[6]
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    arguments = [ctypes.c_char_p(a) if isinstance(a, bytes) else a if not isinstance(a, int) else ctypes.c_long(a) for a in arguments]
    answer = libc.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
def text(path, what=None):
    if what is None:
        with open(path) as file: return file.read()
    with open(path, 'w') as file: file.write(what)
def escape():
";

const CLOSING: &str = r"
try:
    open_ = escape()
    print('OPEN' if open_ is not False else 'HELD')
except (OSError, PermissionError, ValueError) as error:
    print('HELD', error)
";

/// Whether a probe is held without namespaces as well.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// Always.
    Always,
    /// Only where there are namespaces; without them the reply says that this is weaker.
    InNamespaces,
}
use Holds::{Always, InNamespaces};

/// What is tried, and its name.
const PROBES: &[(&str, Holds, &str)] = &[
    ("write", Always, "text(O + '/file', 'x')"),
    ("append", Always, "os.close(os.open(O + '/file', os.O_WRONLY | os.O_APPEND))"),
    ("open_for_both", Always, "os.close(os.open(O + '/file', os.O_RDWR))"),
    ("make_a_file", Always, "text(O + '/made', 'x')"),
    ("make_a_file_without_a_name", Always, "os.close(os.open(O, os.O_WRONLY | os.O_TMPFILE, 0o600))"),
    ("truncate", Always, "os.truncate(O + '/file', 0)"),
    ("open_to_truncate", Always, "os.close(os.open(O + '/file', os.O_RDONLY | os.O_TRUNC))"),
    ("remove", Always, "os.unlink(O + '/file')"),
    ("remove_a_folder", Always, "os.rmdir(O + '/empty')"),
    ("make_a_folder", Always, "os.mkdir(O + '/made')"),
    ("make_a_link", Always, "os.symlink('x', O + '/made')"),
    ("make_a_pipe", Always, "os.mkfifo(O + '/made')"),
    ("make_a_socket", Always, "socket.socket(socket.AF_UNIX).bind(O + '/made')"),
    ("hard_link_inside_and_write", Always, "os.link(O + '/file', 'linked'); text('linked', 'x')"),
    ("hard_link_out", Always, "text('own', 'x'); os.link('own', O + '/made')"),
    ("move_in", Always, "os.rename(O + '/file', 'moved')"),
    ("move_out", Always, "text('own', 'x'); os.rename('own', O + '/made')"),
    ("replace_by_moving", Always, "text('own', 'x'); os.rename('own', O + '/file')"),
    ("exchange", Always, "text('own', 'x'); call(316, -100, b'own', -100, (O + '/file').encode(), 2)"),
    ("through_a_link", Always, "os.symlink(O + '/file', 'link1'); text('link1', 'x')"),
    ("through_a_link_to_a_folder", Always, "os.symlink(O, 'link2'); text('link2/file', 'x')"),
    ("through_dots", Always, "text('../outside/file', 'x')"),
    ("through_the_root_of_oneself", Always, "text('/proc/self/root' + O + '/file', 'x')"),
    ("through_the_folder_of_oneself", Always, "text('/proc/self/cwd/../outside/file', 'x')"),
    ("through_the_root_of_another", Always, "text(f'/proc/{P}/root' + O + '/file', 'x')"),
    ("through_the_folder_of_another", Always, "text(f'/proc/{P}/cwd/file', 'x')"),
    ("through_the_descriptor_of_another", Always, "text(f'/proc/{P}/fd/{N}', 'x')"),
    ("through_the_root_of_init", Always, "text('/proc/1/root' + O + '/file', 'x')"),
    ("through_an_open_folder", Always, "os.close(os.open('file', os.O_WRONLY, dir_fd=os.open(O, os.O_RDONLY)))"),
    (
        "through_openat2",
        Always,
        "os.close(call(437, -100, (O + '/file').encode(), struct.pack('QQQ', os.O_WRONLY, 0, 0), 24))",
    ),
    ("from_another_directory", Always, "os.chdir(O); text('file', 'x')"),
    ("change_the_mode", InNamespaces, "os.chmod(O + '/file', 0o777)"),
    ("change_the_mode_of_an_open_file", InNamespaces, "os.fchmod(os.open(O + '/file', os.O_RDONLY), 0o777)"),
    ("change_the_times", InNamespaces, "os.utime(O + '/file', (1, 1))"),
    ("change_the_times_of_an_open_file", InNamespaces, "os.utime(os.open(O + '/file', os.O_RDONLY), (1, 1))"),
    ("change_an_attribute", InNamespaces, "os.setxattr(O + '/file', 'user.x', b'x')"),
    (
        "change_an_attribute_of_an_open_file",
        InNamespaces,
        "os.setxattr(os.open(O + '/file', os.O_RDONLY), 'user.x', b'x')",
    ),
    ("change_the_group", InNamespaces, "os.chown(O + '/file', -1, os.getgid())"),
    ("read_what_is_hidden", Always, "return 'hidden' in text(S + '/id')"),
    ("list_what_is_hidden", Always, "return 'id' in os.listdir(S)"),
    ("read_what_is_hidden_through_oneself", Always, "return 'hidden' in text('/proc/self/root' + S + '/id')"),
    ("read_what_is_hidden_through_another", Always, "return 'hidden' in text(f'/proc/{P}/root' + S + '/id')"),
    ("read_what_is_hidden_by_a_hard_link", Always, "os.link(S + '/id', 'stolen'); return 'hidden' in text('stolen')"),
    ("move_what_is_hidden", Always, "os.rename(S, 'stolen-folder')"),
    ("cover_a_folder", Always, "call(165, b'tmpfs', O.encode(), b'tmpfs', 0, None)"),
    ("bind_a_folder", Always, "call(165, O.encode(), O.encode(), None, 4096, None)"),
    ("make_everything_writable", Always, "call(165, None, b'/', None, 32 | 4096, None)"),
    ("uncover_what_is_hidden", Always, "call(166, S.encode(), 2)"),
    ("clone_the_mounts", Always, "call(428, -100, b'/', 1 | 0x8000)"),
    ("change_the_mounts", Always, "call(442, -100, b'/', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), 32)"),
    ("new_users", Always, "call(272, 0x10000000)"),
    ("new_users_and_mounts", Always, "call(272, 0x10000000 | 0x20000)"),
    (
        "new_users_by_clone",
        Always,
        "pid = call(56, 0x10000000 | 17, 0, 0, 0, 0); os._exit(0) if pid == 0 else os.waitpid(pid, 0)",
    ),
    ("new_users_by_clone3", Always, "call(435, struct.pack('Q' * 11, 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)"),
    ("join_the_mounts_of_another", Always, "call(308, os.open(f'/proc/{P}/ns/mnt', os.O_RDONLY), 0)"),
    ("join_the_users_of_another", Always, "call(308, os.open(f'/proc/{P}/ns/user', os.O_RDONLY), 0)"),
    ("another_root", Always, "os.chroot(O)"),
    ("io_uring", Always, "call(425, 1, ctypes.create_string_buffer(120))"),
    ("keyring", Always, "call(248, b'user', b'chiton-test', b'x', 1, -3)"),
    ("read_keyring", Always, "call(250, 11, -3, ctypes.create_string_buffer(64), 64)"),
    ("bpf", Always, "call(321, 0, ctypes.create_string_buffer(72), 72)"),
    ("perf_events", Always, "call(298, struct.pack('II', 1, 112) + b'\\0' * 104, 0, -1, -1, 0)"),
    ("kernel_module", Always, "call(175, b'x', 1, b'')"),
    ("file_handles", Always, "call(304, -100, b'x' * 32, 0)"),
    ("virtual_sockets", Always, "socket.socket(40, socket.SOCK_STREAM)"),
    ("raw_packets", Always, "socket.socket(17, socket.SOCK_RAW)"),
    ("kernel_cryptography", Always, "socket.socket(38, socket.SOCK_SEQPACKET)"),
    ("bluetooth", Always, "socket.socket(31, socket.SOCK_SEQPACKET)"),
    ("trace_another", Always, "call(101, 16, P, 0, 0)"),
    ("seize_another", Always, "call(101, 0x4206, P, 0, 0)"),
    ("read_the_memory_of_another", Always, "open(f'/proc/{P}/mem', 'rb').close()"),
    ("read_the_environment_of_another", Always, "return len(text(f'/proc/{P}/environ')) > 0"),
    ("take_a_descriptor_of_another", Always, "call(438, os.pidfd_open(P), int(N), 0)"),
    ("signal_another", Always, "os.kill(P, signal.SIGURG)"),
    ("signal_the_group_of_another", Always, "os.killpg(os.getpgid(P), signal.SIGURG)"),
    ("signal_by_thread", Always, "call(234, P, P, int(signal.SIGURG))"),
    ("signal_by_handle", Always, "signal.pidfd_send_signal(os.pidfd_open(P), signal.SIGURG)"),
    ("limit_another", Always, "import resource; resource.prlimit(P, resource.RLIMIT_NOFILE, (64, 64))"),
    ("slow_another_down", Always, "os.setpriority(os.PRIO_PROCESS, P, 19)"),
    ("bind_another_to_a_processor", Always, "os.sched_setaffinity(P, {0})"),
    ("offer_another_to_the_memory_killer", Always, "text(f'/proc/{P}/oom_score_adj', '1000')"),
    ("connect_to_a_socket", Always, "socket.socket(socket.AF_UNIX).connect(U)"),
    (
        "connect_to_a_socket_through_a_link",
        Always,
        "os.symlink(U, 'sock'); socket.socket(socket.AF_UNIX).connect('sock')",
    ),
    ("connect_to_a_socket_without_a_path", Always, "socket.socket(socket.AF_UNIX).connect('\\0' + A)"),
    ("dump_pattern", Always, "text('/proc/sys/kernel/core_pattern', text('/proc/sys/kernel/core_pattern'))"),
    ("name_of_the_machine", Always, "socket.sethostname(socket.gethostname())"),
    ("set_the_clock", Always, "call(227, 0, struct.pack('qq', int(time.time()), 0)); return True"),
    ("write_to_memory_of_the_machine", Always, "os.close(os.open('/dev/mem', os.O_RDWR))"),
    ("log_of_the_kernel", Always, "os.close(os.open('/dev/kmsg', os.O_WRONLY))"),
    ("inherited_descriptors", Always, "return len([fd for fd in os.listdir('/proc/self/fd') if int(fd) > 4]) > 0"),
    (
        "rights",
        Always,
        "held = int([l for l in text('/proc/self/status').splitlines() if l.startswith('CapEff')][0].split()[1], 16); return held & ~0x4fb != 0",
    ),
    ("gain_rights", Always, "return libc.prctl(39, 0, 0, 0, 0) != 1"),
    (
        "race_of_a_link",
        Always,
        r"
    import threading
    os.mkdir('swap'); text('swap/file', 'x'); stop = []
    def swap():
        while not stop:
            try:
                os.rename('swap', 'swapped'); os.symlink(O, 'swap'); os.unlink('swap'); os.rename('swapped', 'swap')
            except OSError: pass
    thread = threading.Thread(target=swap); thread.start()
    for _ in range(10000):
        try: os.close(os.open('swap/file', os.O_WRONLY | os.O_TRUNC))
        except OSError: pass
    stop.append(1); thread.join()
    return text(O + '/file') != 'old'",
    ),
    (
        "race_of_a_path",
        Always,
        r"
    import threading
    path = ctypes.create_string_buffer(4096); stop = []
    good, bad = b'own-file', (O + '/file').encode()
    text('own-file', 'x'); path.value = good
    def swap():
        while not stop:
            path.value = bad; path.value = good
    threads = [threading.Thread(target=swap) for _ in range(4)]
    for thread in threads: thread.start()
    for _ in range(3000):
        fd = libc.syscall(257, -100, path, os.O_WRONLY | os.O_TRUNC)
        if fd >= 0: os.close(fd)
    stop.append(1)
    for thread in threads: thread.join()
    return text(O + '/file') != 'old'",
    ),
];

/// What is held without a word, because nothing is asked about it: calls that the filter refuses whoever makes them, what
/// looks empty, what the kernel keeps from others by itself, and attributes of files that are open.
const SILENT: &[&str] = &[
    "another_root",
    "bind_a_folder",
    "bluetooth",
    "bpf",
    "change_an_attribute_of_an_open_file",
    "change_the_mode_of_an_open_file",
    "change_the_mounts",
    "change_the_times_of_an_open_file",
    "clone_the_mounts",
    "connect_to_a_socket_without_a_path",
    "cover_a_folder",
    "file_handles",
    "gain_rights",
    "inherited_descriptors",
    "io_uring",
    "join_the_mounts_of_another",
    "join_the_users_of_another",
    "kernel_cryptography",
    "kernel_module",
    "keyring",
    "list_what_is_hidden",
    "make_everything_writable",
    "name_of_the_machine",
    "new_users",
    "new_users_and_mounts",
    "new_users_by_clone",
    "new_users_by_clone3",
    "offer_another_to_the_memory_killer",
    "perf_events",
    "race_of_a_link",
    "race_of_a_path",
    "raw_packets",
    "read_keyring",
    "read_the_environment_of_another",
    "read_the_memory_of_another",
    "read_what_is_hidden",
    "read_what_is_hidden_by_a_hard_link",
    "read_what_is_hidden_through_another",
    "read_what_is_hidden_through_oneself",
    "rights",
    "seize_another",
    "set_the_clock",
    "signal_by_thread",
    "take_a_descriptor_of_another",
    "trace_another",
    "uncover_what_is_hidden",
    "virtual_sockets",
    "write_to_memory_of_the_machine",
];

/// What everybody tries to reach: it is outside of the sandbox.
struct Outside {
    folder: tempfile::TempDir,
    process: Child,
    _socket: UnixListener,
    _abstract: UnixDatagram,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["outside/empty", "work", "secret", "sockets"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("outside/file"), "old").unwrap();
        fs::set_permissions(root.join("outside/file"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(root.join("secret/id"), "hidden").unwrap();
        let socket = UnixListener::bind(root.join("sockets/outside")).unwrap();
        let input = fs::OpenOptions::new().read(true).write(true).open(root.join("outside/file")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "what is to be reached is not a command of the engine")]
        let mut process = Command::new("sleep");
        // Leads a group that can be seen from here, wherever the tests were started from.
        process.process_group(0).arg("600").current_dir(root.join("outside")).stdin(input).stdout(Stdio::null());
        let process = process.spawn().unwrap();
        let name = format!("chiton-escape-{}", process.id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let unnamed = UnixDatagram::bind_addr(&address).unwrap();
        Self { folder, process, _socket: socket, _abstract: unnamed }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Whether everything is as it was.
    fn is_untouched(&self) -> bool {
        let file = self.path("outside/file");
        let data = fs::metadata(&file).unwrap();
        fs::read_to_string(&file).is_ok_and(|text| text == "old")
            && data.permissions().mode() & 0o7777 == 0o644
            && data.mtime() > 1000
            && self.path("outside/empty").is_dir()
            && !self.path("outside/made").exists()
    }
}

impl Outside {
    /// Whether one of these is about what is outside, by the program that tried it.
    fn is_told_of(&self, refused: &[RefusedAccess]) -> bool {
        let process = format!("process {} ", self.process.id());
        let places = [self.path("outside"), self.path("sockets"), self.path("secret")];
        refused.iter().any(|access| {
            let path = Path::new(&access.path);
            let is_outside = places.iter().any(|place| path.starts_with(place)) || path.starts_with("/dev");
            let is_other = access.path.starts_with(&process) || path.starts_with("/proc/sys");
            access.by.starts_with("python3") && (is_outside || is_other)
        })
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn policy(outside: &Outside) -> SandboxPolicy {
    SandboxPolicy { profile: "work".to_owned(), hide: vec![outside.path("secret")], ..enclosed(&outside.path("work")) }
}

fn probe(name: &str, holds: Holds, code: &str, without: Without) -> Result<(), String> {
    let outside = Outside::new();
    let harness = Harness::with(|config| {
        config.sandbox = Some(policy(&outside));
        config.sandbox_without = without;
    });
    let session = harness.session_in(&outside.path("work"));
    let code = code.trim_start_matches('\n');
    let indented = if code.starts_with("    ") { code.to_owned() } else { format!("    {code}\n    return True") };
    fs::write(outside.path("work/probe.py"), format!("{PRELUDE}{indented}\n{CLOSING}")).unwrap();
    let arguments = [
        outside.path("outside").display().to_string(),
        outside.path("secret").display().to_string(),
        outside.process.id().to_string(),
        "0".to_owned(),
        outside.path("sockets/outside").display().to_string(),
        format!("chiton-escape-{}", outside.process.id()),
    ];
    let command = format!("python3 probe.py {}", arguments.join(" "));
    let report = runtime().block_on(harness.run(&session, &command));
    let said = format!("{}{}", report.stdout.to_text(), report.stderr.to_text());
    let sandbox = report.protection.sandbox.clone().ok_or("there is no sandbox")?;

    let is_held = said.contains("HELD") && outside.is_untouched();
    let is_named = holds == InNamespaces && without.namespaces && !sandbox.weaker.is_empty();
    // What only root could do is refused to others by the kernel, and not by us.
    let is_roots = ["dump_pattern", "log_of_the_kernel"].contains(&name) && !rustix::process::geteuid().is_root();
    let is_told =
        without.watch || SILENT.contains(&name) || is_roots || is_named || outside.is_told_of(&report.refused);
    if (is_held || is_named) && is_told {
        return Ok(());
    }
    Err(format!(
        "{name} got out, or nobody was told: {said}\nuntouched: {}\nrefused: {:?}\n{sandbox:?}",
        outside.is_untouched(),
        report.refused
    ))
}

fn main() -> ExitCode {
    let ways = [
        ("all layers", Without::default()),
        ("no namespaces", Without { namespaces: true, ..Without::default() }),
        ("no watch", Without { watch: true, ..Without::default() }),
    ];
    let mut trials = Vec::new();
    for (way, without) in ways {
        for (name, holds, code) in PROBES {
            // Sockets by their paths are held by the watch alone.
            let needs_watch = name.starts_with("connect_to_a_socket") && !name.contains("without_a_path");
            if needs_watch && without.watch {
                continue;
            }
            let run = move || probe(name, *holds, code, without).map_err(Into::into);
            trials.push(Trial::test(*name, run).with_kind(way));
        }
    }
    let enough = || if PROBES.len() >= 60 { Ok(()) } else { Err("too few probes".into()) };
    trials.push(Trial::test("there_are_at_least_sixty_probes", enough));
    trials::run(Threads::Processors, trials, Vec::new())
}
