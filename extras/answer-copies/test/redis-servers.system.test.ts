// The address of Redis leads to servers that do not serve, with and without TLS: every payment is charged
// once, every replay equals what PostgreSQL stored, and no password is logged.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals'
import { findIdempotencyKey } from '../../../src/db/idempotency/idempotency-keys.ts'
import {
  makeAuthority,
  type Authority,
  type ServerName,
} from '../../../test/support/certificates.ts'
import { paymentBody, postPayment } from '../../../test/support/client.ts'
import { startCuttableRelay, type CuttableRelay } from '../../../test/support/cuttable-relay.ts'
import {
  loadSlowly,
  SLOW_TO_LOAD,
  startRedis,
  type RedisServer,
  testWithRedis as test,
} from './redis.ts'
import { startService, type OwnService, type Tenant } from '../../../test/support/service.ts'
import type { ServiceProcess } from '../../../test/support/start-script.ts'
import { makeTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { until } from '../../../test/support/until.ts'

const PASSWORD = `secret-${randomUUID()}`
const LOGIN = `:${PASSWORD}@`
const REDIS_TIMEOUT_MS = 500
/** How many of the replays may wait for Redis. */
const WAITING_MAX = 5
const REPLAYS = 10

const body = paymentBody()

/** A server to which the address of Redis leads. */
interface Target {
  readonly port: number
  stop(): Promise<void>
}

/** The address of Redis for one API process. */
interface Address {
  readonly relay: CuttableRelay
  target: Target
  connections: number
}

let service: OwnService
let tenant: Tenant
let authority: Authority
let stranger: Authority
let plain: Address
let secure: Address
let urls: { plain: string; secure: string }
let processes: ServiceProcess[]

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  authority = await makeAuthority(folder, 'private-ca')
  stranger = await makeAuthority(folder, 'other-ca')
  plain = await openAddress(await startPlain())
  secure = await openAddress(await startSecure(authority, { dns: 'localhost' }))
  const settings = { REDIS_TIMEOUT_MS: String(REDIS_TIMEOUT_MS) }
  const plainUrl = `redis://${LOGIN}127.0.0.1:${plain.relay.port}`
  service = await startService({ ...settings, REDIS_URL: plainUrl })
  const { url, process } = await service.startApi({
    ...settings,
    REDIS_URL: `rediss://${LOGIN}localhost:${secure.relay.port}`,
    NODE_EXTRA_CA_CERTS: authority.certificate,
  })
  urls = { plain: service.apiUrl, secure: url }
  processes = [service.api, process]
  tenant = await service.createTenant()
})
afterEach(() => {
  for (const { lines } of processes) expect(lines.join('\n')).not.toContain(PASSWORD)
})
afterAll(async () => {
  await service.stop()
  for (const { relay, target } of [plain, secure]) {
    await target.stop()
    await relay.close()
  }
})

async function openAddress(target: Target): Promise<Address> {
  const relay = await startCuttableRelay(() => {
    address.connections += 1
    return address.target.port
  })
  const address: Address = { relay, target, connections: 0 }
  return address
}

/** Leads to another server, and the former one is gone. Resolves when it was tried. */
async function leadTo(address: Address, next: Target): Promise<void> {
  const former = address.target
  address.target = next
  const before = address.connections
  await former.stop()
  await until(() => address.connections > before)
}

const startPlain = (...options: readonly string[]) =>
  startRedis(['--requirepass', PASSWORD, ...options], LOGIN)

/** A Redis with TLS, whose certificate is for this name. */
async function startSecure(
  own: Authority,
  name: ServerName,
): Promise<Pick<RedisServer, 'port' | 'client' | 'stop'>> {
  const certified = await own.issue(randomUUID(), [name])
  const server = await startRedis(['--requirepass', PASSWORD], LOGIN, certified)
  return { ...server, port: server.tlsPort }
}

/** Not a Redis. */
async function startOther(onConnection: (socket: Socket) => void): Promise<Target> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Pays and replays, and expects one charge, and the answer that PostgreSQL stored. */
async function expectServed(url: string): Promise<void> {
  const key = randomUUID()
  const first = await postPayment(url, tenant, body, { key })
  expect(first.status).toBe(201)
  let waiting = 0
  for (let time = 0; time < REPLAYS; time += 1) {
    const startedAt = performance.now()
    const replayed = await postPayment(url, tenant, body, { key })
    if (performance.now() - startedAt >= REDIS_TIMEOUT_MS) waiting += 1
    expect([replayed.status, replayed.text]).toEqual([201, first.text])
  }
  expect(waiting).toBeLessThanOrEqual(WAITING_MAX)
  const stored = await findIdempotencyKey(service.store.sql, tenant.id, key)
  expect(first.text).toBe(stored?.response?.body)
  const executed = await service.executedFor({ id: String(first.json['id']) })
  expect(executed.map(({ kind }) => kind)).toEqual([
    'payment_intent.create',
    'payment_intent.capture',
  ])
}

/** Expects that the API keeps its copies there, and replays them. */
async function expectUsed(url: string, { client }: Pick<RedisServer, 'client'>): Promise<void> {
  await until(async () => {
    const before = await client.dbSize()
    await expectServed(url)
    return (await client.dbSize()) > before
  })
}

async function startLoading(): Promise<Target> {
  const server = await startPlain(...SLOW_TO_LOAD)
  const loaded = await loadSlowly(server)
  return {
    port: server.port,
    async stop() {
      await server.stop()
      await loaded()
    },
  }
}

const lost = ['--replicaof', '127.0.0.1', '1', '--replica-serve-stale-data', 'no']

test.each<[string, () => Promise<Target>]>([
  ['wants another password', () => startRedis(['--requirepass', 'other'], ':other@')],
  [
    'repeats the login, because it does not know HELLO',
    () => startPlain('--rename-command', 'HELLO', ''),
  ],
  ['loads its data', startLoading],
  ['is a replica that has lost its primary', () => startPlain(...lost)],
  ['wants TLS', () => startSecure(authority, { dns: 'localhost' })],
  ['closes every connection', () => startOther((socket) => socket.end('who are you?'))],
  ['says nothing', () => startOther(() => {})],
  ['repeats what it is sent', () => startOther((socket) => socket.pipe(socket))],
  ['speaks HTTP', () => startOther((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))],
])('the server %s', async (_what, start) => {
  await leadTo(plain, await start())

  await expectServed(urls.plain)
})

test('after all of them, a Redis is used again', async () => {
  const server = await startPlain()

  await leadTo(plain, server)

  await expectUsed(urls.plain, server)
})

describe('with TLS', () => {
  test('a Redis is used whose certificate is of a CA in NODE_EXTRA_CA_CERTS', async () => {
    const server = await startSecure(authority, { dns: 'localhost' })

    await leadTo(secure, server)

    await expectUsed(urls.secure, server)
  })

  test.each<[string, () => Promise<Target & Pick<RedisServer, 'client'>>]>([
    ['a certificate of another CA', () => startSecure(stranger, { dns: 'localhost' })],
    ['a certificate for another name', () => startSecure(authority, { dns: 'redis.test' })],
    ['no TLS', () => startPlain()],
  ])('a Redis with %s is refused', async (_what, start) => {
    const server = await start()
    await leadTo(secure, server)

    await expectServed(urls.secure)

    expect(await server.client.dbSize()).toBe(0)
  })
})
