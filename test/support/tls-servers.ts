// Starts a primary and a standby of one cluster, both with TLS by a private CA.
import { execFile } from 'node:child_process'
import { chown, copyFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openStore } from '../../src/db/connection/client.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { makeAuthority, type Authority, type Certified, type ServerName } from './certificates.ts'

const execute = promisify(execFile)

/** Has no password: it needs a certificate with its name. */
export const CERTIFIED = 'certified'

/** The server also accepts connections without TLS. */
const RULES = `
hostssl  all  ${CERTIFIED}  127.0.0.1/32  cert
host     all  all           127.0.0.1/32  scram-sha-256
`

const SETTINGS = {
  ssl: 'on',
  ssl_cert_file: 'server.crt',
  ssl_key_file: 'server.key',
  ssl_ca_file: 'ca.crt',
}

export interface TlsServers {
  /** Its certificate is for `localhost`. */
  readonly primary: EmbeddedPostgres
  /** Its certificate is for 127.0.0.1. It gets no changes after the start. */
  readonly standby: EmbeddedPostgres
  readonly authority: Authority
  /** The certificate of the client CERTIFIED. */
  readonly client: Certified
  stop(): Promise<void>
}

/** @param folder an empty folder that all users may enter. */
export async function startTlsServers(folder: string): Promise<TlsServers> {
  const authority = await makeAuthority(folder, 'private-ca')
  const homes = { primary: join(folder, 'primary'), standby: join(folder, 'standby') }
  const created = await start(homes.primary)
  await prepare(created)
  await created.stop()
  await useCertificate(homes.primary, authority, [{ dns: 'localhost' }])
  // Keeps the owner, and holes in files.
  await execute('cp', ['-a', homes.primary, homes.standby])
  await useCertificate(homes.standby, authority, [{ ip: '127.0.0.1' }])
  await writeFile(join(homes.standby, 'cluster', 'standby.signal'), '')
  const [primary, standby] = await Promise.all([start(homes.primary), start(homes.standby)])
  return {
    primary,
    standby,
    authority,
    client: await authority.issue(CERTIFIED),
    async stop() {
      await Promise.all([primary.stop('immediate'), standby.stop('immediate')])
    },
  }
}

function start(home: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ directory: home, durable: false, log: () => {} })
}

async function prepare(server: EmbeddedPostgres): Promise<void> {
  const store = openStore({
    url: server.url('postgres'),
    applicationName: 'atomic-payments test',
    poolSize: 1,
    timeoutMs: 20_000,
  })
  try {
    await store.sql.unsafe(`create role ${CERTIFIED} superuser login`)
    for (const [name, value] of Object.entries(SETTINGS)) {
      await store.sql.unsafe(`alter system set ${name} = '${value}'`)
    }
  } finally {
    await store.close()
  }
}

/** The key must belong to the server's account, and must not be readable for others. */
async function useCertificate(
  home: string,
  authority: Authority,
  names: readonly ServerName[],
): Promise<void> {
  const cluster = join(home, 'cluster')
  const { certificate, key } = await authority.issue(home.split('/').at(-1) ?? '', names)
  const files = [
    [certificate, 'server.crt'],
    [key, 'server.key'],
    [authority.certificate, 'ca.crt'],
  ] as const
  const { uid, gid } = await stat(cluster)
  await writeFile(join(cluster, 'pg_hba.conf'), RULES)
  for (const [from, name] of files) {
    const file = join(cluster, name)
    await copyFile(from, file)
    await chown(file, uid, gid)
  }
}
