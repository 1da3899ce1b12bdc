//! Collects what the docs of the base already use: hosts, components, directives, keys, files. The docs are read only
//! when an added construct needs this.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use pages::{
    Ambiguity, Attribute, AttributeValue, Construct, ConstructKind, Element, Enclosure, Entry, FileKind,
    FilesError, Kind, MAX_TEXT_BYTES, Reading, ScalarType, Tree, WordList, constructs, growing_chunks,
    split_info,
};

use super::named_files::NamedFiles;
use super::repo_files::is_judged;
use super::url;

/// How much of the tree is read.
const MAX_TREE_BYTES: usize = 64 * 1024 * 1024;
/// With less than this left of it, few files fit, and the others would be fetched in vain.
const MIN_BYTES_LEFT: usize = 4 * 1024;

/// Folders with third-party files, tests and drafts, which are not part of a site.
const EXCLUDED_FOLDERS: WordList = WordList(
    "node_modules bower_components vendor third_party third-party site-packages tests test __tests__ fixtures \
     __fixtures__ testdata _drafts drafts",
);

/// What the docs of one tree already use. Read on first use.
#[derive(Default)]
pub struct Vocabulary(OnceLock<Option<DocsUsage>>);

impl Vocabulary {
    /// `None` if the docs can't be read.
    pub(super) fn read(&self, base: &dyn Tree) -> Option<&DocsUsage> {
        self.0.get_or_init(|| DocsUsage::read(base)).as_ref()
    }

    /// Whether a file could not be read, so that another attempt can learn more.
    pub fn is_partial(&self) -> bool {
        self.0.get().is_some_and(|docs| docs.as_ref().is_none_or(|docs| docs.is_partial))
    }

    /// The number of entries.
    pub fn size(&self) -> usize {
        self.0.get().and_then(Option::as_ref).map_or(0, |docs| docs.constructs.len() + docs.prop_values.len())
    }
}

pub(super) struct DocsUsage {
    hasher: RandomState,
    is_partial: bool,
    /// Hashes of all constructs.
    constructs: HashSet<u64>,
    /// Hosts that the docs load images from.
    image_hosts: HashSet<String>,
    /// Hosts that the docs link to.
    linked_hosts: HashSet<String>,
    /// Names of HTML attributes.
    attributes: HashSet<String>,
    /// Names of classes.
    classes: HashSet<String>,
    /// The names of included files, with the kinds of the pages that include them.
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
    /// Whether a page declares the current module of its names.
    pub(super) has_current_module: bool,
    keys: HashSet<(String, ScalarType)>,
    /// Attributes of AsciiDoc in the addresses of images and included files.
    address_attributes: HashSet<String>,
    /// `<name>` in front matter.
    placeholders: HashSet<String>,
    pub(super) has_math: bool,
    /// Labels of images that their own page doesn't define.
    image_labels: HashSet<String>,
    pub(super) files: NamedFiles,
}

impl DocsUsage {
    /// `None` if the tree can't be listed.
    fn read(base: &dyn Tree) -> Option<Self> {
        let mut docs = Self {
            hasher: RandomState::new(),
            is_partial: false,
            constructs: HashSet::new(),
            image_hosts: HashSet::new(),
            linked_hosts: HashSet::new(),
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
            image_labels: HashSet::new(),
            files: NamedFiles::default(),
        };
        let mut entries = base.list().ok()?;
        entries.retain(|entry| entry.kind == Kind::File && is_read(&entry.path));
        docs.read_files(base, &entries);
        Some(docs)
    }

    fn read_files(&mut self, base: &dyn Tree, entries: &[Entry]) {
        let mut bytes_left = MAX_TREE_BYTES;
        for chunk in growing_chunks(entries) {
            if bytes_left < MIN_BYTES_LEFT {
                break;
            }
            let paths: Vec<_> = chunk.iter().map(|entry| entry.path.as_str()).collect();
            if base.prefetch(&paths).is_err() {
                self.is_partial = true;
                break;
            }
            self.read_chunk(base, &paths, &mut bytes_left);
        }
    }

