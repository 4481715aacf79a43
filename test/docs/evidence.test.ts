// Holds the pages that name tests as evidence to what they say: every part of a page names tests, and
// these tests exist.
import { describe, expect, test } from '@jest/globals'
import {
  hasTest,
  namedTests,
  readPage,
  readSections,
  type NamedTest,
} from '../support/named-tests.ts'

const CHECKLIST = 'docs/idempotency-checklist.md'
const DRAFT = 'docs/idempotency-draft.md'
const FACTS = 'docs/stripe-facts.md'
const OWASP = 'docs/owasp-api-top-10.md'
const PROMISES = 'test/docs/api-promises.md'

const numbered = (letters: string, length: number) =>
  Array.from({ length }, (_, index) => `${letters}${index + 1}`)

/** A case of a table has its title as the name of a member. */
const hasCase = ({ file, title }: NamedTest) =>
  readPage(file).includes(`\n  '${title}': async () =>`)

test.each([CHECKLIST, DRAFT, FACTS, OWASP, PROMISES])('each test that %s names exists', (page) => {
  const named = namedTests(readPage(page))

  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((one) => !hasTest(one) && !hasCase(one))).toEqual([])
})

test.each([
  [CHECKLIST, [...numbered('C', 18), ...numbered('T', 13)]],
  [OWASP, numbered('API', 10)],
])('%s has a section for each item, in their order, and each names tests', (page, items) => {
  const sections = readSections(readPage(page))

  expect(sections.map(({ title }) => /^([A-Z]+\d+): ./.exec(title)?.[1])).toEqual(items)
  expect(sections.filter(({ list }) => !/^- `test\//m.test(list))).toEqual([])
})

test('each threat of the checklist, and each risk of OWASP, says in words what is done about it', () => {
  const threats = readSections(readPage(CHECKLIST)).filter(({ title }) => title.startsWith('T'))
  const risks = readSections(readPage(OWASP))

  for (const { title } of threats) expect(title).toMatch(/ \((high|medium|low)\)$/)
  expect([...threats, ...risks].filter(({ words }) => words.length <= 80)).toEqual([])
})

describe('the checklist', () => {
  test('refers to items that there are', () => {
    const page = readPage(CHECKLIST)
    const items = new Set(readSections(page).map(({ title }) => title.split(':')[0]))
    const named = [...page.matchAll(/\b[CT]\d+\b/g)].map(([item]) => item)

    expect(named.filter((item) => !items.has(item))).toEqual([])
  })

  test('names alerts that there are', () => {
    const alerts = readPage('deploy/alerts.yml')
    const named = [...readPage(CHECKLIST).matchAll(/`(AtomicPayments\w+)`/g)]

    expect(named.length).toBeGreaterThan(2)
    for (const [, alert] of named) expect(alerts).toContain(`- alert: ${alert}\n`)
  })
})

test('every row of the draft names a test', () => {
  const page = readPage(DRAFT)

  expect(namedTests(page)).toHaveLength((page.match(/^\| \d/gm) ?? []).length)
})

test('each of the facts of Stripe is shown by tests, or does not apply', () => {
  const [, ...facts] = readPage(FACTS).split(/^## /m)

  expect(facts.length).toBeGreaterThanOrEqual(50)
  expect(facts.filter((fact) => !/^- `test\/|\bDoes not apply\b/m.test(fact))).toEqual([])
})

test('each paragraph of docs/api.md is quoted among its promises, and each quote is of the page', () => {
  const list = readPage(PROMISES)
  const quotes = [...list.matchAll(/^\| (.+?) \| (?:`(?:test|extras)\/|no promise)/gm)].map(
    ([, quote = '']) => quote,
  )
  // The paragraphs, points and tables that no program writes, each on one line.
  const blocks = readPage('docs/api.md')
    .replace(/^[^]*?(?=^## Authentication)/m, '')
    .replaceAll(/<!-- (?:generated: [\w -]+|card-number-rates) -->[^]*?<!-- end of [\w-]+ -->/g, '')
    .replaceAll(/```[^]*?```|^#.*$/gm, '')
    .split(/\n\s*\n|\n(?=- )/)
    .map((block) => block.replaceAll(/\s+/g, ' ').trim())
    .filter((block) => block !== '')
  const [_heading, ...rows] = list.match(/^\| /gm) ?? []

  expect(blocks.length).toBeGreaterThan(80)
  expect(quotes).toHaveLength(rows.length)
  expect(blocks.filter((block) => !quotes.some((quote) => block.includes(quote)))).toEqual([])
  expect(quotes.filter((quote) => !blocks.some((block) => block.includes(quote)))).toEqual([])
})
