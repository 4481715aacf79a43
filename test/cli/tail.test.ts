// `atomic tail` against a real API that is killed and started again.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { postPayment } from '../support/client.ts'
import { startProcess } from '../support/processes.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { urlOfNothing } from './atomic.ts'

const KEY = 'adm_tail_0123456789abcdef01234'

let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  service = await startService({ ADMIN_API_KEY: KEY, WAIT_SECONDS: '0' })
  tenant = await service.createTenant()
})

afterAll(() => service.stop())

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

test('prints each change once, survives a restart, and ends with 0', async () => {
  service.worker.kill('SIGSTOP')
  const first = await accept(service.apiUrl)
  const text = tail(service.apiUrl)
  const json = tail(service.apiUrl, '--json')
  const began = (payment: string) => (line: string) => line.includes(payment)
  expect(await text.waitForLine(began(first))).toMatch(
    /Z {2}unfinished {2}op_\w+ {2}payment.create/,
  )
  await json.waitForLine(began(first))
  const second = await accept(service.apiUrl)
  expect(await text.waitForLine(began(second))).toMatch(/Z {2}began {7}op_/)
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
  for (const payment of [first, second, third]) {
    const own = text.lines.filter((line) => line.includes(payment))
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

test('ends with 1 when the service is not there at the beginning', async () => {
  const url = await urlOfNothing()
  const lost = tail(url)

  expect(await lost.exited).toEqual({ code: 1, signal: null })
  expect(lost.lines).toEqual([`The service at ${url} is not reachable: ECONNREFUSED`])
})
