// The dashboard reaches a server with TLS, as every process of the service does.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { migrateDatabase } from '../../../src/migrations/migrate.ts'
import { makeAuthority } from '../../../test/support/certificates.ts'
import { startProcess } from '../../../test/support/processes.ts'
import { makeTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { CERTIFIED, startTlsServers, type TlsServers } from '../../../test/support/tls-servers.ts'

const DATABASE = 'postgres'

let servers: TlsServers
let folder: string

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  servers = await startTlsServers(folder)
  await migrateDatabase(servers.primary.url(DATABASE))
})
afterAll(() => servers.stop())

async function dashboardOf(url: string) {
  const args = ['--port', '0']
  const dashboard = startProcess('extras/queue-dashboard/main.ts', {
    env: { DATABASE_URL: url },
    args,
  })
  const line = await dashboard.waitForLine((text) => text.includes('The queues are at'))
  const page = await (await fetch(`${/http:\S+\d/.exec(line)?.[0]}/queues`)).text()
  dashboard.kill('SIGTERM')
  await dashboard.exited
  return { page, lines: dashboard.lines.join('\n') }
}

test('shows the queues over TLS, with the certificate of the client', async () => {
  const { certificate, key } = servers.client
  const { primary, standby, authority } = servers
  const hosts = `127.0.0.1:${standby.port},localhost:${primary.port}`
  const files = `sslrootcert=${authority.certificate}&sslcert=${certificate}&sslkey=${key}`
  const parameters = `sslmode=verify-full&target_session_attrs=read-write&${files}`

  const { page } = await dashboardOf(`postgres://${CERTIFIED}@${hosts}/${DATABASE}?${parameters}`)
  expect(page).toContain('operations.dead')
})

test('says why it refuses a server', async () => {
  const { certificate } = await makeAuthority(folder, 'other-ca')
  const url = servers.primary.url(DATABASE).replace('127.0.0.1', 'localhost')

  const { page, lines } = await dashboardOf(`${url}?sslmode=verify-full&sslrootcert=${certificate}`)

  expect(page).not.toContain('operations.dead')
  expect(lines).toContain('dashboard: TLS with localhost')
})
