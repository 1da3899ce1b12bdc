// Renders pages as VitePress does, and reports what Vue would run of them.

import {parse} from '@vue/compiler-dom'
import {createMarkdownRenderer} from 'vitepress'
import {relative} from 'node:path'
import {serve} from './lines.mjs'

const ELEMENT = 1
const INTERPOLATION = 5
const DIRECTIVE = 7
// Tags by which Vue shows what a page names.
const ACTING_TAGS = ['component', 'suspense', 'teleport']
// Fields of a home page that its theme writes as HTML.
const HTML_FIELDS = ['hero', 'features']

// Front matter that is JavaScript is run when the page is built. It is only noted here.
let hasCode = false
const javascript = {parse: () => ((hasCode = true), {})}
const options = {frontmatter: {grayMatterOptions: {engines: {javascript}}}}
const renderer = await createMarkdownRenderer(process.cwd(), options, '/', {warn() {}, info() {}, error() {}})

async function render(text) {
  const found = []
  for (const [, target] of text.matchAll(/<!--\s*@include:\s*(.*?)\s*-->/g)) found.push(['included', target])
  const env = {path: `${process.cwd()}/docs/page.md`, relativePath: 'docs/page.md', cleanUrls: false, includes: []}
  hasCode = false
  const html = markup(text, env)
  if (hasCode) found.push(['active', 'front matter in JavaScript'])
  for (const target of env.includes) found.push(['included', relative(`${process.cwd()}/docs`, target)])
  const blocks = env.sfcBlocks ?? {}
  for (const block of [...(blocks.scripts ?? []), ...(blocks.styles ?? []), ...(blocks.customBlocks ?? [])]) {
    found.push(['active', `<${block.type}> ${block.content}`])
  }
  frontMatter(env.frontmatter ?? {}, found)
  walk(parse(html, {onError() {}, comments: false}), found)
  return {html: html + fields(env.frontmatter ?? {}), found}
}

// A file that a page includes is not there; then the page is rendered without it.
function markup(text, env) {
  try {
    return renderer.render(text, env)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return renderer.render(text.replace(/^(\s*)<<</gm, '$1'), env)
  }
}

function frontMatter(matter, found) {
  if (matter.head) found.push(['active', `front matter head: ${JSON.stringify(matter.head)}`])
}

function fields(matter) {
  if (matter.layout !== 'home') return ''
  return HTML_FIELDS.flatMap(name => strings(matter[name])).join('\n')
}

function strings(value, key = '') {
  if (value && typeof value === 'object') return Object.entries(value).flatMap(([key, inner]) => strings(inner, key))
  const isImage = /^(src|light|dark|icon|image)$/.test(key) && !/</.test(value)
  return [isImage ? `<img src="${String(value).replaceAll('"', '&quot;')}">` : `<p>${value}</p>`]
}

function walk(node, found) {
  if (node.type === INTERPOLATION && !isPath(node.content.loc.source))
    found.push(['active', `{{ ${node.content.loc.source} }}`])
  if (node.type === ELEMENT) {
    if (ACTING_TAGS.includes(node.tag.toLowerCase())) found.push(['active', `<${node.tag}>`])
    for (const prop of node.props)
      if (prop.type === DIRECTIVE && !isPlain(prop)) found.push(['active', `<${node.tag} ${prop.loc.source}>`])
  }
  for (const child of node.children ?? []) walk(child, found)
}

// A name, or a path of names: it reads what the page shows anyway.
function isPath(expression) {
  return /^[\s\w$.,'"-]*$/.test(expression) && !/constructor|__/.test(expression)
}

// Whether a directive only shows or places what is there.
function isPlain({name, arg, exp}) {
  if (['pre', 'once', 'cloak', 'slot', 'else'].includes(name)) return true
  // `{: .class}` of another Markdown leaves an attribute `:` behind.
  if (name === 'bind' && !arg && !exp?.content) return true
  const isLoading =
    !arg || /^(src|srcset|srcdoc|href|is|inner-?html|data|poster|style|class|on.*)$/i.test(arg.content)
  return name === 'bind' && !isLoading && isPath(exp?.loc.source ?? '')
}

await serve(({text}) => render(text))
