//! What the docs use already. It is read when an added construct needs it, and not before.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use pages::{
    Attribute, AttributeValue, Construct, ConstructKind, Doubt, Element, FileKind, FilesError, Kind,
    MAX_TEXT_BYTES, Reading, Shape, Swallow, Tree, constructs, split_info,
};

use super::super::MAX_TREE_BYTES;
use super::super::url;

/// Folders with pages of others.
const FOREIGN: &[&str] =
    &["node_modules", "bower_components", "vendor", "third_party", "third-party", "site-packages"];

/// What the docs of one tree use already, once it was needed.
#[derive(Default)]
pub struct Vocabulary(OnceLock<Option<InUse>>);

impl Vocabulary {
    /// `None` when the docs cannot be read.
    pub(super) fn of(&self, base: &dyn Tree) -> Option<&InUse> {
        self.0.get_or_init(|| InUse::of(base)).as_ref()
    }

    /// Whether something could not be read, so that another attempt may learn more.
    pub fn is_partial(&self) -> bool {
        self.0.get().is_some_and(|docs| docs.as_ref().is_none_or(|docs| docs.is_partial))
    }

    /// How many things were learned so far.
    pub fn size(&self) -> usize {
        self.0.get().and_then(Option::as_ref).map_or(0, |docs| docs.constructs.len() + docs.prop_values.len())
    }
}

pub(super) struct InUse {
    hasher: RandomState,
    is_partial: bool,
    /// Every construct that is there, by its hash.
    constructs: HashSet<u64>,
    hosts: HashSet<String>,
    /// Hosts that the docs link to.
    linked: HashSet<String>,
    /// Names of attributes of tags.
    attributes: HashSet<String>,
    /// Names of classes.
    classes: HashSet<String>,
    /// The names of files that are taken into others, and the kinds of these.
    included: HashMap<String, HashSet<FileKind>>,
    /// The props of each component.
    components: HashMap<String, HashSet<String>>,
    prop_values: HashSet<u64>,
    directives: HashSet<(FileKind, String)>,
    languages: HashSet<String>,
    infos: HashSet<String>,
    /// The packages whose code the docs describe.
    packages: HashSet<String>,
    keys: HashSet<(String, Shape)>,
    /// `<name>` in front matter.
    placeholders: HashSet<String>,
    pub(super) has_math: bool,
    /// Labels of images that are not defined in their own page.
    drawn_labels: HashSet<String>,
    /// The folders that files are taken in from, as pages write them.
    include_roots: HashSet<String>,
}

