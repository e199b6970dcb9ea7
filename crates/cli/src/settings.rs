//! Where to call and as whom: flags over environment over defaults.
//!
//! The only reader of environment variables; each one is a constant here.

use clap::Args;
use sdk::{Address, Client, DEFAULT_ADDRESS};

use crate::failure::Failure;

/// The agent's address.
pub(crate) const NOMAD_ADDR: &str = "NOMAD_ADDR";
/// The region to forward to.
pub(crate) const NOMAD_REGION: &str = "NOMAD_REGION";
/// The namespace of calls that name none.
pub(crate) const NOMAD_NAMESPACE: &str = "NOMAD_NAMESPACE";
/// The secret of the user's token.
pub(crate) const NOMAD_TOKEN: &str = "NOMAD_TOKEN";
/// `user:password` for a proxy in front of the agent.
pub(crate) const NOMAD_HTTP_AUTH: &str = "NOMAD_HTTP_AUTH";
/// Any value turns colour off.
pub(crate) const NOMAD_CLI_NO_COLOR: &str = "NOMAD_CLI_NO_COLOR";
/// Any value turns colour on even where the output is no terminal.
pub(crate) const NOMAD_CLI_FORCE_COLOR: &str = "NOMAD_CLI_FORCE_COLOR";
/// The convention of many programs for the same.
pub(crate) const NO_COLOR: &str = "NO_COLOR";
/// The user's home directory, for `~` in file functions of job files.
pub(crate) const HOME: &str = "HOME";

/// The environment as the command sees it.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: Vec<(String, String)>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: std::env::vars_os().filter_map(text).collect() }
    }

    /// An environment made up for a test.
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { variables: variables.iter().map(owned).collect() }
    }

    /// The value of a variable; an empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All of them: those that start with `NOMAD_VAR_` are values for job files.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

// The flags every command that calls an agent takes. (A doc comment would become their help.)
#[derive(Debug, Args)]
#[command(next_help_heading = "General options")]
pub(crate) struct General {
    /// Where the agent listens (NOMAD_ADDR); http://127.0.0.1:4646 unless given
    #[arg(long, value_name = "URL")]
    address: Option<String>,
    /// The region to forward to (NOMAD_REGION)
    #[arg(long)]
    region: Option<String>,
    /// The namespace, or * for all (NOMAD_NAMESPACE)
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// The secret of an access token (NOMAD_TOKEN)
    #[arg(long)]
    token: Option<String>,
    /// No colours (NOMAD_CLI_NO_COLOR)
    #[arg(long)]
    no_color: bool,
    /// Colours even where the output is no terminal (NOMAD_CLI_FORCE_COLOR)
    #[arg(long)]
    force_color: bool,
    #[arg(long, hide = true)]
    ca_cert: Option<String>,
    #[arg(long, hide = true)]
    ca_path: Option<String>,
    #[arg(long, hide = true)]
    client_cert: Option<String>,
    #[arg(long, hide = true)]
    client_key: Option<String>,
    #[arg(long, hide = true)]
    tls_server_name: Option<String>,
    #[arg(long, hide = true, alias = "insecure")]
    tls_skip_verify: bool,
}

impl General {
    /// The client these flags and the environment describe.
    pub(crate) fn client(&self, environment: &Environment) -> Result<Client, Failure> {
        let given = [
            ("ca-cert", self.ca_cert.is_some()),
            ("ca-path", self.ca_path.is_some()),
            ("client-cert", self.client_cert.is_some()),
            ("client-key", self.client_key.is_some()),
            ("tls-server-name", self.tls_server_name.is_some()),
            ("tls-skip-verify", self.tls_skip_verify),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Failure::new(format!("-{flag}: TLS is not there yet (docs/gaps.md)")));
        }
        let pick = |flag: &Option<String>, name: &str| {
            let value = flag.as_deref().or_else(|| environment.get(name));
            value.unwrap_or_default().to_owned()
        };
        let address = pick(&self.address, NOMAD_ADDR);
        let address = if address.is_empty() { DEFAULT_ADDRESS } else { &address };
        let address = Address::parse(address).map_err(Failure::new)?;
        Ok(Client {
            address,
            region: pick(&self.region, NOMAD_REGION),
            namespace: pick(&self.namespace, NOMAD_NAMESPACE),
            token: pick(&self.token, NOMAD_TOKEN),
            http_auth: environment.get(NOMAD_HTTP_AUTH).unwrap_or_default().to_owned(),
        })
    }

    /// Whether to colour, given whether the output is a terminal.
    pub(crate) fn colour(&self, environment: &Environment, terminal: bool) -> bool {
        let set = |name| environment.get(name).is_some();
        if self.no_color {
            return false;
        }
        if self.force_color || set(NOMAD_CLI_FORCE_COLOR) {
            return true;
        }
        terminal && !set(NOMAD_CLI_NO_COLOR) && !set(NO_COLOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn general(words: &[&str]) -> General {
        let command = General::augment_args(clap::Command::new("x").no_binary_name(true));
        General::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn flags_go_before_the_environment() {
        let environment = Environment::of(&[
            (NOMAD_ADDR, "http://env:1"),
            (NOMAD_TOKEN, "secret"),
            (NOMAD_REGION, ""),
        ]);
        let client = general(&["--address=http://flag:2"]).client(&environment).unwrap();
        assert_eq!(client.address.to_string(), "http://flag:2");
        assert_eq!((client.token.as_str(), client.region.as_str()), ("secret", ""));
        let client = general(&[]).client(&environment).unwrap();
        assert_eq!(client.address.to_string(), "http://env:1");
    }

    #[test]
    fn tls_is_refused_rather_than_ignored() {
        let failure = general(&["--ca-cert=x"]).client(&Environment::default()).unwrap_err();
        assert!(failure.text.contains("-ca-cert") && failure.text.contains("gaps.md"));
    }

    #[test]
    fn colour_follows_the_terminal_unless_told() {
        let none = Environment::default();
        let quiet = Environment::of(&[(NO_COLOR, "1")]);
        assert!(general(&[]).colour(&none, true) && !general(&[]).colour(&none, false));
        assert!(!general(&[]).colour(&quiet, true));
        assert!(general(&["--force-color"]).colour(&quiet, false));
    }
}
