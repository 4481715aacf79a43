// Tests `npm run reconcile` with both providers.
import { expect, test } from '@jest/globals'
import { openBooks } from '../../../test/reconciliation/books.ts'
import { startProcess } from '../../../test/support/processes.ts'
import { settingsFor, startStandIn } from './adapter-calls.ts'

test('compares with the second provider, also if the first cannot be read', async () => {
  const [books, second] = await Promise.all([openBooks(), startStandIn()])
  const process = startProcess('src/start/reconcile.ts', {
    args: ['--from', '2026-03-01', '--to', '2026-03-02'],
    env: {
      DATABASE_URL: books.databaseUrl,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: 'http://127.0.0.1:1',
      STORE_TIMEOUT_MS: '2000',
      ...settingsFor(second.url),
    },
  })
  const { code } = await process.exited
  const { lines } = process
  await Promise.all([second.close(), books.close()])

  const text = lines.join('\n')
  expect({ code, text }).toMatchObject({ code: 2 })
  expect(lines).toEqual(expect.arrayContaining(['Provider stripe', 'Provider braintree']))
  expect(text).toMatch(/^reconcile: could not compare: /m)
  expect(text).toContain('Compared 0 payments, 0 refunds and 0 movements')
})