impl InUse {
    /// `None` when the tree cannot be listed.
    pub(super) fn of(base: &dyn Tree) -> Option<Self> {
        let mut docs = Self {
            hasher: RandomState::new(),
            is_partial: false,
            constructs: HashSet::new(),
            hosts: HashSet::new(),
            linked: HashSet::new(),
            attributes: HashSet::new(),
            classes: HashSet::new(),
            included: HashMap::new(),
            components: HashMap::new(),
            prop_values: HashSet::new(),
            directives: HashSet::new(),
            languages: HashSet::new(),
            packages: HashSet::new(),
            infos: HashSet::new(),
            keys: HashSet::new(),
            placeholders: HashSet::new(),
            has_math: false,
            drawn_labels: HashSet::new(),
            include_roots: HashSet::new(),
        };
        let mut left = MAX_TREE_BYTES;
        for entry in base.list().ok()? {
            let kind = FileKind::of(&entry.path);
            if entry.kind != Kind::File
                || kind == FileKind::Html
                || !super::is_read(kind)
                || is_foreign(&entry.path)
            {
                continue;
            }
            // What cannot be read is not known, and what is not known is refused.
            let bytes = match base.read(&entry.path, MAX_TEXT_BYTES.min(left)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    docs.is_partial |= matches!(error, FilesError::Tree(_));
                    continue;
                }
            };
            left -= bytes.len();
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            constructs(kind, text).iter().for_each(|construct| docs.learn(kind, construct));
        }
        Some(docs)
    }

    /// What is only there to a wary reader, such as a tag in indented code, is nothing that the docs use.
    fn learn(&mut self, kind: FileKind, construct: &Construct) {
        self.constructs.insert(self.hasher.hash_one((kind, construct.reading, &construct.kind)));
        // Shortcodes and lists of attributes are read warily alone.
        let is_asleep = matches!(
            construct.reading,
            Reading::Doubtful(Doubt::Swallowed(
                Swallow::Comment | Swallow::EscapedComment | Swallow::Template
            ))
        );
        let is_shortcode = !is_asleep
            && matches!(&construct.kind, ConstructKind::Component(element) if element.name.starts_with(['<', '%']));
        let is_certain = construct.reading == Reading::Standard
            || kind == FileKind::Mdx && construct.reading == Reading::Wary
            || is_shortcode;
        match &construct.kind {
            ConstructKind::Directive { name, arguments } => {
                self.directives.insert((kind, name.clone()));
                if name.starts_with(".. auto") {
                    self.packages.extend(arguments.split('.').next().map(str::to_owned));
                }
                if name.contains("include") {
                    self.learn_included(kind, arguments);
                }
            }
            ConstructKind::Math(_) => self.has_math = true,
            ConstructKind::Include(mark) => {
                self.include_roots.extend(include_root(mark));
                self.learn_included(kind, mark);
            }
            ConstructKind::Template(mark) | ConstructKind::TemplateInCode { text: mark, .. }
                if mark.contains("include") =>
            {
                self.learn_included(kind, mark);
            }
            // Lists of attributes are read warily alone.
            ConstructKind::Attributes(element) => self.learn_attributes(element),
            ConstructKind::Unknown(text) => {
                let label = text.strip_prefix("![").and_then(|text| text.strip_suffix(']'));
                self.drawn_labels.extend(label.map(str::to_owned));
            }
            _ if !is_certain => {}
            ConstructKind::Image(address) => self.hosts.extend(url::host(address)),
            ConstructKind::Link(address) => self.linked.extend(url::host(address)),
            ConstructKind::Html(element) => {
                self.learn_attributes(element);
                self.learn_images(element);
            }
            ConstructKind::Component(element) => {
                self.components
                    .entry(element.name.clone())
                    .or_default()
                    .extend(element.attributes.iter().map(|prop| prop.name.clone()));
                for prop in &element.attributes {
                    self.prop_values.insert(self.hasher.hash_one((&element.name, prop)));
                }
                self.learn_images(element);
            }
            ConstructKind::Code { info, .. } => {
                let (language, words) = split_info(info);
                self.languages.insert(language.to_lowercase());
                self.infos.extend(words);
            }
            ConstructKind::FrontMatter(entry) => {
                self.keys.insert((entry.key.clone(), entry.shape));
                self.placeholders.extend(placeholders(&entry.value).map(str::to_owned));
            }
            _ => {}
        }
    }

    fn learn_attributes(&mut self, element: &Element) {
        for attribute in &element.attributes {
            let name = attribute.name.to_lowercase();
            if let ("class" | "classname", AttributeValue::Text(classes)) = (name.as_str(), &attribute.value)
            {
                self.classes.extend(classes.split_whitespace().map(str::to_owned));
            }
            self.attributes.insert(name);
        }
    }

    /// The names of files in a mark that takes one in.
    fn learn_included(&mut self, kind: FileKind, mark: &str) {
        let words = mark.split(|c: char| c.is_whitespace() || "\"'`{}[]()<>:#=,".contains(c));
        for word in words.filter(|word| !word.is_empty()) {
            let name = word.rsplit('/').next().unwrap_or(word).to_lowercase();
            self.included.entry(name).or_default().insert(kind);
        }
    }

    fn learn_images(&mut self, element: &Element) {
        for attribute in
            element.attributes.iter().filter(|attribute| attribute.name.eq_ignore_ascii_case("src"))
        {
            if let AttributeValue::Text(address) = &attribute.value {
                self.hosts.extend(url::host(address));
            }
        }
    }

    /// Whether a page of this kind has the very same, read in the same way.
    pub(super) fn has(&self, kind: FileKind, construct: &Construct) -> bool {
        self.constructs.contains(&self.hasher.hash_one((kind, construct.reading, &construct.kind)))
    }

    /// Whether the docs take in files in the same way from the same folder.
    pub(super) fn includes_like(&self, mark: &str) -> bool {
        include_root(mark).is_some_and(|root| self.include_roots.contains(&root))
    }

    pub(super) fn links_to(&self, host: &str) -> bool {
        self.linked.contains(host)
    }

    /// Whether a page draws an image from a label that it does not define.
    pub(super) fn draws(&self, label: &str) -> bool {
        self.drawn_labels.contains(label)
    }

    pub(super) fn has_class(&self, class: &str) -> bool {
        self.classes.contains(class)
    }

    /// The kinds of pages that take in a file.
    pub(super) fn kinds_that_include(&self, path: &str) -> impl Iterator<Item = FileKind> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.included.get(&name).into_iter().flatten().copied()
    }

    /// Whether `<name>` stands in the front matter of a page.
    pub(super) fn has_placeholder(&self, placeholder: &str) -> bool {
        self.placeholders.contains(placeholder)
    }

    pub(super) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.contains(name)
    }

    pub(super) fn loads_from(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }

    pub(super) fn has_component(&self, name: &str) -> bool {
        self.components.contains_key(name)
    }

    pub(super) fn has_prop(&self, component: &str, prop: &str) -> bool {
        self.components.get(component).is_some_and(|props| props.contains(prop))
    }

    pub(super) fn has_prop_value(&self, component: &str, prop: &Attribute) -> bool {
        self.prop_values.contains(&self.hasher.hash_one((component, prop)))
    }

    pub(super) fn has_directive(&self, kind: FileKind, name: &str) -> bool {
        self.directives.contains(&(kind, name.to_owned()))
    }

    pub(super) fn has_language(&self, language: &str) -> bool {
        self.languages.contains(&language.to_lowercase())
    }

    pub(super) fn has_info(&self, word: &str) -> bool {
        self.infos.contains(word)
    }

    /// Whether the docs describe code of the package that a dotted name begins with.
    pub(super) fn describes(&self, name: &str) -> bool {
        !name.contains('.') || self.packages.contains(name.split('.').next().unwrap_or_default())
    }

    pub(super) fn has_key(&self, key: &str, shape: Shape) -> bool {
        self.keys.contains(&(key.to_owned(), shape))
    }
}

