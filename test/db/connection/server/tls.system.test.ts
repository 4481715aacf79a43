// Tests the TLS of every kind of connection against a server with a private CA.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createPrivateKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../../../src/db/connection/client.ts'
import { migrateDatabase } from '../../../../src/migrations/migrate.ts'
import { openJobStore } from '../../../../src/db/queue/job-store.ts'
import { makeAuthority, type Authority } from '../../../support/certificates.ts'
import { startProcess } from '../../../support/processes.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import { CERTIFIED, startTlsServers, type TlsServers } from '../../../support/tls-servers.ts'

const DATABASE = 'postgres'

let servers: TlsServers
let other: Authority
let folder: string

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  servers = await startTlsServers(folder)
  other = await makeAuthority(folder, 'other-ca')
  await migrateDatabase(servers.primary.url(DATABASE))
})
afterAll(() => servers.stop())

interface Session {
  readonly encrypted: boolean
  readonly client: string | null
}

const SESSION =
  'select ssl as encrypted, client_dn as client from pg_stat_ssl where pid = pg_backend_pid()'

async function byStore(url: string): Promise<Session | undefined> {
  const store = openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 20_000 })
  try {
    const [row] = await store.sql.unsafe<Session[]>(SESSION)
    return row
  } finally {
    await store.close()
  }
}

async function byJobStore(url: string): Promise<Session | undefined> {
  const jobs = openJobStore({ url, applicationName: 'test', timeoutMs: 20_000 })
  try {
    const { rows } = await jobs.executeSql(SESSION)
    return rows[0] as Session
  } finally {
    await jobs.close()
  }
}

/** In the process of `npm run migrate`. */
async function byMigration(url: string, env: Record<string, string> = {}): Promise<string> {
  const process = startProcess('src/start/migrate.ts', { env: { DATABASE_URL: url, ...env } })
  const { code } = await process.exited
  return `${code} ${process.lines.join('\n')}`
}

/** The URL of the primary by its host name, unless another one is named. */
function urlOf(parameters: string, host = 'localhost'): string {
  const { primary, authority } = servers
  const url = primary.url(DATABASE).replace('127.0.0.1', host)
  return `${url}?${parameters.replace('CA', authority.certificate).replace('OTHER', other.certificate)}`
}

const ways = [
  ['the store', byStore],
  ['pg-boss', byJobStore],
] as const

describe.each(ways)('%s', (_, connect) => {
  test.each([
    ['no parameter', ''],
    ['sslmode=disable', 'sslmode=disable'],
  ])('is not encrypted with %s', async (_name, parameters) => {
    expect(await connect(urlOf(parameters))).toEqual({ encrypted: false, client: null })
  })

  test.each([
    ['sslmode=allow', 'sslmode=allow'],
    ['sslmode=prefer', 'sslmode=prefer'],
    ['sslmode=require, without verification', 'sslmode=require'],
    ['sslmode=require and its CA', 'sslmode=require&sslrootcert=CA'],
    ['sslmode=verify-ca', 'sslmode=verify-ca&sslrootcert=CA'],
    ['sslmode=verify-full', 'sslmode=verify-full&sslrootcert=CA'],
    ['channel_binding=prefer', 'sslmode=require&channel_binding=prefer'],
    ['channel_binding=require and its CA', 'channel_binding=require&sslrootcert=CA'],
  ])('is encrypted with %s', async (_name, parameters) => {
    expect(await connect(urlOf(parameters))).toEqual({ encrypted: true, client: null })
  })

  test.each([
    ['sslmode=require', 'sslmode=require&sslrootcert=OTHER'],
    ['sslmode=verify-ca', 'sslmode=verify-ca&sslrootcert=OTHER'],
    ['sslmode=verify-full', 'sslmode=verify-full&sslrootcert=OTHER'],
    ['sslmode=verify-full without a CA', 'sslmode=verify-full'],
    ['sslrootcert=system', 'sslrootcert=system'],
    ['channel_binding=require', 'sslmode=require&channel_binding=require'],
  ])('refuses a server of another CA with %s', async (_name, parameters) => {
    await expect(connect(urlOf(parameters))).rejects.toMatchObject({
      code: 'TLS_FAILED',
      message: expect.stringMatching(
        /^TLS with localhost:\d+ failed: .*(certificate|signature)/,
      ) as unknown,
    })
  })

  // The address of the server is right, but its certificate names only localhost.
  test.each([
    ['sslmode=verify-full', 'sslmode=verify-full&sslrootcert=CA'],
    ['channel_binding=require', 'sslmode=require&channel_binding=require&sslrootcert=CA'],
  ])('refuses a server of another name with %s', async (_name, parameters) => {
    await expect(connect(urlOf(parameters, '127.0.0.1'))).rejects.toMatchObject({
      code: 'TLS_FAILED',
      message: expect.stringContaining("IP: 127.0.0.1 is not in the cert's list") as unknown,
    })
  })

  test.each(['sslmode=require', 'sslmode=verify-ca'])(
    'accepts a server of another name with %s',
    async (mode) => {
      const url = urlOf(`${mode}&sslrootcert=CA`, '127.0.0.1')
      expect(await connect(url)).toMatchObject({ encrypted: true })
    },
  )

  test('verifies a certificate for an IP address', async () => {
    const { standby, authority } = servers
    const parameters = `sslmode=verify-full&sslrootcert=${authority.certificate}`

    const session = await connect(`${standby.url(DATABASE)}?${parameters}`)
    expect(session).toMatchObject({ encrypted: true })
    const byName = standby.url(DATABASE).replace('127.0.0.1', 'localhost')
    await expect(connect(`${byName}?${parameters}`)).rejects.toThrow('localhost')
  })

  test('shows its certificate', async () => {
    const { certificate, key } = servers.client
    const url = new URL(urlOf(''))
    const files = `sslrootcert=${servers.authority.certificate}&sslcert=${certificate}&sslkey=${key}`

    const session = await connect(
      `postgres://${CERTIFIED}@${url.host}/${DATABASE}?sslmode=verify-full&${files}`,
    )
    expect(session).toEqual({ encrypted: true, client: `/CN=${CERTIFIED}` })
  })
})

