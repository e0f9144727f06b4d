//! Environment variables that make programs run other code, trust other certificates or talk to other servers.
//! A list of names; what is done about them is elsewhere.

const NAMES: &[&str] = &[
    // Which programs run, and what shells do first.
    "PATH",
    "SHELL",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "IFS",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    // Programs that other programs start.
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESS",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEYIN",
    "MANPAGER",
    "MANOPT",
    "SSH_AUTH_SOCK",
    "CC",
    "CXX",
    "LD",
    "AR",
    "AS",
    "MAKEFLAGS",
    "MAKEFILES",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "RUSTDOC",
    // Interpreters and loaders.
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "CLASSPATH",
    "_JAVA_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "JAVA_HOME",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "TCLLIBPATH",
    "GCONV_PATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "GTK_MODULES",
    "QT_PLUGIN_PATH",
    // Which certificates are trusted, and which names mean which servers.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "CURL_HOME",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "GOPROXY",
    "GOSUMDB",
    "KUBECONFIG",
];
const STARTS: &[&str] = &[
    "LD_",
    "DYLD_",
    "GIT_",
    "PYTHON",
    "NPM_CONFIG_",
    "YARN_",
    "PNPM_",
    "BUN_",
    "DENO_",
    "CARGO_",
    "GO_",
    "GOFLAGS",
    "GOENV",
    "GONOSUM",
    "GOINSECURE",
    "PIP_",
    "UV_",
    "GEM_",
    "BUNDLE_",
    "LUA_",
    "DOTNET_",
    "CORECLR_",
    "COR_",
    "DOCKER_",
    "GPG_",
    "GNUPG",
];
const ENDS: &[&str] = &[
    "_BASE_URL",
    "_API_BASE",
    "_API_URL",
    "_API_HOST",
    "_ENDPOINT",
    "_ENDPOINT_URL",
    "_PROXY",
    "_CONFIG_DIR",
    "_CONFIG_FILE",
    "_CUSTOM_HEADERS",
    "_CA_BUNDLE",
    "_CA_FILE",
    "_PAGER",
    "_EDITOR",
    "_ASKPASS",
    "_REGISTRY",
];

pub fn is_dangerous(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_change_programs_certificates_or_servers_are_known() {
        for name in [
            "LD_PRELOAD",
            "SSL_CERT_FILE",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "LESSOPEN",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "PYTHONSTARTUP",
            "https_proxy",
            "ALL_PROXY",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_CUSTOM_HEADERS",
            "OPENAI_BASE_URL",
            "AWS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
            "GIT_PAGER",
            "AWS_ENDPOINT_URL",
            "npm_config_registry",
        ] {
            assert!(is_dangerous(name), "{name}");
        }
        for name in [
            "TOKEN",
            "GITHUB_TOKEN",
            "NODE_ENV",
            "LANG",
            "DEBUG",
            "OPENAI_API_KEY",
            "TERM",
            "GOAL",
            "PIPELINE",
        ] {
            assert!(!is_dangerous(name), "{name}");
        }
    }
}
