//! From the tree of what was said to a [`Scenario`].
//!
//! Every part is read even where another is wrong, so that all problems are reported at once. A value that could
//! not be read is `None`, and its problem has been reported where it was found.

mod capacity;
mod dataset;
mod lengths;
mod phase;
mod prompt;
mod score;
mod sim;
mod sweep;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Number};

use super::fields::{Fields, Problems, abridged};
use super::origin::Origins;
use super::secret::is_secret_name;
use super::source::{self, Document, Layers};
use super::tree::{self, Place, Value};
use super::values::{Field, Refusal};
use super::{
    Connections, Endpoint, History, Load, Loaded, Phase, PromptSource, RequestOptions, ResultFiles,
    SIMULATED_APIS, Scenario, Secret, SessionForm, Target, Timeouts, TokenizerSource, Workload,
};
use super::{model, objective, server, transport};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::distribution::Distribution;
use crate::protocol::{Api, ChatLimit};
use crate::stats::{Objective, Slo, SloMetric};

/// Reads a scenario, and that of every point of its sweep.
pub(super) fn read(layers: &Layers) -> Result<Loaded, Diagnostics> {
    let mut document = layers.document(&[]);
    if document.root.entry("sweep").is_none() {
        return match document.root.entry("capacity") {
            Some(_) => read_search(layers, document),
            None => read_one(&document),
        };
    }
    let axes = match sweep::axes(&document) {
        Ok(axes) => axes,
        Err(mut problems) => {
            // What is missing elsewhere may be what an axis was meant to set.
            document.sources.is_partial = true;
            problems.append_new(attempt(&document).1);
            problems.sort();
            return Err(problems);
        }
    };
    let (mut read, mut problems) = (Vec::new(), Diagnostics::default());
    for point in axes.sweep.points() {
        let document = layers.document(&axes.settings(&point));
        match read_one(&document) {
            Ok(mut loaded) => {
                problems.append_new(std::mem::take(&mut loaded.warnings));
                let first = read.first().map(|first: &Loaded| &first.scenario);
                if let Some(odd) = first.and_then(|first| differs(first, &loaded.scenario, &document)) {
                    problems.append_new(odd.into());
                }
                read.push(loaded);
            }
            // Most are those of every point.
            Err(found) => problems.append_new(found),
        }
    }
    problems.sort();
    if problems.has_errors() || read.is_empty() {
        return Err(problems);
    }
    let points = read.iter().map(|loaded| loaded.scenario.clone()).collect();
    let first = read.swap_remove(0);
    Ok(Loaded { points, warnings: problems, ..first })
}

/// Reads a scenario with a search at both ends of it.
fn read_search(layers: &Layers, mut document: Document) -> Result<Loaded, Diagnostics> {
    let hunt = match capacity::hunt(&document) {
        Ok(hunt) => hunt,
        Err(mut problems) => {
            document.sources.is_partial = true;
            problems.append_new(attempt(&document).1);
            problems.sort();
            return Err(problems);
        }
    };
    let ends = [hunt.capacity.from, hunt.capacity.to];
    let template = Template { layers: layers.clone(), hunt: Arc::new(hunt) };
    let [low, high] = ends.map(|value| template.read(value));
    let (low, high) = match (low, high) {
        (Ok(low), Ok(high)) => (low, high),
        (low, high) => {
            let mut problems = low.err().unwrap_or_default();
            problems.append_new(high.err().unwrap_or_default());
            problems.sort();
            return Err(problems);
        }
    };
    let mut warnings = low.warnings;
    warnings.append_new(high.warnings);
    Ok(Loaded { warnings, template: Some(template), scenario: low.scenario, ..high })
}

/// A scenario of which one key is searched.
#[derive(Clone)]
pub struct Template {
    layers: Layers,
    hunt: Arc<capacity::Hunt>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.hunt.capacity.key).finish()
    }
}

