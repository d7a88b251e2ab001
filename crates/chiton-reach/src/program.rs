//! The programs that can be carried: this one, and those for other processors beside it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A program for one kind of machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The processor, as `uname -m` has it.
    pub machine: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// The hash of its bytes, in hexadecimal digits: what it is called over there.
    pub hash: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Whether it brings its C library along.
    pub is_static: bool,
}

/// Every program that can be carried from here.
#[derive(Clone, Debug, Default)]
pub struct Programs(Vec<Program>);

/// The processors there are programs for, and the number by which a program says so of itself.
const MACHINES: [(&str, u16); 2] = [("x86_64", 62), ("aarch64", 183)];

impl Programs {
    /// What there is: in `folders` as `chiton-MACHINE` or `MACHINE/chiton`, and this program itself.
    pub fn find(folders: &[PathBuf]) -> io::Result<Self> {
        let mut found: Vec<Program> = Vec::new();
        for (machine, _) in MACHINES {
            let places = folders.iter().flat_map(|folder| {
                [folder.join(format!("chiton-{machine}")), folder.join(machine).join("chiton"), folder.join("chiton")]
            });
            let fits = |path: PathBuf| Program::at(&path).ok().filter(|program| program.machine == machine);
            found.extend(places.filter(|path| path.is_file()).find_map(fits));
        }
        if !found.iter().any(|program| program.machine == std::env::consts::ARCH) {
            // The program that runs, even if its file was replaced meanwhile.
            found.push(Program::at(Path::new("/proc/self/exe"))?);
        }
        Ok(Self(found))
    }

    /// All of them.
    pub fn all(&self) -> &[Program] {
        &self.0
    }

    /// The one for this processor.
    pub fn for_machine(&self, machine: &str) -> Option<&Program> {
        self.0.iter().find(|program| program.machine == machine)
    }
}

impl Program {
    /// The program in this file.
    pub fn at(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let head = read_head(&mut file)?;
        let (machine, is_static) = look(&head).ok_or_else(|| {
            let what = format!("{} is not a program for a processor that is known here", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { machine, path: path.to_owned(), hash: hash_of(&mut file)?, bytes: file.metadata()?.len(), is_static })
    }

    /// Its bytes.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.path)
    }
}

/// The hash of what can be read, in hexadecimal digits.
pub fn hash_of(reader: &mut impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(HEXLOWER.encode(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn read_head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head)?;
    Ok(head)
}

/// The processor an ELF file is for, and whether no loader is to be found for it first.
fn look(head: &[u8]) -> Option<(&'static str, bool)> {
    const INTERPRETER: u32 = 3;
    let short = |at: usize| Some(u16::from_le_bytes(*head.get(at..)?.first_chunk()?));
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = short(18)?;
    let (machine, _) = MACHINES.into_iter().find(|(_, known)| *known == number)?;
    let table = usize::try_from(u64::from_le_bytes(*head.get(32..)?.first_chunk()?)).ok()?;
    let (size, count) = (usize::from(short(54)?), usize::from(short(56)?));
    let kinds =
        (0..count).map_while(|place| Some(u32::from_le_bytes(*head.get(table + place * size..)?.first_chunk()?)));
    let mut kinds = kinds;
    Some((machine, !kinds.any(|kind| kind == INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_is_for() {
        let own = Program::at(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.machine, std::env::consts::ARCH);
        assert_eq!(own.hash.len(), 64);
        assert_eq!(own.bytes, fs::metadata("/proc/self/exe").unwrap().len());
        assert!(Program::at(Path::new("/etc/passwd")).is_err());
        assert_eq!(look(b"\x7fELF\x02\x01 cut"), None);
    }

    #[test]
    fn without_others_this_program_is_the_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("chiton-aarch64"), b"not a program").unwrap();
        let found = Programs::find(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found.all().len(), 1);
        assert_eq!(found.for_machine(std::env::consts::ARCH).unwrap().path, Path::new("/proc/self/exe"));
        assert!(found.for_machine("riscv64").is_none());
    }
}
