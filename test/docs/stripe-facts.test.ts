// Checks that each fact of docs/stripe-facts.md has tests or does not apply, and that these tests
// exist.
import { expect, test } from '@jest/globals'
import { hasTest, namedTests, readPage } from '../support/named-tests.ts'

const page = readPage('docs/stripe-facts.md')

const facts = page
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ title: section.split('\n', 1)[0] ?? '', section }))

test('has at least fifty facts', () => {
  expect(facts.length).toBeGreaterThanOrEqual(50)
})

test('each is shown by tests, or does not apply', () => {
  const isShown = (section: string) => /^- `test\/|\bDoes not apply\b/m.test(section)

  expect(facts.filter(({ section }) => !isShown(section))).toEqual([])
})

test('each named test exists', () => {
  expect(namedTests(page).filter((named) => !hasTest(named))).toEqual([])
})
