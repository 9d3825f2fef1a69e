//! A call as a request that is signed by AWS Signature Version 4.

use std::{
    fmt::Write,
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime},
};

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderName, Method, Request, Uri, header};
use onewindow::Call;
use sha2::{Digest, Sha256};

use super::{credentials::Credentials, date::amz_date};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "dynamodb";
const AMZ_JSON: &str = "application/x-amz-json-1.0";
const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
const AMZ_SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const AMZ_TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// The API that an operation belongs to.
fn api(operation: &str) -> &'static str {
    match operation {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => "DynamoDBStreams",
        _ => "DynamoDB",
    }
}

/// Makes signed requests of calls.
#[derive(Debug)]
pub(super) struct Signer {
    url: Uri,
    /// The header `Host` as every HTTP client writes it: without the scheme's own port.
    host: String,
    region: String,
    credentials: Credentials,
    /// The table's clock minus the host's, ms.
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
        let (host, region) = (host(&url), region.to_owned());
        Ok(Self { url, host, region, credentials, offset_ms: AtomicI64::new(0) })
    }

    /// The request that makes a call, signed at `now`, the time of sending.
    ///
    /// # Errors
    /// Says why it cannot be signed.
    pub(super) fn request(&self, call: &Call, now: SystemTime) -> Result<Request<String>, String> {
        let Credentials { access_key_id, session_token, .. } = &self.credentials;
        let date = amz_date(self.table_time(now));
        // In the order of their names, as the signature wants them.
        let mut headers = vec![
            (header::CONTENT_TYPE, AMZ_JSON.to_owned()),
            (header::HOST, self.host.clone()),
            (AMZ_DATE, date.clone()),
        ];
        headers.extend(session_token.clone().map(|token| (AMZ_SECURITY_TOKEN, token)));
        headers.push((AMZ_TARGET, format!("{}_20120810.{}", api(call.operation), call.operation)));

        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let mut canonical = "POST\n/\n\n".to_owned();
        for (name, value) in &headers {
            let _ = writeln!(canonical, "{name}:{value}");
        }
        let _ = write!(canonical, "\n{names}\n{}", hex(&Sha256::digest(&call.body)));

        let day = date.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/{SERVICE}/aws4_request", self.region);
        let to_sign = format!("{ALGORITHM}\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let signature = hex(&hmac(&self.key(day), &to_sign));
        let credential = format!("{access_key_id}/{scope}");
        let authorization =
            format!("{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}");
        headers.push((header::AUTHORIZATION, authorization));

        let mut request = Request::new(call.body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        for (name, value) in headers.into_iter().filter(|(name, _)| *name != header::HOST) {
            let value =
                value.parse().map_err(|error| format!("the request cannot be signed: {name}: {error}"))?;
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    /// The key of one day.
    fn key(&self, day: &str) -> [u8; 32] {
        let first = hmac(format!("AWS4{}", self.credentials.secret_access_key).as_bytes(), day);
        [&self.region, SERVICE, "aws4_request"].iter().fold(first, |key, part| hmac(&key, part))
    }

    /// From now on, signs for a table whose clock is this far ahead of the host's.
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

/// The authority without the port that the scheme implies.
fn host(url: &Uri) -> String {
    let authority = url.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let implied = if url.scheme_str() == Some("https") { ":443" } else { ":80" };
    authority.strip_suffix(implied).unwrap_or(authority).to_owned()
}

fn hmac(key: &[u8], message: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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

    /// The same bytes as AWS's own library.
    #[test]
    fn aws_signs_it_alike() {
        use aws_sigv4::{
            http_request::{SignableBody, SignableRequest, SigningSettings, sign},
            sign::v4,
        };
        for (endpoint, token, seconds, operation, body) in [
            ("http://127.0.0.1:8000", None, NOON, "UpdateItem", "{}"),
            (
                "https://dynamodb.eu-west-1.amazonaws.com",
                Some("t0ken+/="),
                1_709_164_799,
                "PutItem",
                "{\"é\":1}",
            ),
            ("https://host:443", None, 951_782_400, "GetRecords", ""),
            ("http://host:80/", Some("t"), 1_735_689_599, "BatchGetItem", "[]"),
            ("http://[::1]:4566", None, 4_107_542_399, "TransactWriteItems", "{}"),
        ] {
            let keys = Credentials::fixed("AKIDEXAMPLE", "wJalr/EXAMPLEKEY", token.map(Into::into));
            let now = UNIX_EPOCH + Duration::from_secs(seconds);
            let call = Call { operation, body: body.into(), resend: Resend::Never };
            let ours = Signer::new(endpoint, "eu-west-1", keys).unwrap().request(&call, now).unwrap();

            let keys = aws_credential_types::Credentials::from_keys(
                "AKIDEXAMPLE",
                "wJalr/EXAMPLEKEY",
                token.map(Into::into),
            );
            let identity = keys.into();
            let params = v4::SigningParams::builder()
                .identity(&identity)
                .region("eu-west-1")
                .name(SERVICE)
                .time(now)
                .settings(SigningSettings::default())
                .build()
                .unwrap()
                .into();
            let url = ours.uri().to_string();
            let target = ours.headers()[AMZ_TARGET].to_str().unwrap();
            let own = [("content-type", AMZ_JSON), ("x-amz-target", target)];
            let body = SignableBody::Bytes(body.as_bytes());
            let signable = SignableRequest::new("POST", &url, own.into_iter(), body).unwrap();
            let (instructions, _) = sign(signable, &params).unwrap().into_parts();
            for theirs in instructions.into_parts().0 {
                assert_eq!(ours.headers()[theirs.name()], theirs.value(), "{endpoint}: {}", theirs.name());
            }
        }
    }

    #[test]
    fn the_tables_time_is_signed_once_it_is_known() {
        let signer = signer(None);
        assert_eq!(header(&signer, "x-amz-date").as_deref(), Some("20150830T123600Z"));
        signer.adopt_offset(-1_800_000);
        assert_eq!(header(&signer, "x-amz-date").as_deref(), Some("20150830T120600Z"));
    }
}
