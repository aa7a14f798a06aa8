//! What a source file mentions: just enough of Rust's grammar to see its paths, without a parser.
//!
//! Comments, strings and character literals are blanked first, so that prose is never taken for code. What is
//! left is read as words; `use` trees are spread out, `self` and `super` are resolved.

/// A path that a file imports or writes out, or a macro that it calls.
pub(crate) struct Mention {
    pub(crate) line: usize,
    /// The segments. Paths into this crate start with `crate`; a macro's last segment ends with `!`.
    pub(crate) path: Vec<String>,
    /// The module it stands in, from the crate's root. Test modules do not count.
    pub(crate) module: Vec<String>,
    /// Whether it is compiled for tests only.
    pub(crate) test: bool,
}

/// What one file mentions and declares.
pub(crate) struct Source {
    pub(crate) mentions: Vec<Mention>,
    /// Modules declared as `#[cfg(test)] mod name;`: their files are compiled for tests only.
    pub(crate) test_modules: Vec<Vec<String>>,
}

impl Source {
    /// Reads the file of `module` (its path from the crate's root, empty for the root itself).
    pub(crate) fn read(text: &str, module: &[String]) -> Source {
        let mut reader = Reader {
            words: words(&blanked(text)),
            module,
            inner: Vec::new(),
            test_end: 0,
            source: Source { mentions: Vec::new(), test_modules: Vec::new() },
        };
        reader.run();
        reader.source
    }
}

struct Word {
    line: usize,
    text: String,
}

/// An inline module that is open: its name, the depth of braces outside it, whether it is a test module.
struct Inner {
    name: String,
    depth: usize,
    test: bool,
}

struct Reader<'a> {
    words: Vec<Word>,
    module: &'a [String],
    inner: Vec<Inner>,
    /// Words before this one belong to an item under `#[cfg(test)]`.
    test_end: usize,
    source: Source,
}