/// The words in angle brackets.
pub(super) fn placeholders(value: &str) -> impl Iterator<Item = &str> {
    value.match_indices('<').filter_map(|(at, _)| {
        let end = value[at..].find('>')?;
        Some(&value[at..=at + end]).filter(|word| !word[1..].contains('<'))
    })
}

/// The mark of an inclusion and the outermost folder that it names: `--8<-- ../../src`. Nothing for an address and for
/// what is hidden or the machine's.
fn include_root(mark: &str) -> Option<String> {
    let quotes = |c: char| c.is_whitespace() || "\"'{}[]*<>()".contains(c);
    let target = mark
        .split(quotes)
        .find(|word| word.contains(['/', '.']) && !word.starts_with(':') || word.contains("::"))?;
    let (sign, target) =
        target.split_once("::").unwrap_or((mark.split(quotes).find(|word| !word.is_empty())?, target));
    let is_plain = !target.contains("://")
        && !target.starts_with('/')
        && !target.contains('\\')
        && !target.contains(':');
    let inside = target.trim_start_matches("../").trim_start_matches("./");
    let dots = &target[..target.len() - inside.len()];
    let is_hidden = inside.split('/').any(|part| part.starts_with('.'));
    let folder = inside.split_once('/').map_or("", |(folder, _)| folder);
    let sign = sign.trim_start_matches(';');
    let is_settings = inside == "conf.py";
    (is_plain && !is_hidden && !is_settings && !inside.is_empty())
        .then(|| format!("{} {dots}{folder}", if sign == target { "" } else { sign }))
}

fn is_foreign(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| {
        folders.split('/').any(|folder| FOREIGN.contains(&folder) || folder.starts_with('.'))
    })
}
