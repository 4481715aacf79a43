// Tests that wrong clocks never make an executed hold look as if it had not happened: a retry would
// hold the money a second time. The provider is wired as in a worker.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { wireEngine, wireWorkerBase, type WorkerBase } from '../../src/wiring.ts'
import { ENCRYPTION_KEYS } from '../support/encryption.ts'
import type { Accepted } from '../support/engine.ts'
import { t } from '../support/own-engine.ts'

const lines: string[] = []
let base: WorkerBase
let engine: Engine

beforeAll(async () => {
  const config = readConfig({
    DATABASE_URL: t.databaseUrl,
    ENCRYPTION_KEYS,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: t.provider.url,
  })
  base = wireWorkerBase(config, pino({}, { write: (line) => lines.push(line) }))
  engine = { ...t.engine, providers: (await wireEngine(config, base)).providers }
})
afterAll(() => base.store.close())

// Also ends the unknown operations of other tests.
beforeEach(() => t.engine.store.sql`update idempotency_keys set next_check_at = null`)

/** A payment whose hold failed with an answer that the provider keeps, executed or not. */
async function failHold(fault: string): Promise<Accepted> {
  const match = { path: '/v1/payment_intents', method: 'POST' }
  await t.provider.addFault({ match, fault })
  const ref = await t.accept()
  await runOperation(engine, ref)
  return ref
}

const setClock = (ahead_seconds: number) => t.provider.control('POST', '/clock', { ahead_seconds })

async function resolveAfter(ref: Accepted, seconds: number) {
  await t.letTimePass(ref, seconds)
  return await resolveDue(engine)
}

const statusOf = async (ref: Accepted) => (await t.readPayment(ref)).status

const holds = async () =>
  (await t.provider.executed()).filter(({ kind }) => kind === 'payment_intent.create').length

const apart = [
  ['ahead', 400],
  ['behind', -400],
] as const

test.each(apart)(
  'a hold of a provider whose clock is 400 s %s is found, and made once',
  async (_title, aheadSeconds) => {
    await setClock(aheadSeconds)

    const ref = await failHold('error_500_after')
    for (const seconds of [5, 60]) {
      if ((await statusOf(ref)) !== 'succeeded') await resolveAfter(ref, seconds)
    }

    expect(await statusOf(ref)).toBe('succeeded')
    expect(await holds()).toBe(1)
    expect(lines.join('\n')).toContain('the clocks are apart')
  },
)

test.each(apart)(
  'absence is not proved by a provider whose clock is 400 s %s, until the clock is corrected',
  async (_title, aheadSeconds) => {
    await setClock(aheadSeconds)

    const ref = await failHold('error_500_before')

    expect(await resolveAfter(ref, 65)).toMatchObject({ absent: 0, unclear: 1 })
    const runs = await listPhaseRuns(engine.store, ref.tenantId, ref.paymentId)
    expect(JSON.stringify(runs)).toMatch(/are (399|400|401) s apart/)
    expect(await statusOf(ref)).toBe('unknown')
    expect(await holds()).toBe(0)

    await setClock(0)
    expect(await resolveAfter(ref, 600)).toMatchObject({ absent: 1 })
    expect(await statusOf(ref)).toBe('failed')
    expect(await reopenOperation(engine, ref)).toBe(true)
    expect(await runOperation(engine, ref)).toBe('finished')
    expect(await holds()).toBe(1)
  },
)
