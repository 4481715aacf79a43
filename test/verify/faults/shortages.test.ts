// One real shortage of each kind. `npm run faults` makes the sweeps.
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { openStore } from '../../../src/db/connection/client.ts'
import { Bystander } from '../../../verify/faults/bystander.ts'
import { readLabel } from '../../../verify/faults/case.ts'
import { HeldConnections } from '../../../verify/faults/connections-full.ts'
import { Ground } from '../../../verify/faults/ground.ts'
import type { Lane } from '../../../verify/faults/lane.ts'
import { hasPassed, isSkipped } from '../../../verify/faults/results.ts'
import { runCase } from '../../../verify/faults/run-case.ts'
import { untilHeard } from '../../../verify/faults/shortage.ts'
import { renderSummary } from '../../../verify/faults/summary.ts'

const { signal } = new AbortController()
let ground: Ground
let lane: Lane
let bystander: Bystander

beforeAll(async () => {
  ground = await Ground.make()
  lane = await ground.startLane({}, true)
  bystander = await Bystander.create(lane, signal)
})

afterAll(() => ground.remove())

const run = (label: string, on = lane) => runCase({ lane: on, bystander, signal }, readLabel(label))

test.each([
  'deadlock@worker/finish/Execute#1/before',
  'connections-full@worker/claim/Execute#1/before',
  'disk-full@api/reserve/Execute#1/before',
])('recovers from %s, a refusal of PostgreSQL itself', async (strike) => {
  const { result } = await run(`payment.create:${strike}`)

  if (isSkipped(result)) {
    expect(lane.options.disk).toBe(result.skipped)
    return
  }
  // Without a refusal the fault would have missed.
  expect(result).toMatchObject({ violations: [], struck: 1, outcome: '201 succeeded' })
})

test('a fault without a refusal has missed', async () => {
  const missed = jest.fn()

  await untilHeard({ lane, missed }, 'api', '99999', { before: 0, limitMs: 50 })

  expect(missed).toHaveBeenCalledTimes(1)
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
  const held = new HeldConnections(lane)
  await held.fill()
  const url = lane.options.server.url('postgres')
  const late = openStore({ url, applicationName: 'late', poolSize: 1, timeoutMs: 5_000 })

  await expect(late.sql`select 1`).rejects.toMatchObject({ code: '53300' })

  held.release()
  await late.close()
})
