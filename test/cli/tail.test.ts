// `atomic tail`, as a process, on an API that goes away and comes back.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { makeCompleted, OPERATORS } from '../support/admin.ts'
import type { Accepted } from '../support/engine.ts'
import { adminApi } from '../support/for-file.ts'
import { startProcess } from '../support/processes.ts'
import { programOf } from '../support/programs.ts'
import { until } from '../support/until.ts'
import { urlOfNothing } from './atomic.ts'
import { listening, type Listening } from '../support/listening.ts'

const KEY = OPERATORS.alice

const api = adminApi()

const env = { ATOMIC_ADMIN_KEY: KEY }
const tail = (url: string, ...args: string[]) =>
  startProcess('cli/main.ts', { args: ['tail', '--url', url, ...args], env })

const shownPayment = ({ paymentId }: Accepted) => showPaymentId(paymentId)
const lineOf = (payment: string) => (line: string) => line.includes(payment)
const endOf = (payment: string) => (line: string) =>
  line.includes(payment) && line.includes('ended')

async function complete(): Promise<string> {
  return shownPayment(await makeCompleted(api))
}

/** Closes the port, and opens it again. */
async function stopListening(): Promise<() => Promise<void>> {
  const { port } = api.server.address() as AddressInfo
  const closed = once(api.server, 'close')
  api.server.close()
  api.server.closeAllConnections()
  await closed
  return async () => void (await once(api.server.listen(port, '127.0.0.1'), 'listening'))
}

/** Writes payments that have ended. */
async function writePayments(count: number): Promise<string[]> {
  const written = await api.t.engine.store.sql<{ id: string }[]>`
    insert into payments (
      tenant_id, id, amount_minor, currency, status, previous_status, capture_method,
      payment_method, metadata, provider, provider_payment_id, amount_captured_minor
    )
    select ${api.t.tenantId}, uuidv7(), 1999, 'usd', 'succeeded', 'processing', 'automatic',
      'pm_card_visa', '{}', 'stripe', 'pi_' || number, 1999
    from generate_series(1, ${count}::int) as number
    returning id
  `
  return written.map(({ id }) => showPaymentId(id))
}

test('prints each change once, also those between two looks, survives a restart, and ends with 0', async () => {
  const first = await api.t.accept()
  const [text, json] = [tail(api.url), tail(api.url, '--json')]
  const waitForBoth = async (matches: (line: string) => boolean) =>
    await Promise.all([text, json].map((process) => process.waitForLine(matches)))
  const [unfinished] = await waitForBoth(lineOf(shownPayment(first)))
  expect(unfinished).toMatch(/Z {2}unfinished {2}pay_\w+/)
  const second = await api.t.accept()
  const [began] = await waitForBoth(lineOf(shownPayment(second)))
  expect(began).toMatch(/Z {2}began {7}pay_/)

  const listenAgain = await stopListening()
  await waitForBoth((line) => line.startsWith('The service does not answer.'))
  await listenAgain()
  const third = await api.t.accept()
  await waitForBoth(lineOf(shownPayment(third)))
  const followed = [first, second, third]
  for (const ref of followed) {
    expect(await runOperation(api.t.engine, ref)).toBe('finished')
    await waitForBoth(endOf(shownPayment(ref)))
  }

  // More than a page of payments begin and end between two looks.
  for (const process of [text, json]) process.kill('SIGSTOP')
  const model = await complete()
  const payments = [model, ...(await writePayments(104))]
  for (const process of [text, json]) process.kill('SIGCONT')
  for (const payment of payments) await waitForBoth(endOf(payment))
  const last = await complete()
  await waitForBoth(endOf(last))

  for (const process of [text, json]) {
    process.kill('SIGINT')
    expect(await process.exited).toEqual({ code: 0, signal: null })
  }
  for (const payment of [...payments, last]) {
    expect(text.lines.filter(endOf(payment))).toHaveLength(1)
  }
  expect(text.lines.find(endOf(model))).toMatch(/Z {2}ended {7}pay_\w+ {2}succeeded$/)
  expect(text.lines.filter((line) => line.startsWith('The service'))).toHaveLength(1)
  expect(text.lines.join('\n')).not.toContain(KEY)
  // A line of 80 columns goes on in the next one.
  const whole = text.lines
    .join('\n')
    .replaceAll(/\n {4,}/g, ' ')
    .split('\n')
  for (const ref of followed) {
    const own = whole.filter(lineOf(shownPayment(ref)))
    // Without the time at the beginning.
    const states = own.map((line) => line.slice(24))
    expect(new Set(states).size).toBe(states.length)
    expect(states.filter((state) => /^ {2}(unfinished|began) /.test(state))).toHaveLength(1)
  }
  const changes = json.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  const ofPayments = changes.filter(({ object }) => object === 'payment_change')
  expect(ofPayments.find(({ payment }) => payment.id === model)).toMatchObject({
    change: 'ended',
    payment: { operation: null },
  })
  const others = changes.filter((change) => !ofPayments.includes(change))
  expect(new Set(others.map(({ object }) => object))).toEqual(new Set(['operation_change']))
  expect(others.length).toBeGreaterThan(followed.length)
})

/** An API without payments that answers the first look, and then refuses. */
async function startRefusing(): Promise<Listening> {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.writeHead(requests > 2 ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [], has_more: false }))
  })
  return await listening(server)
}

test.each(['stdout', 'stderr'] as const)(
  'ends quietly when the reader of %s ends',
  async (name) => {
    const refusing = await startRefusing()
    const url = name === 'stdout' ? api.url : refusing.url
    const child = spawn(process.execPath, [programOf('cli/main.ts'), 'tail', '--url', url], { env })
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
    await refusing.stop()
  },
)

test('ends with 1 when the service is not there at the beginning', async () => {
  const url = await urlOfNothing()
  const lost = tail(url)

  expect(await lost.exited).toEqual({ code: 1, signal: null })
  expect(lost.lines).toEqual([`The service at ${url} is not reachable: ECONNREFUSED`])
})
