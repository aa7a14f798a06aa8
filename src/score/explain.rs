//! A check step by step, for someone who doubts its verdict.

use super::extract::{Extracted, Fired, Role, Value, extract};
use super::work::{MAX_ANSWER, Work};
use super::{Kind, Rule, clean, math};

/// The longest stretch of text shown in a step, in characters.
const SHOWN: usize = 200;

impl Rule {
    /// The steps of [`Rule::check`], one a line: what was left of both sides, which rule fired, what was compared, and
    /// the verdict; none where the truth has no answer.
    pub fn explain(&self, prediction: &str, truth: &str) -> Vec<String> {
        let mut steps = vec![format!("kind: {}", self.kind.name())];
        let found = extract(self, prediction, Role::Prediction);
        steps.extend(self.side("prediction", prediction, &found));
        let reduced = extract(self, truth, Role::Truth);
        if self.ignores_truth() {
            steps.push("truth: not looked at, the pattern is the test".to_owned());
        } else {
            steps.extend(self.side("truth", truth, &reduced));
        }
        if let (Ok(found), Ok(truth)) = (&found, &reduced)
            && self.kind == Kind::Math
        {
            let same = math::compare(&found.text, &truth.text, self.tolerance, &mut Work::default());
            steps.push(match same {
                Some(math::Same::Text) => "compared: the same normal form".to_owned(),
                Some(math::Same::Value) => "compared: the same value".to_owned(),
                None => "compared: not the same".to_owned(),
            });
        }
        steps.push(match self.truth(truth) {
            Some(_) => format!("verdict: {}", self.check(prediction, truth).verdict.name()),
            None => format!("left out: the truth has no answer of kind `{}`", self.kind.name()),
        });
        steps
    }

    fn side(&self, name: &str, text: &str, found: &Result<Extracted, Fired>) -> Vec<String> {
        let searched = match clean::clean(text, &self.kind) {
            None => "its reasoning never ends".to_owned(),
            Some(cleaned) => {
                let inside = if cleaned.tagged { ", the inside of <answer>" } else { "" };
                format!("{} of {} bytes are searched{inside}", cleaned.text.len(), text.len())
            }
        };
        let mut steps = vec![format!("{name}: {searched}")];
        match found {
            Err(why) => steps.push(format!("{name}: no answer ({})", why.name())),
            Ok(found) => {
                steps.push(format!("{name}: rule `{}` gives {}", found.fired.name(), shown(&found.text)));
                match &found.value {
                    Value::Number(Some(value)) => {
                        steps.push(format!("{name}: the number {}", shown(&value.to_string())));
                    }
                    Value::Number(None) => steps.push(format!("{name}: not one single number")),
                    Value::Letter(Some(letter)) => steps.push(format!("{name}: the letter {letter}")),
                    Value::Letter(None) => steps.push(format!("{name}: not one single letter")),
                    Value::Text if self.kind == Kind::Math && found.text.len() <= MAX_ANSWER => {
                        let normal = math::normal(&found.text).unwrap_or_default();
                        steps.push(format!("{name}: in normal form {}", shown(&normal)));
                    }
                    Value::Text => {}
                }
            }
        }
        steps
    }
}

/// A text on one line, cut where it is long.
fn shown(text: &str) -> String {
    let mut line: String =
        text.chars().take(SHOWN).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().count() > SHOWN {
        line.push('…');
    }
    format!("`{line}`")
}
