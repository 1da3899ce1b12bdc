// Answers requests from standard input, one JSON value a line, in their order.
//
// With --disallow-code-generation-from-strings a page that makes code of a text fails, and is found by that.

import readline from 'node:readline'

console.log = console.info = console.warn = console.error = console.debug = () => {}

export async function serve(answer) {
  for await (const line of readline.createInterface({input: process.stdin, crlfDelay: Infinity})) {
    let reply
    try {
      reply = await answer(JSON.parse(line))
    } catch (error) {
      const message = String(error?.message ?? error)
      reply = {
        error: message,
        found: /code generation from strings/i.test(message) ? [['active', 'text becomes code']] : [],
      }
    }
    process.stdout.write(JSON.stringify(reply) + '\n')
  }
}
