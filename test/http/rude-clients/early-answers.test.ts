// Clients that still send their request when its answer is ready, and read only then.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Tenant } from '../../support/service.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import { until } from '../../support/until.ts'
import { paymentBytes, sendRaw, watchAccepted } from './raw-connection.ts'

const LARGE = ' '.repeat(1_000_000)

interface EarlyAnswer {
  readonly what: string
  readonly headers: Record<string, string | number | undefined>
}

// prettier-ignore
const early: readonly EarlyAnswer[] = [
  { what: 'a body that is too large', headers: { 'content-length': LARGE.length } },
  { what: 'chunks that are too large', headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } },
]

let service: ServiceInProcess
let tenant: Tenant

beforeAll(async () => {
  service = await startServiceInProcess()
  tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
})

afterAll(async () => {
  await service.stop()
})

test.each(early)(
  '$what is answered, even to a client that sends it all first',
  async ({ headers }) => {
    const isChunked = headers['transfer-encoding'] !== undefined
    const body = isChunked ? `${LARGE.length.toString(16)}\r\n${LARGE}\r\n0\r\n\r\n` : LARGE
    const bytes = paymentBytes(tenant, 'large', { headers, body })
    const half = bytes.length / 2
    const acceptedOf = watchAccepted(service.server)
    const connection = await sendRaw(service.apiUrl)
    connection.socket.pause()

    connection.socket.write(bytes.slice(0, half))
    const accepted = await until(() => acceptedOf(connection.socket))
    await until(() => accepted.bytesWritten > 0)
    connection.socket.write(bytes.slice(half))
    await until(() => accepted.closed)
    connection.socket.resume()

    const answers = await connection.untilClosed()
    expect(answers).toMatchObject([{ status: 413, headers: { connection: 'close' } }])
  },
)

test('a client that goes on sending is disconnected', async () => {
  const acceptedOf = watchAccepted(service.server)
  const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
  const endless = paymentBytes(tenant, 'endless', { headers, body: '' })
  const connection = await sendRaw(service.apiUrl, endless)
  const accepted = await until(() => acceptedOf(connection.socket))

  await until(() => {
    connection.socket.write(`${LARGE.length.toString(16)}\r\n${LARGE}\r\n`)
    return accepted.closed
  })

  const answers = await connection.untilClosed()
  expect(answers.map(({ status }) => status)).toEqual([413])
})