describe('the key of the client with a passphrase', () => {
  async function urlWith(passphrase: string): Promise<string> {
    const { certificate, key } = servers.client
    const encrypted = createPrivateKey(await readFile(key)).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'hunter2',
    })
    const file = join(folder, 'encrypted.key')
    await writeFile(file, encrypted)
    const { host } = new URL(urlOf(''))
    const files = `sslcert=${certificate}&sslkey=${file}&sslpassword=${passphrase}`
    return `postgres://${CERTIFIED}@${host}/${DATABASE}?sslmode=require&${files}`
  }

  test('opens it', async () => {
    expect(await byStore(await urlWith('hunter2'))).toMatchObject({ encrypted: true })
  })

  test('is refused when it is wrong', async () => {
    const url = await urlWith('hunter3')
    await expect(byStore(url)).rejects.toThrow(/DATABASE_URL: sslkey: .*cannot be used/)
    await expect(byStore(url)).rejects.not.toThrow('hunter3')
  })
})

describe('a server without TLS', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  test.each(['allow', 'prefer'])('is used with sslmode=%s', async (mode) => {
    const session = await byStore(`${database.url}?sslmode=${mode}`)
    expect(session).toMatchObject({ encrypted: false })
  })

  test.each(['sslmode=require', 'sslmode=verify-full', 'channel_binding=require'])(
    'is refused with %s',
    async (parameters) => {
      await expect(byStore(`${database.url}?${parameters}`)).rejects.toMatchObject({
        code: 'TLS_FAILED',
        message: expect.stringContaining('has no TLS, which sslmode asks for') as unknown,
      })
    },
  )
})

describe('npm run migrate', () => {
  test.each([
    ['sslmode=require', 'sslmode=require'],
    ['sslmode=verify-full', 'sslmode=verify-full&sslrootcert=CA'],
  ])('migrates with %s', async (_, parameters) => {
    expect(await byMigration(urlOf(parameters))).toMatch(/^0 .*the database is up to date/)
  })

  test("migrates with Neon's parameters, when the system trusts the CA", async () => {
    const url = urlOf('sslmode=require&channel_binding=require')

    expect(await byMigration(url)).toMatch(/^1 .*TLS with localhost/)
    const env = { NODE_EXTRA_CA_CERTS: servers.authority.certificate }
    expect(await byMigration(url, env)).toMatch(/^0 .*the database is up to date/)
  })

  test('refuses a server of another CA', async () => {
    const result = await byMigration(urlOf('sslmode=verify-full&sslrootcert=OTHER'))
    expect(result).toMatch(/^1 .*TLS with localhost/)
    expect(result).not.toContain(new URL(servers.primary.url(DATABASE)).password)
  })
})

describe('files', () => {
  test.each([
    ['sslrootcert', 'a missing file', 'sslmode=verify-full&sslrootcert=MISSING', /ENOENT/],
    ['sslrootcert', 'no certificate', 'sslmode=verify-full&sslrootcert=TEXT', /cannot be used/],
    ['sslrootcert', 'a broken one', 'sslmode=verify-full&sslrootcert=BROKEN', /cannot be used/],
    ['sslcert', 'a missing file', 'sslmode=require&sslcert=MISSING&sslkey=KEY', /ENOENT/],
    ['sslcert', 'no certificate', 'sslmode=require&sslcert=TEXT&sslkey=KEY', /cannot be used/],
    ['sslkey', 'a missing file', 'sslmode=require&sslcert=CERTIFICATE&sslkey=MISSING', /ENOENT/],
    [
      'sslkey',
      'the key of another',
      'sslmode=require&sslcert=CERTIFICATE&sslkey=STRANGE',
      /cannot be used/,
    ],
  ])('refuses %s with %s', async (parameter, what, parameters, reason) => {
    const text = join(folder, 'TEXT')
    const broken = join(folder, 'BROKEN')
    await writeFile(text, 'hello')
    await writeFile(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const { certificate, key } = servers.client
    const url = `postgres://u:hunter2@localhost/db?${parameters}`
      .replace('MISSING', join(folder, 'MISSING'))
      .replace('TEXT', text)
      .replace('BROKEN', broken)
      .replace('CERTIFICATE', certificate)
      .replace('KEY', key)
      .replace('STRANGE', other.key)

    const opening = () => openStore({ url, applicationName: '', poolSize: 1, timeoutMs: 1_000 })
    const named =
      what === 'a missing file' ? `${reason.source}.*MISSING` : `${parameter}: .*${reason.source}`
    expect(opening).toThrow(new RegExp(`DATABASE_URL: ${named}`))
    expect(opening).not.toThrow('hunter2')
  })
})
