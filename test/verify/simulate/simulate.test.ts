// The simulation as people run it: a process that sends to a stack of real processes.
import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startProcess, type ServiceProcess } from '../../support/processes.ts'
import {
  startService,
  type ExecutedCall,
  type Service,
  type Tenant,
} from '../../support/service.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

const SCRIPT = 'verify/simulate/main.ts'
/** What is lost is looked up soon, as for `--stack`. */
const SHORT_LIMITS = {
  CALL_ATTEMPTS: '2',
  JOB_RETRY_LIMIT: '1',
  CHECK_DELAYS_SECONDS: '1,3,6,9,15,30',
  CHECK_ON_READ_SECONDS: '1',
  PROVIDER_SETTLE_SECONDS: '5',
}

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService(SHORT_LIMITS)
  tenant = await service.createTenant()
})

afterAll(() => service.stop())

function simulate(args: string, env: Record<string, string> = {}): ServiceProcess {
  const places = {
    API_URL: service.apiUrl,
    API_KEY: tenant.apiKey,
    PROVIDER_URL: service.providerUrl,
  }
  return startProcess(SCRIPT, { args: args.split(' '), env: { ...places, ...env } })
}

async function listExecuted(): Promise<ExecutedCall[]> {
  return ((await service.control('GET', 'executed')) as { data: ExecutedCall[] }).data
}

/** The first authorisation that the provider executes for the run that has been started last. */
async function firstAuthorization(run: ServiceProcess, before: number): Promise<ExecutedCall> {
  await run.waitForLine((line) => line.startsWith('Sending:'))
  const own = (await listExecuted()).slice(before)
  const isOfRun = ({ kind, metadata }: ExecutedCall) =>
    kind === 'payment_intent.create' && 'simulation' in metadata
  const first = own.find(isOfRun)
  if (first === undefined) throw new Error('nothing was executed')
  return first
}

describe('a run with faults', () => {
  let run: ServiceProcess

  beforeAll(async () => {
    run = simulate('--payments 60 --concurrency 8 --faults --seed 11')
    await run.exited
  })

  test('ends with 0, and a table in which every invariant holds', async () => {
    const report = run.lines.join('\n')

    expect(await run.exited).toEqual({ code: 0, signal: null })
    expect(report).toMatch(/^60 payments, \d+ operations, 8 at a time, faults, seed 11$/m)
    for (const title of ['Outcomes', 'Latency', 'Requests struck by faults', 'Invariants']) {
      expect(report).toMatch(new RegExp(`^${title}`, 'm'))
    }
    expect(report.match(/ OK$/gm)).toHaveLength(12)
    expect(report).not.toContain('BROKEN')
    expect(report).toContain('OK: all 12 invariants hold')
  })

  test('has had faults, and leaves none behind', async () => {
    const struck = run.lines.filter((line) =>
      /^(reset|error_500|hang)_(before|after) +[1-9]/.test(line),
    )
    expect(struck).not.toEqual([])
    expect(await service.control('GET', 'faults')).toEqual({ data: [] })
  })
})

test('a second charge of a payment at the provider is named, and the run ends with 1', async () => {
  const { length } = await listExecuted()
  const run = simulate('--payments 60 --concurrency 2 --seed 12')
  const { amount, currency, metadata } = await firstAuthorization(run, length)

  const twice = await fetch(`${service.providerUrl}/v1/payment_intents`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_mock' },
    body: new URLSearchParams({
      amount: String(amount),
      currency,
      confirm: 'true',
      capture_method: 'manual',
      payment_method: 'pm_card_visa',
      ...Object.fromEntries(
        Object.entries(metadata).map(([name, value]) => [`metadata[${name}]`, value]),
      ),
    }),
  })

  expect(twice.status).toBe(200)
  expect(await run.exited).toMatchObject({ code: 1 })
  const report = run.lines.join('\n')
  expect(report).toMatch(/^No payment was authorised twice at the provider +\d+ +BROKEN$/m)
  const { id } = (await twice.json()) as { id: string }
  const named = run.lines.find((line) => line.includes(`${metadata['atomic_payment']}:`))
  expect(named).toContain(`payment_intent.create ${id} ${amount}`)
})

test('Ctrl-C ends the sending: what was sent is reported, and the faults are taken away', async () => {
  const run = simulate('--payments 2000 --concurrency 4 --faults --seed 13')
  // Planted with the first payments.
  await run.waitForLine((line) => line.startsWith('Sending 2000 payments'))
  const planted = async () => ((await service.control('GET', 'faults')) as { data: [] }).data.length
  while ((await planted().catch(() => 0)) === 0);

  run.kill('SIGINT')

  expect(await run.exited).toEqual({ code: 130, signal: null })
  expect(run.lines.join('\n')).toMatch(/^\d+ payments, \d+ operations, 4 at a time/m)
  expect(run.lines.at(-1)).toBe('OK: all 12 invariants hold')
  expect(await service.control('GET', 'faults')).toEqual({ data: [] })
})

test('--stack needs no other stack, and leaves nothing of its own', async () => {
  const TMPDIR = await makeTemporaryFolder()

  const run = startProcess(SCRIPT, {
    args: ['--stack', '--payments', '10', '--seed', '14'],
    env: { TMPDIR, PORT: 'none of its settings' },
  })

  expect(await run.exited).toEqual({ code: 0, signal: null })
  expect(run.lines).toContain('OK: all 12 invariants hold')
  expect(await readdir(TMPDIR)).toEqual([])
})

test.each([
  ['--payments none', {}, 2, '--payments must be a whole number'],
  ['--payments 1', { API_URL: 'http://127.0.0.1:1' }, 3, 'no API is ready at http://127.0.0.1:1'],
  ['--payments 1', { PROVIDER_URL: 'http://127.0.0.1:1' }, 3, 'no mock provider answers'],
  ['--payments 1', { API_KEY: 'sk_test_unknown0000' }, 3, 'does not know this API key'],
])('%s with %p sends nothing, and says what is wrong', async (args, env, code, message) => {
  const run = simulate(args, env)

  expect(await run.exited).toMatchObject({ code })
  expect(run.lines.join('\n')).toContain(`simulate: `)
  expect(run.lines.join('\n')).toContain(message)
})
