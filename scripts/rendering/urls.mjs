// Reads addresses as browsers do.

const HERE = 'here.invalid'

// The host that an address leads to; none when it stays on the site of the page. `https:x` is a host or a path,
// depending on the scheme of the page.
export function host(address) {
  return hostOn('https:', address) ?? hostOn('http:', address)
}

function hostOn(scheme, address) {
  try {
    const url = new URL(address, `${scheme}//${HERE}/docs/page/`)
    const isRemote =
      ['http:', 'https:', 'ftp:', 'ws:', 'wss:', 'file:'].includes(url.protocol) && url.hostname !== HERE
    return isRemote ? url.hostname || url.protocol : null
  } catch {
    // Browsers fail on it, too.
    return null
  }
}

export function isCode(address) {
  const solid = address.replace(/[\u0000-\u0020]/g, '').toLowerCase()
  return (
    /^(javascript|vbscript|livescript|mocha):/.test(solid) ||
    /^data:(text\/html|application\/xhtml|image\/svg\+xml.*<script|text\/javascript|text\/xml|application\/xml)/.test(
      solid,
    )
  )
}
