//! Configuration as the table stores it (section 8): the namespace's id, and the limits of an entity
//! for a resource.
//!
//! Four levels are read in one batch; the first that defines any limit wins as a whole. `disabled` is
//! decided separately, by the first level that sets it to either value. A host sends the call, may keep
//! the configuration for a while, and passes it as a request's `limits`.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    item::{Attributes, Raw},
    text::{decimal, quoted},
    types::answer::{Call, Decision, Outcome, Reply},
    types::error::{Corrupt, Error, ErrorCode},
    types::limit::{Drip, Limit, Recovery},
    types::request::MAX_LIMITS,
    types::subject::Subject,
    wire::{Answer, UNEXPECTED, read},
    write::batch_read,
};

/// A level of configuration, the most specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// This entity and this resource.
    Entity,
    /// This entity, for all resources.
    EntityDefault,
    /// This resource, for all entities.
    Resource,
    /// The whole namespace.
    System,
}

impl Level {
    const ALL: [Self; 4] = [Self::Entity, Self::EntityDefault, Self::Resource, Self::System];

    fn key(self, subject: &Subject) -> (String, String) {
        let Subject { namespace, resource, .. } = subject;
        match self {
            Self::Entity => (subject.entity_pk(), ["#CONFIG#", resource].concat()),
            Self::EntityDefault => (subject.entity_pk(), "#CONFIG#_default_".to_owned()),
            Self::Resource => ([namespace, "/RESOURCE#", resource].concat(), "#CONFIG".to_owned()),
            Self::System => ([namespace, "/SYSTEM#"].concat(), "#CONFIG".to_owned()),
        }
    }
}

/// What the table configures for one entity and resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// The limits of the first level that defines any; empty where none does: then a request uses
    /// each limit as the item stores it.
    pub limits: Vec<Limit>,
    /// That level.
    pub level: Option<Level>,
    /// Whether the bucket is switched off.
    pub disabled: bool,
}

impl Configuration {
    /// Whether items created with it never expire: so with an entity's own configuration.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(self.level, Some(Level::Entity | Level::EntityDefault))
    }

    /// Whether a decision shows an item with another capacity: then the kept configuration, or the
    /// item, is out of date, and the configuration is read again before anything is stamped (R15).
    #[must_use]
    pub fn differs_from(&self, decision: &Decision) -> bool {
        decision.limits.iter().any(|status| {
            let configured = self.limits.iter().find(|limit| limit.name == status.name);
            configured.is_some_and(|limit| limit.capacity != status.capacity)
        })
    }
}

/// The call that reads the four levels.
#[must_use]
pub fn call(subject: &Subject) -> Call {
    let keys: Vec<_> = Level::ALL.iter().map(|level| level.key(subject)).collect();
    batch_read(&subject.table, &keys, false)
}

/// The configuration in the reply to [`call`].
///
/// # Errors
/// `corrupt-item` names the item and what is wrong with it, `unsupported` a limit that follows a
/// calendar. `unavailable` and `misconfigured` say why the table did not answer. An error never falls
/// back to another level: the dropped limit would not be enforced.
pub fn resolve(subject: &Subject, reply: &Reply) -> Result<Configuration, Outcome> {
    let items = found(reply)?;
    let mut configuration = Configuration::default();
    let mut disabled = None;
    for level in Level::ALL {
        let (pk, sk) = level.key(subject);
        let Some(item) = items.iter().find(|item| is_at(item, &pk, &sk)) else { continue };
        let item = Item { item, pk: &pk, sk: &sk };
        if disabled.is_none() {
            disabled = item.disabled()?;
        }
        let limits = item.limits()?;
        if configuration.level.is_none() && !limits.is_empty() {
            configuration.limits = limits;
            configuration.level = Some(level);
        }
    }
    configuration.disabled = disabled.unwrap_or(false);
    Ok(configuration)
}

/// The call that finds a namespace by its name.
///
/// # Errors
/// `invalid-request` where no namespace can have the name.
pub fn namespace_call(table: &str, name: &str) -> Result<Call, Error> {
    if name.is_empty() || name.contains('#') || name == "_" {
        return Err(Error::invalid(&["namespace ", &quoted(name), " is empty, reserved or holds a '#'"]));
    }
    Ok(batch_read(table, &[("_/SYSTEM#".to_owned(), ["#NAMESPACE#", name].concat())], false))
}

/// The namespace's id, from the reply to [`namespace_call`].
///
/// # Errors
/// `invalid-request` where there is no such namespace, or it was deleted.
pub fn namespace_id(name: &str, reply: &Reply) -> Result<String, Outcome> {
    let items = found(reply)?;
    let missing = |what: &str| {
        let parts = ["namespace ", &quoted(name), " ", what, " in this table"];
        Outcome::Failed(Error::invalid(&parts))
    };
    let item = items.first().ok_or_else(|| missing("is not registered"))?;
    if let Some(status) = item.get("status") {
        let status = status.text("status")?;
        if matches!(status, "deleted" | "purging") {
            return Err(missing("is deleted"));
        }
    }
    let id = item.get("namespace_id").ok_or_else(|| missing("has no id"))?;
    Ok(id.text("namespace_id")?.to_owned())
}

