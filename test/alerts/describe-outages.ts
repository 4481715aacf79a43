// Tests that outages raise exactly their alerts.
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe } from '@jest/globals'
import { parse } from 'yaml'
import { parseExpression } from '../metrics/promql.ts'
import { passQuietTime, playOutage } from './play-outage.ts'
import { testWithPromtool } from './promtool.ts'
import { Recording } from './recording.ts'
import { startScene, type OutagesOfService, type Scene } from './scene.ts'

const alerts = parse(
  await readFile(new URL('../../deploy/alerts.yml', import.meta.url), 'utf8'),
) as { groups: { rules: { alert: string; expr: string }[] }[] }

export const rules = alerts.groups.flatMap((group) => group.rules)

const metrics = new Set(
  rules.flatMap(({ expr }) => parseExpression(expr).selectors.map(({ metric }) => metric)),
)

/** Plays one outage after the other, and evaluates all alerts against what the processes exported. */
export function describeOutages({ outages, ...options }: OutagesOfService): void {
  describe('exactly its alerts fire, not before and not after, when', () => {
    const recording = new Recording(metrics)
    let scene: Scene

    beforeAll(async () => {
      scene = await startScene(options)
      await passQuietTime(scene, recording)
    })
    afterAll(() => scene.stop())

    testWithPromtool.each([...outages])('$name', (outage) => playOutage(scene, outage, recording))
  })
}
