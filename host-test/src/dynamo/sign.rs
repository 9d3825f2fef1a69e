//! Signature version 4, and how far the table's clock is off.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime},
};

use aws_sigv4::{
    http_request::{
        PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode, sign,
    },
    sign::v4,
};
use http::HeaderValue;

use super::Credentials;

const SERVICE: &str = "dynamodb";

/// A header to add to the request.
pub(super) type Signed = (&'static str, String);

#[derive(Debug)]
pub(super) struct Signer {
    url: String,
    region: String,
    credentials: Credentials,
    settings: SigningSettings,
    /// The table's clock less ours, ms.
    offset_ms: AtomicI64,
}

impl Signer {
    pub(super) fn new(url: &str, region: &str, credentials: Credentials) -> Self {
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        Self { url: url.into(), region: region.into(), credentials, settings, offset_ms: AtomicI64::new(0) }
    }

    /// The headers that make the request ours. `now` is the time of sending.
    pub(super) fn sign(
        &self,
        headers: &[(&str, &str)],
        body: &[u8],
        now: SystemTime,
    ) -> Result<Vec<Signed>, String> {
        let refused = |error: &dyn std::error::Error| format!("the request cannot be signed: {error}");
        let identity = self.credentials.inner().clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(self.table_time(now))
            .settings(self.settings.clone())
            .build()
            .map_err(|error| refused(&error))?
            .into();
        let request = SignableRequest::new(
            "POST",
            self.url.as_str(),
            headers.iter().copied(),
            SignableBody::Bytes(body),
        )
        .map_err(|error| refused(&error))?;
        let (instructions, _) = sign(request, &params).map_err(|error| refused(&error))?.into_parts();
        let (headers, _) = instructions.into_parts();
        Ok(headers.into_iter().map(|header| (header.name(), header.value().to_owned())).collect())
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

/// How far a reply's `Date` is ahead of `now`, ms; none where it is no date.
pub(super) fn offset_ms(date: &HeaderValue, now: SystemTime) -> Option<i64> {
    let date = httpdate::parse_http_date(date.to_str().ok()?).ok()?;
    match date.duration_since(now) {
        Ok(ahead) => i64::try_from(ahead.as_millis()).ok(),
        Err(behind) => i64::try_from(behind.duration().as_millis()).ok().map(|ms| -ms),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const NOON: u64 = 1_440_938_160; // 2015-08-30T12:36:00Z

    fn signer(token: Option<&str>) -> Signer {
        let credentials = Credentials::fixed(
            "AKIDEXAMPLE",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            token.map(Into::into),
        );
        Signer::new("http://127.0.0.1:8000/", "us-east-1", credentials)
    }

    fn header(signer: &Signer, name: &str) -> Option<String> {
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "T.Op")];
        let signed = signer.sign(&headers, b"{}", UNIX_EPOCH + Duration::from_secs(NOON)).unwrap();
        signed.into_iter().find(|(other, _)| *other == name).map(|(_, value)| value)
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
        let now = UNIX_EPOCH + Duration::from_secs(NOON);
        let date = HeaderValue::from_static("Sun, 30 Aug 2015 12:06:00 GMT");
        signer.adopt_offset(offset_ms(&date, now).unwrap());
        assert_eq!(header(&signer, "x-amz-date").as_deref(), Some("20150830T120600Z"));
        assert_eq!(offset_ms(&HeaderValue::from_static("yesterday"), now), None);
    }
}
