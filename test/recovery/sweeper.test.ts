// Tests that the sweeper finds operations without a live worker, and resumes each exactly once,
// without a provider call of its own.
import { beforeEach, describe, expect, test } from '@jest/globals'
import { OPERATIONS_DEAD_LETTERS } from '../../src/db/queue/jobs.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { operations } from '../../src/operations/index.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { LeaseLostError } from '../../src/engine/lease.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { claimIfUnowned } from '../support/claim.ts'
import { aroundCommit } from '../support/engine-doubles.ts'
import type { Accepted } from '../support/engine.ts'
import { leaveCaptured } from '../support/left-captured.ts'
import { t } from '../support/own-engine.ts'

beforeEach(() => sweep(t.engine))

const nothing = { resumed: 0, parked: 0, requeued: 0, orphaned: 0, dropped: 0 }

const claim = (ref: OperationRef) => claimIfUnowned(t.engine.store.sql, ref, 10_000)

/** An operation whose owner crashed. */
async function abandoned(): Promise<Accepted> {
  const ref = await t.accept()
  await claim(ref)
  return ref
}

const jobsOf = ({ id }: OperationRef) => t.engine.store.sql<{ id: string; state: string }[]>`
  select id, state from atomic_jobs.job where name = 'operations' and data ->> 'operationId' = ${id}
  order by created_on, id
`

const windowSeconds = () => t.engine.settings.PROVIDER_KEY_WINDOW_SECONDS

