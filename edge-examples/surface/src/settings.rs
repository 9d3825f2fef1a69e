//! How an edge guest is set up: the same variables everywhere.
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

use std::time::Duration;

use onewindow::Limit;

use crate::{
    Credentials, CredentialsError, Signer, SignerError,
    guest::{Core, Host, Limiter, Options},
    http::{FieldForm, Service, limits_from_json},
};

/// Why a guest cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The keys are missing.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// Nothing can be signed.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// A variable does not say what it should.
    #[error("{name} is {read:?}, expected {expected}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it says.
        read: String,
        /// What it should.
        expected: String,
    },
}

/// A guest's service, set up from wherever `variable` finds a variable.
///
/// # Errors
/// Names the variable that is at fault.
pub fn service<C: Core, H: Host>(
    core: C,
    host: H,
    variable: impl Fn(&'static str) -> Option<String>,
) -> Result<Service<Limiter<C, H>>, SettingsError> {
    let or = |name, default: &str| {
        variable(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
    };
    let bad = |name, read: String, expected: &str| SettingsError::Variable {
        name,
        read,
        expected: expected.to_owned(),
    };
    let region = or("AWS_REGION", "");
    let endpoint = or("DYNAMODB_ENDPOINT", &format!("https://dynamodb.{region}.amazonaws.com"));
    let signer = Signer::new(&endpoint, &region, Credentials::from_lookup(&variable)?)?;
    let deadline = or("DEADLINE_MS", "1000");
    let allow = match or("ON_UNAVAILABLE", "block").as_str() {
        "allow" => true,
        "block" => false,
        other => return Err(bad("ON_UNAVAILABLE", other.to_owned(), "allow or block")),
    };
    let field_form = match or("RATELIMIT_FORM", "rt").as_str() {
        "rt" => FieldForm::Remaining,
        "aw" => FieldForm::Available,
        other => return Err(bad("RATELIMIT_FORM", other.to_owned(), "rt or aw")),
    };
    let options = Options {
        deadline: match deadline.parse() {
            Ok(ms) => Duration::from_millis(ms),
            Err(_) => return Err(bad("DEADLINE_MS", deadline, "milliseconds")),
        },
        allow_unavailable: allow,
        ..Options::default()
    };
    let limits: String = or("LIMITS", "[]");
    let limits: Vec<Limit> =
        limits_from_json(&limits).map_err(|error| bad("LIMITS", limits.clone(), &error.message))?;
    Ok(Service {
        limiter: Limiter::new(core, host, signer, options),
        table: or("TABLE", "onewindow"),
        namespace: or("NAMESPACE", "default"),
        limits,
        field_form,
    })
}
