// A short run of the fuzz suite: the whole corpus and some random requests. A failure prints the
// command that repeats it. Run other random requests with FUZZ_SEED=<seed> FUZZ_REQUESTS=<n> npm
// test -- verify/fuzz/fuzz
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { compileCache, programOf } from '../../support/programs.ts'
import { GOOD_PAYMENT, patientPayment, paymentWith } from '../../../verify/fuzz/corpus/requests.ts'
import type { Case } from '../../../verify/fuzz/draft.ts'
import { renderReport } from '../../../verify/fuzz/report.ts'
import { runFuzz } from '../../../verify/fuzz/run.ts'
import { type Outcome } from '../../../verify/fuzz/report.ts'
import { sendAll } from '../../../verify/fuzz/connection.ts'
import { createFixtures, type Fixtures } from '../../../verify/fuzz/fixtures.ts'
import { startSubject, type Subject } from '../../../verify/fuzz/subject.ts'
import {
  exceptions,
  bisect,
  findSideEffects,
  waitUntilIdle,
} from '../../../verify/fuzz/side-effects.ts'

const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 500)
/** Generous: a busy machine takes ten times as long. */
const TIMEOUT_MS = 180_000 + REQUESTS * 40

const silent = { say: () => {}, begin: () => () => {}, end: () => {} }
const { signal } = new AbortController()

let database: TestDatabase
let folder: string
let subject: Subject
let fixtures: Fixtures

beforeAll(async () => {
  database = await createTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'atomic-payments-fuzz-'))
  process.env['NODE_COMPILE_CACHE'] = compileCache()
  subject = await startSubject(database.url, folder, programOf)
  fixtures = await createFixtures(subject)
})

afterAll(async () => {
  await subject.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

function run(options: { requests: number; seed: number; only?: Case }): Promise<Outcome> {
  return runFuzz({ subject, fixtures }, options, silent, signal)
}

test('reports an accepted request as a failure, with its side effects', async () => {
  const only: Case = { label: 'a good payment', draft: patientPayment(), types: ['invalid-amount'] }
  const { failed, failures } = await run({ requests: 0, seed: SEED, only })

  expect(failed).toBe(1)
  expect(failures.flatMap(({ violations }) => violations).join('\n')).toMatch(
    /answered 201 instead of invalid-amount[^]*the provider was called[^]*public\.payments was/,
  )
})

test('finds the request with side effects among many', async () => {
  const bad = Array.from({ length: 7 }, (_, index) => paymentWith({ amount: -index }))
  const good = patientPayment({ ...GOOD_PAYMENT, description: 'the one' })
  const drafts = [...bad.slice(0, 5), good, ...bad.slice(5)]

  expect(await bisect({ subject, fixtures }, drafts, signal)).toBe(good)
})

test('reports no side effects when there are none', async () => {
  const bad = Array.from({ length: 4 }, () => paymentWith({ amount: 0 }))
  const before = await waitUntilIdle(subject)

  await sendAll({ url: subject.apiUrl, names: fixtures.names }, bad)
  expect((await findSideEffects(subject, before)).sideEffects).toEqual([])
  expect(await bisect({ subject, fixtures }, bad, signal)).toBeUndefined()
})

test('reports an operator action that records more than a refusal', async () => {
  const before = await waitUntilIdle(subject)
  const body = '{"name":"a merchant"}'
  const draft = {
    method: 'POST',
    target: '/admin/tenants',
    headers: [
      ['authorization', 'Bearer {{admin-key}}'],
      ['content-type', 'application/json'],
    ] as const,
    body,
  }

  const results = await sendAll({ url: subject.apiUrl, names: fixtures.names }, [draft])
  expect(results).toMatchObject([{ status: 201 }])
  expect((await findSideEffects(subject, before)).sideEffects.join('\n')).toMatch(
    /public\.tenants was[^]*admin_actions has .*a merchant/,
  )
})

test('every table that may change exists and has a reason', async () => {
  const rows = await subject.store.sql<{ name: string }[]>`
    select n.nspname || '.' || c.relname as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r'
  `
  const stale = exceptions.filter(({ table }) => !rows.some(({ name }) => table.test(name)))

  expect(stale).toEqual([])
  for (const { reason: because } of exceptions) expect(because.length).toBeGreaterThan(20)
})

// Runs last: the service may still be working on accepted requests.
describe(`seed ${SEED}, ${REQUESTS} random requests`, () => {
  test(
    'no bad input gets a 5xx, reaches the provider or changes a table',
    async () => {
      const outcome = await run({ requests: REQUESTS, seed: SEED })

      const report = outcome.failures.length === 0 ? '' : renderReport(outcome, SEED)
      expect(report).toBe('')
      expect(outcome.statistics.sent).toBeGreaterThan(REQUESTS + 300)
      expect(outcome.failed).toBe(0)
    },
    TIMEOUT_MS,
  )
})
