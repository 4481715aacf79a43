// What the suite notices and does on a real lane. `npm run faults -- --quick` has a run with each fault.
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import type { Progress } from '../../../bench/progress.ts'
import { openStore } from '../../../src/db/connection/client.ts'
import { createBystander, type Bystander } from '../../../verify/faults/bystander.ts'
import { readLabel, hasPassed } from '../../../verify/faults/results.ts'
import { OccupiedConnections, untilRefused } from '../../../verify/faults/shortage.ts'
import { Environment } from '../../../verify/faults/environment.ts'
import type { Lane } from '../../../verify/faults/lane.ts'
import { readLedgerChanges } from '../../../verify/faults/lane-parts.ts'
import { AUTOMATIC } from '../../../verify/faults/scenario.ts'
import { runCase } from '../../../verify/faults/run-case.ts'
import { Suite } from '../../../verify/faults/suite.ts'
import { renderSummary } from '../../../verify/faults/report.ts'
import { faultPrograms } from '../../support/programs.ts'
import { until } from '../../support/until.ts'

const { signal } = new AbortController()
const silent: Progress = { say: () => {}, begin: () => () => {}, end: () => {} }
let environment: Environment
let lane: Lane
let bystander: Bystander

beforeAll(async () => {
  environment = await Environment.create(faultPrograms())
  lane = await environment.startLane({}, true)
  bystander = await createBystander(lane, signal)
})

afterAll(() => environment.remove())

const run = (label: string, on = lane) => runCase({ lane: on, bystander, signal }, readLabel(label))

test('two runs without a fault reach the same points under the same labels', async () => {
  const [first, second] = [await run('payment.create'), await run('payment.create')]

  const labels = ({ points }: typeof first) => new Set(points.map(({ label }) => label))
  const both = [...labels(first)].filter((label) => labels(second).has(label))
  // On a busy machine a lease may expire, and then there are more points.
  expect(both.length).toBeGreaterThan(150)
  expect(both).toEqual(
    expect.arrayContaining([
      'api/commit-reserve/Query#1/after',
      'worker/fetch-operations/CommandComplete#1/before',
      'worker/provider-authorize/request#1/before',
      'worker/provider-capture/body#1/middle',
      'worker/commit-finish/ReadyForQuery#1/before',
    ]),
  )
  expect(first.result).toMatchObject({ violations: [], outcome: '201 succeeded' })
})

test.each(['api', 'worker'] as const)(
  'a run fails when the %s ends by itself, even if its successor completes the work',
  async (role) => {
    // Not by the suite, which expects the ends of processes that it kills itself.
    process.kill(lane.process(role).pid, 'SIGABRT')
    const { result } = await run('payment.create')
    const next = await run('payment.create')

    const what = expect.stringContaining(`the ${role} ended by itself, with SIGABRT`) as unknown
    expect(result).toMatchObject({ violations: [{ invariant: 7, what }], outcome: '201 succeeded' })
    expect(next.result.violations).toEqual([])
  },
)

test('detects a posting that is changed after it was written', async () => {
  const { id } = await lane.createTenant()
  const { owner } = lane
  const [tenant] = await owner.sql<{ id: string }[]>`
    update ledger_postings set tenant_id = tenant_id
    where id = (select max(id::text)::uuid from ledger_postings) returning tenant_id as id
  `

  expect(await readLedgerChanges(owner, tenant?.id ?? '')).toMatchObject([
    { invariant: 4, what: expect.stringContaining('update of the posting') as unknown },
  ])
  expect(await readLedgerChanges(owner, id)).toEqual([])
})

test('a run fails when the provider executed a charge that the service did not request', async () => {
  const running = run('payment.create:provider-late@worker/provider-capture/request#1/before')
  const payment = await untilHeld()
  // Another idempotency key, as if a retry had made a new one: the provider executes another
  // charge.
  await charge(payment)
  const { result } = await running

  expect(hasPassed(result)).toBe(false)
  expect(result.violations.map(({ invariant }) => invariant)).toContain(1)
})

/** The metadata of the run's payment, once its money is held. */
async function untilHeld(): Promise<Readonly<Record<string, string>>> {
  const before = await lane.provider.listExecuted()
  return await until(async () => {
    const made = (await lane.provider.listExecuted()).slice(before.length)
    return made.find(({ kind }) => kind === 'payment_intent.create')?.metadata
  })
}

