// Tests the process of the stand-in: SIGKILL, graceful shutdown and a port in use.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { startProcess } from '../../support/processes.ts'
import { startScript, type ServiceProcess } from '../../support/start-script.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { connect, payment } from './running-provider.ts'

const key = { idempotencyKey: 'key-1' }

let folder: string

beforeEach(async () => {
  folder = await makeTemporaryFolder()
})

const SCRIPT = 'dev/stripe-stand-in/main.ts'

const settings = () => ({
  DATA_DIR: join(folder, 'data'),
  HOST: '127.0.0.1',
  MOCK_PROVIDER_PORT: '0',
  LOG_LEVEL: 'info',
})

async function start() {
  const process = startProcess(SCRIPT, { env: settings() })
  const line = await process.waitForLine((text) => text.includes('Stripe stand-in is listening'))
  const { port } = JSON.parse(line) as { port: number }
  return { process, ...connect(port) }
}

async function end(process: ServiceProcess, signal: NodeJS.Signals) {
  process.kill(signal)
  return await process.exited
}

describe('after SIGKILL and a restart', () => {
  test('the executed log, the clock and the idempotency keys are kept, and a key in flight is free', async () => {
    const before = await start()
    const intent = await before.stripe.paymentIntents.create(payment(), key)
    await before.control('POST', '/clock', { advance_seconds: 3600 })
    const cut = async (fault: string, rule: number) => {
      await before.addFault({ fault, delay_ms: 600_000 })
      const call = before.stripe.paymentIntents.create(payment(), { idempotencyKey: fault })
      const lost = call.catch((error: unknown) => error)
      await before.waitForFault(rule)
      return { fault, lost }
    }
    const calls = [await cut('hang_before', 0), await cut('hang_after', 1)]
    await end(before.process, 'SIGKILL')
    for (const { lost } of calls) {
      expect(await lost).toMatchObject({ type: 'StripeConnectionError' })
    }

    const after = await start()

    const replayed = await after.stripe.paymentIntents.create(payment(), key)
    expect(replayed.id).toBe(intent.id)
    // One was executed before it hung.
    expect(await after.executed()).toHaveLength(2)
    const later = await after.stripe.paymentIntents.create(payment())
    expect(later.created - intent.created).toBeGreaterThanOrEqual(3600)
    for (const { fault } of calls) {
      const retried = await after.stripe.paymentIntents.create(payment(), { idempotencyKey: fault })
      expect(retried.status).toBe('succeeded')
    }
    expect(await after.executed()).toHaveLength(4)
    expect(await end(after.process, 'SIGINT')).toEqual({ code: 0, signal: null })
  })
})

describe('shutdown', () => {
  test('exits with 0 on SIGTERM, and does not wait for a hanging connection', async () => {
    const { process, stripe, addFault, waitForFault } = await start()
    await addFault({ fault: 'hang_after' })
    const lost = stripe.paymentIntents.create(payment()).catch((error: unknown) => error)
    await waitForFault()

    expect(await end(process, 'SIGTERM')).toEqual({ code: 0, signal: null })
    expect(await lost).toMatchObject({ type: 'StripeConnectionError' })
  })

  test('exits with 0 when its launcher has ended', async () => {
    const process = startScript(SCRIPT, { env: settings() })
    await process.waitUntilReady()
    const exit = once(process.child, 'exit')

    process.child.disconnect()

    expect(await exit).toEqual([0, null])
  })
})

test('reports a port in use and exits with 1', async () => {
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  const { port } = occupant.address() as AddressInfo

  const env = { ...settings(), MOCK_PROVIDER_PORT: String(port) }
  const process = startProcess(SCRIPT, { env })
  const exit = await process.exited
  occupant.close()

  expect(exit).toEqual({ code: 1, signal: null })
  expect(process.lines).toEqual([
    `mock-provider: Port ${port} of 127.0.0.1 is in use. Set MOCK_PROVIDER_PORT to a free port.`,
  ])
})
