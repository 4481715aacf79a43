// Checks that the tests that docs/owasp-api-top-10.md names exist.
import { describe, expect, test } from '@jest/globals'
import { hasTest, namedTests, readPage, readSections } from '../support/named-tests.ts'

const page = readPage('docs/owasp-api-top-10.md')

const sections = readSections(page)

test('has a section for each of the ten risks, in their order', () => {
  const numbers = sections.map(({ title }) => /^API(\d+): /.exec(title)?.[1])

  expect(numbers).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)))
})

test.each(sections)('$title has a reason in words, and names tests', ({ words, list }) => {
  expect(words.length).toBeGreaterThan(80)
  expect(list).toMatch(/^- `test\//m)
})

describe('each named test exists:', () => {
  test.each(namedTests(page))('$file: $title', (named) => {
    expect(hasTest(named)).toBe(true)
  })
})
