//! Programs with a root of their own, seen from inside and from outside.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{WaitId, WaitIdOptions, waitid};
use sandbox::isolation::{KERNEL_MOUNT_POINTS, kernel_mounts, unavailable};
use sandbox::{
    Capabilities, Credentials, Isolation, Mount, Power, Program, Spawn, SpawnError, SpawnStep,
};

const NOBODY: u32 = 65_534;
/// What a shell needs; links of the host are followed.
const FROM_HOST: [&str; 4] = ["bin", "lib", "lib64", "usr"];

/// A directory that serves as a root, with the mount points in it.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Option<Self> {
        if let Some(reason) = unavailable() {
            eprintln!("skipped: {reason}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(directory.path(), mode).unwrap();
        for name in FROM_HOST.iter().chain(&KERNEL_MOUNT_POINTS) {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Some(Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn isolation(&self) -> Isolation {
        let from_host = FROM_HOST.map(|name| bind(Path::new("/").join(name).as_path(), name));
        Isolation {
            root: c_path(self.path()),
            mounts: from_host.into_iter().chain(kernel_mounts()).collect(),
            private_pids: true,
            private_ipc: true,
        }
    }
}

fn bind(source: &Path, target: &str) -> Mount {
    Mount::Bind { source: c_path(source), target: CString::new(target).unwrap(), read_only: true }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn power(held: &[&str]) -> Power {
    let set = held.iter().map(|name| Capabilities::named(name).unwrap());
    let held = set.fold(Capabilities::NONE, Capabilities::with);
    Power { most: held.with(Capabilities::named("chown").unwrap()), held }
}

/// Output and exit code of a shell script.
fn run(
    isolation: &Isolation,
    uid: u32,
    power: Power,
    script: &str,
) -> Result<(String, Option<i32>), SpawnError> {
    run_program(isolation, uid, power, &[c"/bin/sh"], &["sh", "-c", script])
}

fn run_program(
    isolation: &Isolation,
    uid: u32,
    power: Power,
    programs: &[&CStr],
    argv: &[&str],
) -> Result<(String, Option<i32>), SpawnError> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let argv: Vec<CString> = argv.iter().map(|text| CString::new(*text).unwrap()).collect();
    let programs: Vec<CString> = programs.iter().map(|path| (*path).to_owned()).collect();
    let child = Spawn {
        program: Program::FirstOf(&programs),
        argv: &argv,
        env: &[c"PATH=/usr/bin:/bin:/usr/sbin:/sbin".to_owned()],
        descriptors: &[null.as_fd(), writer.as_fd(), writer.as_fd()],
        directory: Some(c"/"),
        isolation: Some(isolation),
        user: Some(Credentials { uid, gid: uid, groups: &[] }),
        power: Some(power),
        umask: 0o022,
        oom_score_adj: None,
        parent_death_signal: Some(9),
        placement: None,
    }
    .start()?;
    drop(writer);
    let mut output = String::new();
    File::from(reader).read_to_string(&mut output).unwrap();
    let ended = waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap();
    Ok((output, ended.exit_status()))
}

#[test]
fn a_program_sees_its_root_its_processes_and_nothing_else() {
    let Some(root) = Root::new() else { return };
    let script = "pwd; ls /; echo $$; set -- /proc/[0-9]*; echo $#; id -u; ls /dev; \
                  echo x >/dev/null && head -c1 /dev/zero | wc -c; touch /made; cat /proc/timer_list";
    let (output, _) = run(&root.isolation(), NOBODY, power(&[]), script).unwrap();
    let mut lines: Vec<&str> = output.lines().collect();
    let last = lines.pop().unwrap();
    assert!(last.ends_with("Permission denied"), "{output}");
    let expected = [
        "/", "bin", "dev", "lib", "lib64", "proc", "sys", "usr", "1", "1", "65534", "fd", "full",
        "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom",
        "zero", "1",
    ];
    assert_eq!(lines, expected);
    assert!(root.path().join("made").exists());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(root.path().to_str().unwrap()), "{mounts}");
}

#[test]
fn read_only_is_read_only_all_the_way_down() {
    let Some(root) = Root::new() else { return };
    // As root with all capabilities that change files, but not the one to mount.
    let power = power(&["dac_override", "fowner", "mknod"]);
    let script = "for f in /usr/x /bin/x /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/x; \
                  do (: >>$f) 2>/dev/null && echo wrote $f; done; \
                  for d in / /dev; do cd $d; mknod m c 1 5 && head -c1 m >/dev/null && echo read $d; \
                  done 2>/dev/null; mount -t tmpfs t /usr 2>/dev/null && echo mounted; echo end";
    let (output, _) = run(&root.isolation(), 0, power, script).unwrap();
    assert_eq!(output, "end\n");
}

#[test]
fn capabilities_are_those_given_and_no_more() {
    let Some(root) = Root::new() else { return };
    let script = "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | tr -d '\\t\\n '";
    let of = |uid, power| run(&root.isolation(), uid, power, script).unwrap().0;
    let (none, chown) = ("0000000000000000", "0000000000000001");
    let expected = format!("CapInh:{none}CapPrm:{none}CapEff:{none}CapBnd:{chown}CapAmb:{none}");
    assert_eq!(of(NOBODY, power(&[])), expected);
    let expected = format!("CapInh:{none}CapPrm:{chown}CapEff:{chown}CapBnd:{chown}CapAmb:{none}");
    assert_eq!(of(0, power(&[])), expected);
    let (raw, both) = ("0000000000002000", "0000000000002001");
    let expected = format!("CapInh:{raw}CapPrm:{raw}CapEff:{raw}CapBnd:{both}CapAmb:{raw}");
    assert_eq!(of(NOBODY, power(&["net_raw"])), expected);
}

#[test]
fn the_first_program_that_is_there_is_made_executable_and_is_the_first_argument() {
    let Some(root) = Root::new() else { return };
    fs::write(root.path().join("own"), "#!/bin/sh\necho $0 $1\n").unwrap();
    let own: &[&CStr] = &[c"/local/own", c"/usr", c"/own", c"/bin/sh"];
    let (output, code) =
        run_program(&root.isolation(), NOBODY, power(&[]), own, &["", "x"]).unwrap();
    assert_eq!((output.as_str(), code), ("/own x\n", Some(0)));
    let none: &[&CStr] = &[c"/nowhere"];
    let error = run_program(&root.isolation(), NOBODY, power(&[]), none, &[""]).unwrap_err();
    assert_eq!((error.step, error.source.raw_os_error()), (SpawnStep::FindProgram, Some(2)));
}

#[test]
fn a_mount_that_fails_is_named_and_a_link_in_the_place_of_a_mount_point_is_not_followed() {
    let Some(root) = Root::new() else { return };
    let mut isolation = root.isolation();
    isolation.mounts.push(bind(Path::new("/no/such"), "made"));
    let error = run(&isolation, NOBODY, power(&[]), "").unwrap_err();
    assert_eq!(error.to_string(), "cannot mount /made from /no/such");

    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    let mut isolation = root.isolation();
    isolation.mounts.push(bind(Path::new("/usr"), "link"));
    let error = run(&isolation, NOBODY, power(&[]), "").unwrap_err();
    assert_eq!((error.step, error.source.raw_os_error()), (SpawnStep::Mount, Some(libc_loop())));
}

fn libc_loop() -> i32 {
    rustix::io::Errno::LOOP.raw_os_error()
}

#[test]
fn namespaces_are_shared_where_asked() {
    let Some(root) = Root::new() else { return };
    let script = "echo $$; readlink /proc/self/ns/ipc";
    let own = fs::read_link("/proc/self/ns/ipc").unwrap().to_string_lossy().into_owned();
    let (output, _) = run(&root.isolation(), NOBODY, power(&[]), script).unwrap();
    assert!(output.starts_with("1\n") && !output.contains(&own), "{output}");
    let shared = Isolation { private_pids: false, private_ipc: false, ..root.isolation() };
    let (output, _) = run(&shared, NOBODY, power(&[]), script).unwrap();
    assert!(!output.starts_with("1\n") && output.contains(&own), "{output}");
}
