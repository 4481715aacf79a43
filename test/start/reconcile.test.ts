// Tests `npm run reconcile` as a process: its output and its exit codes.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { newMovement } from '../../dev/stripe-stand-in/balance/balance-transaction.ts'
import { newIntent, openBooks, window, type Books } from '../reconciliation/books.ts'
import { startProcess } from '../support/processes.ts'

let books: Books

beforeAll(async () => {
  books = await openBooks()
  await books.fill(250)
  const paidOut = { type: 'payout', amount: -9_000, currency: 'usd' }
  books.theirs.objects.save(newMovement(paidOut, NOON.getTime() / 1_000))
})

afterAll(async () => {
  await books.close()
})

const NOON = new Date('2026-03-01T12:00:00Z')
const DAY = ['--from', '2026-03-01', '--to', '2026-03-02']

async function reconcile(args: readonly string[], env: Record<string, string> = {}) {
  const process = startProcess('src/start/reconcile.ts', {
    args,
    env: {
      DATABASE_URL: books.databaseUrl,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: books.provider.url,
      STORE_TIMEOUT_MS: '2000',
      ...env,
    },
  })
  const { code } = await process.exited
  return { code, lines: process.lines, text: process.lines.join('\n') }
}

describe('a window', () => {
  test('exits with 0 when both sides agree, and prints its progress line by line', async () => {
    const { code, lines, text } = await reconcile(DAY)

    expect({ code, text }).toMatchObject({ code: 0 })
    expect(text).toContain('Compared 250 payments, 25 refunds and ')
    expect(text).toContain('2026-03-01T00:00:00.000Z to 2026-03-02T00:00:00.000Z')
    expect(lines).toContain('No open findings.')
    expect(lines).toContain('Posted fees of the provider: 211.')
    expect(lines).toContain('Not compared, because they belong to no payment, such as payouts: 1.')
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^payments: [1-9]0 %/),
        expect.stringMatching(/^movements: 100 %/),
      ]),
    )
  })

  test('exits with 1 and a table when something differs, also the second time', async () => {
    const intent = newIntent('requires_capture', 500, NOON, {})
    books.theirs.objects.save(intent)
    const taken = { type: 'adjustment', amount: -700, currency: 'usd' }
    const adjustment = newMovement(taken, NOON.getTime() / 1_000)
    books.theirs.objects.save(adjustment)

    const first = await reconcile(DAY)
    // The window of one day that begins then.
    const second = await reconcile(['--from', '2026-03-01T00:00'])

    expect([first.code, second.code]).toEqual([1, 1])
    expect(first.lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^DIFFERENCE +OBJECT +HERE +THERE$/),
        expect.stringMatching(new RegExp(`^missing_here +${intent.id} +- +held 500 usd$`)),
        expect.stringMatching(
          new RegExp(`^unknown_movement +${adjustment.id} +- +other_adjustment -700 usd$`),
        ),
        'Open findings: 2, of which 2 are new.',
      ]),
    )
    expect(second.text).toContain('from 2026-03-01T00:00:00.000Z to 2026-03-02T00:00:00.000Z')
    expect(second.lines).toContain('Open findings: 2, of which 0 are new.')
    expect(Math.max(...first.lines.map((line) => line.length))).toBeLessThanOrEqual(120)
  })
})

describe('exits with 2 and a reason', () => {
  test.each([
    [['--from', '2026-02-30'], '--from must be a date'],
    [['--from', '2026-03-02', '--to', '2026-03-01'], '--from must be before --to'],
    [['--until', '2026-03-02'], "Unknown option '--until'"],
  ])('%j', async (args, reason) => {
    const { code, text } = await reconcile(args)

    expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining(reason) })
    expect(text).toContain('Usage: npm run reconcile')
  })

  test.each([
    ['no store', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }, 'ECONNREFUSED'],
    ['no provider', { STRIPE_API_BASE: 'http://127.0.0.1:1' }, 'connect'],
  ])('%s', async (_, env, reason) => {
    const { code, text } = await reconcile(DAY, env)

    expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining(reason) })
    expect(text).toMatch(/^reconcile: /m)
    expect(text).not.toContain('    at ')
  })
})

test('the windows in the database are the requested ones', async () => {
  const runs = await books.store.sql`
    select distinct status from reconciliation_runs
    where window_from = ${window.from.toISOString()} and requested_by = 'command line'
  `

  expect(runs.map((run) => String(run['status'])).toSorted()).toEqual(['completed', 'failed'])
})