impl Template {
    /// The scenario at a value of its search, its measured phase so long.
    ///
    /// # Errors
    /// When it cannot be run there.
    pub fn at(&self, value: f64, duration: Duration) -> Result<Scenario, Diagnostics> {
        let mut scenario = self.read(value)?.scenario;
        scenario
            .phases
            .iter_mut()
            .filter(|phase| phase.measure)
            .for_each(|phase| phase.duration = Some(duration));
        Ok(scenario)
    }

    fn read(&self, value: f64) -> Result<Loaded, Diagnostics> {
        let setting = self.hunt.setting(value);
        read_one(&self.layers.document(&setting.into_iter().collect::<Vec<_>>()))
    }
}

/// What must be the same for all points, since rows and figures go by it: names and limits.
fn differs(first: &Scenario, other: &Scenario, document: &Document) -> Option<Diagnostic> {
    let phases = |scenario: &Scenario| {
        scenario.phases.iter().map(|phase| (phase.name.clone(), phase.measure)).collect::<Vec<_>>()
    };
    let workloads = |scenario: &Scenario| {
        let workloads = scenario.workloads.iter();
        workloads.map(|workload| (workload.name.clone(), workload.slo.clone())).collect::<Vec<_>>()
    };
    if phases(first) == phases(other) && workloads(first) == workloads(other) {
        return None;
    }
    let problem = Diagnostic::error("the points differ in names, limits, or in which phases are measured");
    let at = document.root.entry("sweep").map(|entry| document.sources.location(entry.at));
    let problem = Diagnostic { location: at, ..problem };
    Some(problem.help("set other keys by the axes, and use several files where these must differ"))
}

fn read_one(document: &Document) -> Result<Loaded, Diagnostics> {
    let (scenario, problems) = attempt(document);
    match scenario {
        Some(scenario) if !problems.has_errors() => {
            let origins = Origins::of(&document.root, &document.sources);
            Ok(Loaded { scenario, points: Vec::new(), template: None, warnings: problems, origins })
        }
        _ if problems.has_errors() => Err(problems),
        _ => Err(Diagnostic::error("the scenario cannot be read").at(document.sources.file()).into()),
    }
}

fn attempt(document: &Document) -> (Option<Scenario>, Diagnostics) {
    let problems = Problems::new(&document.sources, document.problems.clone());
    let scenario = scenario(&Fields::top(&problems, &document.root), document);
    (scenario, problems.into_sorted())
}

