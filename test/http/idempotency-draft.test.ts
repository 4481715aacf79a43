// Holds docs/idempotency-draft.md to the tests that it names.
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const named = [
  ...read('docs/idempotency-draft.md').matchAll(/`(test\/[\w/-]+\.test\.ts)`: (.+) \|$/gm),
].map(([, file = '', title = '']): [string, string] => [file, title])

test('every row names a test', () => {
  const rows = read('docs/idempotency-draft.md').match(/^\| \d/gm) ?? []

  expect(named).toHaveLength(rows.length)
})

test.each(named)('%s has a test "%s"', (file, title) => {
  expect(read(file)).toContain(`'${title}'`)
})
