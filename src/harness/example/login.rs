//! Where the example finds its login: a variable or a file.

use crate::harness::login::{Login, UserFiles, first_set, has_text, read_json};

pub fn login(user: &dyn UserFiles) -> Login {
    if let Some(name) = first_set(user, &["EXAMPLE_API_KEY"]) {
        return Login::Found(name);
    }
    let file = user.home().join(".example/login.json");
    match read_json(user, &file) {
        Ok(Some(value)) if has_text(&value, "token") => Login::Found(file.display().to_string()),
        Ok(_) => Login::Missing("no key in the environment and no login of the example's own".into()),
        Err(why) => Login::Broken(why),
    }
}
