// The README is what a stranger goes by: what it names has to be there.
import { existsSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { configVariables } from '../../src/config.ts'
import { routes, type Endpoint } from '../../src/http/server/routes.ts'
import { readPage } from '../support/named-tests.ts'

const readme = readPage('README.md')

function found(page: string, pattern: RegExp): string[] {
  return [...new Set([...page.matchAll(pattern)].map(([, first = '']) => first))]
}

test('is short enough to be read', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(335)
})

test.each([
  'README.md',
  'ARCHITECTURE.md',
  'docs/runbook.md',
  'docs/fork-this.md',
  'docs/benchmarks.md',
  'docs/configuration.md',
  'docs/dependencies.md',
  'docs/idempotency-checklist.md',
  'docs/owasp-api-top-10.md',
])('the links of %s lead to files that are there, and to sections that they have', (page) => {
  const here = new URL(`../../${page}`, import.meta.url)
  for (const link of found(readPage(page), /\]\((?!https?:|#)([^)]+)\)/g)) {
    const [path = '', section] = link.split('#')
    const file = new URL(path, here)
    expect([link, existsSync(file)]).toEqual([link, true])
    if (section === undefined) continue
    const text = readPage(file.pathname.slice(new URL('../../', import.meta.url).pathname.length))
    const anchors = found(text, /^#+ (.+)$/gm).map((title) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    expect(anchors).toContain(section)
  }
})

test('names scripts that there are', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> }

  const named = found(readme, /npm run ([\w:-]+)/g)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

test('names settings that there are', () => {
  const named = found(readme, /`([A-Z]+(?:_[A-Z]+)+)(?:=\w+)?`/g)

  expect(named.length).toBeGreaterThan(12)
  for (const name of named) expect(configVariables).toContain(name)
})

test('has every path of a tenant in its tables', () => {
  const paths = routes
    .filter((route) => [route.get, route.post, route.delete].some(isOfTenants))
    .map(({ path }) => path)
  const rows = readme.match(/^\| `(?:GET|POST).*$/gm) ?? []

  expect(paths.filter((path) => !rows.some((row) => isShown(path, row)))).toEqual([])
})

const isOfTenants = (endpoint?: Endpoint) => endpoint?.access === 'tenant'

/** As it is, or as its beginning and, behind that in the same row, what follows from the parameter on. */
function isShown(path: string, row: string): boolean {
  const [collection = '', ...rest] = path.split('/:')
  return row.includes(`${path}\``) || (row.includes(collection) && row.includes(`/:${rest[0]}\``))
}

test('its picture has messages between its participants alone, in the grammar of Mermaid', () => {
  const lines = (/```mermaid\nsequenceDiagram\n([^]*?)```/.exec(readme)?.[1] ?? '').trimEnd()
  const participants = found(lines, /^ {2}participant (\w) as [A-Z]\w+$/gm)
  const who = `[${participants.join('')}]`
  const grammar = new RegExp(
    `^ +(participant \\w as \\w+|${who}-?->>${who}: [^;#:]+|loop [\\w ]+|end|Note over ${who},${who}: [^;#:]+)$`,
  )

  expect(participants).toHaveLength(5)
  for (const line of lines.split('\n')) expect(line).toMatch(grammar)
  expect(lines.match(/^ +loop /gm)).toHaveLength(lines.match(/^ +end$/gm)?.length ?? 0)
})
