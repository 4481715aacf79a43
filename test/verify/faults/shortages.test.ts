// One real shortage of each kind. `npm run faults` makes the sweeps.
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { openStore } from '../../../src/db/connection/client.ts'
import { Bystander } from '../../../verify/faults/bystander.ts'
import { readLabel } from '../../../verify/faults/case.ts'
import { OccupiedConnections } from '../../../verify/faults/connections-full.ts'
import { Environment } from '../../../verify/faults/environment.ts'
import type { Lane } from '../../../verify/faults/lane.ts'
import { hasPassed, isSkipped, type RunResult } from '../../../verify/faults/results.ts'
import { runCase } from '../../../verify/faults/run-case.ts'
import { untilRefused } from '../../../verify/faults/shortage.ts'
import { runUntilInTime } from '../../../verify/faults/run-until-injected.ts'
import { renderSummary } from '../../../verify/faults/summary.ts'
import { faultPrograms } from '../../support/programs.ts'

const { signal } = new AbortController()
let environment: Environment
let lane: Lane
let bystander: Bystander

beforeAll(async () => {
  environment = await Environment.create(faultPrograms())
  lane = await environment.startLane({}, true)
  bystander = await Bystander.create(lane, signal)
})

afterAll(() => environment.remove())

const run = (label: string, on = lane) => runCase({ lane: on, bystander, signal }, readLabel(label))

async function runInTime(label: string): Promise<RunResult> {
  return (await runUntilInTime(() => run(label), signal)).result
}

test.each([
  'deadlock@worker/finish/Execute#1/before',
  'connections-full@worker/claim/Execute#1/before',
  'disk-full@api/reserve/Execute#1/before',
])('recovers from %s, a refusal of PostgreSQL itself', async (injection) => {
  const result = await runInTime(`payment.create:${injection}`)

  if (isSkipped(result)) {
    expect(lane.options.disk).toBe(result.skipped)
    return
  }
  // Without a refusal the fault would have missed.
  expect(result).toMatchObject({ violations: [], struck: 1, outcome: '201 succeeded' })
})

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
  await occupied.fill()
  const url = lane.options.server.url('postgres')
  const late = openStore({ url, applicationName: 'late', poolSize: 1, timeoutMs: 5_000 })

  await expect(late.sql`select 1`).rejects.toMatchObject({ code: '53300' })

  occupied.release()
  await late.close()
})
