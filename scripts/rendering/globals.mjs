// The names that code finds without declaring them, in a browser or in Node.

import {words} from './words.mjs'

const HARMLESS_NAMES = words(`
  undefined NaN Infinity Object Array String Number Boolean Math JSON Map Set Symbol BigInt Error TypeError RangeError
  parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent encodeURI decodeURI RegExp Date Intl
`)
export const HARMLESS = Object.fromEntries([...HARMLESS_NAMES].map(name => [name, globalThis[name]]))
const BROWSER = words(`
  window document location navigator localStorage sessionStorage indexedDB self top parent frames opener history
  alert confirm prompt XMLHttpRequest Image Audio WebSocket EventSource Worker SharedWorker postMessage open
  importScripts caches cookieStore requestAnimationFrame customElements DOMParser trustedTypes chrome browser
`)
const NODE = ['require', 'module', 'exports', '__dirname', '__filename', 'process', 'Buffer', 'global', 'arguments']
const GLOBALS = new Set([...Object.getOwnPropertyNames(globalThis), ...BROWSER, ...NODE])

export function isGlobal(name) {
  return GLOBALS.has(name) && !Object.hasOwn(HARMLESS, name)
}
