//! What the simulated model knows: answers it is given, and needles it really finds in its prompt.

use memchr::memmem;

use super::answer::Answer;
use super::profile::Skill;

/// Right answers, from outside: the rows of a data set, say.
pub trait AnswerKey: Send + Sync {
    /// The text of a right answer to `question`, the last message of the user, with the value asked for as its last
    /// number; `None` where the question is not known.
    fn solution(&self, question: &str) -> Option<String>;
}

/// How a needle is hidden: `The secret number for lantern is 4711.`
pub const NEEDLE: &str = "The secret number for ";

/// How it is asked for, at the end of the prompt: `What is the secret number for lantern?`
pub const NEEDLE_QUESTION: &str = "What is the secret number for ";

/// What is asked, in which prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    /// The last message of the user.
    pub(super) text: &'a str,
    /// All messages, in order.
    pub(super) prompt: &'a [&'a str],
    /// Length of the prompt as a share of the context.
    pub(super) fullness: f64,
}

/// What it knows, said as well as `skill` lets it; `None` where it knows nothing. Chance follows `answer`.
pub(super) fn informed(
    answer: &Answer,
    question: Question<'_>,
    skill: &Skill,
    key: Option<&dyn AnswerKey>,
) -> Option<String> {
    if let Some(text) = find_needles(answer, question, skill) {
        return Some(text);
    }
    let solution = key?.solution(question.text)?;
    let right_share = skill.right_share * (1.0 - skill.right_length_loss * question.fullness.min(1.0));
    Some(attempt(answer, &solution, right_share))
}

/// The right solution with the probability of `right_share`; else, by turns of chance, one with another last number
/// or one that breaks off half-way.
fn attempt(answer: &Answer, solution: &str, right_share: f64) -> String {
    let draw = answer.draw("skill");
    if draw < right_share {
        return solution.to_owned();
    }
    if draw < f64::midpoint(right_share, 1.0) {
        return wrong(solution);
    }
    // Not a word of the value, or a part of it would pass for the whole.
    let value = last_number(solution).map(|(start, end)| &solution[start..end]);
    let until = value.and_then(|value| solution.find(value)).unwrap_or(solution.len());
    let words = solution[..until].split_inclusive(char::is_whitespace).collect::<Vec<_>>();
    let half = words[..words.len() / 2].concat();
    if half.trim().is_empty() { wrong(solution) } else { half.trim_end().to_owned() }
}

/// Where the last digits of a text stand.
fn last_number(text: &str) -> Option<(usize, usize)> {
    let last = text.rfind(|c: char| c.is_ascii_digit())?;
    let digits = text[..=last].bytes().rev().take_while(u8::is_ascii_digit).count();
    Some((last + 1 - digits, last + 1))
}

/// `solution` with its last number, or if it has none its last letter, replaced by the next one.
pub(super) fn wrong(solution: &str) -> String {
    let Some((start, end)) = last_number(solution) else {
        return match solution.rfind(|c: char| c.is_ascii_alphabetic()) {
            Some(at) => {
                let next = match solution.as_bytes()[at] {
                    b'z' => 'a',
                    b'Z' => 'A',
                    letter => char::from(letter + 1),
                };
                format!("{}{next}{}", &solution[..at], &solution[at + 1..])
            }
            None => "I do not know.".to_owned(),
        };
    };
    let number = solution[start..end].parse::<u128>().map_or(0, |number| number.saturating_add(1));
    format!("{}{number}{}", &solution[..start], &solution[end..])
}

/// The answers to all questions after needles; `None` if nothing of that kind is asked.
fn find_needles(answer: &Answer, question: Question<'_>, skill: &Skill) -> Option<String> {
    // Most prompts ask for none, and looking from the front is far faster.
    let first = memmem::find(question.text.as_bytes(), NEEDLE_QUESTION.as_bytes())?;
    let asked = question.text[first..].split(NEEDLE_QUESTION).skip(1);
    let names =
        asked.filter_map(|rest| rest.split('?').next().map(str::trim).filter(|name| !name.is_empty()));
    let found = names.enumerate().map(|(place, name)| find_needle(answer, place, name, question, skill));
    let found = found.collect::<Vec<_>>();
    (!found.is_empty()).then(|| found.join(" "))
}

