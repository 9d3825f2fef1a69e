//! The settings of an edge guest: the same variables in every runtime.
//!
//! | variable | what | default |
//! | --- | --- | --- |
//! | `AWS_REGION` | the region to sign for | |
//! | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` | the keys to sign with | |
//! | `AWS_SESSION_TOKEN` | where the keys are temporary | |
//! | `DYNAMODB_ENDPOINT` | the table's endpoint | AWS's own of the region |
//! | `TABLE` | the table | `onewindow` |
//! | `NAMESPACE` | the namespace id every key starts with | `default` |
//! | `LIMITS` | the limits of requests that bring none, as in the surface | `[]` |
//! | `DEADLINE_MS` | how long a request waits for the table at most | `1000` |
//! | `ON_UNAVAILABLE` | `allow` or `block` a request that the table does not answer | `block` |
//! | `RATELIMIT_FORM` | the parameters of the `RateLimit` field: `rt` or `aw` | `rt` |
//! | `ALLOW_ORIGIN` | the origin of a page that may read previews, `*` for any | none |

use std::time::Duration;

use http::HeaderValue;
use onewindow::Limit;
use onewindow_host::{
    Client, ClientConfig, Credentials, CredentialsError, Engine, Limiter, LimiterOptions, OnUnavailable,
    Transport,
    dynamo::SignerError,
    limiter::{AfterAnswer, Recorder},
};

use crate::http::{FieldForm, Service, limits_from_json};

/// Why the settings are not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The keys are missing.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// No request can be signed with them.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// A variable has an invalid value.
    #[error("{name} is {read:?}, expected {expected}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        read: String,
        /// What was expected.
        expected: String,
    },
}

/// The values of the variables.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The table's endpoint.
    pub endpoint: String,
    /// The region to sign for.
    pub region: String,
    /// The keys to sign with.
    pub credentials: Credentials,
    /// The table.
    pub table: String,
    /// The namespace id every key starts with.
    pub namespace: String,
    /// The limits of requests that bring none.
    pub limits: Vec<Limit>,
    /// How long a request waits for the table at most.
    pub deadline: Duration,
    /// Whether a request that the table does not answer is let through.
    pub allow_unavailable: bool,
    /// The form of the `RateLimit` field.
    pub field_form: FieldForm,
    /// The origin of a page that may read previews.
    pub allow_origin: Option<HeaderValue>,
}

