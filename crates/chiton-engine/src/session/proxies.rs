//! The variables by which programs find a proxy, as the sandbox of a session needs them.

use std::collections::BTreeMap;

use crate::sandbox::Upstream;
use crate::state::{Value, Variable};

/// Programs read them in either case.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
const EXCEPT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// Makes Node read the variables above, which it does not by itself.
const FOR_NODE: &str = "NODE_USE_ENV_PROXY";

/// What becomes of these variables. Whatever that is, the session keeps those that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProxyVariables {
    #[default]
    AsTheyAre,
    /// Names are dialled through this proxy outside. Inside it cannot be reached, and its password is nobody's business.
    Without(Upstream),
    /// The only way out is a proxy at this port.
    Ours(u16),
}

impl ProxyVariables {
    pub(super) fn apply(&self, variables: &mut BTreeMap<String, Variable>) {
        match self {
            Self::AsTheyAre => {}
            Self::Without(upstream) => {
                let means_it = |variable: &Variable| {
                    let value = variable.scalar().and_then(|value| std::str::from_utf8(value).ok());
                    value.is_some_and(|value| upstream.is_meant_by(value))
                };
                variables.retain(|name, variable| !PROXIES.contains(&name.as_str()) || !means_it(variable));
            }
            Self::Ours(port) => {
                let mut set = |name: &str, value: &str| {
                    variables.insert(name.to_owned(), Variable::exported(Value::Scalar(value.into())));
                };
                for name in PROXIES {
                    set(name, &format!("http://127.0.0.1:{port}"));
                }
                for name in EXCEPT {
                    set(name, "localhost,127.0.0.1,::1");
                }
                set(FOR_NODE, "1");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(pairs: &[(&str, &str)]) -> BTreeMap<String, Variable> {
        let variable = |value: &str| Variable::exported(Value::Scalar(value.into()));
        pairs.iter().map(|(name, value)| ((*name).to_owned(), variable(value))).collect()
    }

    #[test]
    fn a_proxy_that_cannot_be_reached_inside_is_not_named_there() {
        let upstream = Upstream::parse("http://me:word@proxy.example:3128", "").unwrap();
        let own = ("http_proxy", "http://127.0.0.1:8080");
        let mut variables = exported(&[
            own,
            ("HTTPS_PROXY", "http://me:word@proxy.example:3128/"),
            ("ALL_PROXY", "proxy.example:3128"),
            ("OTHER", "http://me:word@proxy.example:3128/"),
        ]);
        ProxyVariables::Without(upstream).apply(&mut variables);
        assert_eq!(variables.keys().collect::<Vec<_>>(), ["OTHER", "http_proxy"]);
    }

    #[test]
    fn our_proxy_takes_the_place_of_others() {
        let mut variables = exported(&[("https_proxy", "http://me:word@proxy.example:3128"), ("NO_PROXY", "*")]);
        ProxyVariables::Ours(4711).apply(&mut variables);
        for (name, value) in [("https_proxy", "http://127.0.0.1:4711"), ("NO_PROXY", "localhost,127.0.0.1,::1")] {
            assert_eq!(variables[name].scalar().unwrap(), value.as_bytes());
        }
    }
}
