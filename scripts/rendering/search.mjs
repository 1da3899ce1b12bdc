// Searches the HTML that a renderer wrote for what acts, loads from another host, or is hidden.
//
// A finding is [kind, detail, host]: `active`, `remote` (with the host) or `hidden`. The page is parsed as browsers do
// it, so that what only looks like a tag in the text is none, and what a browser repairs into a tag is one.

import {parse} from 'parse5'
import {serve} from './lines.mjs'
import {hidingStyle, stylesheets} from './styles.mjs'
import {host, isCode} from './urls.mjs'
import {words} from './words.mjs'

const ACTIVE_TAGS = words(`
  script iframe object embed applet frame frameset base portal foreignobject fencedframe
`)
const ANIMATIONS = new Set(['set', 'animate', 'animatetransform', 'animatemotion'])
// Relations of a <link> that fetch nothing.
const QUIET_LINKS = words(`
  canonical alternate next prev author license help search bookmark index contents up top home copyright
`)
const LOADING = words(`
  src poster background data formaction action ping manifest archive classid codebase dynsrc lowsrc icon profile
  srcdoc longdesc xlink:href data-src data-href
`)
const SETS = new Set(['srcset', 'imagesrcset', 'ping', 'archive', 'data-srcset'])
// Properties of a component that are followed by a click.
const LINK_PROPERTIES = /(^|\.)(href|to|url|link|cta|target|homepage|repository|primarycta|secondarycta)$/
const HIDING_CLASSES = words(`
  sr-only visually-hidden visuallyhidden screen-reader-text hidden invisible d-none is-hidden opacity-0
  text-transparent hide collapse clip invisible-text size-0 text-white text-[0px] sr_only element-invisible
  u-hidden is-sr-only d-print-only scale-0
`)
const UNSHOWN_TAGS = new Set(['template', 'noscript', 'datalist', 'noembed', 'noframes'])

export function search(html) {
  const found = []
  walk(parse(html, {scriptingEnabled: false}), found, false)
  return found
}

function walk(node, found, isHidden) {
  if (node.tagName) isHidden = element(node, found, isHidden)
  for (const child of node.content?.childNodes ?? node.childNodes ?? []) walk(child, found, isHidden)
}

function element(node, found, isInHidden) {
  const tag = node.tagName.toLowerCase()
  const attributes = new Map(
    node.attrs.map(one => [(one.prefix ? `${one.prefix}:` : '') + one.name.toLowerCase(), one.value]),
  )
  const shown = describe(tag, attributes)
  if (ACTIVE_TAGS.has(tag)) found.push(['active', `${shown} ${text(node).trim()}`])
  if (tag === 'meta' && attributes.has('http-equiv') && isActing(attributes.get('http-equiv')))
    found.push(['active', shown])
  if (tag === 'link') link(attributes, shown, found)
  if (tag === 'form' && attributes.has('action')) found.push(['active', shown])
  if (tag === 'use' && !/^#/.test(attributes.get('href') ?? attributes.get('xlink:href') ?? '#'))
    found.push(['active', shown])
  if (ANIMATIONS.has(tag) && /^(on|.*href$)/i.test(attributes.get('attributename') ?? ''))
    found.push(['active', shown])
  if (tag === 'style') stylesheets(text(node), found, '<style>')
  for (const [name, value] of attributes) attribute(tag, name, value, shown, found)
  const shownText = text(node).replace(/\s+/g, ' ').trim()
  const hides = hiding(tag, attributes)
  // The heading that GFM writes above footnotes.
  const isOwn = hides === 'class sr-only' && shownText === 'Footnotes'
  if (hides && shownText && !isInHidden && !isOwn) found.push(['hidden', `${hides}: ${shownText.slice(0, 200)}`])
  return isInHidden || Boolean(hides)
}

function isActing(name) {
  return !/^(content-type|x-ua-compatible|content-language)$/i.test(name.trim())
}

function link(attributes, shown, found) {
  const relations = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  if (relations.every(name => QUIET_LINKS.has(name))) return
  const from = host(attributes.get('href') ?? '')
  const isPicture = relations.includes('icon') || attributes.get('as') === 'image'
  if (from) found.push(['remote', shown, from])
  else if (!isPicture) found.push(['active', shown])
}

function attribute(tag, name, value, shown, found) {
  if (/^on[a-z]/.test(name)) found.push(['active', `${tag} ${name}=${value}`])
  if (name === 'srcdoc') found.push(['active', `${tag} srcdoc=${value}`])
  if (
    isCode(value) &&
    !/^(alt|title|content|aria-.*|data-title|data-prop-(title|description|name|label|children))$/.test(name)
  ) {
    found.push(['active', `${tag} ${name}=${value}`])
  }
  if (name === 'style' || name.startsWith('data-prop-style')) stylesheets(value, found, tag)
  if (/\burl\s*\(/i.test(value) && name !== 'style' && !/^(alt|title|content|d|class|id)$/.test(name))
    stylesheets(value, found, tag)
  for (const address of addresses(tag, name, value)) {
    const from = host(address)
    if (from) found.push(['remote', `${tag} ${name}=${address}`, from])
  }
}

function addresses(tag, name, value) {
  if (SETS.has(name)) return value.split(/[\s,]+/)
  if (LOADING.has(name)) return [value]
  if (name === 'href' && !['a', 'area', 'link', 'base', 'x-component'].includes(tag)) return [value]
  // What a component is given, it may load.
  if (name.startsWith('data-prop-') && !LINK_PROPERTIES.test(name.slice('data-prop-'.length))) {
    return name.toLowerCase().includes('srcset') ? value.split(/[\s,]+/) : [value]
  }
  return []
}

function hiding(tag, attributes) {
  const names = ['class', 'data-prop-classname', 'data-prop-class'].flatMap(name =>
    (attributes.get(name) ?? '').split(/\s+/),
  )
  const hidingName = names.find(name => HIDING_CLASSES.has(name.toLowerCase()))
  if (UNSHOWN_TAGS.has(tag)) return `<${tag}>`
  if (tag === 'dialog' && !attributes.has('open')) return '<dialog>'
  if (attributes.has('hidden') || attributes.get('data-prop-hidden') === 'true') return 'hidden attribute'
  if (hidingName) return `class ${hidingName}`
  if (/^(white|#fff(fff)?|transparent)$/i.test((attributes.get('color') ?? '').trim()))
    return `color=${attributes.get('color')}`
  const styles = [...attributes].filter(([name]) => name === 'style' || name === 'data-prop-style')
  // An object of styles arrives as one property for each.
  const single = [...attributes].filter(([name]) => name.startsWith('data-prop-style.'))
  const joined = single.map(([name, value]) => `${name.slice('data-prop-style.'.length)}:${value}`).join(';')
  return hidingStyle([...styles.map(([, value]) => value), joined].join(';'))
}

function describe(tag, attributes) {
  const written = [...attributes].map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return `<${[tag, ...written].join(' ').slice(0, 300)}>`
}

function text(node) {
  if (node.nodeName === '#text') return node.value
  return (node.content?.childNodes ?? node.childNodes ?? []).map(text).join('')
}

await serve(({html}) => ({found: search(html)}))
