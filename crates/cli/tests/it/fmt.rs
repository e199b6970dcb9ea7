//! `fmt`: which files change, what is printed, and how it ends.

use crate::agent::run;

const MESSY: &str = "job \"j\" {\ntype=\"batch\"\n}\n";
const NEAT: &str = "job \"j\" {\n  type = \"batch\"\n}\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `fmt` on the folder; gives the code and the names printed, without the folder's.
    async fn fmt(&self, flags: &[&str]) -> (u8, String) {
        let folder = self.path("");
        let words: Vec<&str> = ["fmt"].iter().chain(flags).chain([&&*folder]).copied().collect();
        let (code, out, err) = run(&words, &[], "").await;
        (code, (out + &err).replace(&folder, ""))
    }
}

#[tokio::test]
async fn a_folder_stands_for_its_job_files_and_with_recursive_for_those_below() {
    let folder = Folder::new(&[
        ("a.nomad.hcl", MESSY),
        ("b.nomad", MESSY),
        ("c.txt", MESSY),
        ("d.hcl", NEAT),
        ("below/e.hcl", MESSY),
    ]);
    assert_eq!(folder.fmt(&[]).await, (0, "a.nomad.hcl\nb.nomad\n".to_owned()));
    for (name, text) in [("a.nomad.hcl", NEAT), ("b.nomad", NEAT), ("c.txt", MESSY)] {
        assert_eq!(folder.text(name), text, "{name}");
    }
    assert_eq!(folder.text("below/e.hcl"), MESSY);
    assert_eq!(folder.fmt(&["-recursive"]).await, (0, "below/e.hcl\n".to_owned()));
    assert_eq!(folder.text("below/e.hcl"), NEAT);
    assert_eq!(folder.fmt(&["-recursive"]).await, (0, String::new()));
}

#[tokio::test]
async fn check_changes_nothing_and_fails_when_something_would_change() {
    let folder = Folder::new(&[("a.hcl", MESSY)]);
    assert_eq!(folder.fmt(&["-check", "-write"]).await, (1, "a.hcl\n".to_owned()));
    assert_eq!(folder.fmt(&["-check", "-list=false"]).await, (1, String::new()));
    assert_eq!(folder.text("a.hcl"), MESSY);
    assert_eq!(folder.fmt(&["-list=false"]).await, (0, String::new()));
    assert_eq!(folder.fmt(&["-check"]).await, (0, String::new()));
}

#[tokio::test]
async fn without_writing_names_or_texts_are_printed() {
    let folder = Folder::new(&[("a.hcl", MESSY)]);
    assert_eq!(folder.fmt(&["-write=false"]).await, (0, "a.hcl\n".to_owned()));
    assert_eq!(folder.fmt(&["-write=false", "-list=false"]).await, (0, NEAT.to_owned()));
    assert_eq!(folder.text("a.hcl"), MESSY);
}

#[tokio::test]
async fn standard_input_goes_to_standard_output() {
    assert_eq!(run(&["fmt", "-"], &[], MESSY).await, (0, NEAT.to_owned(), String::new()));
    assert_eq!(run(&["fmt", "-check", "-"], &[], MESSY).await.0, 1);
    assert_eq!(run(&["fmt", "-check", "-"], &[], NEAT).await.0, 0);
}

#[tokio::test]
async fn a_file_that_is_no_hcl_is_shown_and_left_and_the_others_are_formatted() {
    let folder = Folder::new(&[("a.hcl", "job \"j\" {\n"), ("b.hcl", MESSY)]);
    let (code, shown) = folder.fmt(&[]).await;
    assert_eq!(code, 1);
    assert!(shown.contains("Unexpected end of file") && shown.contains("a.hcl:1:"), "{shown}");
    assert_eq!(folder.text("a.hcl"), "job \"j\" {\n");
    assert_eq!(folder.text("b.hcl"), NEAT);
    let (code, _, err) = run(&["fmt", "Cargo.toml"], &[], "").await;
    assert_eq!(code, 1);
    assert!(err.contains("only .nomad and .hcl files"), "{err}");
}