fn scenario(top: &Fields<'_>, document: &Document) -> Option<Scenario> {
    let name = top.value("name", Field::name);
    let seed = top.value("seed", Field::integer);
    let salt = top.value("salt", Field::integer);
    let about = top.free("about").map(|table| about(top, table)).unwrap_or_default();
    let target = top.table("target").and_then(|fields| target(&fields));
    let request = top.table("request").and_then(|fields| request(&fields));
    let slo = top.table("slo").map(|fields| limits(&fields)).unwrap_or_default();

    // Collected before it is asked whether all could be read: an iterator would stop at the first that could not.
    let tables_of_workloads = top.tables("workload");
    let tables = &tables_of_workloads;
    check_names(tables);
    let workloads = tables.iter().map(|fields| workload(fields, request.as_ref(), &slo));
    let mut workloads = workloads.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>();
    if let (Some(workloads), Some(first)) = (&workloads, tables.first())
        && workloads.iter().all(|workload| workload.weight == 0.0)
    {
        let help = "give a workload that is to be sent a weight above 0";
        first.problems.error(first.place("weight"), "the weights of all workloads are 0", help);
    }

    if let (Some(workloads), Some(TokenizerSource::File(path))) =
        (&mut workloads, target.as_ref().and_then(|target| target.tokenizer.as_ref()))
    {
        prompt::count_rows_by(workloads, path);
    }

    let tables = top.tables("phase");
    check_names(&tables);
    let phases = tables.iter().map(|fields| phase::phase(fields, workloads.as_deref()));
    let phases = phases.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>();
    if let (Some(workloads), Some(phases)) = (&mut workloads, &phases) {
        phase::limit_traces(workloads, phases);
    }
    if let (Some(phases), Some(first)) = (&phases, tables.first())
        && phases.iter().all(|phase| !phase.measure)
    {
        let help = "leave `measure = false` to phases that prepare the server";
        first.problems.warning(
            first.place("measure"),
            "no phase is measured, so the run has no results",
            help,
        );
    }
    let results = top.table("results").and_then(|fields| {
        let (chunks, responses) =
            (fields.value("chunks", Field::boolean), fields.value("responses", Field::boolean));
        Some(ResultFiles { chunks: chunks?, responses: responses? })
    });
    let objectives = objectives(top, phases.as_deref(), workloads.as_deref());
    let stop = top.table("stop").and_then(|fields| phase::stop(&fields));
    let thresholds = top.table("verdict").and_then(|fields| verdict::thresholds(&fields));
    let server = top.has("server").then(|| top.table("server")).flatten();
    let server = server.and_then(|fields| server::read(&fields));
    let model =
        top.has("model").then(|| top.table("model")).flatten().and_then(|fields| model::read(&fields));
    if let (Some(target), Some(phases)) = (&target, &phases)
        && target.transport.connections == Connections::PerUser
        && phases.iter().flat_map(Phase::loads).any(|load| !matches!(load.load, Load::Closed { .. }))
    {
        let message = "`connections = \"per_user\"` needs users, and an open loop has none";
        let at = top.table("target").and_then(|target| target.place("connections"));
        top.problems.error(at, message, "use `load.closed` in every phase, or another value");
    }
    let is_of_ids = |workload: &Workload| matches!(&workload.prompt, PromptSource::Tokens(prompts) if prompts.ids().is_some());
    if let (Some(target), Some(workloads)) = (&target, &workloads)
        && !target.api.takes_ids()
        && let Some(workload) = workloads.iter().find(|workload| is_of_ids(workload))
    {
        let (api, name) = (target.api.name(), &workload.name);
        let message = format!("`api = \"{api}\"` takes no token ids, which workload `{name}` sends");
        let at = top.table("target").and_then(|target| target.place("api"));
        let help = "use `api = \"completions\"` or `\"llamacpp\"`, or leave `ids` out";
        top.problems.error(at, message, help);
    }
    if let (Some(target), Some(workloads)) = (&target, &workloads)
        && !matches!(target.tokenizer, Some(TokenizerSource::File(_)))
    {
        prompt::refuse_uncounted(&tables_of_workloads, workloads);
    }
    let sweep = top.has("sweep").then(|| {
        let fields = top.table("sweep")?;
        Some(sweep::sweep(&fields, &document.set)?.sweep)
    });
    let capacity = top.has("capacity").then(|| {
        let fields = top.table("capacity")?;
        if top.has("sweep") {
            let help = "keep one of them: a sweep runs values that are listed, a search finds its own";
            top.problems.error(fields.place("key"), "a scenario has either `[sweep]` or `[capacity]`", help);
        }
        let capacity = capacity::capacity(&fields, &document.set)?.capacity;
        capacity::check(&fields, &capacity, phases.as_deref()?, objectives.as_deref()?);
        Some(capacity)
    });
    let workloads = workloads.filter(|workloads| !workloads.is_empty())?;
    let phases = phases.filter(|phases| !phases.is_empty())?;
    let sweep = match sweep {
        Some(sweep) => Some(sweep?),
        None => None,
    };
    let capacity = match capacity {
        Some(capacity) => Some(capacity?),
        None => None,
    };
    Some(Scenario {
        name: name?,
        seed,
        salt,
        about,
        target: target?,
        workloads,
        phases,
        objectives: objectives?,
        stop: stop?,
        thresholds: thresholds?,
        results: results?,
        server,
        model,
        sweep,
        capacity,
    })
}

