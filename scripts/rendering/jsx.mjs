// A JSX runtime that writes every attribute as it is, and components with all that they are given.

export const Fragment = Symbol('Fragment')

const NAMES = {className: 'class', htmlFor: 'for'}
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
])
// Properties by which frameworks write a text as it is.
const RAW = ['dangerouslySetInnerHTML', 'innerHTML', 'set:html', 'srcDoc', 'srcdoc', 'v-html']
const MAX_DEPTH = 20

export function jsx(type, props) {
  return {type, props: props ?? {}, isElement: true}
}

const isElement = value => value?.isElement === true || typeof value?.$$typeof === 'symbol'

// A component nobody knows: it writes its properties and its children. Its members are components, too.
export function component(name, create, found) {
  const draw = props => {
    const attributes = {'data-name': name}
    const children = [props.children]
    for (const [key, value] of Object.entries(props))
      if (key !== 'children') flatten(key, value, attributes, children, found, 0)
    return create('x-component', {
      ...attributes,
      children: children.map(one => (typeof one === 'function' ? null : one)).map(wrap(create)),
    })
  }
  return new Proxy(draw, {
    get: (target, key) =>
      typeof key === 'string' && /^[A-Z]/.test(key) ? component(`${name}.${key}`, create, found) : target[key],
  })
}

// React wants a key for each of several children.
const wrap = create => (child, index) => create('x-slot', {children: child, key: index})

function flatten(name, value, attributes, children, found, depth) {
  if (/^on[A-Za-z]/.test(name) || RAW.includes(name)) found.push(['active', `component property ${name}`])
  if (isElement(value)) children.push(value)
  else if (Array.isArray(value) && value.some(isElement)) children.push(...value.filter(isElement))
  else if (value && typeof value === 'object' && depth < MAX_DEPTH) {
    for (const [key, inner] of Object.entries(value))
      flatten(`${name}.${key}`, inner, attributes, children, found, depth + 1)
  } else if (value !== undefined && value !== null && typeof value !== 'function') {
    attributes[`data-prop-${name.replace(/[^\w.:-]/g, '_')}`] = String(value)
  }
}

export function toHtml(node, found, depth = 0) {
  if (node === null || node === undefined || typeof node === 'boolean' || typeof node === 'function') return ''
  if (Array.isArray(node)) return node.map(child => toHtml(child, found, depth)).join('')
  if (!isElement(node)) return escape(String(node))
  const {type, props} = node
  if (depth > 200) return ''
  if (typeof type === 'function') return toHtml(type(props), found, depth + 1)
  const inner = raw(props, found) ?? toHtml(props.children, found, depth + 1)
  if (typeof type !== 'string') return inner
  // Docusaurus moves it into the head of the document.
  if (type === 'head') found.push(['active', '<head>'])
  const start = `<${type}${attributes(type, props, found)}>`
  return VOID.has(type) ? start : `${start}${inner}</${type}>`
}

function raw(props, found) {
  const name = RAW.find(name => props[name] !== undefined)
  if (!name) return undefined
  found.push(['active', name])
  return String(props[name]?.__html ?? props[name])
}

function attributes(type, props, found) {
  return Object.entries(props)
    .map(([name, value]) => {
      if (name === 'children' || name === 'key' || /[\s"'<>/=\u0000]/.test(name)) return ''
      if (/^on[A-Za-z]/.test(name)) found.push(['active', `${type} ${name}`])
      if (value === null || value === undefined || value === false || typeof value === 'function') return ''
      const text = name === 'style' && typeof value === 'object' ? css(value) : value === true ? '' : String(value)
      return ` ${NAMES[name] ?? name}="${escape(text)}"`
    })
    .join('')
}

function css(style) {
  return Object.entries(style)
    .map(([name, value]) => `${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}:${value}`)
    .join(';')
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
