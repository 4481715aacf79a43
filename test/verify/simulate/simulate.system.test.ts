// Runs the simulation as a process, against a stack of real processes.
import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startProcess, type ServiceProcess } from '../../support/processes.ts'
import {
  startService,
  type ExecutedCall,
  type Service,
  type Tenant,
} from '../../support/service.ts'
import { asBundles } from '../../support/stack.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const SCRIPT = 'verify/simulate/main.ts'
/** Unknown outcomes are looked up soon, as in a stack of the simulation. */
const SHORT_LIMITS = {
  CALL_ATTEMPTS: '2',
  JOB_RETRY_LIMIT: '1',
  PROVIDER_OUTAGE_SECONDS: '0',
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

function simulate(args: string): ServiceProcess {
  const { apiUrl, providerUrl } = service
  const target = `--url ${apiUrl} --provider-url ${providerUrl} --api-key ${tenant.apiKey}`
  return startProcess(SCRIPT, { args: `${target} ${args}`.split(' ') })
}

async function listExecuted(): Promise<ExecutedCall[]> {
  return ((await service.control('GET', 'executed')) as { data: ExecutedCall[] }).data
}

/** The first authorisation that the provider executes for a run of the simulation. */
async function firstAuthorization(before: number): Promise<ExecutedCall> {
  const isOfRun = ({ kind, metadata }: ExecutedCall) =>
    kind === 'payment_intent.create' && 'simulation' in metadata
  return await until(async () => (await listExecuted()).slice(before).find(isOfRun))
}

test('exits with 1 and names a payment that was charged twice at the provider', async () => {
  const { length } = await listExecuted()
  const run = simulate('--payments 15 --concurrency 2 --seed 12')
  const { amount, currency, metadata } = await firstAuthorization(length)

  const twice = await fetch(`${service.providerUrl}/v1/payment_intents`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_mock' },
    body: new URLSearchParams({
      amount: String(amount),
      currency,
      confirm: 'true',
      return_url: 'https://example.com/',
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
  expect(report).toMatch(/^ +\d+ {2}No payment was authorised twice at the provider: BROKEN$/m)
  const { id } = (await twice.json()) as { id: string }
  const named = run.lines.find((line) => line.includes(`${metadata['atomic_payment']}:`))
  expect(named).toContain(`payment_intent.create ${id} ${amount}`)
})

test('after Ctrl-C, reports the payments sent so far and removes the faults', async () => {
  const run = simulate('--payments 2000 --concurrency 4 --faults --seed 13')
  // The first payments plant the first faults.
  await run.waitForLine((line) => line.startsWith('Sending 2000 payments'))
  const planted = async () => ((await service.control('GET', 'faults')) as { data: [] }).data.length
  await until(async () => (await planted().catch(() => 0)) > 0)

  run.kill('SIGINT')

  expect(await run.exited).toEqual({ code: 130, signal: null })
  expect(run.lines.join('\n')).toMatch(/^\d+ payments, \d+ operations, 4 at a time/m)
  expect(run.lines).toContain('OK: all 13 invariants hold')
  expect(await service.control('GET', 'faults')).toEqual({ data: [] })
})

test('without --url, starts a stack, reports that every invariant holds, and removes it', async () => {
  const TMPDIR = await makeTemporaryFolder()

  const run = startProcess(SCRIPT, {
    args: '--payments 40 --concurrency 8 --faults --seed 11'.split(' '),
    env: { ...asBundles(), TMPDIR, PORT: 'not used' },
  })

  expect(await run.exited).toEqual({ code: 0, signal: null })
  const report = run.lines.join('\n')
  expect(report).toMatch(/^40 payments, \d+ operations, 8 at a time, faults, seed 11$/m)
  for (const title of ['Outcomes', 'Requests', 'Requests hit by provider faults']) {
    expect(report).toMatch(new RegExp(`^ +count {2}${title}$`, 'm'))
  }
  expect(report).toMatch(/^ +[1-9]\d* {2}(reset|error_500|hang)_(before|after)$/m)
  expect(report.match(/: OK$/gm)).toHaveLength(13)
  expect(report).not.toContain('BROKEN')
  expect(report).toContain('OK: all 13 invariants hold')
  expect(await readdir(TMPDIR)).toEqual([])
})

test.each([
  ['--payments none', 2, '--payments must be a whole number'],
  ['--payments 1 --api-key sk_test_unknown0000', 3, '401 api-key-invalid'],
])('%s sends nothing and prints the error', async (args, code, message) => {
  const run = simulate(args)

  expect(await run.exited).toMatchObject({ code })
  expect(run.lines.join('\n')).toContain(`simulate: `)
  expect(run.lines.join('\n')).toContain(message)
})
