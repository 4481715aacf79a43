// Checks that docs/idempotency-checklist.md has every item of Secure Patterns, and that the tests
// and alerts that it names exist.
import { expect, test } from '@jest/globals'
import { hasTest, namedTests, readPage, readSections } from '../support/named-tests.ts'

const page = readPage('docs/idempotency-checklist.md')

const sections = readSections(page)

const numbered = (letter: string, length: number) =>
  Array.from({ length }, (_, index) => `${letter}${index + 1}`)

test('each of the 18 items of the checklist, and of the 13 threats, has its section in their order', () => {
  const items = sections.map(({ title }) => /^([CT]\d+): ./.exec(title)?.[1])

  expect(items).toEqual([...numbered('C', 18), ...numbered('T', 13)])
})

test('each is shown by tests', () => {
  expect(sections.filter(({ list }) => !/^- `test\//m.test(list))).toEqual([])
})

test.each(sections.filter(({ title }) => title.startsWith('T')))(
  '$title: says what is done about it, and how grave Secure Patterns finds it',
  ({ title, words }) => {
    expect(title).toMatch(/ \((high|medium|low)\)$/)
    expect(words.length).toBeGreaterThan(80)
  },
)

test('refers to items that there are', () => {
  const items = new Set(sections.map(({ title }) => title.split(':')[0]))
  const named = [...page.matchAll(/\b[CT]\d+\b/g)].map(([item]) => item)

  for (const item of named) expect(items).toContain(item)
})

test('each named test exists', () => {
  expect(namedTests(page).filter((named) => !hasTest(named))).toEqual([])
})

test('names alerts that there are', () => {
  const alerts = readPage('deploy/alerts.yml')
  const named = [...page.matchAll(/`(AtomicPayments\w+)`/g)].map(([, alert]) => alert)

  expect(named.length).toBeGreaterThan(2)
  for (const alert of named) expect(alerts).toContain(`- alert: ${alert}\n`)
})
