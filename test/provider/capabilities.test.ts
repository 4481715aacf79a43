import { expect, test } from '@jest/globals'
import {
  checkDelaysSeconds,
  keepsFailures,
  keyWindowSeconds,
  settleSeconds,
} from '../../src/provider/capabilities.ts'

const kept = { keptSeconds: 3_600, keepsFailures: true }

test.each([
  ['the declaration, if the setting is longer', kept, 7_200, 3_600],
  ['the setting, if it is shorter', kept, 60, 60],
  ['never, if the setting says that no keys are kept', kept, 0, 0],
  ['never, if the adapter declares none', null, 7_200, 0],
])('a call is repeated for as long as %s', (_, keys, setting, expected) => {
  expect(keyWindowSeconds({ keys }, { PROVIDER_KEY_WINDOW_SECONDS: setting })).toBe(expected)
})

test.each([
  ['keeps them', kept, 60, true],
  ['says that it does not', { ...kept, keepsFailures: false }, 60, false],
  ['keeps no keys', null, 60, false],
  ['keeps no keys by the setting', kept, 0, false],
])('of failures: a provider that %s', (_, keys, setting, expected) => {
  expect(keepsFailures({ keys }, { PROVIDER_KEY_WINDOW_SECONDS: setting })).toBe(expected)
})

test.each([
  [120, 90, 120],
  [30, 90, 90],
  [null, 90, 90],
])(
  'declared to settle in %s s, with a setting of %s s, it is %s s',
  (declared, setting, expected) => {
    const capabilities = { settleSeconds: declared }

    expect(settleSeconds(capabilities, { PROVIDER_SETTLE_SECONDS: setting })).toBe(expected)
  },
)

const complete = { settleSeconds: null, lookUpLagSeconds: 0 }
const lagging = { settleSeconds: 60, lookUpLagSeconds: 3_600 }

test.each([
  ['with complete listings', [complete], [5, 3_600]],
  ['with a lookup that lags', [complete, lagging], [5, 3_600, 3_750]],
  ['without lookups', [{ settleSeconds: null, lookUpLagSeconds: null }], [5, 3_600]],
  ['with a check at that time', [{ settleSeconds: 90, lookUpLagSeconds: 3_450 }], [5, 3_600]],
])('an unknown outcome is looked up when absence can be proved: %s', (_, all, expected) => {
  const settings = { CHECK_DELAYS_SECONDS: [5, 3_600], PROVIDER_SETTLE_SECONDS: 90 }

  expect(checkDelaysSeconds(all, settings)).toEqual(expected)
})
