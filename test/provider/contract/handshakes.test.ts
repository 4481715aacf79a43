// Tests every adapter at servers whose TLS handshake fails, or whose connection fails after it. Before
// the connection is secure nothing was sent, which proves that nothing was executed.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { makeAuthority, type Authority } from '../../support/certificates.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { callNamesOf, portCalls } from './calls.ts'
import { fixtures } from './fixtures.ts'
import { freeze } from './freeze.ts'
import { identityOf, criteriaOf } from './payments.ts'

const T0_MS = 1_800_000_000_000
const usual = getCACertificates('default')
const loopback = [{ ip: '127.0.0.1' }]
/** An alert of TLS 1.2: handshake_failure. */
const ALERT = Buffer.from([0x15, 3, 3, 0, 2, 2, 40])

let trusted: Authority
let foreign: Authority
let open: Server[] = []
let received = 0

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  trusted = await makeAuthority(folder, 'trusted')
  foreign = await makeAuthority(folder, 'foreign')
  setDefaultCACertificates([...usual, await readFile(trusted.certificate, 'utf8')])
})

afterEach(() => {
  for (const server of open) {
    server.close()
    if ('closeAllConnections' in server) (server as HttpsServer).closeAllConnections()
  }
  open = []
  received = 0
})

afterAll(() => setDefaultCACertificates(usual))

async function listen(server: Server): Promise<string> {
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Does this with each connection once the client has begun its handshake. */
const onHello = (act: (socket: Socket) => void) => async () =>
  await listen(
    createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => act(socket))
    }),
  )

/** A server of HTTPS, which does this with each request. */
async function secure(
  authority: Authority,
  {
    names = loopback,
    withChain = false,
    act = (): void => {},
    afterHandshake,
  }: {
    names?: Parameters<Authority['issue']>[1]
    withChain?: boolean
    act?: (socket: Socket) => void
    afterHandshake?: (socket: TLSSocket) => void
  } = {},
): Promise<string> {
  const issued = await authority.issue(`server-${open.length}`, names)
  const chain = withChain ? [issued.certificate, authority.certificate] : [issued.certificate]
  const cert = (await Promise.all(chain.map(async (file) => readFile(file, 'utf8')))).join('\n')
  const server = createHttpsServer({ cert, key: await readFile(issued.key) }, ({ socket }) => {
    received += 1
    act(socket)
  })
  server.on('secureConnection', (socket) => {
    socket.on('error', () => {})
    afterHandshake?.(socket)
  })
  return await listen(server)
}

async function selfSigned(): Promise<string> {
  const [cert, key] = await Promise.all([readFile(foreign.certificate), readFile(foreign.key)])
  return await listen(createHttpsServer({ cert, key }, () => void (received += 1)))
}

const failsBefore: readonly (readonly [title: string, start: () => Promise<string>])[] = [
  ['a refused connection', async () => 'https://127.0.0.1:1'],
  ['a name without an address', async () => 'https://provider.invalid'],
  ['a certificate signed by itself', selfSigned],
  [
    'a chain that ends in a certificate signed by itself',
    () => secure(foreign, { withChain: true }),
  ],
  ['a certificate of an unknown authority', () => secure(foreign)],
  ['a certificate of another name', () => secure(trusted, { names: [{ dns: 'other.example' }] })],
  ['a reset in the handshake', onHello((socket) => socket.resetAndDestroy())],
  ['a close in the handshake', onHello((socket) => void socket.end())],
  ['silence in the handshake', onHello(() => {})],
  ['an alert in the handshake', onHello((socket) => void socket.write(ALERT))],
  ['bytes that are no TLS', onHello((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n{}'))],
  ['a server of plain HTTP', () => listen(createHttpServer(() => void (received += 1)))],
]

const failsAfter: readonly (readonly [title: string, start: () => Promise<string>])[] = [
  ['a reset of a request', () => secure(trusted, { act: (socket) => socket.destroy() })],
  [
    'a reset as soon as the connection is secure',
    () => secure(trusted, { afterHandshake: (socket) => socket.destroy() }),
  ],
  ['silence after the request', () => secure(trusted)],
]

describe.each(fixtures)('$name', ({ adapterFor, paymentOf, knownId }) => {
  /** A time limit that a handshake on a busy machine keeps, but not silence. */
  const adapterOf = (url: string) => adapterFor(url, 1_500)
  const names = callNamesOf({ adapterFor })
  const known = (name: (typeof names)[number]) =>
    paymentOf(name === 'authorize' ? {} : { providerPaymentId: knownId })

  test.each(failsBefore)('%s: not executed', async (_title, start) => {
    const made = await portCalls.authorize.make(
      adapterOf(await start()),
      paymentOf(),
      identityOf('started'),
    )

    expect(made).toMatchObject({ outcome: 'not_executed' })
    expect(received).toBe(0)
  })

  test.each(names)('%s: not executed at a server that is not trusted', async (name) => {
    const adapter = adapterOf(await secure(foreign, { withChain: true }))

    const made = await portCalls[name].make(adapter, known(name), identityOf(name))

    expect(made.outcome).toBe('not_executed')
  })

  test('nothing is sent if the deadline passes during the handshake', async () => {
    const adapter = adapterFor(await secure(trusted))
    const lease = { ...identityOf('started'), sendBeforeMs: performance.now() + 200 }

    const made = portCalls.authorize.make(adapter, paymentOf(), lease)
    setImmediate(freeze, 300)

    expect(await made).toMatchObject({ outcome: 'not_executed', answered: { error: 'timeout' } })
    await setTimeout(50)
    expect(received).toBe(0)
  })

  test.each(names)('%s: a lookup whose handshake fails proves nothing', async (name) => {
    const adapter = adapterOf(await secure(foreign, { withChain: true }))

    const criteria = criteriaOf(identityOf(name), T0_MS)
    const found = await portCalls[name].find(adapter, known(name), criteria)

    expect(found).toMatchObject({ outcome: 'unknown', answered: { looked: false } })
  })

  test.each(failsAfter)('%s: unknown', async (_title, start) => {
    const made = await portCalls.authorize.make(
      adapterOf(await start()),
      paymentOf(),
      identityOf('started'),
    )

    expect(made.outcome).toBe('unknown')
  })

  test.each(['a reset', 'silence'])(
    '%s on a connection that is kept alive: unknown',
    async (end) => {
      let requests = 0
      const url = await secure(trusted, {
        act: (socket) => {
          requests += 1
          if (requests === 1) socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
          else if (end === 'a reset') socket.destroy()
        },
      })
      const adapter = adapterOf(url)
      await adapter.readAccount().catch(() => {})

      const made = await portCalls.authorize.make(adapter, paymentOf(), identityOf('started'))

      expect(made.outcome).toBe('unknown')
      expect(requests).toBe(2)
    },
  )
})
