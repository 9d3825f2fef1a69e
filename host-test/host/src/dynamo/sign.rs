//! A call as a request that is signed by AWS Signature Version 4.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime},
};

use aws_credential_types::Credentials as Keys;
use aws_sigv4::{
    http_request::{
        PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode, sign,
    },
    sign::v4,
};
use http::{
    HeaderName, HeaderValue, Method, Request, Uri,
    header::{CONTENT_TYPE, InvalidHeaderValue},
};
use onewindow::Call;

use super::credentials::Credentials;

const SERVICE: &str = "dynamodb";
const AMZ_JSON: &str = "application/x-amz-json-1.0";
const AMZ_TARGET: &str = "x-amz-target";

/// The API that an operation belongs to.
fn api(operation: &str) -> &'static str {
    match operation {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => "DynamoDBStreams",
        _ => "DynamoDB",
    }
}

/// Turns calls into signed requests.
#[derive(Debug)]
pub(super) struct Signer {
    url: Uri,
    text: String,
    region: String,
    keys: Keys,
    settings: SigningSettings,
    /// The table's clock less ours, ms.
    offset_ms: AtomicI64,
}

/// Why nothing can be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignerError {
    /// The endpoint is not a URL.
    #[error("endpoint {read:?}: {reason}; expected http://HOST:PORT or https://HOST")]
    Endpoint {
        /// What was read.
        read: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A text cannot stand in a header.
    #[error("the {what} is empty or holds spaces, control or non-ASCII characters")]
    Text {
        /// What it is.
        what: &'static str,
    },
}

impl Signer {
    /// Signs for an endpoint, a URL without a path.
    ///
    /// # Errors
    /// Where no request to it could be signed.
    pub(super) fn new(endpoint: &str, region: &str, credentials: Credentials) -> Result<Self, SignerError> {
        let bad = |reason: String| SignerError::Endpoint { read: endpoint.to_owned(), reason };
        let url: Uri = endpoint.parse().map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err(bad("its scheme is none that can be sent to".into()));
        }
        if url.path() != "/" || url.query().is_some() {
            return Err(bad("it has more than a host and a port".into()));
        }
        if url.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(bad("credentials do not belong into it".into()));
        }
        for (what, text) in [
            ("region", Some(region)),
            ("access key id", Some(&*credentials.access_key_id)),
            ("session token", credentials.session_token.as_deref()),
        ] {
            if text.is_some_and(|text| text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic())) {
                return Err(SignerError::Text { what });
            }
        }
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let Credentials { access_key_id, secret_access_key, session_token } = credentials;
        let keys = Keys::from_keys(access_key_id, secret_access_key, session_token);
        let (text, region) = (url.to_string(), region.to_owned());
        Ok(Self { url, text, region, keys, settings, offset_ms: AtomicI64::new(0) })
    }

    /// The request that makes a call, signed at `now`, the time of sending.
    ///
    /// # Errors
    /// Says why it cannot be signed.
    pub(super) fn request(&self, call: &Call, now: SystemTime) -> Result<Request<String>, String> {
        let refused = |error: &dyn std::error::Error| format!("the request cannot be signed: {error}");
        let mut request = Request::new(call.body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(AMZ_JSON));
        let target = format!("{}_20120810.{}", api(call.operation), call.operation);
        headers.insert(AMZ_TARGET, header_value(&target).map_err(|error| refused(&error))?);

        let identity = self.keys.clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(self.table_time(now))
            .settings(self.settings.clone())
            .build()
            .map_err(|error| refused(&error))?
            .into();
        let own = [(CONTENT_TYPE.as_str(), AMZ_JSON), (AMZ_TARGET, &target)];
        let body = SignableBody::Bytes(call.body.as_bytes());
        let signable = SignableRequest::new("POST", self.text.as_str(), own.into_iter(), body)
            .map_err(|error| refused(&error))?;
        let (instructions, _) = sign(signable, &params).map_err(|error| refused(&error))?.into_parts();
        for header in instructions.into_parts().0 {
            let value = header_value(header.value()).map_err(|error| refused(&error))?;
            headers.insert(HeaderName::from_static(header.name()), value);
        }
        Ok(request)
    }

    /// Signs from now on for a table whose clock is this far ahead of ours.
    pub(super) fn adopt_offset(&self, offset_ms: i64) {
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
    }

    fn table_time(&self, now: SystemTime) -> SystemTime {
        let offset_ms = self.offset_ms.load(Ordering::Relaxed);
        let offset = Duration::from_millis(offset_ms.unsigned_abs());
        let time = if offset_ms < 0 { now.checked_sub(offset) } else { now.checked_add(offset) };
        time.unwrap_or(now)
    }
}

fn header_value(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(text)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use onewindow::Resend;

    use super::*;

    const NOON: u64 = 1_440_938_160; // 2015-08-30T12:36:00Z

    fn signer(token: Option<&str>) -> Signer {
        let credentials = Credentials::fixed(
            "AKIDEXAMPLE",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            token.map(Into::into),
        );
        Signer::new("http://127.0.0.1:8000", "us-east-1", credentials).unwrap()
    }

    fn header(signer: &Signer, name: &str) -> Option<String> {
        let call = Call { operation: "UpdateItem", body: "{}".into(), resend: Resend::Idempotent };
        let request = signer.request(&call, UNIX_EPOCH + Duration::from_secs(NOON)).unwrap();
        request.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn what_cannot_be_signed_for_is_refused_at_once() {
        let keys = || Credentials::fixed("id", "secret", None);
        for bad in ["", "dynamodb", "ftp://host", "http://host/path", "http://host?a", "http://a:b@host"] {
            assert!(matches!(Signer::new(bad, "r", keys()), Err(SignerError::Endpoint { .. })), "{bad}");
        }
        let region = Signer::new("https://host", "eu west", keys()).unwrap_err();
        assert!(region.to_string().contains("region"), "{region}");
    }

    #[test]
    fn what_matters_is_signed() {
        let authorization = header(&signer(Some("token")), "authorization").unwrap();
        assert!(
            authorization.starts_with(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
            ),
            "{authorization}"
        );
        assert_eq!(header(&signer(Some("token")), "x-amz-security-token").as_deref(), Some("token"));
        assert_eq!(header(&signer(None), "x-amz-security-token"), None);
    }

    #[test]
    fn the_tables_time_is_signed_once_it_is_known() {
        let signer = signer(None);
        assert_eq!(header(&signer, "x-amz-date").as_deref(), Some("20150830T123600Z"));
        signer.adopt_offset(-1_800_000);
        assert_eq!(header(&signer, "x-amz-date").as_deref(), Some("20150830T120600Z"));
    }
}
