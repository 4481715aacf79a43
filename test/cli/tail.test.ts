// `atomic tail` against a real API that is killed and started again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { paymentBody, postPayment } from '../support/client.ts'
import { startProcess } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { urlOfNothing } from './atomic.ts'
import { ownService, tenantOf } from '../support/for-file.ts'

const KEY = 'adm_tail_0123456789abcdef01234'

const service = ownService({ ADMIN_API_KEY: KEY, WAIT_SECONDS: '0' })
const tenant = tenantOf(service)

const tail = (url: string, ...args: string[]) =>
  startProcess('cli/main.ts', {
    args: ['tail', '--url', url, ...args],
    env: { ATOMIC_ADMIN_KEY: KEY },
  })

/** Accepts a payment, and leaves it waiting: its worker is stopped. */
async function accept(url: string): Promise<string> {
  const { status, json } = await postPayment(url, tenant)
  expect(status).toBe(202)
  return String(json['id'])
}

/** Makes a payment, and waits until it is completed. */
async function complete(): Promise<string> {
  const headers = { prefer: 'wait=20' }
  const { status, json } = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })
  expect(status).toBe(201)
  return String(json['id'])
}

test('prints each change once, survives a restart, and ends with 0', async () => {
  service.worker.kill('SIGSTOP')
  const first = await accept(service.apiUrl)
  const text = tail(service.apiUrl)
  const json = tail(service.apiUrl, '--json')
  const began = (payment: string) => (line: string) => line.includes(payment)
  expect(await text.waitForLine(began(first))).toMatch(/Z {2}unfinished {2}pay_\w+/)
  await json.waitForLine(began(first))
  const second = await accept(service.apiUrl)
  expect(await text.waitForLine(began(second))).toMatch(/Z {2}began {7}pay_/)
  await json.waitForLine(began(second))

  service.api.kill('SIGKILL')
  await text.waitForLine((line) => line.startsWith('The service does not answer.'))
  await json.waitForLine((line) => line.startsWith('The service does not answer.'))
  const { url } = await service.startApi({ PORT: new URL(service.apiUrl).port })
  const third = await accept(url)
  await text.waitForLine(began(third))
  service.worker.kill('SIGCONT')
  for (const payment of [first, second, third]) {
    const isEnd = (line: string) => line.includes(payment) && line.includes('ended')
    await text.waitForLine(isEnd)
    await json.waitForLine(isEnd)
  }

  text.kill('SIGINT')
  json.kill('SIGINT')
  expect(await text.exited).toEqual({ code: 0, signal: null })
  expect(await json.exited).toEqual({ code: 0, signal: null })
  expect(text.lines.filter((line) => line.startsWith('The service'))).toHaveLength(1)
  expect(text.lines.join('\n')).not.toContain(KEY)
  // A line of 80 columns goes on in the next one.
  const whole = text.lines
    .join('\n')
    .replaceAll(/\n {4,}/g, ' ')
    .split('\n')
  for (const payment of [first, second, third]) {
    const own = whole.filter((line) => line.includes(payment))
    // Without the time at the beginning.
    const states = own.map((line) => line.slice(24))
    expect(new Set(states).size).toBe(states.length)
    expect(states.filter((state) => /^ {2}(unfinished|began) /.test(state))).toHaveLength(1)
  }
  const changes = json.lines.filter((line) => line.startsWith('{'))
  expect(changes.map((line) => JSON.parse(line).object)).toEqual(
    changes.map(() => 'operation_change'),
  )
})

test('prints payments once that begin and end between two looks, more than a page of them', async () => {
  const text = tail(service.apiUrl)
  const json = tail(service.apiUrl, '--json')
  const isEndOf = (payment: string) => (line: string) =>
    line.includes(payment) && line.includes('ended')
  // The first look is over when a payment after it has its line.
  await until(async () => (await complete()) && text.lines.length > 0 && json.lines.length > 0)
  for (const process of [text, json]) process.kill('SIGSTOP')
  const payments: string[] = []
  while (payments.length < 105) {
    payments.push(...(await Promise.all(Array.from({ length: 7 }, complete))))
  }
  for (const process of [text, json]) process.kill('SIGCONT')

  for (const payment of payments) await text.waitForLine(isEndOf(payment))
  for (const payment of payments) await json.waitForLine(isEndOf(payment))

  const last = await complete()
  await text.waitForLine(isEndOf(last))
  for (const payment of [...payments, last]) {
    expect(text.lines.filter(isEndOf(payment))).toHaveLength(1)
  }
  const line = text.lines.find(isEndOf(payments[0] ?? '')) ?? ''
  expect(line).toMatch(/Z {2}ended {7}pay_\w+ {2}succeeded$/)
  expect(JSON.parse(json.lines.find(isEndOf(payments[0] ?? '')) ?? '')).toMatchObject({
    object: 'payment_change',
    change: 'ended',
    payment: { id: payments[0], operation: null },
  })
})

/** An API without payments that answers the first look, and then refuses. */
async function startRefusing(): Promise<{ url: string; close: () => void }> {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.writeHead(requests > 2 ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [], has_more: false }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

test.each(['stdout', 'stderr'] as const)(
  'ends quietly when the reader of %s ends',
  async (name) => {
    const refusing = await startRefusing()
    const url = name === 'stdout' ? service.apiUrl : refusing.url
    const env = { PATH: process.env['PATH'], ATOMIC_ADMIN_KEY: KEY }
    const child = spawn(process.execPath, ['cli/main.ts', 'tail', '--url', url], { env })
    const written: string[] = []
    const other = child[name === 'stdout' ? 'stderr' : 'stdout']
    other.on('data', (chunk: Buffer) => written.push(chunk.toString()))
    child[name].destroy()
    const end = once(child, 'exit')

    // Each payment is a line that nothing reads, as is the note that the API is lost.
    if (name === 'stdout') {
      await until(async () => (await complete()) !== '' && child.exitCode !== null)
    }

    expect(await end).toEqual([0, null])
    expect(written).toEqual([])
    refusing.close()
  },
)

test('ends with 1 when the service is not there at the beginning', async () => {
  const url = await urlOfNothing()
  const lost = tail(url)

  expect(await lost.exited).toEqual({ code: 1, signal: null })
  expect(lost.lines).toEqual([`The service at ${url} is not reachable: ECONNREFUSED`])
})
