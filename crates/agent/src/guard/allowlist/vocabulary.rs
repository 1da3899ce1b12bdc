//! What the docs use already. It is read when an added construct needs it, and not before.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use pages::{
    Attribute, AttributeValue, Construct, ConstructKind, Doubt, Element, FileKind, FilesError, Kind,
    MAX_TEXT_BYTES, Reading, Shape, Swallow, Tree, WordList, constructs, split_info,
};

use super::super::MAX_TREE_BYTES;
use super::super::url;
use super::local::NamedFiles;

/// Folders with pages of others, and with those that are no part of a site.
const FOREIGN: WordList = WordList(
    "node_modules bower_components vendor third_party third-party site-packages tests test __tests__ fixtures \
     __fixtures__ testdata _drafts drafts",
);

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
    pub(super) loads_code: bool,
    /// Whether a page says what module its names are of.
    pub(super) has_current_module: bool,
    keys: HashSet<(String, Shape)>,
    /// Attributes of AsciiDoc in the addresses of images and included files.
    address_attributes: HashSet<String>,
    /// `<name>` in front matter.
    placeholders: HashSet<String>,
    pub(super) has_math: bool,
    /// Labels of images that are not defined in their own page.
    drawn_labels: HashSet<String>,
    pub(super) files: NamedFiles,
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
            loads_code: false,
            has_current_module: false,
            infos: HashSet::new(),
            keys: HashSet::new(),
            address_attributes: HashSet::new(),
            placeholders: HashSet::new(),
            has_math: false,
            drawn_labels: HashSet::new(),
            files: NamedFiles::default(),
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
            for construct in constructs(kind, text) {
                docs.learn(kind, &construct);
                docs.files.learn(&entry.path, &construct);
            }
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
        if kind == FileKind::AsciiDoc {
            self.learn_address(&construct.kind);
        }
        match &construct.kind {
            ConstructKind::Directive { name, arguments } => {
                self.directives.insert((kind, name.clone()));
                if !matches!(construct.reading, Reading::Doubtful(_)) {
                    self.learn_package(name, arguments);
                }
                if name.contains("include") {
                    self.learn_included(kind, arguments);
                }
            }
            ConstructKind::Math(_) => self.has_math = true,
            ConstructKind::Include(mark) => {
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
            // knitr takes in what a cell names as its child.
            ConstructKind::Code { info, .. } if info.contains("child") => self.learn_included(kind, info),
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
                self.learn_shortcode(kind, element);
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

    fn learn_address(&mut self, kind: &ConstructKind) {
        let address = match kind {
            ConstructKind::Image(address) | ConstructKind::Include(address) => address,
            // The scheme of a link.
            ConstructKind::Link(address) => address.split_once(':').map_or("", |(scheme, _)| scheme),
            _ => return,
        };
        let names = address.split('{').skip(1).filter_map(|part| part.split_once('}'));
        self.address_attributes.extend(names.map(|(name, _)| name.to_lowercase()));
    }

    /// The packages of directives that load code, and of those that say where later ones load from.
    fn learn_package(&mut self, directive: &str, name: &str) {
        let directive = directive_name(directive);
        self.loads_code |= directive.starts_with("auto");
        self.has_current_module |= directive.ends_with("module");
        let is_module = directive.ends_with("module") || directive == "autosummary";
        if !name.is_empty() && (is_module || directive.starts_with("auto") && name.contains(['.', ':'])) {
            self.packages.insert(package_of(name).to_owned());
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
        let (mark, parser) = mark.split_once(":parser:").unwrap_or((mark, ""));
        let is_markdown = ["myst", "markdown", "commonmark"].iter().any(|name| parser.contains(name));
        let kind = if is_markdown { FileKind::Markdown } else { kind };
        let words = mark.split(|c: char| c.is_whitespace() || "\"'`{}[]()<>:#=,".contains(c));
        for word in words.filter(|word| !word.is_empty()) {
            let name = word.rsplit('/').next().unwrap_or(word).to_lowercase();
            self.included.entry(name).or_default().insert(kind);
        }
    }

    /// A shortcode such as `{{< include x.md >}}`.
    fn learn_shortcode(&mut self, kind: FileKind, element: &Element) {
        for attribute in element.attributes.iter().filter(|_| element.name.contains("include")) {
            if let AttributeValue::Text(file) | AttributeValue::Expression(file) = &attribute.value {
                self.learn_included(kind, file);
            }
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

    /// Whether the docs describe code of the package that a name begins with.
    pub(super) fn describes(&self, name: &str) -> bool {
        self.packages.contains(package_of(name))
    }

    /// Whether an attribute of AsciiDoc is part of the address of an image or an included file.
    pub(super) fn builds_address(&self, attribute: &str) -> bool {
        self.address_attributes.contains(attribute)
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

/// The name of a directive of reStructuredText or MyST, without its domain.
pub(super) fn directive_name(directive: &str) -> &str {
    let name = directive.trim_matches(['.', ' ', '{', '}']);
    name.rsplit(':').next().unwrap_or(name)
}

/// The package of a name such as `a.b.C` or `a.b::C`.
fn package_of(name: &str) -> &str {
    name.trim().trim_start_matches('~').split(['.', ':', '(']).next().unwrap_or_default()
}

fn is_foreign(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| {
        folders.split('/').any(|folder| FOREIGN.contains(folder) || folder.starts_with('.'))
    })
}
