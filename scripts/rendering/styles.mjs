// Reads what styles load, run and hide.

import {host} from './urls.mjs'

// What each property hides with, by its value without blanks.
const HIDING = [
  ['display', /^none/],
  ['visibility', /^(hidden|collapse)/],
  ['opacity', /^(0*\.?0+|0*\.0\d*|0%)($|!)/],
  ['font-size', /^(0*\.?0+|0?\.\d+px|1px)[a-z%]*($|!)/],
  ['font', /(^|[^\d.])0(px|em|rem|pt|%)?[/\s]/],
  ['text-indent', /^-\d{3,}/],
  ['clip', /^rect\(0|^rect\(1px/],
  ['clip-path', /^(inset\((50|100)%|circle\(0|polygon\(00)/],
  ['transform', /^(scale[xy]?\(0(\.0+)?[,)]|translate[xy3d]*\(-?\d{3,})/],
  ['color', /^(transparent|rgba?\(.*[,/]0(\.0+)?\)|hsla?\(.*[,/]0(\.0+)?\)|#[0-9a-f]{6}00($|!)|#[0-9a-f]{3}0($|!))/],
  ['-webkit-text-fill-color', /^transparent/],
  ['content-visibility', /^hidden/],
  ['zoom', /^0($|!)/],
  ['filter', /opacity\(0/],
  ['scale', /^0($|!)/],
  ['mask', /^linear-gradient\(transparent/],
]
const WHITE =
  /^(white|snow|ivory|#fff(f|fff|fffff)?|rgba?\(255,255,255.*|hsla?\(.*100%.*|#(f[a-f0-9]){3}|canvas)($|!)/
const MIN_OFFSCREEN = 500

export function stylesheets(css, found, where) {
  const plain = unescape(css)
  if (/expression\s*\(|-moz-binding|\bbehavior\s*:|javascript:|@import/i.test(plain))
    found.push(['active', `${where} style: ${css.slice(0, 300)}`])
  for (const [, address] of plain.matchAll(/(?:url|src|image-set|image|cross-fade)\s*\(\s*["']?([^"')]*)/gi))
    report(address, found, where)
  for (const [, address] of plain.matchAll(/["']\s*((?:https?:)?[\\/]{2}[^"']*)["']/gi)) report(address, found, where)
  if (where === '<style>') {
    for (const [, selector, body] of plain.matchAll(/([^{}]*)\{([^{}]*)/g)) {
      const hides = hidingStyle(body)
      if (hides) found.push(['hidden', `<style> ${selector.trim()}: ${hides}`])
    }
  }
}

function report(address, found, where) {
  const from = host(address.trim())
  if (from) found.push(['remote', `${where} style loads ${address}`, from])
}

// Escapes of CSS and its comments hide words from whoever searches for them.
function unescape(css) {
  return css.replace(/\/\*[^]*?(\*\/|$)/g, '').replace(/\\([0-9a-f]{1,6})\s?|\\([^\n])/gi, (_, code, char) => {
    const number = parseInt(code, 16)
    return code ? (number <= 0x10ffff ? String.fromCodePoint(number) : '') : char
  })
}

// By what a style hides, or nothing.
export function hidingStyle(css) {
  if (!css || css === ';') return ''
  const properties = new Map()
  for (const declaration of unescape(css).split(';')) {
    const [name, ...value] = declaration.split(':')
    const kebab = name.trim().replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
    if (kebab)
      properties.set(
        kebab,
        value
          .join(':')
          .trim()
          .toLowerCase()
          .replace(/\s*([,()/!])\s*/g, '$1'),
      )
  }
  const value = name => properties.get(name) ?? ''
  for (const [name, pattern] of HIDING) {
    const written = name === 'font' ? value(name) : value(name).replace(/\s+/g, '')
    if (written && pattern.test(written)) return `${name}: ${value(name)}`
  }
  const background = value('background') || value('background-color')
  if (WHITE.test(value('color').replace(/\s+/g, '')) && (!background || WHITE.test(background.replace(/\s+/g, ''))))
    return `color: ${value('color')}`
  if (background && background === value('color')) return `color and background: ${background}`
  for (const side of ['left', 'top', 'right', 'bottom', 'margin-left', 'margin-top', 'inset', 'margin']) {
    const far = /(?:^|\s)(-?)(\d+(?:\.\d+)?)(px|em|rem|vw|vh|%|pt|$)/.exec(value(side))
    const size = far && Number(far[2]) * ({em: 16, rem: 16, vw: 10, vh: 10, '%': 10}[far[3]] ?? 1)
    if (far && size >= MIN_OFFSCREEN && (far[1] || value('position'))) return `${side}: ${value(side)}`
  }
  const isTiny = ['width', 'height', 'max-width', 'max-height', 'line-height'].find(
    name => /^[01](px)?($|!)/.test(value(name)) && !(name === 'line-height' && value(name) === '1'),
  )
  if (isTiny && /hidden|clip/.test(value('overflow'))) return `${isTiny}: ${value(isTiny)}`
  return ''
}