describe('an expired lease', () => {
  test('is left alone until it expires', async () => {
    const ref = await abandoned()

    expect(await sweep(t.engine)).toEqual(nothing)

    expect(await t.readKey(ref)).toMatchObject({ status: 'processing' })
    // It must not expire in the middle of a later test.
    await t.expireLease(ref)
  })

  test('makes the operation resume with a job, in doubt, while the provider remembers the key', async () => {
    const ref = await abandoned()
    await t.expireLease(ref)

    expect(await sweep(t.engine)).toEqual({ ...nothing, resumed: 1 })

    const key = await t.readKey(ref)
    expect(key).toMatchObject({ status: 'pending', in_doubt: true, lease_expires_at: null })
    expect((await jobsOf(ref)).map(({ id }) => id)).toContain(key['job_id'])
    expect(await t.provider.executed()).toEqual([])
    expect(await runOperation(t.engine, ref)).toBe('finished')
  })

  test('makes the operation unknown once the provider may have forgotten the key', async () => {
    const ref = await abandoned()
    await t.letTimePass(ref, windowSeconds())

    expect(await sweep(t.engine)).toEqual({ ...nothing, parked: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
    expect(await t.readKey(ref)).not.toMatchObject({ unknown_at: null })
    expect(await t.readKey(ref)).not.toMatchObject({ next_check_at: null })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'unknown' })
    expect(await t.provider.executed()).toEqual([])
  })

  test('makes the operation unknown when its owners keep crashing', async () => {
    const ref = await abandoned()
    await t.engine.store.sql`update idempotency_keys set attempts = 102 where id = ${ref.id}`
    await t.expireLease(ref)

    expect(await sweep(t.engine)).toEqual({ ...nothing, parked: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  const quiet = operations.flatMap(({ name, phases }) =>
    Object.entries(phases)
      .filter(([, phase]) => phase.call === undefined)
      .map(([point]) => [name, point] as const),
  )

  test('of a local phase is resumed at any time', async () => {
    expect(quiet).toContainEqual(['payment.create', 'captured'])
    const ref = await t.accept()
    await leaveCaptured(t, ref)
    await t.letTimePass(ref, 2 * windowSeconds())

    expect(await sweep(t.engine)).toEqual({ ...nothing, resumed: 1 })

    expect(await runOperation(t.engine, ref)).toBe('finished')
  })

  test.each([
    ['resumed', 0],
    ['parked', 1],
  ] as const)('is %s once by several sweepers at once', async (reset, windows) => {
    const refs = await Promise.all(Array.from({ length: 8 }, abandoned))
    for (const ref of refs) await t.letTimePass(ref, 60 + windows * windowSeconds())

    const swept = await Promise.all([1, 2, 3, 4].map(() => sweep(t.engine)))

    expect(swept.reduce((sum, counts) => sum + (counts[reset] ?? 0), 0)).toBe(refs.length)
    const jobs = await Promise.all(refs.map(jobsOf))
    expect(jobs.map(({ length }) => length)).toEqual(refs.map(() => (windows === 0 ? 2 : 1)))
  })

  test('fences its owner out: later writes of that owner are refused', async () => {
    const ref = await t.accept()
    const zombie = aroundCommit(t.engine, async (commit) => {
      if ((await t.readKey(ref))['recovery_point'] === 'started') {
        await t.expireLease(ref)
        await sweep(t.engine)
      }
      return commit()
    })

    await expect(runOperation(zombie, ref)).rejects.toThrow(LeaseLostError)

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', recovery_point: 'started' })
  })
})

test('resumes a parked local phase at its first check', async () => {
  const ref = await t.accept()
  await leaveCaptured(t, ref)
  await t.engine.store.sql`update idempotency_keys set attempts = 102 where id = ${ref.id}`
  await t.expireLease(ref)
  expect(await sweep(t.engine)).toEqual({ ...nothing, parked: 1 })
  await t.letTimePass(ref, 5)

  expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

  expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 201 })
})

describe('a pending operation', () => {
  test('is left to its job', async () => {
    const ref = await t.accept()

    expect(await sweep(t.engine)).toEqual(nothing)

    expect(await jobsOf(ref)).toHaveLength(1)
  })

  test.each([
    [
      'is gone',
      (ref: OperationRef) => t.engine.store.sql`
      delete from atomic_jobs.job where data ->> 'operationId' = ${ref.id}`,
    ],
    [
      'was completed without it',
      (ref: OperationRef) => t.engine.store.sql`
      update atomic_jobs.job set state = 'completed' where data ->> 'operationId' = ${ref.id}`,
    ],
  ])('whose job %s gets one new job', async (_title, lose) => {
    const ref = await t.accept()
    await lose(ref)

    const swept = await Promise.all([sweep(t.engine), sweep(t.engine), sweep(t.engine)])

    expect(swept.filter(({ requeued }) => requeued === 1)).toHaveLength(1)
    expect(swept.filter(({ requeued }) => requeued === 0)).toHaveLength(2)
    const live = (await jobsOf(ref)).filter(({ state }) => state === 'created')
    expect(live.map(({ id }) => id)).toEqual([(await t.readKey(ref))['job_id']])
    expect(await sweep(t.engine)).toEqual(nothing)
  })
})

test('a job without an operation becomes a dead letter with that reason', async () => {
  const { sql } = t.engine.store
  const ref = { tenantId: t.tenantId, operationId: '00000000-0000-7000-8000-000000000000' }
  await sql`
    insert into atomic_jobs.job (name, data) values
      ('operations', ${JSON.stringify(ref)}::jsonb), ('operations', '{"operationId": 5}'::jsonb)
  `
  // With distributed tables, the operation of a young job may be committed in a moment.
  expect(await sweep(t.engine)).toEqual(nothing)
  await sql`update atomic_jobs.job set created_on = now() - interval '61 seconds'`

  expect(await sweep(t.engine)).toEqual({ ...nothing, orphaned: 2 })

  const letters = await sql`
    select data, output from atomic_jobs.job where name = ${OPERATIONS_DEAD_LETTERS} order by data::text
  `
  expect(letters.map(({ output }) => output)).toEqual([
    { reason: 'there is no such operation' },
    { reason: 'there is no such operation' },
  ])
  expect(letters.map(({ data }) => data)).toEqual(expect.arrayContaining([ref, { operationId: 5 }]))
  expect(await sweep(t.engine)).toEqual(nothing)
})

test('looks at a backlog in one pass, on tables that were never analyzed', async () => {
  const { sql } = t.engine.store
  const ref = await t.accept()
  const job = JSON.stringify({ tenantId: ref.tenantId, operationId: ref.id })
  await sql`
    insert into atomic_jobs.job (name, data)
    select 'operations', ${job}::jsonb from generate_series(1, 1000)
  `
  const startedAt = performance.now()

  expect(await sweep(t.engine)).toEqual(nothing)

  // One pass takes milliseconds; a pass for each job took minutes.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  await sql`delete from atomic_jobs.job where data ->> 'operationId' = ${ref.id}`
})

test('the dead letter of an operation is kept until the operation is completed', async () => {
  const { sql } = t.engine.store
  const ref = await t.accept()
  const job = { tenantId: ref.tenantId, operationId: ref.id }
  await sql`
    insert into atomic_jobs.job (name, data)
    values (${OPERATIONS_DEAD_LETTERS}, ${JSON.stringify(job)}::jsonb)
  `
  expect(await sweep(t.engine)).toEqual(nothing)
  await runOperation(t.engine, ref)

  expect(await sweep(t.engine)).toEqual({ ...nothing, dropped: 1 })

  expect(await sweep(t.engine)).toEqual(nothing)
})

test('an operation that cannot be parked does not block the others', async () => {
  const stuck = await abandoned()
  const other = await abandoned()
  await t.engine.store.sql`
    update payments set status = 'failed', previous_status = 'processing' where id = ${stuck.paymentId}
  `
  await t.letTimePass(stuck, 2 * windowSeconds())
  await t.letTimePass(other, windowSeconds())

  expect(await sweep(t.engine)).toEqual({ ...nothing, parked: 1 })

  expect(await t.readKey(other)).toMatchObject({ status: 'unknown' })
  expect(await t.readKey(stuck)).toMatchObject({ status: 'processing' })
  await t.engine.store.sql`
    update payments set status = 'processing' where id = ${stuck.paymentId}
  `
})

test('resumes more expired leases in one sweep than one statement does', async () => {
  const refs = await Promise.all(Array.from({ length: 51 }, () => t.accept()))
  await t.engine.store.sql`
    update idempotency_keys set
      status = 'processing', lease_epoch = 1, attempts = 1, phase_began_at = now(),
      lease_expires_at = now() - interval '1 second'
    where id = any(${refs.map(({ id }) => id)}::uuid[])
  `

  expect(await sweep(t.engine)).toEqual({ ...nothing, resumed: 51 })
})
