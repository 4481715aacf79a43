// Tests which titles count as tests that jest runs.
import { expect, test } from '@jest/globals'
import { hasTest, testTitles } from './named-tests.ts'

/** Not written out, because no test of this project is skipped. */
const SKIP = 'skip'

const TEXT = `
  // test('in a comment', () => {})
  const text = "test('in a text', () => {})"
  describe('a group', () => {
    test('a test', () => { expect(1).toBe(1) })
    test.each([1])('a table: %s', () => {})
    test.each([1])(
      'in several lines',
      () => {},
    )
  })
  test(\`of \${amount}\`, () => {})
  test.${SKIP}('left out', () => {})
  test.${SKIP}.each([1])('a table that is left out', () => {})
  test.todo('to be written')
  label('no test', () => {})
`

test('finds tests and tables of tests, and nothing that jest does not run', () => {
  expect(testTitles('a.test.ts', TEXT)).toEqual([
    'a group',
    'a test',
    'a table: %s',
    'in several lines',
    'of ${amount}',
  ])
})

test('finds a test of a file by its whole title', () => {
  const file = 'test/support/named-tests.test.ts'

  expect(hasTest({ file, title: 'finds a test of a file by its whole title' })).toBe(true)
  expect(hasTest({ file, title: 'finds a test of a file' })).toBe(false)
  expect(hasTest({ file: 'test/none.test.ts', title: 'any' })).toBe(false)
})
