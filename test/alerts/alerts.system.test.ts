// Checks that every alert has an outage that raises it, and that promtool accepts the rules.
import { expect, test } from '@jest/globals'
import { rules } from './describe-outages.ts'
import { checkAlerts, testWithPromtool } from './promtool.ts'
import { nonsenseOutages, providerOutages } from './provider-outages.ts'
import { requestOutages } from './request-outages.ts'
import { storeOutages } from './store-outages.ts'
import { workerOutages } from './worker-outages.ts'

const outages = [
  requestOutages,
  workerOutages,
  providerOutages,
  nonsenseOutages,
  storeOutages,
].flatMap((of) => of.outages)

test('every alert has an outage, and no outage another alert', () => {
  const fired = outages.flatMap(({ fires }) => fires.map(({ alertname }) => alertname))

  expect(new Set(fired)).toEqual(new Set(rules.map(({ alert }) => alert)))
})

testWithPromtool('promtool finds no mistake in the rules', () => {
  expect(checkAlerts()).toContain(`SUCCESS: ${rules.length} rules found`)
})
