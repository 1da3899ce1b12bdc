// Renders pages as MDX does, and reports the code in them.
//
// `mdx` writes all attributes as they are, as Astro and Preact do. `mdx-react` renders the same page with React.
// `docusaurus` has the extensions and the preprocessing of Docusaurus 3, and `docusaurus-commonmark` its `format: md`.

import vm from 'node:vm'
import matter from 'gray-matter'
import {createProcessor} from '@mdx-js/mdx'
import {createElement} from 'react'
import * as react from 'react/jsx-runtime'
import {renderToStaticMarkup} from 'react-dom/server'
import remarkComment from '@slorber/remark-comment'
import rehypeRaw from 'rehype-raw'
import remarkDirective from 'remark-directive'
import remarkFrontmatter from 'remark-frontmatter'
import remarkGfm from 'remark-gfm'
import {codeOf} from './code.mjs'
import {HARMLESS, isGlobal} from './globals.mjs'
import {Fragment, component, jsx, toHtml} from './jsx.mjs'
import {serve} from './lines.mjs'

const MAX_MILLISECONDS = 500
const ADMONITIONS = ['secondary', 'info', 'success', 'danger', 'note', 'tip', 'warning', 'important', 'caution']
const MDX_NODES = ['mdxFlowExpression', 'mdxJsxFlowElement', 'mdxJsxTextElement', 'mdxTextExpression', 'mdxjsEsm']

const context = vm.createContext({}, {codeGeneration: {strings: false, wasm: false}})

const plain = {remarkPlugins: [remarkFrontmatter, remarkGfm]}
const docusaurus = {remarkPlugins: [remarkFrontmatter, remarkDirective, admonitions, remarkGfm, remarkComment]}
const PROCESSORS = {
  mdx: processor('mdx', plain),
  'mdx-react': processor('mdx', plain),
  docusaurus: processor('mdx', docusaurus),
  'docusaurus-commonmark': processor('md', {...docusaurus, rehypePlugins: [[rehypeRaw, {passThrough: MDX_NODES}]]}),
}

function processor(format, {remarkPlugins, rehypePlugins = []}) {
  return createProcessor({
    format,
    outputFormat: 'function-body',
    remarkPlugins: [...remarkPlugins, codeOf],
    rehypePlugins,
  })
}

// As Docusaurus does it: all attributes of a known directive are handed to a component.
function admonitions() {
  return tree =>
    each(tree, node => {
      if (node.type !== 'containerDirective' || !ADMONITIONS.includes(node.name)) return
      node.data = {...node.data, hName: 'admonition', hProperties: {...node.attributes, type: node.name}}
    })
}

function each(node, visit) {
  visit(node)
  for (const child of node.children ?? []) each(child, visit)
}

// The preprocessing of Docusaurus: front matter, unwrapped code blocks, ids of headings, titles of admonitions.
function preprocess(page) {
  const text = matter(page, {}).content
  const unwrap = (whole, begin, children, end) => begin + children + end
  return text
    .replace(/(^|\r?\n)\x20*```\x20*mdx-code-block\r?\n(.*?)\r?\n\x20*```(\r?\n|$)/gs, unwrap)
    .replace(/(^|\r?\n)\x20*````\x20*mdx-code-block\r?\n(.*?)\r?\n\x20*````(\r?\n|$)/gs, unwrap)
    .replace(/(?:^|\n)#{1,6}(?!#).*/g, heading => heading.replace('{#', '\\{#').replace('\\\\{#', '\\{#'))
    .replace(
      new RegExp(`^((?:> ?)*)( +|\t+)?(:{3,}(?:${ADMONITIONS.join('|')})) +(.*)$`, 'gm'),
      (_, quote, indentation, directive, title) => `${quote ?? ''}${indentation ?? ''}${directive}[${title}]`,
    )
}

function render(renderer, text) {
  const processor = PROCESSORS[renderer]
  const file = processor.processSync({
    value: renderer.startsWith('docusaurus') ? preprocess(text) : text,
    path: 'page.mdx',
  })
  const found = file.data.found ?? []
  const code = String(file)
  const script = `with (scope) { program = function () {${code}\n} }`
  let html = ''
  context.scope = scope(found)
  context.task = () => {
    const runtime = renderer === 'mdx-react' ? react : {Fragment, jsx, jsxs: jsx}
    const names = [...code.matchAll(/_missingMdxReference\("([^"]+)"/g)].map(([, name]) => name.split('.')[0])
    const components = Object.fromEntries(names.map(name => [name, component(name, runtime.jsx, found)]))
    const page = context.program(runtime).default
    html =
      renderer === 'mdx-react'
        ? renderToStaticMarkup(createElement(page, {components}))
        : toHtml(page({components}), found)
  }
  try {
    vm.runInContext(script, context)
    vm.runInContext('task()', context, {timeout: MAX_MILLISECONDS})
  } catch (error) {
    if (error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') found.push(['active', 'an expression that does not end'])
    else if (/code generation from strings/i.test(error.message))
      found.push(['active', 'an expression that makes code of text'])
    else return {html, found, error: error.message}
  }
  return {html, found}
}

// What the names of a page stand for that it does not declare itself. Names that no browser and no Node knows are
// empty here: most such pages do not build, but a framework may know the name.
function scope(found) {
  return new Proxy(Object.create(null), {
    has: (_, name) => typeof name === 'string' && name !== 'program',
    get: (_, name) => {
      if (typeof name === 'symbol') return undefined
      if (name === '_stub') return component('import', jsx, found)
      if (Object.hasOwn(HARMLESS, name)) return HARMLESS[name]
      if (!isGlobal(name)) return anything('')
      found.push(['active', `an expression reads ${name}`])
      return anything('global')
    },
    set: (_, name) => {
      found.push(['active', `an expression sets ${String(name)}`])
      return true
    },
  })
}

function anything(text) {
  return new Proxy(function () {}, {
    get: (_, name) =>
      name === Symbol.toPrimitive ? () => text : typeof name === 'symbol' ? undefined : anything(text),
    apply: () => text,
    construct: () => ({}),
    set: () => true,
  })
}

await serve(({renderer, text}) => render(renderer, text))
