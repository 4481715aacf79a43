// Checks that the tests that docs/idempotency-draft.md names exist.
import { expect, test } from '@jest/globals'
import { hasTest, namedTests, readPage } from '../../support/named-tests.ts'

const page = readPage('docs/idempotency-draft.md')

test('every row names a test', () => {
  const rows = page.match(/^\| \d/gm) ?? []

  expect(namedTests(page)).toHaveLength(rows.length)
})

test.each(namedTests(page))('$file has a test "$title"', (named) => {
  expect(hasTest(named)).toBe(true)
})
