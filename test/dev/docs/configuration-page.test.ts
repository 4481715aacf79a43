import { expect, test } from '@jest/globals'
import { configVariables } from '../../../src/config.ts'
import { readPage } from '../../support/named-tests.ts'

const page = readPage('docs/configuration.md')

test('the page has one row for each variable and no other row', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \| .{20,} \|$/gm)]

  expect(rows.map(([, name = '']) => name).toSorted()).toEqual(configVariables.toSorted())
})

test.each([
  ['PROVIDER_TIMEOUT_MS', '`8000`', '1 to 3,600,000 ms'],
  ['KEY_RETENTION_SECONDS', '`86400`', '86,400 s or more'],
  ['IDEMPOTENCY_FLAVOR', '`ietf`', '`ietf`, `stripe`, `acp`'],
  ['ADMIN_DUAL_CONTROL', '`false`', '`true`, `false`'],
  ['WORKER_QUEUES', '`payments,webhooks,maintenance`', 'comma-separated'],
  ['DATABASE_URL', 'none', 'text'],
  ['STRIPE_API_BASE', 'none', 'URL'],
])('%s has the default %s and the values %s', (name, standard, values) => {
  expect(page).toContain(`| \`${name}\` | ${standard} | ${values} | `)
})

test('docs/operations.md states the same defaults', () => {
  const [, table = ''] = readPage('docs/operations.md').split('| setting | default |')
  const shown = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)` \| ([^|]+) \| /gm)]

  expect(shown.length).toBeGreaterThanOrEqual(12)
  for (const [, name = '', standard = ''] of shown) {
    expect(page).toContain(`| \`${name}\` | ${standard} | `)
  }
})
