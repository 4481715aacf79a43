// Plays an outage for every alert, and evaluates all alerts against what the processes exported.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { parseExpression } from '../metrics/promql.ts'
import { playOutage } from './play-outage.ts'
import { checkAlerts, testWithPromtool } from './promtool.ts'
import { providerOutages } from './provider-outages.ts'
import { requestOutages } from './request-outages.ts'
import { storeOutages } from './store-outages.ts'
import { workerOutages } from './worker-outages.ts'

const alerts = parse(
  await readFile(new URL('../../deploy/alerts.yml', import.meta.url), 'utf8'),
) as { groups: { rules: { alert: string; expr: string }[] }[] }
const rules = alerts.groups.flatMap((group) => group.rules)
const metrics = new Set(
  rules.flatMap(({ expr }) => parseExpression(expr).selectors.map(({ metric }) => metric)),
)
const outages = [...requestOutages, ...workerOutages, ...providerOutages, ...storeOutages]

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('exactly its alerts fire, not before and not after, when', () => {
  testWithPromtool.each(outages)('$name', (outage) => playOutage(outage, metrics, folder), 60_000)
})

test('every alert has an outage, and no outage another alert', () => {
  const fired = outages.flatMap(({ fires }) => fires.map(({ alertname }) => alertname))

  expect(new Set(fired)).toEqual(new Set(rules.map(({ alert }) => alert)))
})

testWithPromtool('promtool finds no mistake in the rules', () => {
  expect(checkAlerts()).toContain(`SUCCESS: ${rules.length} rules found`)
})