fn objectives(
    top: &Fields<'_>,
    phases: Option<&[Phase]>,
    workloads: Option<&[Workload]>,
) -> Option<Vec<Objective>> {
    if !top.has("objective") {
        return Some(Vec::new());
    }
    let tables = top.tables("objective");
    // All are read before it is asked whether all could be.
    let read = tables.iter().map(|fields| objective::read(fields, phases, workloads)).collect::<Vec<_>>();
    read.into_iter().collect()
}

fn about(fields: &Fields<'_>, table: &tree::Table) -> BTreeMap<String, String> {
    let mut about = BTreeMap::new();
    for entry in &table.entries {
        let refuse = |message: String, help: &str| fields.problems.error(Some(entry.at), message, help);
        if is_secret_name(&entry.name) {
            let message =
                format!("`about` is kept with the results: `{}` looks like a secret", abridged(&entry.name));
            refuse(message, "leave it out, or give it a name that does not end like that of a key");
            continue;
        }
        let text = match &entry.node.value {
            Value::Text(text) | Value::Date(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(value) => value.to_string(),
            Value::List(_) | Value::Table(_) => {
                let message = format!(
                    "`{}` of `[about]` takes text, a number or a boolean, not {}",
                    abridged(&entry.name),
                    entry.node.value.describe()
                );
                refuse(message, "write it as one text");
                continue;
            }
        };
        about.insert(entry.name.clone(), text);
    }
    about
}

/// Names of workloads and phases stand in every row, so each must say which one it means.
fn check_names(tables: &[Fields<'_>]) {
    let mut seen = BTreeMap::new();
    for fields in tables {
        // What is no name is reported where it is read.
        let Some(name) = fields.peek("name", Field::name) else { continue };
        if name == "all" {
            let help = "results use `all` for the sum of all; choose another";
            fields.problems.error(fields.place("name"), "the name `all` is taken", help);
        }
        let place = fields.place("name");
        if let Some(first) = seen.insert(name.clone(), place).flatten() {
            let help = format!("{} has it already", fields.problems.line(first));
            fields.problems.error(place, format!("the name `{name}` is used twice"), help);
        }
    }
}

fn target(fields: &Fields<'_>) -> Option<Target> {
    let url = fields.value("url", Field::url).map(Endpoint::Url);
    let sim = fields.has("sim").then(|| fields.table("sim")).flatten();
    let endpoint = url.or(sim.and_then(|fields| sim::endpoint(&fields)));
    let api = fields.value("api", Field::choice).and_then(|index| Api::ALL.get(index).copied());
    let model = fields.value("model", Field::text);
    let chat_limit = fields.value("length_member", Field::choice);
    let chat_limit = chat_limit.and_then(|index| ChatLimit::ALL.get(index).copied());
    if fields.has("length_member") && api.is_some_and(|api| api != Api::Chat) {
        let message = "`length_member` is of `api = \"chat\"`: other APIs have one name for it";
        fields.problems.error(fields.place("length_member"), message, "leave `length_member` out");
    }
    let api_key_env = fields.value("api_key_env", Field::variable);
    let headers = fields.free("headers").map(|table| headers(fields, table)).unwrap_or_default();
    let key_header = api.map_or("authorization", |api| api.key_header("").0);
    let mut names = headers.iter().map(|(name, _)| name.as_str());
    if let Some(name) = names.find(|name| [key_header, "authorization"].contains(name))
        && fields.has("api_key_env")
    {
        let message = format!("`api_key_env` and an `{name}` header both say who is asking");
        let header = fields.place("headers").map(|at| fields.problems.line(at)).unwrap_or_default();
        let help = format!("keep one of them: `headers` stand at {header}");
        fields.problems.error(fields.place("api_key_env"), message, help);
    }
    if let (Some(Endpoint::Sim { .. }), Some(api)) = (&endpoint, api)
        && !SIMULATED_APIS.contains(&api)
    {
        let message = format!("the simulated server does not speak `{}`", api.name());
        let help = format!("set `url`, or one of {}", SIMULATED_APIS.map(Api::name).join(", "));
        fields.problems.error(fields.place("api"), message, help);
    }
    let timeouts = fields.table("timeouts").and_then(|fields| {
        let (connect, first_token) =
            (fields.value("connect", Field::duration), fields.value("first_token", Field::duration));
        let (idle, total) = (fields.value("idle", Field::duration), fields.value("total", Field::duration));
        Some(Timeouts { connect: connect?, first_token: first_token?, idle: idle?, total })
    });
    let transport = transport::read(fields, endpoint.as_ref());
    let tokenizer = prompt::tokenizer(fields);
    let reset_cache = fields.value("reset_cache", Field::boolean);
    Some(Target {
        endpoint: endpoint?,
        api: api?,
        model,
        chat_limit: chat_limit?,
        api_key_env,
        headers,
        timeouts: timeouts?,
        transport: transport?,
        tokenizer: tokenizer?,
        reset_cache: reset_cache?,
    })
}

/// Headers that say how a request is framed or which one it is.
const OWN_HEADERS: [&str; 6] =
    ["connection", "content-length", "content-type", "host", "transfer-encoding", "x-request-id"];

fn headers(fields: &Fields<'_>, table: &tree::Table) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    let mut seen = BTreeMap::new();
    for entry in &table.entries {
        let refuse = |message: &str, help: &str| fields.problems.error(Some(entry.at), message, help);
        let name = entry.name.to_ascii_lowercase();
        // RFC 9110, 5.6.2: a token.
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            refuse("this is no name of a header", "write name and value apart: `x-tenant = \"load\"`");
            continue;
        }
        if OWN_HEADERS.contains(&&*name) {
            refuse(&format!("the header `{name}` is written by the tool itself"), "leave it out");
            continue;
        }
        if seen.insert(name.clone(), ()).is_some() {
            refuse(&format!("the header `{name}` is given twice"), "names of headers do not differ by case");
            continue;
        }
        let Value::Text(value) = &entry.node.value else {
            refuse(&format!("the header `{name}` takes text"), "put its value in quotes");
            continue;
        };
        // RFC 9110, 5.5: visible ASCII and blanks, none of them at the ends.
        let is_sent = |c: char| c == '\t' || (' '..='~').contains(&c);
        if value.trim() != value || !value.chars().all(is_sent) {
            let help = "write it in ASCII, without line breaks, control characters, and blanks at its ends";
            refuse(&format!("the value of the header `{name}` cannot be sent"), help);
            continue;
        }
        headers.push((name, Secret::new(value.clone())));
    }
    headers
}

/// `[request]`, with the length it has for workloads that set none.
struct Request {
    options: RequestOptions,
    max_tokens: u64,
}

fn request(fields: &Fields<'_>) -> Option<Request> {
    let stream = fields.value("stream", Field::boolean);
    let temperature = fields.value("temperature", Field::number);
    let max_tokens = fields.value("max_tokens", Field::tokens);
    let extra = extra(fields);
    let options = RequestOptions { stream: stream?, temperature: temperature?, extra };
    Some(Request { options, max_tokens: max_tokens? })
}

/// Members of a body that are keys of their own here.
pub(super) const OWN_MEMBERS: [(&str, &str); 11] = [
    ("messages", PROMPTS),
    ("prompt", PROMPTS),
    ("input", PROMPTS),
    ("model", "set `model` of `[target]`"),
    ("stream", "set `stream` of `[request]`"),
    ("stream_options", "usage is asked for with every stream"),
    ("temperature", "set `temperature` of `[request]`"),
    ("max_tokens", LENGTHS),
    (
        "max_completion_tokens",
        "set `length_member` of `[target]` to this name, and `max_tokens` of `[request]`",
    ),
    ("max_output_tokens", LENGTHS),
    ("n_predict", LENGTHS),
];
const PROMPTS: &str = "prompts come from `prompt` of `[[workload]]`";
const LENGTHS: &str = "set `max_tokens` of `[request]`, or `output.max_tokens` of a workload";

/// A member of Ollama's `options` that is the tool's own.
const OWN_OPTION: &str = "num_predict";

fn extra(fields: &Fields<'_>) -> Map<String, serde_json::Value> {
    let mut extra = Map::new();
    let Some(table) = fields.free("extra") else { return extra };
    for entry in &table.entries {
        if let Some((name, help)) = OWN_MEMBERS.iter().find(|(name, _)| *name == entry.name) {
            let message = format!("`extra` cannot set `{name}`: the tool sets it");
            fields.problems.error(Some(entry.at), message, *help);
            continue;
        }
        if let Value::Table(options) = &entry.node.value
            && entry.name == "options"
            && let Some(own) = options.entries.iter().find(|option| option.name == OWN_OPTION)
        {
            let message = format!("`extra` cannot set `options.{OWN_OPTION}`: the tool sets it");
            fields.problems.error(Some(own.at), message, LENGTHS);
            continue;
        }
        match json(&entry.node) {
            Ok(value) => {
                if entry.name == "n" && value != 1 {
                    let message = "`extra` cannot ask for more than one answer (`n`)";
                    let help = "answers to one request share its stream, and their times could not be told apart; \
                                send more requests";
                    fields.problems.error(Some(entry.at), message, help);
                }
                extra.insert(entry.name.clone(), value);
            }
            Err((at, message)) => fields.problems.error(Some(at), message, "write a value that JSON has"),
        }
    }
    extra
}

fn json(node: &tree::Node) -> Result<serde_json::Value, (Place, &'static str)> {
    Ok(match &node.value {
        Value::Text(text) => text.clone().into(),
        Value::Boolean(value) => (*value).into(),
        Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => return Err((node.at, "the number is too large to be sent")),
        },
        Value::Float(number) => {
            Number::from_f64(*number).ok_or((node.at, "`inf` and `nan` cannot be sent"))?.into()
        }
        Value::Date(date) => date.clone().into(),
        Value::List(list) => list.iter().map(json).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Table(table) => {
            let members = table.entries.iter().map(|entry| Ok((entry.name.clone(), json(&entry.node)?)));
            serde_json::Value::Object(members.collect::<Result<_, _>>()?)
        }
    })
}

