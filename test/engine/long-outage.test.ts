// Tests that an accepted operation waits out a long outage of the provider: while it is proved that
// the provider executes nothing, no number of tries gives it up, only the time that the runbook
// states. Then it is a dead letter, and its client's retry continues it.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { withCircuitBreaker } from '../../src/provider/guards.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { stripeOf, withoutRetries, withProvider } from '../support/engine-doubles.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'

const LIMIT = 3
const OUTAGE_SECONDS = 86_400

let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine({
    JOB_RETRY_LIMIT: LIMIT,
    PROVIDER_OUTAGE_SECONDS: OUTAGE_SECONDS,
    CALL_ATTEMPTS: 1,
  })
})
afterEach(() => t.provider.control('POST', '/reset'))
afterAll(() => t.stop())

const everyPost = { match: { method: 'POST' }, times: 1_000 }

async function runTimes(ref: Accepted, times: number, engine = t.engine): Promise<void> {
  for (let run = 1; run <= times; run += 1) expect(await runOperation(engine, ref)).toBe('retry')
}

/** An engine whose calls reach another address, or with another secret key. */
function engineWith(options: { apiBase?: string; secretKey?: string }) {
  const usual = { secretKey: 'sk_test_mock', apiBase: t.provider.url, timeoutMs: 10_000 }
  return withProvider(t.engine, createStripeProvider({ ...usual, ...options }))
}

const outages: { title: string; begin: () => Promise<TestEngine['engine']> }[] = [
  {
    title: 'it limits the rate',
    async begin() {
      await t.provider.addFault({ ...everyPost, fault: 'rate_limited' })
      return t.engine
    },
  },
  {
    title: 'no process listens there',
    // The discard port, which no test listens on.
    begin: () => Promise.resolve(engineWith({ apiBase: 'http://127.0.0.1:9' })),
  },
  {
    title: 'it refuses the secret key',
    begin: () => Promise.resolve(engineWith({ secretKey: 'wrong' })),
  },
  {
    title: 'the circuit is open',
    async begin() {
      await t.provider.addFault({ ...everyPost, fault: 'rate_limited', times: 1 })
      const settings = { failures: 1, openMs: 3_600_000 }
      return withProvider(t.engine, withCircuitBreaker(stripeOf(t.engine), settings))
    },
  },
]

test.each(outages)(
  'waits beyond any number of tries while the provider executes nothing: $title',
  async ({ begin }) => {
    const ref = await t.accept()
    const engine = await begin()

    await runTimes(ref, 4 * LIMIT, engine)
    await t.letTimePass(ref, OUTAGE_SECONDS - 60)
    await runTimes(ref, LIMIT, engine)

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: false })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'processing' })
    await t.provider.control('DELETE', '/faults')
    expect(await runOperation(t.engine, ref)).toBe('finished')
    expect(await t.provider.executed()).toHaveLength(2)
  },
)

test('is given up at the end of that time, and its client can continue it', async () => {
  const ref = await t.accept()
  await t.provider.addFault({ ...everyPost, fault: 'rate_limited' })
  await runTimes(ref, 2 * LIMIT)
  await t.letTimePass(ref, OUTAGE_SECONDS)

  expect(await runOperation(t.engine, ref)).toBe('gave_up')

  expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', response_status: null })
  // The time of a retry begins now: the reaper must not end what was just reported.
  const [key] = await t.engine.store.sql`
    select expires_at > now() as is_kept from idempotency_keys where id = ${ref.id}
  `
  expect(key).toEqual({ is_kept: true })
  await t.provider.control('DELETE', '/faults')
  expect(await reopenOperation(t.engine, ref)).toBe(true)
  expect(await runOperation(t.engine, ref)).toBe('finished')
})

test('is resumed after a crash of its worker, however often it had waited', async () => {
  const ref = await t.accept()
  await t.provider.addFault({ ...everyPost, fault: 'rate_limited' })
  await runTimes(ref, 4 * LIMIT)

  await t.engine.claim(ref, t.engine.settings.LEASE_MS)
  await t.expireLease(ref)

  expect(await sweep(t.engine)).toMatchObject({ resumed: 1, parked: 0 })
})

test('may run out of tries as before once a call may have been executed', async () => {
  const ref = await t.accept()
  await t.provider.addFault({ ...everyPost, fault: 'unavailable', times: LIMIT + 1 })

  await runTimes(ref, LIMIT)

  expect(await runOperation(t.engine, ref)).toBe('gave_up')
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
})

test('that continues after a lookup gets a job with the delay of a first retry', async () => {
  const ref = await t.accept()
  await t.provider.addFault({ ...everyPost, fault: 'nonsense_body', times: 1 })
  await runOperation(withoutRetries(t.engine), ref)
  await t.letTimePass(ref, 5)
  await t.provider.control('DELETE', '/faults')
  await t.provider.addFault({ ...everyPost, fault: 'rate_limited' })

  expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

  expect(await t.readKey(ref)).toMatchObject({ status: 'pending', recovery_point: 'authorized' })
  const jobs = await t.engine.store.sql`
    select job.start_after > job.created_on as waits from atomic_jobs.job
    where id = (select job_id from idempotency_keys where id = ${ref.id})
  `
  expect(jobs).toEqual([{ waits: true }])
  expect(await sweep(t.engine)).toMatchObject({ requeued: 0 })
})