impl Reader<'_> {
    fn run(&mut self) {
        let (mut at, mut depth) = (0, 0_usize);
        while at < self.words.len() {
            let test = at < self.test_end;
            match self.word(at) {
                "#" if self.is_test_attribute(at) => {
                    self.test_end = self.test_end.max(self.item_end(at));
                    at += 1;
                }
                "{" => {
                    depth += 1;
                    at += 1;
                }
                "}" => {
                    depth = depth.saturating_sub(1);
                    while self.inner.last().is_some_and(|inner| inner.depth >= depth) {
                        self.inner.pop();
                    }
                    at += 1;
                }
                "mod" if is_name(self.word(at + 1)) => {
                    let name = self.word(at + 1).to_owned();
                    if self.word(at + 2) == "{" {
                        self.inner.push(Inner { name, depth, test });
                    } else if test {
                        self.source.test_modules.push([self.enclosing(), vec![name]].concat());
                    }
                    at += 2;
                }
                "use" if self.word(at + 1) != "<" => at = self.use_tree(at + 1, &[]),
                word if is_name(word) => at = self.written_path(at),
                _ => at += 1,
            }
        }
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// The module around the present place, inline ones included.
    fn enclosing(&self) -> Vec<String> {
        self.module.iter().chain(self.inner.iter().map(|inner| &inner.name)).cloned().collect()
    }

    /// Reads a path written out in code and returns the place after it.
    fn written_path(&mut self, start: usize) -> usize {
        let mut path = vec![self.word(start).to_owned()];
        let mut at = start + 1;
        while self.word(at) == "::" && is_name(self.word(at + 1)) {
            path.push(self.word(at + 1).to_owned());
            at += 2;
        }
        let called = self.word(at) == "!" && self.word(at + 1) != "=";
        if let (true, Some(last)) = (called, path.last_mut()) {
            last.push('!');
        }
        if called || path.len() > 1 {
            self.mention(start, path);
        }
        at
    }

    /// Reads one tree of a `use` under `prefix` and returns the place after it.
    fn use_tree(&mut self, start: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        let mut at = if self.word(start) == "::" { start + 1 } else { start };
        loop {
            match self.word(at) {
                "{" => return self.use_group(at + 1, &path),
                "*" => path.push("*".to_owned()),
                "self" if !path.is_empty() => {}
                word if is_name(word) => path.push(word.to_owned()),
                _ => return at,
            }
            at += 1;
            if self.word(at) != "::" {
                self.mention(at - 1, path);
                return if self.word(at) == "as" { at + 2 } else { at };
            }
            at += 1;
        }
    }

    /// Reads the trees between braces and returns the place after the closing one.
    fn use_group(&mut self, mut at: usize, prefix: &[String]) -> usize {
        while self.word(at) != "}" && at < self.words.len() {
            let after = self.use_tree(at, prefix);
            at = if self.word(after) == "," || after == at { after + 1 } else { after };
        }
        at + 1
    }

    fn mention(&mut self, at: usize, path: Vec<String>) {
        let path = self.resolved(path);
        let module = self.module.iter();
        let module = module.chain(self.inner.iter().filter(|inner| !inner.test).map(|inner| &inner.name));
        let mention = Mention {
            line: self.words[at].line,
            path,
            module: module.cloned().collect(),
            test: at < self.test_end,
        };
        self.source.mentions.push(mention);
    }

    /// The path from the crate's root, where it is relative to a module.
    fn resolved(&self, path: Vec<String>) -> Vec<String> {
        let mut base = self.enclosing();
        let climbs =
            path.iter().skip_while(|segment| *segment == "self").take_while(|segment| *segment == "super");
        let climbs = climbs.count();
        if climbs == 0 && path[0] != "self" {
            return path;
        }
        base.truncate(base.len().saturating_sub(climbs));
        let rest = path.into_iter().skip_while(|segment| segment == "self" || segment == "super");
        ["crate".to_owned()].into_iter().chain(base).chain(rest).collect()
    }

    /// Whether `#[cfg(test)]` or `#[cfg(all(…, test, …))]` starts here.
    fn is_test_attribute(&self, at: usize) -> bool {
        if ["#", "[", "cfg", "("].iter().enumerate().any(|(i, word)| self.word(at + i) != *word) {
            return false;
        }
        if self.word(at + 4) != "all" {
            return self.word(at + 4) == "test" && self.word(at + 5) == ")";
        }
        let mut depth = 0_usize;
        for word in &self.words[at + 5..] {
            match word.text.as_str() {
                "(" => depth += 1,
                ")" if depth == 1 => return false,
                ")" => depth -= 1,
                "test" if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }

    /// The place after the item whose attributes start here.
    fn item_end(&self, start: usize) -> usize {
        let mut at = start;
        while self.word(at) == "#" {
            at = self.group_end(at + 1);
        }
        if self.word(at) == "pub" {
            at = if self.word(at + 1) == "(" { self.group_end(at + 1) } else { at + 1 };
        }
        let ends_with_block = match self.word(at) {
            "use" | "static" | "type" => false,
            "const" => self.word(at + 1) == "fn",
            _ => true,
        };
        while at < self.words.len() {
            match self.word(at) {
                ";" => return at + 1,
                "}" => return at,
                "{" if ends_with_block => return self.group_end(at),
                "(" | "[" | "{" => at = self.group_end(at),
                _ => at += 1,
            }
        }
        at
    }

    /// The place after the bracket that closes the one here.
    fn group_end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for (at, word) in self.words.iter().enumerate().skip(start) {
            match word.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.words.len()
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words of blanked text: names and numbers whole, `::` as one, every other character alone. The `r#` of a raw
/// name is dropped.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (number, row) in text.lines().enumerate() {
        let mut rest = row.trim_start();
        while let Some(first) = rest.chars().next() {
            rest = rest.strip_prefix("r#").unwrap_or(rest);
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = match name {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                _ => name,
            };
            let length = length.min(rest.len());
            words.push(Word { line: number + 1, text: rest[..length].to_owned() });
            rest = rest[length..].trim_start();
        }
    }
    words
}

/// The text with every comment, string and character literal replaced by blanks, line by line the same.
fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut blanked = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = opaque_end(&chars, at);
        if end == at {
            blanked.push(chars[at]);
            at += 1;
        } else {
            blanked.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    blanked
}

/// The end of the comment or literal that starts at `at`; `at` itself where none does.
fn opaque_end(chars: &[char], at: usize) -> usize {
    let next = |offset: usize| chars.get(at + offset).copied().unwrap_or('\n');
    match (chars[at], next(1)) {
        ('/', '/') => at + chars[at..].iter().position(|c| *c == '\n').unwrap_or(chars.len() - at),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => quoted_end(chars, at + 1, '"'),
        ('\'', '\\') => quoted_end(chars, at + 1, '\''),
        ('\'', inner) if inner != '\'' && next(2) == '\'' => at + 3,
        ('r' | 'b' | 'c', _) => raw_string_end(chars, at).unwrap_or(at),
        _ => at,
    }
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => depth += 1,
            ('*', Some('/')) => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

/// The end of a literal whose inside starts at `at`.
fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// The end of a raw string (`r"…"`, `br#"…"#`) that starts at `start`, if one does.
fn raw_string_end(chars: &[char], start: usize) -> Option<usize> {
    if start > 0 && (chars[start - 1].is_alphanumeric() || chars[start - 1] == '_') {
        return None;
    }
    let r = if chars[start] == 'r' { start } else { start + 1 };
    let hashes = chars.get(r + 1..)?.iter().take_while(|c| **c == '#').count();
    let inside = r + hashes + 2;
    if chars.get(r) != Some(&'r') || chars.get(inside - 1) != Some(&'"') {
        return None;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let length = chars.get(inside..)?.windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(chars.len(), |length| inside + length + closing.len()))
}
