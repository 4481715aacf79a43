// The processes of a running service report themselves, and their reports end with them.
import { expect, test } from '@jest/globals'
import { listProcesses } from '../../../src/http/operators/overview-figures.ts'
import { until } from '../../support/until.ts'
import { ownService } from '../../support/for-file.ts'

const service = ownService()

const kinds = async () =>
  (await listProcesses(service.store.sql)).map(({ kind }) => kind).toSorted()

test('a process that shuts down is not listed any more, and one that was killed still is', async () => {
  await until(async () => (await kinds()).length === 2)
  const processes = await listProcesses(service.store.sql)
  expect(processes.find(({ kind }) => kind === 'api')).toMatchObject({
    queues: [],
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    circuits: [
      { kind: 'store_reads', state: 'closed' },
      { kind: 'store_reservations', state: 'closed' },
    ],
  })
  expect(processes.find(({ kind }) => kind === 'worker')).toMatchObject({
    queues: ['payments', 'webhooks', 'maintenance'],
    circuits: [{ kind: 'provider', state: 'closed' }],
  })

  service.worker.kill('SIGKILL')
  await service.worker.exited
  service.api.kill('SIGTERM')
  await service.api.exited
  expect(await kinds()).toEqual(['worker'])

  const another = await service.startWorker()
  await until(async () => (await kinds()).length === 2)
  another.kill('SIGTERM')
  await another.exited
  expect(await kinds()).toEqual(['worker'])
})