/// The answer to the question after the needle of `name`, the `place`-th of them.
fn find_needle(answer: &Answer, place: usize, name: &str, question: Question<'_>, skill: &Skill) -> String {
    let needle = format!("{NEEDLE}{name} is ");
    let total = question.prompt.iter().map(|text| text.len()).sum::<usize>().max(1);
    let mut before = 0;
    for text in question.prompt {
        let Some(at) = text.find(&needle) else {
            before += text.len();
            continue;
        };
        let value = text[at + needle.len()..].split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let value = value.trim_end_matches(|c: char| !c.is_alphanumeric());
        let depth = (before + at) as f64 / total as f64;
        let found = skill.needle_share
            * (1.0 - skill.needle_length_loss * question.fullness.min(1.0))
            * (1.0 - skill.needle_depth_loss * 4.0 * depth * (1.0 - depth));
        let draw = match place {
            0 => answer.draw("needle"),
            _ => answer.draw(&format!("needle {place}")),
        };
        return if draw < found {
            format!("{needle}{value}.")
        } else if draw < f64::midpoint(found, 1.0) {
            wrong(&format!("{needle}{value}."))
        } else {
            format!("The text does not mention the secret number for {name}.")
        };
    }
    format!("The text does not mention the secret number for {name}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::answer::Channel;

    struct Row;

    impl AnswerKey for Row {
        fn solution(&self, question: &str) -> Option<String> {
            question.contains("clips").then(|| "She sold 24 in May.\n#### 72".to_owned())
        }
    }

    fn text(answer: &Answer) -> String {
        answer.text(answer.tokens(1), Channel::Answer)
    }

    fn ask(key: u64, text_: &str, prompt: &[&str], fullness: f64, skill: Skill) -> String {
        let question = Question { text: text_, prompt, fullness };
        let answer = Answer::new(key);
        informed(&answer, question, &skill, Some(&Row)).unwrap_or_else(|| text(&answer))
    }

    #[test]
    fn a_known_problem_is_answered_right_in_the_stated_share_of_cases() {
        let question = "How many clips?";
        let skill = Skill { right_share: 0.7, ..Skill::default() };
        let answers = (0..2000).map(|key| ask(key, question, &[question], 0.1, skill)).collect::<Vec<_>>();
        let count = |text: &str| answers.iter().filter(|answer| *answer == text).count();
        let right = count("She sold 24 in May.\n#### 72");
        let (other, broken) = (count("She sold 24 in May.\n#### 73"), count("She sold 24"));
        assert_eq!(right + other + broken, 2000);
        assert!((1340..1460).contains(&right), "{right} of 2,000 right");
        assert!((240..360).contains(&other) && (240..360).contains(&broken), "{other} wrong, {broken} cut");
        let all = (0..100).all(|key| ask(key, question, &[question], 0.1, Skill::default()).ends_with("72"));
        assert!(all, "without a stated share every one is right");
    }

    #[test]
    fn what_is_not_known_is_answered_with_words() {
        let question = "How many boats?";
        assert_eq!(ask(1, question, &[question], 0.1, Skill::default()), text(&Answer::new(1)));
    }

    #[test]
    fn a_wrong_answer_differs_in_its_last_value_alone() {
        assert_eq!(wrong("#### 1,299"), "#### 1,300");
        assert_eq!(wrong(r"so \boxed{\frac{1}{2}}."), r"so \boxed{\frac{1}{3}}.");
        assert_eq!(wrong("99999999999999999999999999999999999999999 m"), "0 m");
        assert_eq!(wrong("The answer is (B)."), "The answer is (C).");
        assert_eq!(wrong("z"), "a");
        assert_eq!(wrong("…"), "I do not know.");
    }

    #[test]
    fn a_needle_is_found_where_it_stands() {
        let question = "What is the secret number for lantern?";
        let hay =
            "Ships go by. The secret number for harbour is 12. The secret number for lantern is 4711. More.";
        let whole = format!("{hay}\n{question}");
        assert_eq!(
            ask(1, &whole, &[&whole], 0.5, Skill::default()),
            "The secret number for lantern is 4711."
        );
        assert_eq!(
            ask(1, question, &[hay, question], 0.5, Skill::default()),
            "The secret number for lantern is 4711."
        );
        assert_eq!(
            ask(1, question, &["Ships go by.", question], 0.5, Skill::default()),
            "The text does not mention the secret number for lantern."
        );
        let other = "What is the secret number for harbour ? Answer with the number.";
        assert_eq!(
            ask(1, other, &[hay, other], 0.5, Skill::default()),
            "The secret number for harbour is 12."
        );
    }

    #[test]
    fn of_several_needles_each_is_found_by_itself() {
        let hay = "The secret number for keel is 7. Ships go by. The secret number for mast is 8.";
        let question = "What is the secret number for mast? What is the secret number for keel? Answer.";
        let all = ask(1, question, &[hay, question], 0.5, Skill::default());
        assert_eq!(all, "The secret number for mast is 8. The secret number for keel is 7.");
        let half = Skill { needle_share: 0.5, ..Skill::default() };
        let both = (0..1000).filter(|key| ask(*key, question, &[hay, question], 0.5, half) == all).count();
        assert!((200..300).contains(&both), "{both} of 1,000, each of two by chance");
    }

    #[test]
    fn needles_are_lost_in_long_prompts_and_in_their_middle_as_the_skill_says() {
        let question = "What is the secret number for keel?";
        let needle = "The secret number for keel is 7. ";
        let filler = "Ships go by. ".repeat(100);
        let found = |hay: &str, fullness: f64, skill: Skill| {
            let answers = (0..1000).map(|key| ask(key, question, &[hay], fullness, skill));
            answers.filter(|answer| answer == needle.trim()).count()
        };
        let by_length = Skill { needle_length_loss: 0.6, ..Skill::default() };
        assert!(found(needle, 0.0, by_length) == 1000);
        assert!((660..740).contains(&found(needle, 0.5, by_length)));
        assert!((360..440).contains(&found(needle, 1.0, by_length)));
        let by_depth = Skill { needle_depth_loss: 0.8, ..Skill::default() };
        let middle = format!("{filler}{needle}{filler}");
        assert!(found(&format!("{needle}{filler}"), 0.1, by_depth) > 990);
        assert!((160..240).contains(&found(&middle, 0.1, by_depth)));
    }
}
