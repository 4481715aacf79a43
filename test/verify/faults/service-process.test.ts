// Tests standby processes, with one-line programs instead of the service's.
import { writeFile } from 'node:fs/promises'
import { afterEach, expect, jest, test } from '@jest/globals'
import { fakeOnly } from '../../support/fake-timers.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import type { Role } from '../../../verify/faults/points.ts'
import { programIn } from '../../../verify/faults/programs.ts'
import { ServiceProcess } from '../../../verify/faults/service-process.ts'
import { Watch } from '../../../verify/faults/watch.ts'

const STANDS_BY = `process.send({ type: 'standing by' })`
const WORKS = `${STANDS_BY}; process.on('message', () => process.send({ type: 'ready' }))`
const DOES_NOT_WORK = `${STANDS_BY}; process.on('message', () => {})`
const ENDS = `${STANDS_BY}; process.on('message', () => process.exit())`

/** Longer than the limit for a start. */
const LONG_MS = 3_600_000

const services: ServiceProcess[] = []

async function standBy(program: string, role: Role = 'worker'): Promise<ServiceProcess> {
  const programs = await makeTemporaryFolder()
  await writeFile(programIn(programs, role), program)
  const service = await ServiceProcess.standBy({
    role,
    programs,
    databaseUrl: 'postgres://nobody@localhost:1/none',
    providerUrls: { first: 'http://localhost:1' },
    settings: {},
    cacheFolder: programs,
    watch: new Watch(),
  })
  services.push(service)
  await service.loaded
  return service
}

afterEach(async () => {
  jest.useRealTimers()
  await Promise.all(services.splice(0).map((service) => service.remove()))
})

test('a process that has stood by for long starts as any other', async () => {
  fakeOnly('timeouts')
  const service = await standBy(WORKS)

  jest.advanceTimersByTime(LONG_MS)

  await expect(service.start()).resolves.toBeUndefined()
})

test('start fails when the process does not get ready in time', async () => {
  fakeOnly('timeouts')
  const service = await standBy(DOES_NOT_WORK)

  const started = service.start()
  // The start message is sent in the next microtask.
  await Promise.resolve()
  jest.advanceTimersByTime(LONG_MS)

  await expect(started).rejects.toThrow('the worker is not ready in time')
})

test('start fails when the process ends instead of working', async () => {
  const service = await standBy(ENDS)

  await expect(service.start()).rejects.toThrow('the worker ended before it was ready')
})

test('start fails when the process has ended while it stood by', async () => {
  const service = await standBy(WORKS)
  service.signal('SIGTERM')
  await service.ended

  await expect(service.start()).rejects.toThrow('the worker ended before it was ready')
})

test('the port of an API is the one on which it listens', async () => {
  const log = ['{"err":{"port":5432},"msg":"away"}', '{"port":4711,"msg":"listening"}']
  const print = log.map((line) => `console.log('${line}')`).join('; ')
  const service = await standBy(
    `${STANDS_BY}; process.on('message', () => { ${print}; process.send({ type: 'ready' }) })`,
    'api',
  )

  await service.start()

  expect(service.port).toBe(4711)
})