impl Settings {
    /// Reads the variables that `lookup` returns. An empty one counts as not set.
    ///
    /// # Errors
    /// Names the variable that is missing or invalid.
    pub fn read(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, SettingsError> {
        let or = |name, default: &str| {
            lookup(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        let choose = |name, choices: [&'static str; 2]| {
            let read = or(name, choices[0]);
            match choices.iter().position(|choice| *choice == read) {
                Some(choice) => Ok(choice),
                None => Err(bad(name, read, format!("{} or {}", choices[0], choices[1]))),
            }
        };
        let region = or("AWS_REGION", "");
        let deadline = or("DEADLINE_MS", "1000");
        let limits = or("LIMITS", "[]");
        Ok(Self {
            endpoint: or("DYNAMODB_ENDPOINT", &format!("https://dynamodb.{region}.amazonaws.com")),
            credentials: Credentials::from_lookup(&lookup)?,
            table: or("TABLE", "onewindow"),
            namespace: or("NAMESPACE", "default"),
            limits: limits_from_json(&limits)
                .map_err(|error| bad("LIMITS", limits.clone(), error.message))?,
            deadline: match deadline.parse() {
                Ok(ms) => Duration::from_millis(ms),
                Err(_) => return Err(bad("DEADLINE_MS", deadline, "milliseconds".into())),
            },
            allow_unavailable: choose("ON_UNAVAILABLE", ["block", "allow"])? == 1,
            field_form: match choose("RATELIMIT_FORM", ["rt", "aw"])? {
                0 => FieldForm::Remaining,
                _ => FieldForm::Available,
            },
            allow_origin: match or("ALLOW_ORIGIN", "") {
                unset if unset.is_empty() => None,
                origin => match origin.parse() {
                    Ok(value) => Some(value),
                    Err(_) => return Err(bad("ALLOW_ORIGIN", origin, "an origin, or *".into())),
                },
            },
            region,
        })
    }

    /// The client's configuration. One attempt may take at most half of the deadline.
    #[must_use]
    pub fn client(&self) -> ClientConfig {
        ClientConfig {
            attempt_timeout: self.deadline / 2,
            ..ClientConfig::new(&self.endpoint, &self.region, self.credentials.clone())
        }
    }

    /// The limiter's options.
    #[must_use]
    pub fn limiter(&self) -> LimiterOptions {
        let on_unavailable = if self.allow_unavailable { OnUnavailable::Allow } else { OnUnavailable::Block };
        LimiterOptions { deadline: self.deadline, on_unavailable, ..LimiterOptions::default() }
    }

    /// The service over this limiter.
    #[must_use]
    pub fn service<T>(self, limiter: Limiter<T>) -> Service<T> {
        let Self { table, namespace, limits, field_form, allow_origin, .. } = self;
        Service { limiter, table, namespace, limits, field_form, allow_origin }
    }

    /// The service of an edge guest: `engine` decides, `transport` sends, and `recorder` receives a record of
    /// each answer. Call its limiter's `flush` after each answer.
    ///
    /// # Errors
    /// Where no request can be signed with these settings.
    pub fn guest<T: Transport>(
        self,
        engine: impl Into<Engine>,
        transport: T,
        recorder: Recorder,
    ) -> Result<Service<T>, SettingsError> {
        let client = Client::over(transport, self.client())?;
        let options = LimiterOptions { recorder: Some(recorder), ..self.limiter() };
        let limiter = Limiter::over(engine, client, options, AfterAnswer::Keep);
        Ok(self.service(limiter))
    }
}

fn bad(name: &'static str, read: String, expected: String) -> SettingsError {
    SettingsError::Variable { name, read, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(|name| {
            let keys =
                [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "r")];
            let set = variables.iter().chain(&keys).find(|(other, _)| *other == name);
            set.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_not_set_has_a_default() {
        let settings = read(&[("NAMESPACE", "")]).unwrap();
        assert_eq!(settings.endpoint, "https://dynamodb.r.amazonaws.com");
        assert_eq!((&*settings.table, &*settings.namespace), ("onewindow", "default"));
        assert_eq!((settings.limits, settings.deadline), (Vec::new(), Duration::from_secs(1)));
        assert!(!settings.allow_unavailable);
        assert_eq!(settings.field_form, FieldForm::Remaining);
    }

    #[test]
    fn what_is_set_holds() {
        let limits = r#"[{"name":"session","capacity":100,"reset_after_seconds":18000}]"#;
        let settings = read(&[
            ("DYNAMODB_ENDPOINT", "http://127.0.0.1:8000"),
            ("LIMITS", limits),
            ("DEADLINE_MS", "250"),
            ("ON_UNAVAILABLE", "allow"),
            ("RATELIMIT_FORM", "aw"),
        ])
        .unwrap();
        assert_eq!(settings.endpoint, "http://127.0.0.1:8000");
        assert_eq!(settings.limits, [Limit::session("session", 100, 18_000)]);
        assert_eq!(settings.deadline, Duration::from_millis(250));
        assert!(settings.allow_unavailable);
        assert_eq!(settings.field_form, FieldForm::Available);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (name, value) in
            [("LIMITS", "{}"), ("DEADLINE_MS", "1s"), ("ON_UNAVAILABLE", "open"), ("RATELIMIT_FORM", "ietf")]
        {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is {value:?}, expected ")), "{error}");
        }
        let keyless = read(&[("AWS_SECRET_ACCESS_KEY", "")]).unwrap_err().to_string();
        assert!(keyless.contains("AWS_SECRET_ACCESS_KEY"), "{keyless}");
    }
}
