//! `[model]`: read from its keys and from the `config.json` that they name.
//!
//! Such files differ by family: names of the same thing are tried in turn, and one that says nothing of a key is
//! reported with the key to give. Layers that keep a state of constant size in place of keys are not counted;
//! layers with a sliding window are counted whole, so that what is said to fit does fit.

use std::path::Path;

use serde_json::{Map, Value};

use super::fields::Fields;
use super::read::existing_file;
use super::source;
use super::values::Field;
use crate::stats::{ElementType, KvLayout, ModelMemory};

/// What a `config.json` says of the memory a model takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Config {
    layers: Option<u64>,
    layout: Option<KvLayout>,
    kv_type: Option<ElementType>,
    weights: Option<u64>,
}

/// Reads the table; `None` where something is missing or wrong, which is reported.
pub(super) fn read(fields: &Fields<'_>) -> Option<ModelMemory> {
    let config = match fields.has("path") {
        true => from_file(fields)?,
        false => Config::default(),
    };
    let count = |name| fields.own(name, Field::integer);
    let layers = count("layers").or(config.layers);
    if layers.is_none() {
        missing(fields, "layers", "layers = 80");
    }
    let layout = layout(fields, config.layout);
    let kv_type = fields.own("kv_type", Field::choice).and_then(|index| ElementType::ALL.get(index).copied());
    let kv_type = kv_type.or(config.kv_type);
    let weights = fields.own("weights", Field::bytes).or(config.weights);
    let memory = fields.own("memory", Field::bytes);
    let utilisation = fields.value("utilisation", Field::share);
    let tensor_parallel = fields.value("tensor_parallel", Field::integer);
    if kv_type.is_none() {
        missing(fields, "kv_type", "kv_type = \"bf16\"");
    }
    if memory.is_some() && weights.is_none() && !fields.has("weights") {
        let help = "add `weights = \"146GB\"`, the size of the model's files";
        fields.problems.error(fields.place("memory"), "`memory` says what fits only beside `weights`", help);
    }
    Some(ModelMemory {
        layers: layers?,
        layout: layout?,
        kv_type: kv_type?,
        weights,
        memory,
        utilisation: utilisation?,
        tensor_parallel: tensor_parallel?,
    })
}

fn missing(fields: &Fields<'_>, name: &str, example: &str) {
    // What was given and refused has been reported.
    if fields.mentions(name) {
        return;
    }
    let place = fields.place("path");
    let message = match fields.has("path") {
        true => format!("the file at `path` says nothing of `{name}`"),
        false => format!("`[model]` needs `{name}`"),
    };
    fields.problems.error(place, message, format!("add `{example}`, or a `path` that tells"));
}

fn layout(fields: &Fields<'_>, of_file: Option<KvLayout>) -> Option<KvLayout> {
    let count = |name| fields.own(name, Field::integer);
    let (kv_heads, head_size, latent) = (count("kv_heads"), count("head_size"), count("kv_latent"));
    let (file_heads, file_size) = match of_file {
        Some(KvLayout::Heads { kv_heads, head_size }) => (Some(kv_heads), Some(head_size)),
        _ => (None, None),
    };
    if let Some(name) = ["kv_heads", "head_size"].into_iter().find(|name| fields.has(name)) {
        if fields.has("kv_latent") {
            let help = "keep `kv_latent` for a model with MLA, `kv_heads` and `head_size` for any other";
            let message = format!("`kv_latent` takes the place of `{name}`");
            fields.problems.error(fields.place("kv_latent"), message, help);
            return None;
        }
    } else if fields.has("kv_latent") {
        return latent.map(|size| KvLayout::Latent { size });
    } else if matches!(of_file, Some(KvLayout::Latent { .. })) {
        return of_file;
    }
    let (kv_heads, head_size) = (kv_heads.or(file_heads), head_size.or(file_size));
    if kv_heads.is_none() {
        missing(fields, "kv_heads", "kv_heads = 8");
    }
    if head_size.is_none() {
        missing(fields, "head_size", "head_size = 128");
    }
    Some(KvLayout::Heads { kv_heads: kv_heads?, head_size: head_size? })
}

fn from_file(fields: &Fields<'_>) -> Option<Config> {
    let path = fields.own("path", |field| existing_file(field, fields.problems))?;
    let read = source::small_text(&path).and_then(|text| {
        let value = serde_json::from_str::<Value>(&text).map_err(|error| format!("is not JSON: {error}"))?;
        value.as_object().map(config).ok_or_else(|| "holds no JSON object".to_owned())
    });
    match read {
        Ok(config) => Some(Config { weights: stated_weights(&path), ..config }),
        Err(problem) => {
            let help = "name a model's `config.json`, or give its keys here";
            fields.problems.error(fields.place("path"), format!("the file of `path` {problem}"), help);
            None
        }
    }
}

/// Size of all weights as `model.safetensors.index.json` beside `config` states it.
fn stated_weights(config: &Path) -> Option<u64> {
    let text = source::small_text(&config.with_file_name("model.safetensors.index.json")).ok()?;
    let index = serde_json::from_str::<Value>(&text).ok()?;
    whole(index.get("metadata")?.get("total_size")?)
}

fn config(file: &Map<String, Value>) -> Config {
    // Models of text and images keep the part for text in a table of its own.
    let inner = ["text_config", "llm_config", "language_config"].into_iter().find_map(|name| file.get(name));
    let of_text = inner.and_then(Value::as_object).filter(|inner| layers(inner).is_some());
    let text = of_text.unwrap_or(file);
    let dtype = |table: &Map<String, Value>| {
        let name = table.get("torch_dtype").or_else(|| table.get("dtype"))?.as_str()?;
        match name.trim_start_matches("torch.") {
            "float32" => Some(ElementType::Fp32),
            "float16" | "half" => Some(ElementType::Fp16),
            "bfloat16" => Some(ElementType::Bf16),
            _ => None,
        }
    };
    Config {
        layers: layers(text),
        layout: file_layout(text),
        kv_type: dtype(text).or_else(|| dtype(file)),
        weights: None,
    }
}

