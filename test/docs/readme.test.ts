// Checks the diagram of the README, and that the page on the API has every route of a tenant.
import { expect, test } from '@jest/globals'
import type { Endpoint } from '../../src/http/endpoint.ts'
import { routes } from '../../src/http/server/routes.ts'
import { readPage } from '../support/named-tests.ts'

test('docs/api.md has every path of a tenant in its tables', () => {
  const paths = routes
    .filter((route) => [route.get, route.post, route.delete].some(isOfTenants))
    .map(({ path }) => path)
  const rows = readPage('docs/api.md').match(/^\| `(?:GET|POST).*$/gm) ?? []

  expect(paths.filter((path) => !rows.some((row) => isShown(path, row)))).toEqual([])
})

const isOfTenants = (endpoint?: Endpoint) => endpoint?.access === 'tenant'

/** Whether a row has the path, as a whole or as its collection and the part after the parameter. */
function isShown(path: string, row: string): boolean {
  const [collection = '', ...rest] = path.split('/:')
  return row.includes(`${path}\``) || (row.includes(collection) && row.includes(`/:${rest[0]}\``))
}

test('the sequence diagram has messages between its participants only, in the grammar of Mermaid', () => {
  const readme = readPage('README.md')
  const lines = (/```mermaid\nsequenceDiagram\n([^]*?)```/.exec(readme)?.[1] ?? '').trimEnd()
  const participants = [...lines.matchAll(/^ {2}participant (\w) as [A-Z]\w+$/gm)].map(
    ([, letter = '']) => letter,
  )
  const who = `[${participants.join('')}]`
  const grammar = new RegExp(
    `^ +(participant \\w as \\w+|${who}-?->>${who}: [^;#:]+|loop [\\w ]+|end|Note over ${who},${who}: [^;#:]+)$`,
  )

  expect(participants).toHaveLength(5)
  for (const line of lines.split('\n')) expect(line).toMatch(grammar)
  expect(lines.match(/^ +loop /gm)).toHaveLength(lines.match(/^ +end$/gm)?.length ?? 0)
})