    fn read_chunk(&mut self, base: &dyn Tree, paths: &[&str], bytes_left: &mut usize) {
        for path in paths {
            let kind = FileKind::of(path);
            // The content of an unreadable file is unknown, so the guard refuses it.
            let bytes = match base.read(path, MAX_TEXT_BYTES.min(*bytes_left)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.is_partial |= matches!(error, FilesError::Tree(_));
                    continue;
                }
            };
            *bytes_left -= bytes.len();
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            for construct in constructs(kind, text) {
                self.learn(kind, &construct);
                self.files.learn(path, &construct);
            }
        }
    }

    /// Constructs that only the wary reading finds, such as a tag in indented code, mostly don't count as used.
    fn learn(&mut self, kind: FileKind, construct: &Construct) {
        self.constructs.insert(self.hasher.hash_one((kind, construct.reading, &construct.kind)));
        // Only the wary reading finds shortcodes and lists of attributes.
        let is_inactive = matches!(
            construct.reading,
            Reading::Ambiguous(Ambiguity::Enclosed(
                Enclosure::Comment | Enclosure::EscapedComment | Enclosure::Template
            ))
        );
        let is_shortcode = !is_inactive
            && matches!(&construct.kind, ConstructKind::Component(element) if element.name.starts_with(['<', '%']));
        let is_certain = construct.reading == Reading::Standard
            || kind == FileKind::Mdx && construct.reading == Reading::Conservative
            || is_shortcode;
        if kind == FileKind::AsciiDoc {
            self.learn_address(&construct.kind);
        }
        match &construct.kind {
            ConstructKind::Directive { name, arguments } => {
                self.directives.insert((kind, name.clone()));
                if !matches!(construct.reading, Reading::Ambiguous(_)) {
                    self.learn_package(name, arguments);
                }
                if name.contains("include") {
                    self.learn_included(kind, arguments);
                }
            }
            ConstructKind::Math(_) => self.has_math = true,
            ConstructKind::Include(directive) => {
                self.learn_included(kind, directive);
            }
            ConstructKind::Template(tag) | ConstructKind::TemplateInCode { text: tag, .. }
                if tag.contains("include") =>
            {
                self.learn_included(kind, tag);
            }
            // Only the wary reading finds lists of attributes.
            ConstructKind::Attributes(element) => self.learn_attributes(element),
            ConstructKind::Unknown(text) => {
                let label = text.strip_prefix("![").and_then(|text| text.strip_suffix(']'));
                self.image_labels.extend(label.map(str::to_owned));
            }
            // knitr includes the file that a cell names as its child.
            ConstructKind::Code { info, .. } if info.contains("child") => self.learn_included(kind, info),
            _ if !is_certain => {}
            ConstructKind::Image(address) => self.image_hosts.extend(url::host(address)),
            ConstructKind::Link(address) => self.linked_hosts.extend(url::host(address)),
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
                self.keys.insert((entry.key.clone(), entry.scalar));
                self.placeholders.extend(placeholders(&entry.value).map(str::to_owned));
            }
            _ => {}
        }
    }

    fn learn_address(&mut self, kind: &ConstructKind) {
        let address = match kind {
            ConstructKind::Image(address) | ConstructKind::Include(address) => address,
            // Only the scheme of a link counts.
            ConstructKind::Link(address) => address.split_once(':').map_or("", |(scheme, _)| scheme),
            _ => return,
        };
        let names = address.split('{').skip(1).filter_map(|part| part.split_once('}'));
        self.address_attributes.extend(names.map(|(name, _)| name.to_lowercase()));
    }

    /// Learns the packages of directives that load code, and of directives that set the current module.
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

    /// Learns the names of files in an include directive.
    fn learn_included(&mut self, kind: FileKind, directive: &str) {
        let (directive, parser) = directive.split_once(":parser:").unwrap_or((directive, ""));
        let is_markdown = ["myst", "markdown", "commonmark"].iter().any(|name| parser.contains(name));
        let kind = if is_markdown { FileKind::Markdown } else { kind };
        let words = directive.split(|c: char| c.is_whitespace() || "\"'`{}[]()<>:#=,".contains(c));
        for word in words.filter(|word| !word.is_empty()) {
            let name = word.rsplit('/').next().unwrap_or(word).to_lowercase();
            self.included.entry(name).or_default().insert(kind);
        }
    }

    /// Learns the file of a shortcode such as `{{< include x.md >}}`.
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
                self.image_hosts.extend(url::host(address));
            }
        }
    }

    /// Whether a page of this kind has exactly this construct, read in the same way.
    pub(super) fn has(&self, kind: FileKind, construct: &Construct) -> bool {
        self.constructs.contains(&self.hasher.hash_one((kind, construct.reading, &construct.kind)))
    }

    pub(super) fn links_to(&self, host: &str) -> bool {
        self.linked_hosts.contains(host)
    }

    /// Whether a page shows an image by a label that it doesn't define.
    pub(super) fn has_image_label(&self, label: &str) -> bool {
        self.image_labels.contains(label)
    }

    pub(super) fn has_class(&self, class: &str) -> bool {
        self.classes.contains(class)
    }

    /// The kinds of pages that include a file.
    pub(super) fn kinds_that_include(&self, path: &str) -> impl Iterator<Item = FileKind> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.included.get(&name).into_iter().flatten().copied()
    }

    /// Whether the front matter of a page has this placeholder, such as `<name>`.
    pub(super) fn has_placeholder(&self, placeholder: &str) -> bool {
        self.placeholders.contains(placeholder)
    }

    pub(super) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.contains(name)
    }

    pub(super) fn loads_from(&self, host: &str) -> bool {
        self.image_hosts.contains(host)
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

    /// Whether the docs describe code of the package of a name.
    pub(super) fn describes(&self, name: &str) -> bool {
        self.packages.contains(package_of(name))
    }

    /// Whether an attribute of AsciiDoc is part of an address of an image or an included file.
    pub(super) fn is_in_address(&self, attribute: &str) -> bool {
        self.address_attributes.contains(attribute)
    }

    pub(super) fn has_key(&self, key: &str, scalar: ScalarType) -> bool {
        self.keys.contains(&(key.to_owned(), scalar))
    }
}

/// The words in angle brackets, with the brackets.
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

fn is_read(path: &str) -> bool {
    let kind = FileKind::of(path);
    kind != FileKind::Html && is_judged(kind) && !is_excluded(path)
}

fn is_excluded(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| {
        folders.split('/').any(|folder| EXCLUDED_FOLDERS.contains(folder) || folder.starts_with('.'))
    })
}
