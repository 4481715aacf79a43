// Tests `npm run dashboard` as a process, on the loopback address.
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { leaveStackSettings, removeStackSettings } from '../../../src/start/stack-settings.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { startProcess, type ServiceProcess } from '../../../test/support/processes.ts'
import { makeTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openTestStore } from '../../../test/db/reservations.ts'

const start = (env: Record<string, string>, args = ['--port', '0']) =>
  startProcess('extras/queue-dashboard/main.ts', { env, args })

async function urlOf(dashboard: ServiceProcess): Promise<string> {
  await dashboard.waitUntilReady()
  const line = await dashboard.waitForLine((candidate) => candidate.includes('http://'))
  return /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? ''
}

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database.drop())

describe('with a database', () => {
  let dashboard: ServiceProcess
  let url: string
  let store: Store

  beforeAll(async () => {
    store = openTestStore(database.url, 1)
    dashboard = start({ DATABASE_URL: database.url })
    url = await urlOf(dashboard)
  })

  afterAll(() => store.close())

  test('refuses a port that is in use, and says what to do', async () => {
    const { port } = new URL(url)
    const second = start({ DATABASE_URL: database.url }, ['--port', port])

    expect(await second.exited).toMatchObject({ code: 1 })
    expect(second.lines).toEqual([
      `dashboard: port ${port} is in use; end the program that uses it, or name another one by --port`,
    ])
  })

  test('shows the queues of the service, including dead letters', async () => {
    const page = await (await fetch(`${url}/queues`)).text()
    expect(page).toContain('operations.dead')
    expect(page).toContain('webhook-deliveries')
  })

  test.each(['delete', 'retry'])('does not %s a job', async (intent) => {
    const [{ id } = { id: '' }] = await store.sql<{ id: string }[]>`
      insert into atomic_jobs.job (name, data, state) values ('operations.dead', '{}', 'failed')
      returning id
    `
    const answer = await fetch(`${url}/queues/operations.dead/jobs/${id}`, {
      method: 'POST',
      headers: { origin: url },
      body: new URLSearchParams({ intent }),
    })
    const jobs = await store.sql`select state from atomic_jobs.job where id = ${id}`

    expect(answer.status).toBe(403)
    expect(jobs).toEqual([{ state: 'failed' }])
  })

  test('has only the rights of the service', async () => {
    const shown = async () => (await (await fetch(`${url}/queues`)).text()).includes('reminders')
    expect(await shown()).toBe(true)
    await store.sql`revoke select on atomic_jobs.queue from ${store.sql(SERVICE_ROLE)}`
    expect(await shown()).toBe(false)
    await store.sql`grant select on atomic_jobs.queue to ${store.sql(SERVICE_ROLE)}`
  })

  test.each(['evil.example', 'localhost.evil.example:80', '0.0.0.0'])(
    'a page that calls this machine %s is not served',
    async (host) => {
      const { hostname, port } = new URL(url)
      const status = await new Promise((resolve, reject) => {
        request({ host: hostname, port, path: '/queues', headers: { host } }, (response) =>
          resolve(response.resume().statusCode),
        )
          .on('error', reject)
          .end()
      })
      expect(status).toBe(421)
    },
  )

  test('stops on Ctrl-C', async () => {
    dashboard.kill('SIGINT')
    expect(await dashboard.exited).toEqual({ code: 0, signal: null })
  })
})

test.each([
  [['--port', '65536'], '--port: 0 to 65535'],
  [['--prot', '1'], "Unknown option '--prot'"],
])('refuses %j, and shows its usage', async (args, reason) => {
  const refused = start({ DATABASE_URL: database.url }, args)

  expect(await refused.exited).toMatchObject({ code: 1 })
  expect(refused.lines.join('\n')).toContain(reason)
  expect(refused.lines.join('\n')).toContain('Usage: npm run dashboard')
})

test('finds the embedded database of a running stack, and without one says how to start it', async () => {
  const folder = await makeTemporaryFolder()
  await leaveStackSettings(folder, { DATABASE_URL: database.url })
  const dashboard = start({ DATA_DIR: folder })
  expect(await (await fetch(`${await urlOf(dashboard)}/queues`)).text()).toContain('operations')
  dashboard.kill('SIGTERM')
  await dashboard.exited

  await removeStackSettings(folder)
  const lost = start({ DATA_DIR: folder })
  expect(await lost.exited).toEqual({ code: 1, signal: null })
  expect(lost.lines.join('\n')).toMatch(/DATABASE_URL is not set, .*"npm start"/)
})
