// Tests the process of the stand-in: SIGKILL, graceful shutdown and a port in use.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { connect, payment } from './running-provider.ts'

const key = { idempotencyKey: 'key-1' }

let folder: string
let processes: ChildProcess[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mock-provider-'))
  processes = []
})
afterEach(async () => {
  await Promise.all(processes.map(async (child) => end(child, 'SIGKILL')))
  await rm(folder, { recursive: true })
})

function launch(environment: Record<string, string> = {}): ChildProcess {
  const settings = { HOST: '127.0.0.1', MOCK_PROVIDER_PORT: '0', LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, ['dev/stripe-stand-in/main.ts'], {
    env: { DATA_DIR: join(folder, 'data'), ...settings, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  processes.push(child)
  return child
}

async function start() {
  const child = launch()
  const port = await listeningPort(child)
  return { child, ...connect(port) }
}

async function listeningPort(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('no stdout')
  for await (const line of createInterface(child.stdout)) {
    const entry = JSON.parse(line) as { msg: string; port: number }
    if (entry.msg === 'Stripe stand-in is listening') {
      child.stdout.resume()
      return entry.port
    }
  }
  throw new Error('the process ended before it listened')
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown[]> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode]
  const exit = once(child, 'exit')
  child.kill(signal)
  return exit
}

describe('after SIGKILL and a restart', () => {
  test('the executed log, the clock and the idempotency keys are kept', async () => {
    const before = await start()
    const intent = await before.stripe.paymentIntents.create(payment(), key)
    await before.control('POST', '/clock', { advance_seconds: 3600 })
    await end(before.child, 'SIGKILL')

    const after = await start()

    const replayed = await after.stripe.paymentIntents.create(payment(), key)
    expect(replayed.id).toBe(intent.id)
    expect(await after.executed()).toHaveLength(1)
    const later = await after.stripe.paymentIntents.create(payment())
    expect(later.created - intent.created).toBeGreaterThanOrEqual(3600)
  })

  test.each([
    ['hang_before', 0],
    ['delay', 1],
    ['hang_after', 1],
  ])('a key in flight during %s is free, with %i executed', async (fault, executed) => {
    const before = await start()
    await before.addFault({ fault, delay_ms: 600_000 })
    const lost = before.stripe.paymentIntents
      .create(payment(), key)
      .catch((error: unknown) => error)
    await before.waitForFault()
    await end(before.child, 'SIGKILL')
    expect(await lost).toMatchObject({ type: 'StripeConnectionError' })

    const after = await start()

    expect(await after.executed()).toHaveLength(executed)
    const retried = await after.stripe.paymentIntents.create(payment(), key)
    expect(retried.status).toBe('succeeded')
    expect(await after.executed()).toHaveLength(1)
  })
})

describe('shutdown', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s', async (signal) => {
    const { child } = await start()

    expect(await end(child, signal)).toEqual([0, null])
  })

  test('does not wait for a hanging connection', async () => {
    const { child, stripe, addFault, waitForFault } = await start()
    await addFault({ fault: 'hang_after' })
    const lost = stripe.paymentIntents.create(payment()).catch((error: unknown) => error)
    await waitForFault()

    expect(await end(child, 'SIGTERM')).toEqual([0, null])
    expect(await lost).toMatchObject({ type: 'StripeConnectionError' })
  })

  test('exits with 0 when its launcher has ended', async () => {
    const child = launch()
    expect(await once(child, 'message')).toMatchObject([{ type: 'ready' }, undefined])
    const exit = once(child, 'exit')

    child.disconnect()

    expect(await exit).toEqual([0, null])
  })
})

test('reports a port in use and exits with 1', async () => {
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  const { port } = occupant.address() as AddressInfo

  const child = launch({ MOCK_PROVIDER_PORT: String(port) })
  if (child.stderr === null) throw new Error('no stderr')
  const [output, exit] = await Promise.all([text(child.stderr), once(child, 'exit')])
  occupant.close()

  expect(exit).toEqual([1, null])
  expect(output).toBe(
    `mock-provider: Port ${port} of 127.0.0.1 is in use. Set MOCK_PROVIDER_PORT to a free port.\n`,
  )
})
