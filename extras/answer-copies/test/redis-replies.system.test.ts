// Tests what the connection to Redis does with servers that are there and do not serve: each is said once,
// without the password, and delays no request. Each is a real server.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { silentAnswersObserver } from '../../../src/answers/answers.ts'
import { connectRedis, type RedisLink } from '../redis-link.ts'
import { createLog } from '../../../src/log.ts'
import { makeAuthority } from '../../../test/support/certificates.ts'
import { startCuttableRelay } from '../../../test/support/cuttable-relay.ts'
import { loadSlowly, SLOW_TO_LOAD, startRedis, testWithRedis, type RedisServer } from './redis.ts'
import { makeTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { until } from '../../../test/support/until.ts'

/** Longer than a busy machine stops a process. */
const TIMEOUT_MS = 2_000
const PASSWORD = `secret-${randomUUID()}`

let link: RedisLink | undefined
let lines: string[]

beforeEach(() => {
  lines = []
})
afterEach(() => link?.close())

function connect(url: string): RedisLink {
  link = connectRedis({
    url,
    prefix: 'test:',
    timeoutMs: TIMEOUT_MS,
    log: createLog('test', 'info', { write: (line: string) => void lines.push(line) }),
    observe: silentAnswersObserver,
  })
  return link
}

/** Expects that the server was tried again, and that its reason was said once. */
async function expectUnused(
  url: string,
  reason: string | RegExp,
  tries: () => Promise<number>,
): Promise<RedisLink> {
  const before = await tries()
  const unused = connect(url)
  await until(async () => (await tries()) >= before + 2)

  expect(unused.isUsable()).toBe(false)
  expect(await unused.get('name')).toEqual({ result: 'skipped' })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(reason)
  expect(lines[0]).not.toContain(PASSWORD)
  return unused
}

const withLogin = ({ port }: Pick<RedisServer, 'port'>, user = '') =>
  `redis://${user}:${PASSWORD}@127.0.0.1:${port}`

/** Counts what the server counts under this name. */
const countOf = (server: RedisServer, section: string, pattern: RegExp) => async () =>
  // While the server starts again, its client may have no connection.
  Number(pattern.exec(await server.client.info(section).catch(() => ''))?.[1] ?? 0)

const connectionsTo = (server: RedisServer) =>
  countOf(server, 'stats', /total_connections_received:(\d+)/)
const refusedReadsOf = (server: RedisServer) =>
  countOf(server, 'commandstats', /cmdstat_get:.*rejected_calls=(\d+)/)

testWithRedis('a server that loads its data is used when it has', async () => {
  const server = await startRedis(SLOW_TO_LOAD)
  await server.client.set('test:name', 'text')

  const loaded = await loadSlowly(server)
  const usable = await expectUnused(server.url, 'LOADING', refusedReadsOf(server))
  await loaded()

  await until(() => usable.isUsable())
  expect(await usable.get('name')).toEqual({ result: 'hit', value: 'text' })
})

testWithRedis('a replica that has lost its primary', async () => {
  const nowhere = ['--replicaof', '127.0.0.1', '1', '--replica-serve-stale-data', 'no']
  const server = await startRedis(nowhere)

  await expectUnused(server.url, 'MASTERDOWN', refusedReadsOf(server))
})

describe('a login', () => {
  testWithRedis('that is missing', async () => {
    const server = await startRedis(['--requirepass', PASSWORD], `:${PASSWORD}@`)

    await expectUnused(`redis://127.0.0.1:${server.port}`, 'NOAUTH', connectionsTo(server))
  })

  testWithRedis('that is wrong', async () => {
    const server = await startRedis()
    await server.client.sendCommand(['ACL', 'SETUSER', 'app', 'on', '>other', '~*', '+@all'])

    await expectUnused(withLogin(server, 'app'), 'WRONGPASS', connectionsTo(server))
  })

  testWithRedis('of a user that may not read', async () => {
    const server = await startRedis()
    await server.client.sendCommand(['ACL', 'SETUSER', 'app', 'on', `>${PASSWORD}`, '~*', '+set'])

    await expectUnused(withLogin(server, 'app'), 'NOPERM', refusedReadsOf(server))
  })

  testWithRedis('of a user that may do what docs/operations.md says, and no more', async () => {
    const server = await startRedis()
    const rules = ['on', `>${PASSWORD}`, '~test:*', '+get', '+set']
    await server.client.sendCommand(['ACL', 'SETUSER', 'app', ...rules])

    const usable = connect(withLogin(server, 'app'))
    await until(() => usable.isUsable())
    await usable.set('name', 'text', { untilMs: Date.now() + 60_000, onlyIfNew: true })

    expect(await usable.get('name')).toEqual({ result: 'hit', value: 'text' })
  })

  testWithRedis('whose password has characters that a URL encodes', async () => {
    const password = 'p@ss:w/rd%'
    const login = `:${encodeURIComponent(password)}@`
    const server = await startRedis(['--requirepass', password], login)

    const usable = connect(server.url)

    await until(() => usable.isUsable())
  })

  testWithRedis('that the server repeats, because it does not know the command', async () => {
    const old = ['--requirepass', PASSWORD, '--rename-command', 'HELLO', '']
    const server = await startRedis(old, `:${PASSWORD}@`)

    await expectUnused(withLogin(server), 'ERR unknown command', connectionsTo(server))
  })
})

describe('with TLS', () => {
  testWithRedis('a certificate of an unknown CA', async () => {
    const authority = await makeAuthority(await makeTemporaryFolder(), 'unknown-ca')
    const certified = await authority.issue('server', [{ dns: 'localhost' }])
    const { tlsPort } = await startRedis([], '', certified)
    let connections = 0
    const relay = await startCuttableRelay(() => {
      connections += 1
      return tlsPort
    })

    const url = `rediss://:${PASSWORD}@localhost:${relay.port}`
    await expectUnused(url, 'unable to verify', () => Promise.resolve(connections))
    await relay.close()
  })

  testWithRedis('a server without TLS', async () => {
    const server = await startRedis()
    const url = withLogin(server).replace('redis:', 'rediss:')

    await expectUnused(url, 'timeout', connectionsTo(server))
  })
})

describe('a server that is not Redis', () => {
  let server: Server
  let connections: number

  afterEach(() => {
    server.close()
  })

  async function listen(own: Server): Promise<{ port: number }> {
    server = own
    connections = 0
    server.on('connection', (socket) => {
      connections += 1
      socket.unref().on('error', () => {})
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server.address() as AddressInfo
  }
  const tries = () => Promise.resolve(connections)

  test('speaks HTTP', async () => {
    const address = await listen(createHttpServer((_request, response) => void response.end()))

    await expectUnused(withLogin(address), /.*/, tries)
  })

  test('closes every connection', async () => {
    const address = await listen(createServer((socket) => socket.end('who are you?\r\n')))

    await expectUnused(withLogin(address), /.*/, tries)
  })

  test('says nothing: it is not waited for', async () => {
    const address = await listen(createServer())
    const silent = connect(withLogin(address))
    await until(() => connections > 0)

    const first = await Promise.race([silent.get('name'), turn('waited')])

    expect(first).toEqual({ result: 'skipped' })
  })
})