fn found(reply: &Reply) -> Result<Vec<Attributes<'_>>, Outcome> {
    match read(reply) {
        Answer::Read { items, incomplete: false } => Ok(items),
        Answer::Read { .. } => Err(Outcome::Unavailable("the table left configuration unread".into())),
        Answer::Unavailable(reason) => Err(Outcome::Unavailable(reason)),
        Answer::Misconfigured(reason) => Err(Outcome::Misconfigured(reason)),
        _ => Err(Outcome::Unavailable(UNEXPECTED.into())),
    }
}

fn is_at(item: &Attributes<'_>, pk: &str, sk: &str) -> bool {
    let reads = |name, wanted| matches!(item.get(name), Some(Raw::Text(text)) if text == wanted);
    reads("PK", pk) && reads("SK", sk)
}

/// One level's item, and its key.
struct Item<'a> {
    item: &'a Attributes<'a>,
    pk: &'a str,
    sk: &'a str,
}

impl Item<'_> {
    /// Switched off, not switched off, or not set. The value `"bypass"` means not switched off: the stamps
    /// on the items waive the limits while they are live.
    fn disabled(&self) -> Result<Option<bool>, Error> {
        match self.item.get("disabled") {
            None => Ok(None),
            Some(Raw::Text(text)) if text == "bypass" => Ok(Some(false)),
            Some(raw) => Ok(Some(raw.boolean(&self.at("disabled"))?)),
        }
    }

    /// Every limit, found by its `_cp`.
    fn limits(&self) -> Result<Vec<Limit>, Error> {
        let mut limits: Vec<Limit> = Vec::new();
        for (attribute, _) in &self.item.0 {
            let Some(prefixed) = attribute.strip_suffix("_cp") else { continue };
            let Some((prefix, name)) = prefixed.split_at_checked(2) else { continue };
            if !matches!(prefix, "l_" | "w_") || name.is_empty() {
                continue;
            }
            // The table returns attributes in no order.
            let Err(place) = limits.binary_search_by(|other| other.name.as_str().cmp(name)) else {
                let at = self.at(&["limit ", name].concat());
                return Err(Corrupt::new(&at, "both l_ and w_ attributes", "one of them").into());
            };
            limits.insert(place, self.limit(prefix, name)?);
        }
        if limits.len() > MAX_LIMITS {
            let (read, expected) =
                ([&decimal(limits.len()), " limits"].concat(), ["at most ", &decimal(MAX_LIMITS)].concat());
            return Err(Corrupt::new(&self.at("the level"), &read, &expected).into());
        }
        Ok(limits)
    }

    fn limit(&self, prefix: &str, name: &str) -> Result<Limit, Error> {
        for kind in ["sched", "rsched"] {
            let attribute = [prefix, name, "_", kind].concat();
            let schedule = self.item.get(&attribute).map(|raw| raw.text(&self.at(&attribute))).transpose()?;
            if schedule.is_some_and(|text| text != "-") {
                return Err(Error::unsupported(&[&self.at(&attribute), " is a calendar schedule"].concat()));
            }
        }
        let length = self.whole(prefix, name, "rsa")?;
        if length.is_none() && prefix == "w_" {
            let attribute = self.at(&[prefix, name, "_rsa"].concat());
            return Err(Corrupt::new(&attribute, "nothing", "the window's length in seconds").into());
        }
        let whole = |field| Ok::<_, Error>(self.whole(prefix, name, field)?.unwrap_or(0));
        let recovery = match length {
            Some(length_seconds) => Recovery::Session(length_seconds),
            None => Recovery::Drip(Drip { refill_amount: whole("ra")?, refill_period_seconds: whole("rp")? }),
        };
        let limit = Limit { name: name.to_owned(), capacity: whole("cp")?, recovery };
        limit.check().map_err(|error| Error {
            code: ErrorCode::CorruptItem,
            message: ["corrupt item ", self.pk, " ", self.sk, ": ", &error.message].concat(),
        })?;
        Ok(limit)
    }

    fn whole(&self, prefix: &str, name: &str, field: &str) -> Result<Option<u64>, Error> {
        let attribute = [prefix, name, "_", field].concat();
        let at = self.at(&attribute);
        let Some(raw) = self.item.get(&attribute) else { return Ok(None) };
        Ok(Some(raw.within(&at, [0, i64::MAX], "a whole number of at least 0")?.unsigned_abs()))
    }

    /// The attribute, and where it was read.
    fn at(&self, attribute: &str) -> String {
        [attribute, " of ", self.pk, " ", self.sk].concat()
    }
}
