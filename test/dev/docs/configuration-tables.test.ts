import { expect, test } from '@jest/globals'
import { configVariables } from '../../../src/config.ts'
import { readPage } from '../../support/named-tests.ts'

const page = readPage('docs/configuration.md')

test('the page has one row for each variable and no other row', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \| .{20,} \|$/gm)]

  expect(rows.map(([, name = '']) => name).toSorted()).toEqual(configVariables.toSorted())
})

test('docs/operations.md states the same defaults', () => {
  const [, table = ''] = readPage('docs/operations.md').split('| setting | default |')
  const shown = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)` \| ([^|]+) \| /gm)]

  expect(shown.length).toBeGreaterThanOrEqual(12)
  for (const [, name = '', standard = ''] of shown) {
    expect(page).toContain(`| \`${name}\` | ${standard} | `)
  }
})
