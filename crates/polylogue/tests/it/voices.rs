//! `polylogue voices pull`: what is fetched, and what is not.

use crate::folder::Folder;

#[test]
fn without_a_name_nothing_is_fetched_where_another_engine_speaks() {
    let folder = Folder::without_cache();
    folder.write("polylogue.toml", "[speech]\nengine = \"espeak\"\n");
    let pulled = folder.run(&["voices", "pull"]);
    assert_eq!((pulled.status, pulled.stderr.as_str()), (0, ""));
    assert!(!folder.path("cache").exists());
}