/// Limits with the places they are set at.
#[derive(Clone, Default)]
struct Limits {
    slo: Slo,
    places: Vec<(SloMetric, Option<Place>)>,
}

fn limits(fields: &Fields<'_>) -> Limits {
    let read = |metric: SloMetric| Some((metric, fields.value(metric.name(), Field::duration)?));
    let limits = SloMetric::ALL.into_iter().filter_map(read).collect::<Vec<_>>();
    let places = limits.iter().map(|(metric, _)| (*metric, fields.place(metric.name()))).collect();
    Limits { slo: Slo { limits }, places }
}

/// Whether a metric tells when parts of an answer came.
fn needs_stream(metric: SloMetric) -> bool {
    match metric {
        SloMetric::Ttft | SloMetric::TtftScheduled | SloMetric::FirstAnswer | SloMetric::Tpot => true,
        SloMetric::E2e | SloMetric::E2eScheduled => false,
    }
}

fn workload(fields: &Fields<'_>, defaults: Option<&Request>, all: &Limits) -> Option<Workload> {
    let name = fields.value("name", Field::name);
    let weight = fields.value("weight", Field::number);
    let prompt = fields.table("prompt").and_then(|fields| prompt::prompt(&fields));
    let system = prompt::system(fields);

    let own = fields.table("request").map(|fields| {
        let stream = fields.own("stream", Field::boolean);
        let temperature = fields.own("temperature", Field::number);
        (stream, temperature, fields.own("max_tokens", Field::tokens), extra(&fields))
    });
    let output = fields.table("output");
    let of_rows = output.as_ref().is_some_and(says_dataset);
    let output = output.map(|fields| {
        let states = !of_rows && fields.has("max_tokens");
        let length = states.then(|| lengths::distribution(&fields, "max_tokens"));
        (length, fields.value("exact", Field::boolean))
    });
    let score = fields.has("score").then(|| fields.table("score")).flatten();
    let score = score.map(|fields| score::rule(&fields));
    let session = fields.has("session").then(|| fields.table("session")).flatten();
    let session = session.map(|fields| phase::session(&fields));
    let own_limits = fields.table("slo").map(|fields| limits(&fields))?;

    let (defaults, (stream, temperature, max_tokens, own_extra)) = (defaults?, own?);
    let mut extra = defaults.options.extra.clone();
    extra.extend(own_extra);
    let request = RequestOptions {
        stream: stream.unwrap_or(defaults.options.stream),
        temperature: temperature.unwrap_or(defaults.options.temperature),
        extra,
    };
    let slo = own_limits.slo.over(&all.slo);
    if !request.stream {
        report_unmeasurable(fields, name.as_deref(), &slo, [&own_limits, all]);
    }
    let default_length = Distribution::Fixed(max_tokens.unwrap_or(defaults.max_tokens));
    let (length, exact) = output?;
    let max_tokens = length.unwrap_or(Some(default_length))?;
    let session = session.map_or(Some(None), |session| session.map(Some))?;
    let (mut prompt, system) = (prompt?, system?);
    let joint = match &prompt {
        PromptSource::Tokens(prompts) => prompts.joint_output.clone(),
        _ => None,
    };
    if joint.is_some()
        && let Some(output) = fields.table("output").filter(|output| output.has("max_tokens"))
    {
        let message = "`prompt.synthetic.joint` gives each prompt the length of its answer";
        fields.problems.error(output.place("max_tokens"), message, "leave `max_tokens` out, or `joint`");
    }
    let max_tokens = joint.unwrap_or(max_tokens);
    match &mut prompt {
        PromptSource::Dataset(source) => source.uses_output_tokens = of_rows,
        _ if of_rows => {
            let message = "`max_tokens = \"dataset\"` takes lengths from rows, and this workload has none";
            fields.problems.error(fields.place("output"), message, "give a number, or a data set");
        }
        _ => {}
    }
    if matches!(&prompt, PromptSource::Tokens(prompts) if prompts.ids().is_some()) {
        check_ids(fields, session.as_ref());
    }
    if let Some(session) = &session {
        check_session(fields, session, &mut prompt);
        check_context(fields, session, &prompt, &max_tokens);
    }
    let cache = prompt::cache(fields, &prompt, system.as_ref())?;
    let score = score.map_or(Some(None), |score| score.map(Some))?;
    score::check_truths(fields, score.as_ref(), &prompt);
    let consistency = score::consistency(fields, score.is_some(), request.temperature)?;
    Some(Workload {
        name: name?,
        weight: weight?,
        prompt,
        system,
        cache,
        max_tokens,
        exact_output: exact?,
        score,
        consistency,
        session,
        slo,
        request,
    })
}

