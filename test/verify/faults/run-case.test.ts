// A few runs on a real lane. `npm run faults` makes the long sweeps, and with `--quick` at least
// one run with each fault.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Bystander } from '../../../verify/faults/bystander.ts'
import { readLabel } from '../../../verify/faults/case.ts'
import { Environment } from '../../../verify/faults/environment.ts'
import type { Lane } from '../../../verify/faults/lane.ts'
import { readLedgerChanges } from '../../../verify/faults/moves.ts'
import { AUTOMATIC } from '../../../verify/faults/payments.ts'
import { hasPassed } from '../../../verify/faults/results.ts'
import { runCase } from '../../../verify/faults/run-case.ts'
import { needsOf } from '../../../verify/faults/scenarios.ts'
import { faultPrograms } from '../../support/programs.ts'
import { until } from '../../support/until.ts'

const { signal } = new AbortController()
let environment: Environment
let lane: Lane
let bystander: Bystander

beforeAll(async () => {
  environment = await Environment.create(faultPrograms())
  lane = await environment.startLane({})
  bystander = await Bystander.create(lane, signal)
})

afterAll(() => environment.remove())

const run = (label: string) => runCase({ lane, bystander, signal }, readLabel(label))

test('two runs without a fault reach the same points under the same labels', async () => {
  const [first, second] = [await run('payment.create'), await run('payment.create')]

  const labels = ({ points }: typeof first) => new Set(points.map(({ label }) => label))
  const both = [...labels(first)].filter((label) => labels(second).has(label))
  // On a busy machine a lease may expire, and then there are more points.
  expect(both.length).toBeGreaterThan(150)
  expect(both).toEqual(
    expect.arrayContaining([
      'api/reserve/Sync#1/after',
      'worker/fetch-operations/CommandComplete#1/before',
      'worker/provider-authorize/request#1/before',
      'worker/provider-capture/body#1/middle',
      'worker/finish/ReadyForQuery#1/before',
    ]),
  )
  expect(first.result).toMatchObject({ violations: [], outcome: '201 succeeded' })
})

test.each([
  ['payment.create:SIGKILL@worker/provider-capture/reply#1/before', '201 succeeded'],
  ['payment.create.declined:reset@worker/finish/ReadyForQuery#1/before', '402 payment-declined'],
  // An operator proves that the refund did not happen.
  [
    'refund.create:provider-error-500-before@worker/provider-refund/request#1/before',
    '201 succeeded, 201 succeeded',
  ],
  ['payment.create:zombie@worker/provider-capture/request#1/before', '201 succeeded'],
  ['payment.create:sweepers-and-retry@worker/provider-capture/reply#1/before', '201 succeeded'],
  [
    'payment.follow.events:webhooks-contradicting@api/events/payment_failed,authentication,succeeded#1/before',
    '201 requires_action',
  ],
])('recovers from %s', async (label, outcome) => {
  const { result } = await run(label)

  expect(result).toMatchObject({ case: label, violations: [], struck: 1, outcome })
  expect(hasPassed(result)).toBe(true)
  expect(result.recoveryMs).toBeLessThan(30_000)
})

test('recovers from faults between the parts of a statement', async () => {
  const inParts = await environment.startLane({ inParts: true })
  const place = { lane: inParts, bystander: await Bystander.create(inParts, signal), signal }
  const labels = [
    'payment.create.in-parts:SIGKILL@worker/insert-ledger_postings/Bind#1/before',
    'refund.create.in-parts:reset@api/insert-refunds/CommandComplete#1/before',
  ]

  for (const label of labels) {
    const { result } = await runCase(place, readLabel(label))
    expect(result).toMatchObject({ case: label, violations: [], struck: 1 })
    expect(hasPassed(result)).toBe(true)
  }
  await inParts.remove()
})

test('recovers from faults of Redis, and of the processes that use it', async () => {
  const withRedis = await environment.startLane(needsOf(readLabel('payment.create.copied')))
  const place = { lane: withRedis, bystander: await Bystander.create(withRedis, signal), signal }
  const labels = [
    'payment.create.copied',
    'payment.create.copied:SIGKILL@api/redis-set/command#2/after',
    'payment.create.copied:redis-failover@api/redis-get/command#2/before',
    'payment.create.withdrawn:redis-restored@api/redis-get/reply#2/before',
  ]

  for (const label of labels) {
    const { injections } = readLabel(label)
    const { result, points } = await runCase(place, readLabel(label))
    const struck = injections.length
    expect(result).toMatchObject({ case: label, violations: [], struck, outcome: '201 succeeded' })
    if (struck > 0) continue
    expect(points.map((point) => point.label)).toEqual(
      expect.arrayContaining([
        'api/redis-get/command#1/before',
        'api/redis-set/command#1/after',
        'api/redis-set/reply#2/before',
        'api/redis-get/reply#3/before',
      ]),
    )
  }
  await withRedis.remove()
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
  await run('payment.create')
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
      ...Object.fromEntries(fields),
    }),
  })
  expect(answer.status).toBe(200)
}
