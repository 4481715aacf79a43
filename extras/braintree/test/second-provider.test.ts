// Tests what the fault suite does with Braintree as the second provider.
import { expect, test } from '@jest/globals'
import { planRuns } from '../../../verify/faults/plan.ts'
import { PointCounter, type Place } from '../../../verify/faults/points.ts'
import { nameRequest } from '../../../verify/faults/provider-proxy.ts'

test.each([
  ['second-authorize', 'POST', 'transactions'],
  ['second-capture', 'PUT', 'transactions/abc/submit_for_settlement'],
  ['second-adjust', 'PUT', 'transactions/abc/adjust_authorization'],
  ['second-cancel', 'PUT', 'transactions/abc/void'],
  ['second-refund', 'POST', 'transactions/abc/refund'],
  ['second-look', 'GET', 'transactions/abc'],
  ['second-list', 'POST', 'transactions/advanced_search'],
])('a request to the second provider has the name %s', (name, method, path) => {
  expect(nameRequest(method, `/merchants/acme/${path}`)).toBe(name)
})

const CALL: Omit<Place, 'name'> = {
  role: 'worker',
  message: 'request',
  moment: 'before',
  peer: 'provider',
  direction: 'out',
}
const COMMIT: Place = {
  role: 'api',
  name: 'commit-reserve',
  message: 'Query',
  moment: 'after',
  peer: 'store',
  direction: 'out',
}

test('with two providers, they fail, and a process or a connection at each commit', () => {
  const counter = new PointCounter()
  const names = ['provider-authorize', 'provider-second-authorize']
  const points = [...names.map((name) => ({ ...CALL, name })), COMMIT].map((place) =>
    counter.count(place),
  )
  const runsOf = (scenario: string) =>
    planRuns([{ scenario, points }], { quick: false, seed: 1 }).map(
      ({ injections: [first] }) => `${first?.fault}@${first?.point}`,
    )
  const made = runsOf('payment.create.routed')
  const moved = runsOf('payment.create.moved')
  const at = (name: string) => `@worker/${name}/request#1/before`

  expect(made).toContain(`provider-late${at('provider-authorize')}`)
  expect(made).toContain(`provider-conflict${at('provider-authorize')}`)
  expect(made).toContain(`provider-hang-after${at('provider-second-authorize')}`)
  // Its stand-in has no such fault, and a provider without keys executes nothing late.
  expect(made).not.toContain(`provider-conflict${at('provider-second-authorize')}`)
  expect(made).not.toContain(`provider-late${at('provider-second-authorize')}`)
  expect(
    made.filter((run) => run.endsWith('@api/commit-reserve/Query#1/after')).toSorted(),
  ).toEqual(['SIGKILL@api/commit-reserve/Query#1/after', 'reset@api/commit-reserve/Query#1/after'])
  // The first provider of a payment that moves has a fault of its own.
  expect(moved.filter((run) => run.endsWith(at('provider-authorize')))).toEqual([])
  expect(moved).toContain(`provider-hang-after${at('provider-second-authorize')}`)
})
