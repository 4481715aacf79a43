import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Progress } from '../../../bench/progress.ts'
import { Ground } from '../../../verify/faults/ground.ts'
import { settleIn } from '../../../verify/faults/place.ts'
import { Suite } from '../../../verify/faults/suite.ts'

const { signal } = new AbortController()
const silent: Progress = { say: () => {}, begin: () => () => {}, end: () => {} }
let ground: Ground

beforeAll(async () => {
  ground = await Ground.make()
})

afterAll(() => ground.remove())

/** An environment in which the first so many lanes do not start. */
function slowGround(failing: number) {
  const slow = {
    tries: 0,
    async startLane(...options: Parameters<Ground['startLane']>) {
      slow.tries += 1
      if (slow.tries <= failing) throw new Error('the worker is not ready in time')
      return await ground.startLane(...options)
    },
  }
  return slow
}

test('a lane that does not start in time is tried twice more', async () => {
  const slow = slowGround(2)

  const { lane } = await settleIn({ ground: slow, signal, ownServer: false }, {})

  expect(slow.tries).toBe(3)
  await lane.remove()
})

test('a run without a lane fails, and the next run is made', async () => {
  const slow = slowGround(3)
  const suite = new Suite({
    ground: slow as unknown as Ground,
    progress: silent,
    signal,
    lanes: 1,
  })
  const run = { scenario: 'payment.create', strikes: [] }

  const [broken, made] = await suite.run([run, run])

  const what = expect.stringContaining('the worker is not ready in time') as unknown
  expect(broken).toMatchObject({ violations: [{ invariant: 0, what }] })
  expect(made).toMatchObject({ violations: [], outcome: '201 succeeded' })
  await suite.end()
})

test('every statement of an operation has a name', async () => {
  const suite = new Suite({ ground, progress: silent, signal, lanes: 1 })

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