async function charge(metadata: Readonly<Record<string, string>>): Promise<void> {
  const fields = Object.entries(metadata).map(
    ([name, value]) => [`metadata[${name}]`, value] as const,
  )
  const answer = await fetch(`${lane.providerUrl}/v1/payment_intents`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_anyone', 'idempotency-key': 'made anew' },
    body: new URLSearchParams({
      amount: String(AUTOMATIC.amount),
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: 'true',
      return_url: 'https://example.com/',
      ...Object.fromEntries(fields),
    }),
  })
  expect(answer.status).toBe(200)
}

test('a fault without a refusal has missed', async () => {
  const reportMissed = jest.fn()

  await untilRefused({ lane, reportMissed }, 'api', '99999', { before: 0, limitMs: 50 })

  expect(reportMissed).toHaveBeenCalledTimes(1)
})

test('a run is skipped, and does not count, where there is no small disk', async () => {
  const without = Object.create(lane, {
    options: { value: { ...lane.options, disk: 'mounting is not permitted' } },
  }) as Lane

  const { result } = await run('payment.create:disk-full@worker/claim/Execute#1/before', without)

  expect(result).toMatchObject({ skipped: 'mounting is not permitted', struck: 0, violations: [] })
  expect(hasPassed(result)).toBe(false)
  const summary = renderSummary([result], [])
  expect(summary).toContain(`${result.case}  (mounting is not permitted)`)
  expect(summary).toMatch(/\n0 passed, 0 failed\n$/)
})

test('the server refuses a connection while all are occupied', async () => {
  const occupied = new OccupiedConnections(lane)
  const url = lane.options.server.url('postgres')
  const codeOfLate = async () => {
    const late = openStore({ url, applicationName: 'late', poolSize: 1, timeoutMs: 5_000 })
    const select = async () => await late.sql`select 1`
    const code = await select().then(
      () => undefined,
      (error: { code?: string }) => error.code,
    )
    await late.close()
    return code
  }

  // A process may close one that it needed for a moment, after the server was full.
  const isRefused = await until(async () => {
    await occupied.fill()
    return (await codeOfLate()) === '53300'
  })
  occupied.release()

  expect(isRefused).toBe(true)
})

/** An environment in which the first so many lanes do not start. It has the lane of this file. */
function slowEnvironment(failing: number) {
  const slow = {
    tries: 0,
    startLane() {
      slow.tries += 1
      const error = new Error('the worker is not ready in time')
      return slow.tries <= failing ? Promise.reject(error) : Promise.resolve(lane)
    },
  }
  return slow
}

test('a lane is tried three times, a run without one fails, and the next run is made', async () => {
  const slow = slowEnvironment(3)
  const suite = new Suite({
    environment: slow as unknown as Environment,
    progress: silent,
    signal,
    lanes: 1,
  })
  const one = { scenario: 'payment.create', injections: [] }

  const [broken, made] = await suite.run([one, one])

  const what = expect.stringContaining('the worker is not ready in time') as unknown
  expect(slow.tries).toBe(4)
  expect(broken).toMatchObject({ violations: [{ invariant: 0, what }] })
  expect(made).toMatchObject({ violations: [], outcome: '201 succeeded' })

  // Every statement of an operation has a name.
  const { counted } = await suite.count(['payment.create'], true)

  const names = counted.flatMap(({ points }) => points.map(({ role, name }) => `${role}/${name}`))
  expect([...new Set(names)].toSorted()).toStrictEqual([
    'api/add-jobs',
    'api/authenticate',
    'api/commit-authenticate',
    'api/commit-reserve',
    'api/find-tombstones',
    'api/insert-events',
    'api/insert-payments',
    'api/insert-phase_runs',
    'api/lookup',
    'api/reserve',
    'api/select-webhook_endpoints',
    'api/wake',
    'worker/advance',
    'worker/announce',
    'worker/claim',
    'worker/commit-advance',
    'worker/commit-claim',
    'worker/commit-finish',
    'worker/complete-job',
    'worker/fetch-operations',
    'worker/finish',
    'worker/insert-events',
    'worker/insert-ledger_postings',
    'worker/insert-phase_runs',
    'worker/next-id',
    'worker/provider-authorize',
    'worker/provider-capture',
    'worker/read-ages',
    'worker/select-payments',
    'worker/select-tenants',
    'worker/select-webhook_endpoints',
    'worker/update-payments',
  ])
  await suite.end()
})