fn says_dataset(fields: &Fields<'_>) -> bool {
    !fields.holds_table("max_tokens")
        && fields.peek("max_tokens", Field::text).is_some_and(|text| text == "dataset")
}

/// A prompt of ids is a list of them and nothing else.
fn check_ids(fields: &Fields<'_>, session: Option<&SessionForm>) {
    if fields.has("system") {
        let message = "a prompt of token ids has no room for a text before it";
        fields.problems.error(fields.place("system"), message, "use `shared_prefix`, or leave `ids` out");
    }
    if session.is_some_and(|session| session.history != History::None) {
        let message = "a prompt of token ids cannot carry answers, which are texts";
        let help = "set `history = \"none\"`, or leave `ids` out";
        fields.problems.error(fields.place("session"), message, help);
    }
}

/// Rows can say how many turns a conversation has and what was answered; made-up text cannot.
fn check_session(fields: &Fields<'_>, session: &SessionForm, prompt: &mut PromptSource) {
    match prompt {
        PromptSource::Dataset(source) => source.needs_answers = session.history == History::Recorded,
        PromptSource::Needle(_) => {
            let message = "every needle is asked for on its own, not in conversations";
            fields.problems.error(fields.place("session"), message, "leave `session` out");
        }
        PromptSource::Synthetic { .. } | PromptSource::Tokens(_) => {
            let ends_by_itself = session.max_context.is_some() && matches!(prompt, PromptSource::Tokens(_));
            if session.turns.is_none() && !ends_by_itself {
                let message = "conversations of made-up prompts need `turns`";
                let help =
                    "add `turns = 5`; prompts of a length in `tokens` may go on to `max_context` instead";
                fields.problems.error(fields.place("session"), message, help);
            }
            if session.history == History::Recorded {
                let message = "`history = \"recorded\"` needs answers, and made-up prompts have none";
                let help = "use `\"real\"`, or a data set of conversations";
                fields.problems.error(fields.place("session"), message, help);
            }
        }
    }
}

