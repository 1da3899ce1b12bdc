// Finds the code of a page in its syntax tree: imports, and names that lead out of the page.
//
// Code that only runs on a click is never run here, so it is read. An import becomes a component that loads nothing.

import {isGlobal} from './globals.mjs'

const LEADS_ANYWHERE = new Set(['constructor', '__proto__', 'prototype', '__defineGetter__', '__lookupGetter__'])
const ACTING = {
  AwaitExpression: 'await',
  YieldExpression: 'yield',
  MetaProperty: 'import.meta',
  ImportExpression: 'import()',
}

// A plugin of remark, to be the last one.
export function codeOf() {
  return (tree, file) => {
    const programs = []
    collect(tree, programs)
    const found = (file.data.found ??= [])
    for (const program of programs) program.body = program.body.flatMap(statement => withoutModules(statement, found))
    const declared = new Set()
    for (const program of programs) walk(program, node => declare(node, declared))
    for (const program of programs) walk(program, (node, parent, key) => report(node, parent, key, declared, found))
  }
}

function collect(node, programs) {
  if (node.data?.estree) programs.push(node.data.estree)
  for (const attribute of node.attributes?.forEach ? node.attributes : []) {
    if (attribute.data?.estree) programs.push(attribute.data.estree)
    if (attribute.value?.data?.estree) programs.push(attribute.value.data.estree)
  }
  for (const child of node.children ?? []) collect(child, programs)
}

// The statement itself, or declarations of what it would have imported.
function withoutModules(statement, found) {
  if (statement.type === 'ImportDeclaration') {
    found.push(['import', `import of ${statement.source.value}`])
    return statement.specifiers.map(({local}) => declaration(local.name))
  }
  if (statement.type.startsWith('Export') && statement.source) {
    found.push(['import', `import of ${statement.source.value}`])
    return []
  }
  // The layout of a page: a program around it.
  if (statement.type === 'ExportDefaultDeclaration') found.push(['active', 'export default'])
  return [statement]
}

function declaration(name) {
  const init = {
    type: 'MemberExpression',
    object: {type: 'Identifier', name: '_stub'},
    property: {type: 'Identifier', name},
    computed: false,
    optional: false,
  }
  return {
    type: 'VariableDeclaration',
    kind: 'const',
    declarations: [{type: 'VariableDeclarator', id: {type: 'Identifier', name}, init}],
  }
}

function walk(node, visit, parent = null, key = '') {
  if (!node || typeof node.type !== 'string') return
  visit(node, parent, key)
  for (const [name, value] of Object.entries(node)) {
    if (Array.isArray(value)) value.forEach(child => walk(child, visit, node, name))
    else if (value && typeof value === 'object' && name !== 'loc' && name !== 'parent') walk(value, visit, node, name)
  }
}

function declare(node, declared) {
  const patterns =
    node.type === 'VariableDeclarator'
      ? [node.id]
      : /Function|^Class/.test(node.type)
        ? [node.id, ...(node.params ?? [])]
        : []
  for (const pattern of patterns)
    walk(pattern, one => one.type === 'Identifier' && !isGlobal(one.name) && declared.add(one.name))
}

function report(node, parent, key, declared, found) {
  if (ACTING[node.type]) found.push(['active', `an expression with ${ACTING[node.type]}`])
  const isKey =
    ((parent?.type === 'MemberExpression' && key === 'property') || (parent?.type === 'Property' && key === 'key')) &&
    !parent.computed
  if (node.type === 'Identifier' && !isKey && isGlobal(node.name) && !declared.has(node.name)) {
    found.push(['active', `an expression names ${node.name}`])
  }
  if (parent?.type !== 'MemberExpression' || key !== 'property') return
  const name = node.type === 'Literal' ? String(node.value) : !parent.computed && node.name
  if (LEADS_ANYWHERE.has(name)) found.push(['active', `an expression reads .${name}`])
}