/// The first of `names` that is a whole number of at least 1.
fn first(table: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| table.get(*name).and_then(whole))
}

/// A whole number of at least 1; some writers put a point behind it.
fn whole(value: &Value) -> Option<u64> {
    let float =
        value.as_f64().filter(|number| number.fract() == 0.0 && *number < 9e15).map(|number| number as u64);
    value.as_u64().or(float).filter(|number| *number > 0)
}

fn layers(table: &Map<String, Value>) -> Option<u64> {
    let all = first(table, &["num_hidden_layers", "n_layer", "n_layers", "num_layers"])?;
    let kinds = table.get("layer_types").and_then(Value::as_array);
    let Some(kinds) = kinds.filter(|kinds| kinds.len() as u64 == all) else { return Some(all) };
    let kept = kinds.iter().filter(|kind| kind.as_str().is_some_and(|kind| kind.ends_with("attention")));
    let kept = kept.filter(|kind| kind.as_str() != Some("linear_attention")).count() as u64;
    (kept > 0).then_some(kept)
}

fn file_layout(table: &Map<String, Value>) -> Option<KvLayout> {
    if let Some(latent) = first(table, &["kv_lora_rank"]) {
        let rotary = first(table, &["qk_rope_head_dim"])?;
        return Some(KvLayout::Latent { size: latent + rotary });
    }
    let query_heads = first(table, &["num_attention_heads", "n_head", "n_heads"])?;
    let hidden = first(table, &["hidden_size", "n_embd", "d_model"]);
    let head_size =
        first(table, &["head_dim"]).or_else(|| Some(hidden? / query_heads).filter(|size| *size > 0))?;
    // Falcon's first form says only that there is one; its second one counts them.
    let one = table.get("multi_query") == Some(&Value::Bool(true))
        && table.get("new_decoder_architecture") != Some(&Value::Bool(true));
    let stated = first(table, &["num_key_value_heads", "n_head_kv", "num_kv_heads"]);
    let kv_heads = if one { 1 } else { stated.unwrap_or(query_heads) };
    Some(KvLayout::Heads { kv_heads, head_size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        config(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap())
    }

    fn heads(layers: u64, kv_heads: u64, head_size: u64, kv_type: ElementType) -> Config {
        let layout = Some(KvLayout::Heads { kv_heads, head_size });
        Config { layers: Some(layers), layout, kv_type: Some(kv_type), weights: None }
    }

    #[test]
    fn the_families_name_the_same_things_differently() {
        // The members of published files that matter here.
        let llama_70b = r#"{"num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
            "hidden_size": 8192, "torch_dtype": "bfloat16"}"#;
        assert_eq!(read(llama_70b), heads(80, 8, 128, ElementType::Bf16));
        let gpt2 = r#"{"n_layer": 12, "n_head": 12, "n_embd": 768, "dtype": "float32"}"#;
        assert_eq!(read(gpt2), heads(12, 12, 64, ElementType::Fp32));
        let falcon_7b = r#"{"num_hidden_layers": 32, "num_attention_heads": 71, "hidden_size": 4544,
            "multi_query": true, "new_decoder_architecture": false, "torch_dtype": "bfloat16"}"#;
        assert_eq!(read(falcon_7b), heads(32, 1, 64, ElementType::Bf16));
        let falcon_40b = r#"{"num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
            "hidden_size": 8192, "multi_query": true, "new_decoder_architecture": true, "torch_dtype": "bfloat16"}"#;
        assert_eq!(read(falcon_40b), heads(60, 8, 64, ElementType::Bf16));
        // Qwen3 has heads that are not the hidden size over their number.
        let qwen3 = r#"{"num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
            "head_dim": 128, "hidden_size": 5120, "torch_dtype": "bfloat16"}"#;
        assert_eq!(read(qwen3), heads(64, 8, 128, ElementType::Bf16));
        let deepseek_v3 = r#"{"num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
            "kv_lora_rank": 512, "qk_rope_head_dim": 64, "hidden_size": 7168, "torch_dtype": "bfloat16"}"#;
        let layout = Some(KvLayout::Latent { size: 576 });
        assert_eq!((read(deepseek_v3).layers, read(deepseek_v3).layout), (Some(61), layout));
    }

    #[test]
    fn a_model_of_images_is_read_by_its_text_and_layers_of_constant_state_do_not_count() {
        let nested = r#"{"torch_dtype": "float16", "num_hidden_layers": 3, "text_config":
            {"num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 16, "layer_types":
            ["linear_attention", "full_attention", "sliding_attention", "linear_attention"]}}"#;
        assert_eq!(read(nested), heads(2, 8, 16, ElementType::Fp16));
    }

    #[test]
    fn what_a_file_does_not_say_stays_open_whatever_it_holds() {
        assert_eq!(read("{}"), Config::default());
        let odd = r#"{"num_hidden_layers": -3, "num_attention_heads": 0, "hidden_size": "8", "kv_lora_rank": null,
            "torch_dtype": 7, "layer_types": {}, "text_config": []}"#;
        assert_eq!(read(odd), Config::default());
        assert_eq!(read(r#"{"num_hidden_layers": 2.0, "layer_types": ["mamba", "mamba"]}"#).layers, None);
    }
}
