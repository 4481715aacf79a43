// Tests that outages raise exactly their alerts.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from '@jest/globals'
import { parse } from 'yaml'
import { parseExpression } from '../metrics/promql.ts'
import { playOutage } from './play-outage.ts'
import { testWithPromtool } from './promtool.ts'
import type { Outage } from './scene.ts'

const alerts = parse(
  await readFile(new URL('../../deploy/alerts.yml', import.meta.url), 'utf8'),
) as { groups: { rules: { alert: string; expr: string }[] }[] }

export const rules = alerts.groups.flatMap((group) => group.rules)

const metrics = new Set(
  rules.flatMap(({ expr }) => parseExpression(expr).selectors.map(({ metric }) => metric)),
)

/** Plays each outage, and evaluates all alerts against what the processes exported. */
export function describeOutages(outages: readonly Outage[]): void {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  describe('exactly its alerts fire, not before and not after, when', () => {
    testWithPromtool.each([...outages])('$name', (outage) => playOutage(outage, metrics, folder))
  })
}
