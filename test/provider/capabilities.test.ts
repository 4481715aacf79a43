import { expect, test } from '@jest/globals'
import { keepsFailures, keyWindowSeconds, settleSeconds } from '../../src/provider/capabilities.ts'

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
