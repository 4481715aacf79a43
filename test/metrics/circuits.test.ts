import { expect, test } from '@jest/globals'
import { createMetrics } from '../../src/metrics/metrics.ts'
import {
  apiObserver,
  engineObserver,
  apiCircuits,
  workerCircuits,
} from '../../src/metrics/observers.ts'

test('circuits are closed at first, and follow what the observers are told', () => {
  const [api, worker] = [apiCircuits(), workerCircuits(true)]
  const observeApi = apiObserver(createMetrics(), api)
  const observeEngine = engineObserver(createMetrics(), worker)
  expect([...api.read(), ...worker.read()]).toEqual([
    { kind: 'store_reads', state: 'closed', seconds: 0 },
    { kind: 'store_reservations', state: 'closed', seconds: 0 },
    { kind: 'provider', state: 'closed', seconds: 0 },
  ])

  observeApi.turned('store_reads', true)
  observeEngine.turnedProvider(true)
  expect([...api.read(), ...worker.read()].map(({ state }) => state)).toEqual([
    'open',
    'closed',
    'open',
  ])

  observeEngine.turnedProvider(false)
  expect(worker.read()).toMatchObject([{ state: 'closed' }])
})

test('a worker for webhooks alone has no circuit', () => {
  expect(workerCircuits(false).read()).toEqual([])
})
