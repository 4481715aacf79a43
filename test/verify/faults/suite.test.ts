import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Progress } from '../../../bench/progress.ts'
import { Environment } from '../../../verify/faults/environment.ts'
import { prepareLane } from '../../../verify/faults/prepared-lane.ts'
import { Suite } from '../../../verify/faults/suite.ts'
import { faultPrograms } from '../../support/programs.ts'

const { signal } = new AbortController()
const silent: Progress = { say: () => {}, begin: () => () => {}, end: () => {} }
let environment: Environment

beforeAll(async () => {
  environment = await Environment.create(faultPrograms())
})

afterAll(() => environment.remove())

/** An environment in which the first so many lanes do not start. */
function slowEnvironment(failing: number) {
  const slow = {
    tries: 0,
    async startLane(...options: Parameters<Environment['startLane']>) {
      slow.tries += 1
      if (slow.tries <= failing) throw new Error('the worker is not ready in time')
      return await environment.startLane(...options)
    },
  }
  return slow
}

test('a lane that does not start in time is tried twice more', async () => {
  const slow = slowEnvironment(2)

  const { lane } = await prepareLane({ environment: slow, signal, ownServer: false }, {})

  expect(slow.tries).toBe(3)
  await lane.remove()
})

test('a run without a lane fails, and the next run is made', async () => {
  const slow = slowEnvironment(3)
  const suite = new Suite({
    environment: slow as unknown as Environment,
    progress: silent,
    signal,
    lanes: 1,
  })
  const run = { scenario: 'payment.create', injections: [] }

  const [broken, made] = await suite.run([run, run])

  const what = expect.stringContaining('the worker is not ready in time') as unknown
  expect(broken).toMatchObject({ violations: [{ invariant: 0, what }] })
  expect(made).toMatchObject({ violations: [], outcome: '201 succeeded' })
  await suite.end()
})

test('every statement of an operation has a name', async () => {
  const suite = new Suite({ environment, progress: silent, signal, lanes: 1 })

  const { counted } = await suite.count(['payment.create'])

  const names = counted.flatMap(({ points }) => points.map(({ role, name }) => `${role}/${name}`))
  expect([...new Set(names)].toSorted()).toStrictEqual([
    'api/authenticate',
    'api/look-up',
    'api/reserve',
    'api/wake',
    'worker/advance',
    'worker/announce',
    'worker/claim',
    'worker/complete-job',
    'worker/fetch-operations',
    'worker/finish',
    'worker/provider-authorize',
    'worker/provider-capture',
  ])
  await suite.end()
})