/// A context must have room for a turn, and conversations that go on until it is full must fill it in good time.
fn check_context(
    fields: &Fields<'_>,
    session: &SessionForm,
    prompt: &PromptSource,
    max_tokens: &Distribution,
) {
    let (Some(limit), PromptSource::Tokens(prompts)) = (session.max_context, prompt) else { return };
    let Some(place) = fields.table("session").map(|session| session.place("max_context")) else { return };
    let (shortest, answer) = (prompts.tokens.min(), max_tokens.min());
    if shortest + answer > limit {
        let message = format!(
            "no turn fits `max_context`: the shortest prompt has {shortest} tokens and its answer {answer}"
        );
        fields.problems.error(place, message, "raise `max_context`, or shorten prompts and answers");
    }
    if session.turns.is_some() {
        return;
    }
    if session.history == History::None {
        let message = "without history no conversation comes to its `max_context`";
        fields.problems.error(
            place,
            message,
            "add `turns`, or let turns carry those before: `history = \"real\"`",
        );
    } else if limit / (shortest + answer) > SessionForm::MOST_TURNS {
        let message = format!(
            "conversations may have more than {} turns before they come to `max_context`",
            SessionForm::MOST_TURNS
        );
        fields.problems.error(place, message, "add `turns`, or give prompts a `min`");
    }
}

fn report_unmeasurable(fields: &Fields<'_>, name: Option<&str>, slo: &Slo, set_by: [&Limits; 2]) {
    for (metric, _) in slo.limits.iter().filter(|(metric, _)| needs_stream(*metric)) {
        let place = set_by.iter().flat_map(|limits| &limits.places).find(|(known, _)| known == metric);
        let message = format!(
            "`{}` cannot be measured for the workload `{}`: its answers are not streamed",
            metric.name(),
            name.unwrap_or_default(),
        );
        let help = "set `stream = true`, or limit `e2e` instead";
        fields.problems.error(place.and_then(|(_, place)| *place), message, help);
    }
}

pub(super) fn existing_file(field: Field<'_>, problems: &Problems<'_>) -> Result<PathBuf, Refusal> {
    let label = field.label;
    let folder = problems.folder(field.node.at);
    let path = folder.join(field.text()?);
    match source::missing_file(&path) {
        None => Ok(path),
        Some(problem) => {
            let help = format!("{}; looked for `{}`", source::RELATIVE, path.display());
            Err(Refusal::new(format!("the file of `{label}` {problem}"), help))
        }
    }
}
