//! The keys that requests are signed with.

use std::{env, fmt};

/// An access key, its secret, and the session token where it is temporary. Its `Debug` shows no
/// secret.
#[derive(Clone)]
pub struct Credentials {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: String,
    pub(super) session_token: Option<String>,
}

impl Credentials {
    /// Fixed credentials.
    #[must_use]
    pub fn fixed(
        access_key_id: impl Into<String>,
        secret_access_key: impl Into<String>,
        session_token: Option<String>,
    ) -> Self {
        let (access_key_id, secret_access_key) = (access_key_id.into(), secret_access_key.into());
        Self { access_key_id, secret_access_key, session_token }
    }

    /// Credentials for an engine that checks none.
    #[must_use]
    pub fn unchecked() -> Self {
        Self::fixed("onewindow", "onewindow", None)
    }

    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, where it is set, `AWS_SESSION_TOKEN`.
    ///
    /// # Errors
    /// Names the variable that is missing.
    pub fn from_env() -> Result<Self, CredentialsError> {
        Self::from_lookup(|name| env::var(name).ok())
    }

    /// Like [`Credentials::from_env`], with the variables that `lookup` returns.
    ///
    /// # Errors
    /// Names the variable that is missing.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, CredentialsError> {
        let set = |name| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let needed = |name| set(name).ok_or(CredentialsError::Missing(name));
        Ok(Self::fixed(
            needed("AWS_ACCESS_KEY_ID")?,
            needed("AWS_SECRET_ACCESS_KEY")?,
            set("AWS_SESSION_TOKEN"),
        ))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key_id", &self.access_key_id)
            .field("session_token", &self.session_token.is_some())
            .finish_non_exhaustive()
    }
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// A variable is not set, or empty.
    #[error("no credentials: the variable {0} is not set, expected an AWS access key there")]
    Missing(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &'static [(&'static str, &'static str)]) -> Result<Credentials, CredentialsError> {
        Credentials::from_lookup(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_session_token_is_used_where_it_is_set() {
        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret\n")];
        let fixed = of(&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret\n")]).unwrap();
        assert_eq!(fixed.access_key_id, keys[0].1);
        assert_eq!(fixed.secret_access_key, "secret");
        assert_eq!(fixed.session_token, None);
        let temporary = of(&[
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_SESSION_TOKEN", "token"),
        ]);
        assert_eq!(temporary.unwrap().session_token.as_deref(), Some("token"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = of(&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "")]).unwrap_err();
        assert!(error.to_string().contains("AWS_SECRET_ACCESS_KEY"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", Credentials::fixed("id", "hush", Some("hushed".into())));
        assert!(shown.contains("id") && !shown.contains("hush"), "{shown}");
    }
}
